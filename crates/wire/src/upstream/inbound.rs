//! What the server sends.

use super::calls::split_progress;
use super::{AskKey, CallEvent, CallKey, Effect, Link, ListKind, Pending, StrayKind};
use crate::codes;
use crate::json::{Object, Raw};
use crate::message::{ErrorObject, Id, Message, Notification, Request, Response};
use crate::meta;
use crate::translate::{ElicitMode, elicit_mode};

/// Most questions that may be open at once; a server that asks more is refused.
pub(super) const MAX_ASKS: usize = 64;

/// A question of the server's that has no answer yet.
#[derive(Debug)]
pub(super) struct Ask {
    /// The server's id.
    pub(super) id: Id,
    pub(super) call: Option<CallKey>,
    /// The question itself, if it came on no call's stream: that it belongs to this call is
    /// then a guess, and when the call ends first another has to be asked.
    pub(super) loose: Option<(Box<str>, Option<Raw>)>,
}

// === impl Link ===

impl Link {
    /// Takes a message from the server. `via` names the call on whose HTTP response stream it
    /// came; on a byte stream, and on streams of no call, there is none.
    pub fn received(&mut self, message: Message, via: Option<CallKey>) {
        match message {
            Message::Response(response) => self.response(response, via),
            Message::Request(request) => self.server_request(request, via),
            Message::Notification(notification) => self.notification(notification, via),
        }
    }

    fn response(&mut self, response: Response, via: Option<CallKey>) {
        let id = match response.id {
            Some(Id::Int(id)) => id,
            Some(id @ Id::Str(_)) => return self.stray(StrayKind::UnknownId { id: Some(id) }),
            None => {
                return match (response.body, via) {
                    (Err(error), Some(call)) if self.calls.contains_key(&call) => {
                        self.finish_call(call, Err(error))
                    }
                    (Err(error), _) => self.refused_unread(error),
                    (Ok(_), _) => self.stray(StrayKind::UnknownId { id: None }),
                };
            }
        };
        match self.pending.get(&id) {
            Some(Pending::Call(call)) => {
                let key = call.key;
                self.finish_call(key, response.body);
            }
            Some(Pending::Discover) => {
                // An error needs the entry to tell which probe it answers.
                if response.body.is_ok() {
                    self.pending.remove(&id);
                }
                self.discovered(response.body);
            }
            Some(Pending::Initialize) => {
                self.pending.remove(&id);
                self.initialized(response.body);
            }
            Some(Pending::Listen) => {
                self.pending.remove(&id);
                self.listen_answered(id, response.body);
            }
            None => self.late_response(id),
        }
    }

    fn late_response(&mut self, id: i64) {
        let used = id >= 1 && id < self.next_id;
        let cancelled = self.cancelled.contains(&id);
        let id = Id::Int(id);
        self.stray(match (used, cancelled) {
            (true, true) => StrayKind::AfterCancel { id },
            (true, false) => StrayKind::AnsweredTwice { id },
            (false, _) => StrayKind::UnknownId { id: Some(id) },
        });
    }

    fn server_request(&mut self, request: Request, via: Option<CallKey>) {
        if &*request.method == "ping" && !(self.is_modern() && self.config.http) {
            return self.send(Message::response(request.id, Ok(Raw::empty_object())), None);
        }
        let Some(revision) = self.revision() else {
            let refusal = "the handshake is not done";
            return self.refuse(request, refusal);
        };
        if revision.is_modern() {
            return self.refuse(request, "this revision has no requests from the server");
        }
        let url_mode = elicit_mode(request.params.as_ref()) == ElicitMode::Url;
        if !self.config.offered.allows(&request.method, url_mode) {
            return self.refuse(request, "the client did not offer this");
        }
        if self.asks.len() >= MAX_ASKS {
            return self.refuse(request, "too many questions are open");
        }
        let related = related_task(request.params.as_ref());
        let call = self.asked_call(via, related.as_deref());
        let possible = call.is_some() || self.latest_calls().next().is_some();
        if !possible && &*request.method != "roots/list" && related.is_none() {
            return self.refuse(request, "no call is in flight that could have caused this");
        }
        let key = AskKey(self.next_ask);
        self.next_ask += 1;
        let Request { id, method, params } = request;
        let loose = (call.is_some() && via != call).then(|| (method.clone(), params.clone()));
        self.asks.insert(key, Ask { id, call, loose });
        self.effect(match call {
            Some(call) => Effect::Call(
                call,
                CallEvent::Ask {
                    key,
                    method,
                    params,
                },
            ),
            None => Effect::AskIdle {
                key,
                method,
                params,
            },
        });
    }

