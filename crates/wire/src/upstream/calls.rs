//! Calls: sending, cancelling, finishing.

use std::sync::Arc;

use super::{AskKey, CallEvent, CallKey, CallRequest, Effect, Link, Pending, Stage, StrayKind};
use crate::caps::ClientCapabilities;
use crate::codes;
use crate::json::{Kind, Object, Raw};
use crate::message::{ErrorObject, Id, Message};
use crate::meta::{self, EraMeta};
use crate::revision::Revision;
use crate::translate::{self, ResultKind};

/// How many cancelled ids are remembered, to tell a late answer from nonsense. The oldest are
/// forgotten first; their answers are still not delivered.
pub(super) const MAX_CANCELLED: usize = 256;

/// Makes what metadata a client's call has of its own what its server is to see.
fn edit_meta(params: &mut Object, era: Option<&EraMeta>, token: Option<i64>) {
    meta::edit(params, |meta| {
        EraMeta::take_from(meta);
        meta.remove(meta::PROGRESS_TOKEN);
        if let Some(era) = era {
            era.put_into(meta);
        }
        if let Some(token) = token {
            meta.set(meta::PROGRESS_TOKEN, Raw::int(token));
        }
    });
}

/// What a modern server was last told of a client. Clients say the same of themselves in
/// every call, so it is put into words once.
#[derive(Debug)]
pub(super) struct Said {
    caps: Arc<ClientCapabilities>,
    info: Raw,
    /// The metadata up to what differs between calls.
    text: Vec<u8>,
}

// === impl Said ===

impl Said {
    fn is_of(&self, caps: &Arc<ClientCapabilities>, info: &Raw) -> bool {
        (Arc::ptr_eq(&self.caps, caps) || self.caps == *caps) && self.info == *info
    }
}

/// A call in flight.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) key: CallKey,
    method: Box<str>,
    pub(super) want_progress: bool,
    pub(super) wants_log: bool,
    /// The task that a task method is about, to find the call a task's question belongs to.
    pub(super) task_id: Option<Box<str>>,
    takes_tasks: bool,
    /// Whether the server's questions and log messages can be about this call. What the hub
    /// asks on its own behalf, such as lists, cannot.
    pub(super) may_ask: bool,
}

// === impl Link ===

impl Link {
    /// Sends a client's request. Before the handshake is done, or after the connection has
    /// ended, the call fails at once.
    pub fn call(&mut self, key: CallKey, request: CallRequest) {
        if self.calls.contains_key(&key) {
            self.stray(StrayKind::DuplicateCall { key });
            return;
        }
        let Some(revision) = self.revision() else {
            let error = ErrorObject::new(
                codes::SERVER_UNAVAILABLE,
                "the server is not connected; the call was not sent",
            );
            self.effect(Effect::Call(key, CallEvent::Done(Err(error))));
            return;
        };
        let CallRequest {
            method,
            mut params,
            caps,
            client_info,
            log_level,
            want_progress,
        } = request;
        let id = self.fresh_id();
        let token = want_progress.then_some(id);
        let level = log_level.as_deref();
        match (revision.is_modern(), params.contains(meta::META)) {
            (false, false) if token.is_none() => {}
            (false, _) => edit_meta(&mut params, None, token),
            (true, false) => {
                let said = self.said(revision, &caps, client_info);
                params.set(meta::META, meta::complete(said, level, token));
            }
            (true, true) => {
                let mut era = self.era(revision, &caps, client_info);
                era.log_level = level.map(Raw::str);
                edit_meta(&mut params, Some(&era), token);
            }
        }
        translate::drop_other_era(&method, &mut params, revision);
        let call = Box::new(Call {
            key,
            want_progress,
            wants_log: log_level.is_some() || !revision.is_modern(),
            task_id: params
                .get("taskId")
                .filter(|_| &*method == "tasks/result")
                .and_then(|id| id.to_str().map(Into::into)),
            may_ask: may_ask(&method),
            takes_tasks: caps.tasks_ext && &*method == "tools/call",
            method: method.clone(),
        });
        self.calls.insert(key, id);
        self.request_as(id, method, params, Pending::Call(call));
    }

