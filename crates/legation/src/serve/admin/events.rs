//! The event subscriptions, for their owner.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_api::events::{List, ListAnswer, Remove, Subscription, Test};
use legation_api::{Done, Request};
use legation_core::Wall;
use legation_events::{Events, EventsError, Listed};
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

use super::{Answer, failed, later, now, ready, unknown};
use crate::serve::hub::Inner;

pub(super) fn dispatch(hub: &Arc<Inner>, method: &str, params: &Raw) -> BoxFuture<'static, Answer> {
    let Some(events) = hub.events.get().cloned() else {
        return ready(Err(failed("the hub is starting; nothing was done", None)));
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
    let message = match error {
        EventsError::Callback { reason } => format!(
            "the receiver did not answer as it should ({}); the subscription stays",
            reason.as_str()
        ),
        error => legation_core::error::chain(&error),
    };
    failed(&message, Some(hint.to_owned()))
}
