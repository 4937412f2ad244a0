//! The owner's commands, answered.

mod approvals;
mod audit;
pub(super) mod console;
mod conversation;
mod desk;
mod events;
mod governance;
mod inbox;
mod models;
mod review;
mod servers;
mod sign_in;
mod tasks;
mod tools;

use std::fmt;
use std::sync::{Arc, Weak};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use legation_api::console::Link;
use legation_api::conversation::Follow;
use legation_api::hub::{Follow as FollowHub, Reload, Status, StatusAnswer, Stop};
use legation_api::{Done, Request, approvals as asked, mcp};
use legation_cli::{CliError, Exit};
use legation_core::SeatId;
use legation_core::hello::TERMINAL_SEAT;
use legation_front::{AdminHandler, AdminItem};
use legation_gate::approval::Channel;
use legation_wire::codes;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;
use serde::Serialize;

use super::hub::Inner;
use super::{reload, telemetry};

pub(super) use self::tools::caller;

/// Answers over the admin socket.
pub(crate) struct Admin {
    /// Weak, because the hub holds the front and the front this.
    hub: Weak<Inner>,
}

/// The `data` of an error.
#[derive(Debug, Serialize)]
struct Data {
    /// What kind of reason it is, for answers over HTTP.
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

type Answer = Result<Raw, ErrorObject>;

// === impl Admin ===

impl Admin {
    pub(crate) fn new(hub: &Arc<Inner>) -> Self {
        Self {
            hub: Arc::downgrade(hub),
        }
    }
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").finish_non_exhaustive()
    }
}

impl AdminHandler for Admin {
    fn metrics(&self) -> String {
        let hub = self.hub.upgrade();
        hub.map_or_else(String::new, |hub| telemetry::page(&hub))
    }

    fn handle(
        &self,
        seat: &SeatId,
        method: &str,
        params: Option<Raw>,
    ) -> BoxStream<'static, AdminItem> {
        let sits = seat.as_str().rsplit(':').next();
        let channel = match sits {
            Some(TERMINAL_SEAT) => Channel::Terminal,
            _ => Channel::Command,
        };
        self.asked(channel, method, params)
    }
}

impl Admin {
    /// Answers a request that came by this road; an answer to an approval is recorded with it.
    pub(crate) fn asked(
        &self,
        channel: Channel,
        method: &str,
        params: Option<Raw>,
    ) -> BoxStream<'static, AdminItem> {
        let hub = self.hub.upgrade();
        if let Some(hub) = hub.as_ref().filter(|_| method == Follow::METHOD) {
            let params = params.unwrap_or_else(Raw::empty_object);
            return conversation::follow(hub, &params);
        }
        if let Some(hub) = hub.as_ref().filter(|_| method == FollowHub::METHOD) {
            return events::follow(hub, &params.unwrap_or_else(Raw::empty_object));
        }
        let answer = match hub {
            Some(hub) => dispatch(
                hub,
                channel,
                method,
                params.unwrap_or_else(Raw::empty_object),
            ),
            None => ready(Err(unavailable(
                "the hub is stopping; nothing was done",
                None,
            ))),
        };
        stream::once(async move { AdminItem::Done(answer.await) }).boxed()
    }
}

fn dispatch(
    hub: Arc<Inner>,
    channel: Channel,
    method: &str,
    params: Raw,
) -> BoxFuture<'static, Answer> {
    match method {
        Status::METHOD => now(&params, |_: Status| Ok(status(&hub))),
        Stop::METHOD => now(&params, |_: Stop| {
            hub.end("told to stop");
            Ok(Done {})
        }),
        Reload::METHOD => later(&params, |_: Reload| async move {
            reload::everything(&hub).await;
            Ok(Done {})
        }),
        asked::List::METHOD => now(&params, |request: asked::List| {
            Ok(approvals::list(&hub, request))
        }),
        asked::Find::METHOD => now(&params, |request: asked::Find| {
            approvals::find(&hub, &request)
        }),
        asked::Answer::METHOD => now(&params, |request: asked::Answer| {
            approvals::answer(&hub, channel, &request)
        }),
        asked::Certify::METHOD => later(&params, |request: asked::Certify| {
            approvals::certify(hub, request)
        }),
        asked::Revoke::METHOD => now(&params, |request: asked::Revoke| {
            approvals::revoke(&hub, &request)
        }),
        asked::ResetLabels::METHOD => now(&params, |request: asked::ResetLabels| {
            approvals::reset_labels(&hub, &request)
        }),
        mcp::List::METHOD => now(&params, |_: mcp::List| Ok(servers::list(&hub))),
        mcp::Show::METHOD => now(&params, |request: mcp::Show| servers::show(&hub, &request)),
        mcp::Logs::METHOD => now(&params, |request: mcp::Logs| servers::logs(&hub, &request)),
        mcp::Review::METHOD => now(&params, |request: mcp::Review| {
            review::waiting(&hub, request.server.as_deref())
        }),
        mcp::Decide::METHOD => later(&params, |request: mcp::Decide| async move {
            review::decide(&hub, &request).await
        }),
        mcp::Tools::METHOD => now(&params, |request: mcp::Tools| tools::list(&hub, &request)),
        mcp::Enable::METHOD => later(&params, |request: mcp::Enable| async move {
            servers::switch(&hub, &request.name, request.workspace.as_deref(), true).await
        }),
        mcp::Disable::METHOD => later(&params, |request: mcp::Disable| async move {
            servers::switch(&hub, &request.name, request.workspace.as_deref(), false).await
        }),
        mcp::ReloadServer::METHOD => later(&params, |request: mcp::ReloadServer| async move {
            servers::reload(&hub, request.name.as_deref(), request.workspace.as_deref()).await
        }),
        mcp::Auth::METHOD => later(&params, |request: mcp::Auth| async move {
            sign_in::begin(&hub, &request).await
        }),
        mcp::AuthWait::METHOD => later(&params, |request: mcp::AuthWait| async move {
            sign_in::wait(&hub, &request).await
        }),
        mcp::AuthBring::METHOD => now(&params, |request: mcp::AuthBring| {
            sign_in::bring(&hub, &request)
        }),
        mcp::AuthRevoke::METHOD => later(&params, |request: mcp::AuthRevoke| async move {
            sign_in::revoke(&hub, &request).await
        }),
        mcp::Call::METHOD => later(&params, |request: mcp::Call| async move {
            tools::call(&hub, request).await
        }),
        Link::METHOD => now(&params, |_: Link| console::link(&hub)),
        method if method.starts_with("governance.") => governance::dispatch(&hub, method, &params),
        method if method.starts_with("audit.") => audit::dispatch(&hub, method, &params),
        method if method.starts_with("conversation.") => {
            conversation::dispatch(&hub, method, &params)
        }
        method if method.starts_with("tasks.") => tasks::dispatch(&hub, method, &params),
        method if method.starts_with("desk.") => desk::dispatch(&hub, method, &params),
        method if method.starts_with("events.") => events::dispatch(&hub, method, &params),
        method if method.starts_with("inbox.") => inbox::dispatch(&hub, method, &params),
        method if method.starts_with("models.") => models::dispatch(&hub, method, &params),
        _ => unknown(method),
    }
}