    /// What a modern server is told of a client.
    fn era(&self, revision: Revision, caps: &ClientCapabilities, info: Option<Raw>) -> EraMeta {
        EraMeta {
            protocol_version: Some(revision.to_raw()),
            client_capabilities: Some(caps.to_raw(revision)),
            client_info: Some(info.unwrap_or_else(|| self.config.client_info.clone())),
            log_level: None,
        }
    }

    /// The same as text that [`meta::complete`] ends.
    fn said(
        &mut self,
        revision: Revision,
        caps: &Arc<ClientCapabilities>,
        info: Option<Raw>,
    ) -> &[u8] {
        let known = self.said.take();
        let asked = info.as_ref().unwrap_or(&self.config.client_info);
        let said = match known {
            Some(said) if said.is_of(caps, asked) => said,
            _ => {
                // Not a slice of the message it came in, which would stay in memory with it.
                let info = asked.detached();
                let era = self.era(revision, caps, Some(info.clone()));
                Box::new(Said {
                    caps: Arc::clone(caps),
                    info,
                    text: era.begin_meta(),
                })
            }
        };
        &self.said.insert(said).text
    }

    /// Cancels a call. Its answer, should it still come, is stray; questions it was waiting
    /// for are withdrawn. There is no final event: the shell knows.
    pub fn cancel(&mut self, key: CallKey, reason: &str) {
        let Some(id) = self.calls.remove(&key) else {
            return;
        };
        self.pending.remove(&id);
        self.note_cancelled(id);
        // If it was the only one, the question was its own and goes with it.
        let others = self.latest_calls().next().is_some();
        self.withdraw_asks(key, "the call was cancelled", others);
        if !(self.is_modern() && self.config.http) {
            self.send_cancelled(id, reason);
        }
        if self.config.http {
            self.effect(Effect::Abort(key));
        }
    }

    /// Answers a question of the server's. One that was withdrawn is dropped.
    pub fn answer(&mut self, key: AskKey, body: Result<Raw, ErrorObject>) {
        let Some(ask) = self.asks.remove(&key) else {
            return;
        };
        self.send(Message::response(ask.id, body), None);
    }

    /// The way the answer should have come is gone (an HTTP stream that ended and cannot be
    /// resumed): the call fails.
    pub fn call_lost(&mut self, key: CallKey, why: &str) {
        let text = format!("{why}; whether the call was done is not known");
        self.finish_call(key, Err(ErrorObject::new(codes::SERVER_UNAVAILABLE, &text)));
    }

    /// An answer that could not be read as a message, though its id could: the call it was
    /// meant for fails. Without an id it is only counted.
    pub fn garbled(&mut self, id: Option<&Id>, problem: &str) {
        self.stray(StrayKind::Garbage {
            problem: problem.into(),
        });
        if let Some(id) = id {
            let text = format!("the server's answer is no JSON-RPC message: {problem}");
            self.unread(id, ErrorObject::new(codes::BAD_UPSTREAM, &text));
        }
    }

    /// An answer that was not read, for the reason given. False when no call waits for it.
    pub fn unread(&mut self, id: &Id, error: ErrorObject) -> bool {
        let Id::Int(id) = id else { return false };
        let Some(Pending::Call(call)) = self.pending.get(id) else {
            return false;
        };
        self.finish_call(call.key, Err(error));
        true
    }

    /// The answer to a call, or what stands in for it.
    pub(super) fn finish_call(&mut self, key: CallKey, body: Result<Raw, ErrorObject>) {
        let Some(id) = self.calls.remove(&key) else {
            return;
        };
        let Some(Pending::Call(call)) = self.pending.remove(&id) else {
            return;
        };
        self.withdraw_asks(key, "the call it belonged to has ended", true);
        let body = body.and_then(|result| self.check_result(&call, result));
        self.effect(Effect::Call(key, CallEvent::Done(body)));
    }

