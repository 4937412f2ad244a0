//! Microsoft Graph.

mod agent_user;
mod auth;
mod batch;
pub(crate) mod calendar;
mod chats;
mod delta;
mod directory;
pub(crate) mod error;
pub(crate) mod interrupt;
pub(crate) mod mail;
pub(crate) mod messages;
pub(crate) mod notices;
mod odata;
pub(crate) mod permissions;
mod presence;
mod route;
mod sign_ins;
mod subscriptions;
mod users;

use serde_json::Value;

use self::auth::Caller;
use self::error::Failure;
use crate::server::Shared;
use crate::state::{Tenant, World};
use crate::web::{Answer, Ask};

/// What an operation answers.
pub(crate) type Outcome = Result<Answer, Failure>;

/// One call at Graph whose caller is known.
pub(crate) struct Call<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) ask: &'a Ask,
    pub(crate) world: &'a mut World,
    pub(crate) caller: Caller,
    pub(crate) beta: bool,
}

/// Answers a request to Graph.
pub(crate) fn answer(shared: &Shared, world: &mut World, ask: &Ask) -> Answer {
    let request_id = crate::random::guid();
    let now = shared.now();
    let answer = match attempt(shared, world, ask) {
        Ok(answer) => answer,
        Err(failure) => failure.answer(ask, now, &request_id),
    };
    let mut answer = answer
        .with("request-id", request_id)
        .with(
            "x-ms-ags-diagnostic",
            r#"{"ServerInfo":{"DataCenter":"Loopback","Slice":"E","Ring":"0","ScaleUnit":"000"}}"#,
        )
        .with("odata-version", "4.0");
    if let Some(id) = ask.header("client-request-id") {
        answer = answer.with("client-request-id", id);
    }
    answer
}

fn attempt(shared: &Shared, world: &mut World, ask: &Ask) -> Outcome {
    let caller = auth::caller(shared, world, ask)?;
    let call = Call {
        shared,
        ask,
        world,
        caller,
        beta: ask.parts.first().is_some_and(|part| part == "beta"),
    };
    route::route(call)
}

// === impl Call ===

impl Call<'_> {
    pub(crate) fn tenant(&self) -> Result<&Tenant, Failure> {
        self.world
            .tenant(&self.caller.tenant)
            .ok_or_else(|| Failure::new(401, "InvalidAuthenticationToken", "Unknown tenant."))
    }

    pub(crate) fn tenant_mut(&mut self) -> Result<&mut Tenant, Failure> {
        self.world
            .tenant_mut(&self.caller.tenant)
            .ok_or_else(|| Failure::new(401, "InvalidAuthenticationToken", "Unknown tenant."))
    }

    /// The tenant's own time, milliseconds.
    pub(crate) fn now_ms(&self) -> i64 {
        let now = self.shared.now();
        self.tenant().map_or(now, |tenant| tenant.now(now)).0
    }

    /// The version as it stands in the path.
    pub(crate) fn version(&self) -> &'static str {
        if self.beta { "beta" } else { "v1.0" }
    }

    /// Whether annotations that describe an answer are wanted.
    ///
    /// Graph sends them unless a client asks for `odata.metadata=none`. Here they are sent when a
    /// client asks for them: msgraph-sdk has no place for them in its models, and what a test
    /// finds beside the models should be a mistake.
    pub(crate) fn annotated(&self) -> bool {
        self.ask.header("accept").is_some_and(|accept| {
            accept.contains("odata.metadata=minimal") || accept.contains("odata.metadata=full")
        })
    }

    /// Gives an answer its `@odata.context`, if it is wanted.
    pub(crate) fn annotate(&self, answer: &mut Value, what: &str) {
        if let Some(members) = answer.as_object_mut().filter(|_| self.annotated()) {
            let context = format!("{}/{}/$metadata#{what}", self.ask.origin, self.version());
            members.shift_insert(0, "@odata.context".to_owned(), context.into());
        }
    }

    /// The body, which must be an object.
    pub(crate) fn body(&self) -> Result<Value, Failure> {
        self.ask.json().filter(Value::is_object).ok_or_else(|| {
            Failure::new(
                400,
                "BadRequest",
                "Unable to read JSON request payload. Please ensure Content-Type header is set \
                 and payload is of valid JSON format.",
            )
        })
    }
}
