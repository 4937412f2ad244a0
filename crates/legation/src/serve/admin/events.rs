//! The event subscriptions, for their owner.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use legation_api::events::{List, ListAnswer, Remove, Subscription, Test};
use legation_api::hub::{EVENT as HUB_EVENT, Follow as FollowHub};
use legation_api::{Done, Request};
use legation_console::Since;
use legation_core::Wall;
use legation_events::{Events, EventsError, Listed};
use legation_front::AdminItem;
use legation_wire::json::{Limits, Object, Raw};
use legation_wire::message::ErrorObject;

use super::{Answer, failed, later, missing, now, read, ready, unavailable, unknown};
use crate::serve::hub::Inner;

/// Everything that happens in the hub, until the caller goes.
pub(super) fn follow(hub: &Arc<Inner>, params: &Raw) -> BoxStream<'static, AdminItem> {
    let request: FollowHub = match read(params) {
        Ok(request) => request,
        Err(error) => return stream::iter([AdminItem::Done(Err(error))]).boxed(),
    };
    let since = request.since.map_or(Since::Now, Since::Event);
    let events = hub.happened.follow(&since).map(|event| {
        let data = Raw::parse(event.data(), &Limits::CLIENT);
        let mut params = Object::new().with("type", Raw::str(event.name()));
        if let Some(id) = event.id() {
            params.set("id", Raw::str(id));
        }
        params.set("data", data.unwrap_or_else(|_| Raw::null()));
        AdminItem::Notification {
            method: HUB_EVENT.into(),
            params: params.to_raw(),
        }
    });
    let done = std::future::ready(AdminItem::Done(Ok(Raw::from_serialize(&Done {}))));
    events.chain(stream::once(done)).boxed()
}

pub(super) fn dispatch(hub: &Arc<Inner>, method: &str, params: &Raw) -> BoxFuture<'static, Answer> {
    let Some(events) = hub.events.get().cloned() else {
        return ready(Err(unavailable(
            "the hub is starting; nothing was done",
            None,
        )));
    };
    match method {
        List::METHOD => now(params, |_: List| Ok(list(&events))),
        Test::METHOD => later(params, |request: Test| async move {
            events.test(&request.id).await.map_err(wrong)?;
            Ok(Done {})
        }),
        Remove::METHOD => later(params, |request: Remove| async move {
            events.remove(&request.id).await.map_err(wrong)?;
            Ok(Done {})
        }),
        _ => unknown(method),
    }
}

fn list(events: &Events) -> ListAnswer {
    let subscriptions = events.subscriptions().into_iter();
    ListAnswer {
        subscriptions: subscriptions.map(subscription).collect(),
    }
}

fn subscription(listed: Listed) -> Subscription {
    let time = |at: Option<Wall>| at.map(|at| at.to_string());
    Subscription {
        id: listed.id,
        client: listed.client,
        event: listed.name,
        arguments: listed.arguments,
        receiver: listed.receiver,
        state: listed.state.to_owned(),
        expires: time(listed.expires),
        last_delivery: time(listed.last_delivery),
        last_error: listed.last_error.map(str::to_owned),
        failed_since: time(listed.failed_since),
    }
}

fn wrong(error: EventsError) -> ErrorObject {
    let hint = match error {
        EventsError::UnknownSubscription => {
            "`legation events list` shows the subscriptions there are"
        }
        ref error => error.hint(),
    };
    let is_missing = matches!(error, EventsError::UnknownSubscription);
    let message = match error {
        EventsError::Callback { reason } => format!(
            "the receiver did not answer as it should ({}); the subscription stays",
            reason.as_str()
        ),
        error => legation_core::error::chain(&error),
    };
    let hint = Some(hint.to_owned());
    if is_missing {
        missing(&message, hint)
    } else {
        failed(&message, hint)
    }
}