fn status(hub: &Inner) -> StatusAnswer {
    let summary = hub.host.summary();
    let rules = hub.gate.rules();
    StatusAnswer {
        version: crate::VERSION.to_owned(),
        boot: hub.boot.to_string(),
        pid: std::process::id(),
        home: hub.home.root().display().to_string(),
        listen: hub.listen.map(|address| format!("http://{address}")),
        no_auth: hub.no_auth,
        uptime_ms: u64::try_from(hub.clock.now().duration_since(hub.started).as_millis())
            .unwrap_or(u64::MAX),
        servers: summary.enabled,
        connected: summary.connected,
        rules: match rules.permission_rules() {
            Err(broken) => format!("none, everything is refused: {broken}"),
            Ok(found) if hub.allow_all && rules.allows_bypass() => {
                format!(
                    "{} rules, what they ask about is done without asking",
                    found.count()
                )
            }
            Ok(found) => format!("{} rules", found.count()),
        },
        problems: hub.problems(),
    }
}

// === answers ===

fn unknown(method: &str) -> BoxFuture<'static, Answer> {
    ready(Err(ErrorObject::new(
        codes::METHOD_NOT_FOUND,
        &format!("there is no admin method `{method}`; nothing was done"),
    )))
}

fn ready(answer: Answer) -> BoxFuture<'static, Answer> {
    Box::pin(std::future::ready(answer))
}

fn now<R: Request>(
    params: &Raw,
    answer: impl FnOnce(R) -> Result<R::Answer, ErrorObject>,
) -> BoxFuture<'static, Answer> {
    ready(
        read(params)
            .and_then(answer)
            .map(|answer| Raw::from_serialize(&answer)),
    )
}

fn later<R, F>(params: &Raw, answer: impl FnOnce(R) -> F) -> BoxFuture<'static, Answer>
where
    R: Request,
    R::Answer: 'static,
    F: Future<Output = Result<R::Answer, ErrorObject>> + Send + 'static,
{
    match read(params) {
        Ok(request) => {
            let answer = answer(request);
            Box::pin(async move { answer.await.map(|answer| Raw::from_serialize(&answer)) })
        }
        Err(error) => ready(Err(error)),
    }
}

fn read<R: Request>(params: &Raw) -> Result<R, ErrorObject> {
    params.deserialize().map_err(|error| {
        ErrorObject::new(
            codes::INVALID_PARAMS,
            &format!(
                "the params of {} cannot be read: {error}; nothing was done",
                R::METHOD
            ),
        )
    })
}

/// It cannot be done as things stand, for a reason that whoever asked can do something about.
fn failed(message: &str, hint: Option<String>) -> ErrorObject {
    of_kind("conflict", message, hint)
}

/// What was named is not there.
fn missing(message: &str, hint: Option<String>) -> ErrorObject {
    of_kind("not_found", message, hint)
}

/// A part of the hub that it needs is not there, now or in this hub.
fn unavailable(message: &str, hint: Option<String>) -> ErrorObject {
    of_kind("unavailable", message, hint)
}

/// The hub could not do it.
fn failed_with(error: &dyn std::error::Error) -> ErrorObject {
    of_kind("failed", &legation_core::error::chain(error), None)
}

fn of_kind(kind: &'static str, message: &str, hint: Option<String>) -> ErrorObject {
    let data = Data {
        kind,
        rule: None,
        hint,
    };
    ErrorObject::new(codes::INTERNAL_ERROR, message).with_data(Raw::from_serialize(&data))
}

fn of_cli(error: CliError) -> ErrorObject {
    let data = Data {
        kind: match error.exit {
            Exit::Usage => "invalid",
            Exit::Refused => "refused",
            Exit::NotReachable => "unavailable",
            // What a person can mend is no fault of the hub's.
            Exit::Failed if error.hint.is_some() => "conflict",
            Exit::Failed => "failed",
        },
        rule: error.rule,
        hint: error.hint,
    };
    ErrorObject::new(codes::INTERNAL_ERROR, &error.message).with_data(Raw::from_serialize(&data))
}