    /// A result has to be an object, and in the modern era of a type that was asked for.
    fn check_result(&self, call: &Call, result: Raw) -> Result<Raw, ErrorObject> {
        let bad = |problem: &str| {
            let text = format!("the server answered {} with {problem}", call.method);
            Err(ErrorObject::new(codes::BAD_UPSTREAM, &text))
        };
        match result.kind() {
            Kind::Object => {}
            // Some servers acknowledge with null.
            Kind::Null => return Ok(Raw::empty_object()),
            Kind::Bool | Kind::Number | Kind::String | Kind::Array => {
                return bad("a result that is not an object");
            }
        }
        if !self.is_modern() {
            return Ok(result);
        }
        match translate::result_kind(&result) {
            ResultKind::Complete => Ok(result),
            ResultKind::InputRequired if translate::has_rounds(&call.method) => Ok(result),
            ResultKind::InputRequired => {
                bad("a request for input, which this method does not have")
            }
            ResultKind::Task if call.takes_tasks => Ok(result),
            ResultKind::Task => bad("a task, which was not asked for"),
            ResultKind::Unknown(kind) => bad(&format!("a result of unknown type {kind:?}")),
        }
    }

    /// Ends every call and question; the connection is gone.
    pub(super) fn end_calls(&mut self, why: &str) {
        debug_assert!(self.stage == Stage::Over, "calls end with the connection");
        self.listening.clear();
        for (key, ask) in std::mem::take(&mut self.asks) {
            self.effect(Effect::AskWithdrawn {
                key,
                call: ask.call,
            });
        }
        self.calls.clear();
        for pending in std::mem::take(&mut self.pending).into_values() {
            if let Pending::Call(call) = pending {
                let error = ErrorObject::new(
                    codes::SERVER_UNAVAILABLE,
                    &format!("{why}; whether the call was done is not known"),
                );
                self.effect(Effect::Call(call.key, CallEvent::Done(Err(error))));
            }
        }
    }

    /// Takes a call's questions from it. Those that were only taken for its own become
    /// nobody's again if `pass_on`; the others are over.
    fn withdraw_asks(&mut self, call: CallKey, why: &str, pass_on: bool) {
        let asks = self.asks.iter();
        let keys: Vec<_> = asks
            .filter(|(_, ask)| ask.call == Some(call))
            .map(|(key, _)| *key)
            .collect();
        for key in keys {
            let loose = self.asks.get_mut(&key).and_then(|ask| {
                let loose = ask.loose.take().filter(|_| pass_on)?;
                ask.call = None;
                Some(loose)
            });
            if loose.is_none() {
                // The server may still wait; JSON-RPC owes it an answer.
                self.answer(key, Err(ErrorObject::new(codes::CANCELLED, why)));
            }
            self.effect(Effect::AskWithdrawn {
                key,
                call: Some(call),
            });
            if let Some((method, params)) = loose {
                self.effect(Effect::AskIdle {
                    key,
                    method,
                    params,
                });
            }
        }
    }

    pub(super) fn note_cancelled(&mut self, id: i64) {
        if self.cancelled.len() >= MAX_CANCELLED {
            self.cancelled.pop_front();
        }
        self.cancelled.push_back(id);
    }

    /// A call in flight by its id.
    pub(super) fn call_by_id(&self, id: i64) -> Option<&Call> {
        match self.pending.get(&id) {
            Some(Pending::Call(call)) => Some(call),
            Some(Pending::Discover | Pending::Initialize | Pending::Listen) | None => None,
        }
    }

    /// Calls in flight that a server's message without a hint can be about, latest first.
    pub(super) fn latest_calls(&self) -> impl Iterator<Item = &Call> {
        self.pending
            .values()
            .rev()
            .filter_map(|pending| match pending {
                Pending::Call(call) => Some(&**call).filter(|call| call.may_ask),
                Pending::Discover | Pending::Initialize | Pending::Listen => None,
            })
    }
}

/// Whether a server may want something from the client to answer this method.
fn may_ask(method: &str) -> bool {
    let keeping_house = matches!(
        method,
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
    );
    !keeping_house && !method.ends_with("/list")
}

/// Parameters of a progress notification without their token, and the token.
pub(super) fn split_progress(mut params: Object) -> (Option<i64>, Object) {
    let token = params
        .remove("progressToken")
        .and_then(|token| token.to_i64());
    (token, params)
}