    /// Which call a question belongs to: the one whose stream it came on, the one that waits
    /// for the task it names, the only one, or the latest that is not being asked already. A
    /// task's question never goes to a call that merely runs beside it and ends before it.
    /// Over HTTP several clients may share the connection, so there a question that came on no
    /// call's stream is nobody's as far as the link can tell.
    fn asked_call(&self, via: Option<CallKey>, task_id: Option<&str>) -> Option<CallKey> {
        if let Some(via) = via.filter(|via| self.calls.contains_key(via)) {
            return Some(via);
        }
        if task_id.is_some() {
            let mut calls = self.latest_calls();
            let waits = calls.find(|call| call.task_id.as_deref() == task_id);
            return waits.map(|call| call.key);
        }
        if self.config.http {
            return None;
        }
        let being_asked = |key: CallKey| self.asks.values().any(|ask| ask.call == Some(key));
        let free = self.latest_calls().find(|call| !being_asked(call.key));
        free.or_else(|| self.latest_calls().next())
            .map(|call| call.key)
    }

    fn refuse(&mut self, request: Request, why: &str) {
        // Over HTTP a modern client has no way to answer.
        if !(self.is_modern() && self.config.http) {
            let error = ErrorObject::new(codes::METHOD_NOT_FOUND, why);
            self.send(Message::response(request.id, Err(error)), None);
        }
        self.stray(StrayKind::RefusedAsk {
            method: request.method,
        });
    }

    fn notification(&mut self, mut notification: Notification, via: Option<CallKey>) {
        if self.revision().is_none() && &*notification.method != "notifications/message" {
            return self.stray(StrayKind::TooEarly {
                method: notification.method,
            });
        }
        let mut params = notification.params_object();
        if self.is_stale(&params) {
            return self.stray(StrayKind::StaleSubscription {
                method: notification.method,
            });
        }
        // The id means something on this connection only.
        let listening = meta::remove(&mut params, meta::SUBSCRIPTION_ID);
        if listening.is_some() {
            notification.params = Some(params.to_raw());
        }
        let raw = || {
            notification
                .params
                .clone()
                .unwrap_or_else(Raw::empty_object)
        };
        match &*notification.method {
            "notifications/progress" => self.progress(params),
            "notifications/message" => match self.logging_call(via) {
                Some(call) => self.effect(Effect::Call(call, CallEvent::Log(raw()))),
                None => self.effect(Effect::Unattributed { notification }),
            },
            "notifications/cancelled" => self.server_cancelled(&params),
            "notifications/tools/list_changed" => self.effect(Effect::ListChanged(ListKind::Tools)),
            "notifications/resources/list_changed" => {
                self.effect(Effect::ListChanged(ListKind::Resources))
            }
            "notifications/prompts/list_changed" => {
                self.effect(Effect::ListChanged(ListKind::Prompts))
            }
            "notifications/resources/updated" => match params.get("uri").and_then(Raw::to_str) {
                Some(uri) => self.effect(Effect::ResourceUpdated { uri: uri.into() }),
                None => self.stray(StrayKind::Garbage {
                    problem: "resources/updated without a uri".into(),
                }),
            },
            "notifications/tasks/status" | "notifications/tasks" => {
                self.effect(Effect::TaskStatus(raw()))
            }
            "notifications/elicitation/complete" => self.effect(Effect::ElicitationComplete(raw())),
            "notifications/subscriptions/acknowledged" => {
                self.listen_acknowledged(listening.as_ref(), &params)
            }
            _ => self.effect(Effect::Unattributed { notification }),
        }
    }

    fn progress(&mut self, params: Object) {
        let (token, rest) = split_progress(params);
        let call = token
            .and_then(|id| self.call_by_id(id))
            .filter(|call| call.want_progress);
        match call.map(|call| call.key) {
            Some(key) => self.effect(Effect::Call(key, CallEvent::Progress(rest))),
            None => self.stray(StrayKind::UnknownProgress),
        }
    }

    /// Whose log message it is: of the call on whose stream it came, or on a byte stream of the
    /// only call in flight that wants any.
    fn logging_call(&self, via: Option<CallKey>) -> Option<CallKey> {
        if let Some(via) = via {
            return self.calls.contains_key(&via).then_some(via);
        }
        if self.config.http {
            return None;
        }
        let mut calls = self.latest_calls().filter(|call| call.wants_log);
        let only = calls.next()?;
        calls.next().is_none().then_some(only.key)
    }

    /// The server takes back a question of its own, or ends a subscription.
    fn server_cancelled(&mut self, params: &Object) {
        let Some(id) = params.get("requestId").and_then(Id::from_raw) else {
            return;
        };
        if self.is_modern() {
            if let Id::Int(id) = id {
                self.listen_cancelled(id);
            }
            return;
        }
        let found = self
            .asks
            .iter()
            .find(|(_, ask)| ask.id == id)
            .map(|(key, ask)| (*key, ask.call));
        if let Some((key, call)) = found {
            self.asks.remove(&key);
            self.effect(Effect::AskWithdrawn { key, call });
        }
    }
}

fn related_task(params: Option<&Raw>) -> Option<Box<str>> {
    let task = params?
        .get(meta::META)?
        .get(meta::RELATED_TASK)?
        .get("taskId")?;
    task.to_str().map(Into::into)
}
