//! One subscription as it stands.

use std::sync::{Mutex, MutexGuard, PoisonError};

use legation_core::{Caller, ClientId, Principal, SeatId, Via, Wall};
use legation_wire::json::{Object, Raw};
use tokio::sync::Notify;

use super::receiver::Receiver;
use super::sign::WebhookSecret;
use crate::Reason;
use crate::ask::Filter;
use crate::cursor::Position;

/// How long the secret before the present one signs too.
const BOTH_MS: i64 = 10 * 60 * 1000;
/// After so many events that could not be delivered, one after the other, nothing
/// is sent until the client subscribes anew.
const GIVEN_UP_MAX: u32 = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct Hook {
    /// Made from all that makes it this subscription; it grants nothing.
    pub(crate) id: Box<str>,
    pub(crate) client: ClientId,
    pub(crate) filter: Filter,
    pub(crate) receiver: Receiver,
    /// Its worker looks again.
    pub(crate) changed: Notify,
    /// Held by whoever writes its row.
    pub(crate) saving: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

/// What changes.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) secret: WebhookSecret,
    /// The secret before, and until when it signs.
    pub(crate) previous: Option<(WebhookSecret, i64)>,
    /// Everything up to here arrived or was given up.
    pub(crate) position: Position,
    /// Milliseconds since 1970; `None` without an end.
    pub(crate) expires_ms: Option<i64>,
    /// Whether it sends.
    pub(crate) active: bool,
    /// Events given up, one after the other.
    pub(crate) given_up: u32,
    /// Its worker has to begin at its position anew.
    pub(crate) is_rewound: bool,
    /// Something was left out that the receiver has not heard of.
    pub(crate) owes_gap: bool,
    pub(crate) last_delivery_ms: Option<i64>,
    pub(crate) last_error: Option<Reason>,
    pub(crate) failed_since_ms: Option<i64>,
    /// Nothing is done for it any more.
    pub(crate) ended: bool,
}

/// A subscription as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub client: String,
    /// Which events.
    pub name: String,
    /// Which of them, as JSON.
    pub arguments: String,
    /// Scheme, host and port of the receiver.
    pub receiver: String,
    /// `active`, `failing`, `inactive` or `lapsed`.
    pub state: &'static str,
    /// When it lapses.
    pub expires: Option<Wall>,
    /// When its receiver last took something.
    pub last_delivery: Option<Wall>,
    /// What was wrong last.
    pub last_error: Option<&'static str>,
    /// Since when nothing arrives.
    pub failed_since: Option<Wall>,
}

// === impl Hook ===

impl Hook {
    pub(crate) fn new(
        id: Box<str>,
        client: ClientId,
        filter: Filter,
        receiver: Receiver,
        state: State,
    ) -> Self {
        Self {
            id,
            client,
            filter,
            receiver,
            changed: Notify::new(),
            saving: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
        }
    }

    /// As whom it is told: its client, wherever that is.
    pub(crate) fn who(&self) -> Caller {
        Caller {
            principal: Principal {
                client: self.client.clone(),
                via: Via::Http,
            },
            seat: SeatId::new(""),
            workspace: None,
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The signatures of a message: with both secrets for a while after a change.
    pub(crate) fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let state = self.lock();
        let mut signatures = state.secret.sign(id, timestamp, body);
        if let Some((previous, until)) = &state.previous
            && timestamp.saturating_mul(1000) < *until
        {
            signatures.push(' ');
            signatures.push_str(&previous.sign(id, timestamp, body));
        }
        signatures
    }

    /// Nothing is done for it from here on; whether something was.
    pub(crate) fn end(&self) -> bool {
        let was = !std::mem::replace(&mut self.lock().ended, true);
        self.changed.notify_one();
        was
    }

    pub(crate) fn listed(&self, now: Wall) -> Listed {
        let state = self.lock();
        Listed {
            id: self.id.to_string(),
            client: self.client.as_str().to_owned(),
            name: self.filter.topic.as_str().to_owned(),
            arguments: self.filter.canonical(),
            receiver: self.receiver.origin(),
            state: match &*state {
                state if state.is_over(now) => "lapsed",
                state if !state.active => "inactive",
                state if state.failed_since_ms.is_some() => "failing",
                _ => "active",
            },
            expires: state.expires_ms.map(Wall),
            last_delivery: state.last_delivery_ms.map(Wall),
            last_error: state.last_error.map(Reason::as_str),
            failed_since: state.failed_since_ms.map(Wall),
        }
    }
}

// === impl State ===

impl State {
    /// Whether its time is over.
    pub(crate) fn is_over(&self, now: Wall) -> bool {
        self.ended || self.expires_ms.is_some_and(|expires| expires <= now.0)
    }

    /// Takes a secret in place of the present one.
    pub(crate) fn set_secret(&mut self, secret: WebhookSecret, now: Wall) {
        if secret != self.secret {
            let before = std::mem::replace(&mut self.secret, secret);
            self.previous = Some((before, now.0.saturating_add(BOTH_MS)));
        }
    }

    /// Notes that the receiver took something.
    pub(crate) fn delivered(&mut self, now: Wall) {
        self.last_delivery_ms = Some(now.0);
        self.last_error = None;
        self.failed_since_ms = None;
        self.given_up = 0;
    }

    /// Notes an attempt that failed.
    pub(crate) fn failed(&mut self, reason: Reason, now: Wall) {
        self.last_error = Some(reason);
        self.failed_since_ms.get_or_insert(now.0);
    }

    /// Notes that an event is not tried again.
    pub(crate) fn gave_up(&mut self) {
        self.owes_gap = true;
        self.given_up = self.given_up.saturating_add(1);
        if self.given_up >= GIVEN_UP_MAX {
            self.active = false;
        }
    }

    /// `deliveryStatus` of a refresh.
    pub(crate) fn status(&self) -> Raw {
        let time =
            |ms: Option<i64>| ms.map_or_else(Raw::null, |ms| Raw::str(&Wall(ms).to_string()));
        let error = self.last_error.map(Reason::as_str);
        let mut status = Object::new()
            .with("active", Raw::bool(self.active))
            .with("lastDeliveryAt", time(self.last_delivery_ms))
            .with("lastError", error.map_or_else(Raw::null, Raw::str));
        if self.failed_since_ms.is_some() {
            status.set("failedSince", time(self.failed_since_ms));
        }
        status.to_raw()
    }
}
