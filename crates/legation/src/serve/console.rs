//! The console and the admin API in the hub: what they ask of it, answered.

mod call;
mod claims;
mod log;
mod sights;
mod watch;

use std::fmt;
use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt as _, StreamExt as _};
use legation_console::web::{Answer, Body, Caller, Request};
use legation_console::{
    AdminFault, AdminItem, Claimed, Console, EventStream, FaultKind, Hub, Kept, Road, Since,
    StopReason, ToolAnswer, ToolCall, ToolStop,
};
use legation_core::TaskSet;
use legation_core::error::chain;
use legation_front::{AdminItem as Said, WebAnswer, WebBody, WebCaller, WebHandler, WebRequest};
use legation_gate::approval::Channel;
use legation_store::Store;
use legation_wire::codes;
use legation_wire::json::{Limits, Raw};
use legation_wire::message::ErrorObject;
use serde_json::value::RawValue;

use super::admin::Admin;
use super::events;
use super::hub::Inner;
use claims::Claims;
pub(crate) use log::EventLog;
pub(super) use watch::run;

/// The hub, as the console and the admin API see it.
struct Door {
    /// Weak, because the hub holds the front and the front this.
    hub: Weak<Inner>,
    admin: Arc<Admin>,
    log: Arc<EventLog>,
    claims: Arc<Claims>,
    tasks: TaskSet,
}

/// What the front hands its requests to.
#[derive(Debug)]
struct Face(Console);

/// What answers everything over HTTP that is not MCP.
pub(super) fn handler(
    inner: &Arc<Inner>,
    admin: &Arc<Admin>,
    (store, tasks): (&Arc<Store>, &TaskSet),
) -> Arc<dyn WebHandler> {
    let claims = Claims::new(store, &inner.keystore, &inner.clock, &inner.boot);
    let door = Door {
        hub: Arc::downgrade(inner),
        admin: Arc::clone(admin),
        log: Arc::clone(&inner.happened),
        claims: Arc::new(claims),
        tasks: tasks.clone(),
    };
    let clock = Arc::clone(&inner.clock);
    let pages = Arc::clone(&inner.pages);
    Arc::new(Face(Console::new(Arc::new(door), pages, clock)))
}

// === impl Door ===

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").finish_non_exhaustive()
    }
}

impl Hub for Door {
    fn call(&self, call: ToolCall) -> BoxFuture<'static, ToolAnswer> {
        let Some(hub) = self.hub.upgrade() else {
            return std::future::ready(stopping()).boxed();
        };
        let (answer, answered) = tokio::sync::oneshot::channel();
        self.tasks.spawn("call of the owner's", async move {
            // Nobody may listen any more.
            drop(answer.send(call::call(&hub, call).await));
        });
        answered
            .map(|got| got.unwrap_or_else(|_| stopping()))
            .boxed()
    }

    fn admin(
        &self,
        road: Road,
        method: &str,
        params: Box<RawValue>,
    ) -> BoxStream<'static, AdminItem> {
        let params = Raw::parse(params.get().to_owned().into(), &Limits::CLIENT);
        let params = match params {
            Ok(params) => params,
            Err(error) => {
                let error = ErrorObject::new(codes::INVALID_PARAMS, &error.to_string());
                return stream::iter([AdminItem::Done(Err(fault(&error)))]).boxed();
            }
        };
        let channel = match road {
            Road::Console => Channel::Console,
            Road::Api => Channel::Api,
        };
        self.admin
            .asked(channel, method, Some(params))
            .map(item)
            .boxed()
    }

    fn signed_in(&self) -> BoxFuture<'static, Result<(), AdminFault>> {
        let hub = self.hub.upgrade();
        async move {
            let hub = hub.ok_or_else(AdminFault::stopping)?;
            let written = events::signed_in().write(&hub.ledger).await;
            written.map_err(|error| AdminFault {
                code: codes::INTERNAL_ERROR,
                kind: FaultKind::Unavailable,
                message: chain(&error),
                hint: Some("see that the disk of the data directory has room".to_owned()),
                rule: None,
                data: None,
            })
        }
        .boxed()
    }

    fn events(&self, since: Since) -> EventStream {
        self.log.follow(&since)
    }

    fn claim(
        &self,
        key: &str,
        digest: [u8; 32],
    ) -> BoxFuture<'static, Result<Claimed, AdminFault>> {
        self.claims.clone().claim(key.to_owned(), digest).boxed()
    }

    fn settle(&self, key: &str, digest: [u8; 32], kept: Option<Kept>) -> BoxFuture<'static, ()> {
        self.claims
            .clone()
            .settle(key.to_owned(), digest, kept)
            .boxed()
    }
}

// === impl Face ===

impl WebHandler for Face {
    fn web(&self, request: WebRequest) -> Option<BoxFuture<'static, WebAnswer>> {
        let request = Request {
            method: request.method,
            path: request.path,
            query: request.query,
            headers: request.headers,
            body: request.body,
            caller: match request.caller {
                WebCaller::Owner(principal) => Caller::Owner(principal),
                WebCaller::Nobody => Caller::Nobody,
            },
        };
        Some(self.0.handle(request)?.map(answer).boxed())
    }
}

fn answer(answer: Answer) -> WebAnswer {
    WebAnswer {
        status: answer.status,
        headers: answer.headers,
        body: match answer.body {
            Body::Whole(body) => WebBody::Whole(body),
            Body::Stream(stream) => WebBody::Stream(stream),
        },
    }
}

fn stopping() -> ToolAnswer {
    ToolAnswer::Stopped(ToolStop {
        reason: StopReason::Lost,
        message: "the hub is stopping; whether the tool was called is in the ledger".to_owned(),
        hint: None,
        data: None,
    })
}

fn item(said: Said) -> AdminItem {
    match said {
        Said::Notification { method, params } => AdminItem::Notification {
            method,
            params: raw_value(&params),
        },
        Said::Done(answer) => AdminItem::Done(match answer {
            Ok(answer) => Ok(raw_value(&answer)),
            Err(error) => Err(fault(&error)),
        }),
    }
}

/// Checked JSON, as another library holds it.
fn raw_value(raw: &Raw) -> Box<RawValue> {
    let text = raw.as_text().to_owned();
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn fault(error: &ErrorObject) -> AdminFault {
    let data = error.data.as_ref();
    let text = |member| {
        let raw = data?.get(member)?;
        raw.to_str().map(|text| text.into_owned())
    };
    let kind = match error.code {
        codes::METHOD_NOT_FOUND => FaultKind::NoMethod,
        codes::INVALID_PARAMS => FaultKind::Invalid,
        // The gate's own refusals of what the administration calls for its owner.
        codes::REFUSED if text("approval_id").is_some() => FaultKind::Waits,
        codes::REFUSED => FaultKind::Refused,
        codes::OVERLOADED => FaultKind::TooMany,
        codes::SERVER_UNAVAILABLE => FaultKind::Unavailable,
        _ => match text("kind").as_deref() {
            Some("not_found") => FaultKind::NotFound,
            Some("invalid") => FaultKind::Invalid,
            Some("conflict") => FaultKind::Conflict,
            Some("refused") => FaultKind::Refused,
            Some("unavailable") => FaultKind::Unavailable,
            _ => FaultKind::Failed,
        },
    };
    let refusal = data.filter(|_| error.code == codes::REFUSED);
    AdminFault {
        code: error.code,
        kind,
        message: error.message.to_string(),
        hint: text("hint"),
        rule: text("rule"),
        data: refusal.and_then(|raw| raw.deserialize().ok()),
    }
}
