//! One connection from the hub, as the client, to an upstream server, in either era.
//!
//! Sans-IO: the shell feeds what happened and carries out the [`Effect`]s. The machine owns
//! the ids it sends (integers, never used twice), so that whatever comes back can only belong
//! to the call it was sent for; what fits nothing is counted as stray and never delivered.
//!
//! A legacy server's own requests carry no hint of the call that caused them on a byte stream.
//! They go to the one call in flight, or to the latest that is not being asked already. That
//! is right only while all calls are of one client, so a link whose server is shared must
//! offer nothing; then such requests are refused at once.

mod calls;
mod handshake;
mod inbound;
mod listening;
mod types;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use self::calls::{Call, Said};
use self::inbound::Ask;
use self::listening::Listening;
pub use self::types::{
    AskKey, CallEvent, CallKey, CallRequest, Effect, EraChoice, LinkConfig, LinkError, ListKind,
    Ready, Step, StrayKind,
};
use crate::json::{Object, Raw};
use crate::message::{Id, Message, Notification, Request};
use crate::meta::EraMeta;
use crate::revision::Revision;

/// The state machine of one connection.
///
/// Calls on several processors change it in turn, so what a call only reads lies apart from what it writes, and what is kept of a
/// call is a pointer: whatever else moves to and fro with the lock.
#[derive(Debug)]
pub struct Link {
    config: Box<LinkConfig>,
    stage: Stage,
    next_id: i64,
    next_ask: u64,
    /// Requests without an answer, by id and so by age. Bounded by the shell's own calls.
    pending: BTreeMap<i64, Pending>,
    /// Ids of calls in flight.
    calls: BTreeMap<CallKey, i64>,
    /// Questions without an answer; see [`inbound::MAX_ASKS`].
    asks: BTreeMap<AskKey, Ask>,
    /// Subscriptions, oldest first: the acknowledged one, and its replacement on the way.
    listening: Vec<Listening>,
    /// Ids whose answers are not wanted any more; see [`calls::MAX_CANCELLED`].
    cancelled: VecDeque<i64>,
    /// What the last call told the server of its client; the revision never changes.
    said: Option<Box<Said>>,
    /// Not bounded: drained by the shell after every input.
    effects: VecDeque<Effect>,
}

/// How far the connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing sent yet. `legacy` is set once the probe has broken the server.
    Idle { legacy: bool },
    /// `server/discover` is under way. `retried` once the server has refused the revision and
    /// named it as supported.
    Probing { id: i64, retried: bool },
    /// `initialize` is under way.
    Initializing { id: i64 },
    /// Calls go through.
    Ready(Revision),
    /// Failed or closed.
    Over,
}

/// What an id stands for.
#[derive(Debug)]
enum Pending {
    Discover,
    Initialize,
    Call(Box<Call>),
    Listen,
}

// === impl Link ===

impl Link {
    /// A link that has not sent anything yet.
    pub fn new(config: LinkConfig) -> Self {
        Self {
            config: Box::new(config),
            stage: Stage::Idle { legacy: false },
            next_id: 1,
            next_ask: 1,
            pending: BTreeMap::new(),
            calls: BTreeMap::new(),
            asks: BTreeMap::new(),
            listening: Vec::new(),
            cancelled: VecDeque::new(),
            said: None,
            effects: VecDeque::new(),
        }
    }

    /// The next thing to do; `None` when there is nothing more until the next input.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// The revision in use, once the handshake is done.
    pub fn revision(&self) -> Option<Revision> {
        match self.stage {
            Stage::Ready(revision) => Some(revision),
            Stage::Idle { .. }
            | Stage::Probing { .. }
            | Stage::Initializing { .. }
            | Stage::Over => None,
        }
    }

    /// Calls in flight.
    pub fn calls_in_flight(&self) -> usize {
        self.calls.len()
    }

    /// Sends a notification of the client's. One that the server's revision does not have is
    /// left out: there is nobody to tell.
    pub fn notify(&mut self, method: &str, params: Option<Raw>) {
        let Some(revision) = self.revision() else {
            return;
        };
        let removed = matches!(
            method,
            "notifications/roots/list_changed" | "notifications/initialized"
        );
        // Over HTTP the modern era has no notifications from the client at all.
        if revision.is_modern() && (removed || self.config.http) {
            return;
        }
        self.send(Message::notification(method, params), None);
    }

    fn is_modern(&self) -> bool {
        self.revision().is_some_and(Revision::is_modern)
    }

    fn effect(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    fn stray(&mut self, kind: StrayKind) {
        self.effect(Effect::Stray(kind));
    }

    fn send(&mut self, message: Message, call: Option<CallKey>) {
        self.effect(Effect::Send { message, call });
    }

    /// Sends a request under a fresh id.
    fn request(&mut self, method: &str, params: Object, pending: Pending) -> i64 {
        let id = self.fresh_id();
        self.request_as(id, method.into(), params, pending);
        id
    }

    fn fresh_id(&mut self) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    fn request_as(&mut self, id: i64, method: Box<str>, params: Object, pending: Pending) {
        let call = match &pending {
            Pending::Call(call) => Some(call.key),
            Pending::Discover | Pending::Initialize | Pending::Listen => None,
        };
        self.pending.insert(id, pending);
        let params = (!params.is_empty()).then(|| params.to_raw());
        self.send(
            Message::Request(Request {
                id: Id::Int(id),
                method,
                params,
            }),
            call,
        );
    }

    /// Metadata for requests that the hub makes on its own behalf.
    fn own_era_meta(&self) -> EraMeta {
        EraMeta {
            protocol_version: Some(Revision::LATEST.to_raw()),
            client_capabilities: Some(self.config.offered.to_raw(Revision::LATEST)),
            client_info: Some(self.config.client_info.clone()),
            log_level: None,
        }
    }

    fn send_cancelled(&mut self, id: i64, reason: &str) {
        let mut params = Object::new().with("requestId", Raw::int(id));
        if !reason.is_empty() {
            params.set("reason", Raw::str(reason));
        }
        let notification = Notification {
            method: "notifications/cancelled".into(),
            params: Some(params.to_raw()),
        };
        self.send(Message::Notification(notification), None);
    }
}
