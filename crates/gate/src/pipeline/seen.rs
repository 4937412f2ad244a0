//! What is told of a call to whoever counts and follows calls.
//!
//! Where nobody does, nothing is measured. Nothing is told of what a call carries.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use legation_core::ServerName;
use legation_core::observe::{self, CallEnded, Span, SpanKind, Stopwatch};
use legation_ledger::{CallId, Status};
use legation_policy::{Permitted, Target, Verb};
use legation_wire::json::{Object, Raw};

use super::watched::Looked;
use crate::watch::Watcher;
use crate::{CallFailure, Outcome, Peer, Refusal};

/// In `_meta`, of which trace a request is a part (reserved by the specification, 2026-07-28).
const TRACEPARENT: &str = "traceparent";
/// Beside it, what those who follow the trace keep of it.
const TRACESTATE: &str = "tracestate";

/// A call on its way. Dropped before it is over it was called off.
#[derive(Debug)]
pub(super) struct Seen {
    watch: Option<Stopwatch>,
    span: Option<Span>,
    method: &'static str,
    server: Option<ServerName>,
    rung: Option<&'static str>,
    at_server: Option<Duration>,
    outcome: &'static str,
    reason: Option<&'static str>,
    looked: Looked,
}

/// A call at its server.
#[derive(Debug)]
pub(super) struct AtServer {
    watch: Option<Stopwatch>,
    _span: Option<Span>,
}

// === impl Seen ===

impl Seen {
    /// A call begins; its client may have begun its trace.
    pub(super) fn begin(verb: Verb, params: Option<&Object>) -> Self {
        let span = match observe::is_followed() {
            false => None,
            true => {
                let said = params.and_then(|params| legation_wire::meta::get(params, TRACEPARENT));
                let said = said.as_ref().and_then(Raw::to_str);
                let mut span = Span::first(verb.as_str(), SpanKind::Server, said.as_deref());
                if let Some(span) = &mut span {
                    span.set("mcp.method.name", verb.as_str());
                }
                span
            }
        };
        Self {
            watch: Stopwatch::start(),
            span,
            method: verb.as_str(),
            server: None,
            rung: None,
            at_server: None,
            outcome: "cancelled",
            looked: Looked::default(),
            reason: None,
        }
    }

    /// Where its name led to.
    pub(super) fn resolved(&mut self, target: &Target) {
        if self.watch.is_some() {
            self.server = Some(target.server.clone());
        }
        if let Some(span) = &mut self.span {
            describe(span, target);
        }
    }

    /// It may be made.
    pub(super) fn cleared(&mut self, permitted: &Permitted) {
        self.rung = Some(permitted.rung().as_str());
        if let Some(span) = &mut self.span {
            span.set("legation.rung", permitted.rung().as_str());
        }
    }

    /// A stage begins; it ends when what comes back is dropped.
    pub(super) fn stage(&self, name: &'static str) -> Option<Span> {
        self.span.as_ref()?.part(name, SpanKind::Internal)
    }

    /// It goes to its server, which hears what it is a part of.
    pub(super) fn to_server(&self, target: &Target, params: Option<&mut Object>) -> AtServer {
        let whole = self.span.as_ref();
        let mut span = whole.and_then(|span| span.part(self.method, SpanKind::Client));
        if let Some(span) = &mut span {
            span.set("mcp.method.name", self.method);
            describe(span, target);
            if let (Some(params), Some(text)) = (params, span.traceparent()) {
                let is_clients = whole.is_some_and(Span::has_parent);
                legation_wire::meta::edit(params, |meta| {
                    meta.set(TRACEPARENT, Raw::str(&text));
                    if !is_clients {
                        // It is of another trace, or of one that could not be read.
                        drop(meta.remove(TRACESTATE));
                    }
                });
            }
        }
        AtServer {
            watch: Stopwatch::start(),
            _span: span,
        }
    }

    /// It is about to be made, under the eyes of whoever looks on; the client as they see it.
    pub(super) fn shown(
        &mut self,
        watcher: Option<&Arc<dyn Watcher>>,
        (permitted, call): (&Permitted, CallId),
        peer: Arc<dyn Peer>,
    ) -> Arc<dyn Peer> {
        self.looked = Looked::at(watcher, permitted, call);
        self.looked.peer(peer)
    }

    /// It came back from its server.
    pub(super) fn back(&mut self, at_server: AtServer) {
        self.at_server = at_server.watch.map(Stopwatch::elapsed);
    }

    /// A part of a result that was put aside was read, which passes no server.
    pub(super) fn read(&mut self, page: &Result<Outcome, Refusal>) {
        if page.is_ok() {
            self.outcome = Status::Ok.as_str();
        }
    }

    /// What was recorded of its outcome.
    pub(super) fn recorded(&mut self, status: Status) {
        self.outcome = status.as_str();
        self.looked.recorded(status);
        let failed = !matches!(status, Status::Ok | Status::InputRequired | Status::Task);
        if let (true, Some(span)) = (failed, &mut self.span) {
            span.fail(status.as_str());
        }
    }

    /// It was stopped.
    pub(super) fn refused(&mut self, refusal: &Refusal) {
        let reason = refusal.reason_code().as_str();
        self.outcome = "refused";
        self.looked.refused();
        self.reason = Some(reason);
        if let Some(span) = &mut self.span {
            span.fail(reason);
        }
    }

    /// It is over; what was recorded of it stands where nothing stopped it.
    pub(super) fn over(&mut self, result: &Result<Outcome, Refusal>) {
        match result {
            Err(refusal) => self.refused(refusal),
            Ok(Outcome::Failed(CallFailure::NotConnected { .. })) => {
                self.outcome = "not_connected";
            }
            Ok(_) => {}
        }
    }
}

/// What a span says of a target: names that the server itself lists, and no address of a resource,
/// which may say what it holds.
fn describe(span: &mut Span, target: &Target) {
    let method = target.verb.as_str();
    span.set("legation.server", target.server.to_string());
    let key = match target.verb {
        Verb::CallTool => {
            span.set("gen_ai.operation.name", "execute_tool");
            "gen_ai.tool.name"
        }
        Verb::GetPrompt => "gen_ai.prompt.name",
        Verb::ReadResource
        | Verb::Complete
        | Verb::TaskUpdate
        | Verb::TaskCancel
        | Verb::Sample => return,
    };
    span.set(key, target.item.to_string());
    span.name(Cow::Owned(format!("{method} {}", target.item)));
}

impl Drop for Seen {
    fn drop(&mut self) {
        let (Some(watch), Some(observer)) = (self.watch, observe::observer()) else {
            return;
        };
        observer.call_ended(&CallEnded {
            server: self.server.as_ref().map(ServerName::as_str),
            method: self.method,
            rung: self.rung,
            outcome: self.outcome,
            reason: self.reason,
            elapsed: watch.elapsed(),
            at_server: self.at_server,
        });
        if self.outcome == "cancelled"
            && let Some(span) = &mut self.span
        {
            span.fail("cancelled");
        }
    }
}
