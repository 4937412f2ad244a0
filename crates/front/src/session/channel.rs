//! Channels: what is said into a client's conversation without a call.
//!
//! One client takes such things, and only in the handshake era, over standard
//! input and output; what it would not understand is never sent to another. The
//! name it gives decides about nothing but this: whoever is told nothing here
//! finds the same with the tools.

use std::sync::{Arc, Weak};

use legation_gate::{Arrival, Delivery, Injection};
use legation_wire::json::{Object, Raw};
use legation_wire::message::Message;

use super::{Carrier, Session};
use crate::outbox::Weight;
use crate::outgoing::{Deliveries, Outgoing};

/// Clients that take what is said into a conversation, in small letters.
const CLIENTS: [&str; 2] = ["claude-code", "claude code"];
/// The experimental capability, and the method it is about.
const CAPABILITY: &str = "claude/channel";
const METHOD: &str = "notifications/claude/channel";
/// Past so much that waits for a sign of life, no more is said.
const WAITING_MAX: usize = 1024;

/// Something that is being written out to a client.
#[derive(Debug)]
struct Told {
    session: Weak<Session>,
    arrival: Arc<dyn Arrival>,
}

// === impl Told ===

impl Delivery for Told {
    fn written(self: Box<Self>) {
        let Some(session) = self.session.upgrade() else {
            return;
        };
        // Bounded: no more is said once so much waits, but for what is on its way already.
        session.lock().injected.push(self.arrival);
    }
}

// === impl Session ===

impl Session {
    /// A session whose bridge said that it registers a channel, or not.
    /// Whether its client is carried over from an earlier connection is known too.
    pub(crate) fn with_channel(mut self, wants: bool, again: bool) -> Self {
        self.wants_channel = wants && self.carrier == Carrier::Socket;
        self.again = again;
        self
    }

    /// Whether things are said into the conversation of its client.
    pub(crate) fn has_channel(&self) -> bool {
        self.wants_channel && self.host().is_some_and(|host| CLIENTS.contains(&&*host))
    }

    /// Says in the log what comes of a wish for a channel.
    pub(crate) fn log_channel(&self) {
        if !self.wants_channel {
            return;
        }
        let host = self.host().unwrap_or_default();
        if self.has_channel() {
            tracing::info!(host, "channel notifications: enabled");
        } else {
            tracing::info!(
                host,
                "channel notifications: disabled; the inbox is there as ever"
            );
        }
    }

    /// Adds to what the hub declares that it has a channel.
    pub(crate) fn declare_channel(&self, result: &Raw) -> Option<Raw> {
        let mut result = result.to_object().filter(|_| self.has_channel())?;
        let mut capabilities = result.get("capabilities")?.to_object()?;
        let experimental = capabilities.get("experimental").and_then(Raw::to_object);
        let experimental = experimental.unwrap_or_default();
        let experimental = experimental
            .with(CAPABILITY, Raw::empty_object())
            .with(super::permission::CAPABILITY, Raw::empty_object());
        capabilities.set("experimental", experimental.to_raw());
        result.set("capabilities", capabilities.to_raw());
        Some(result.to_raw())
    }

    /// Whether it may be told more: not too much waits for a sign of life.
    pub(super) fn has_room_for_news(&self) -> bool {
        self.general.has_room_for_news() && self.lock().injected.len() < WAITING_MAX
    }

    /// Says something into the conversation.
    pub(super) fn inject(self: &Arc<Self>, injection: &Injection) {
        let params = Object::new()
            .with("content", Raw::str(&injection.content))
            .with("meta", injection.meta.to_raw());
        let message = Message::notification(METHOD, Some(params.to_raw()));
        let mut deliveries = Deliveries::default();
        deliveries.add(Box::new(Told {
            session: Arc::downgrade(self),
            arrival: Arc::clone(&injection.arrival),
        }));
        let bytes = message.to_bytes();
        let message = Outgoing { bytes, deliveries };
        self.general.push(message, Weight::Droppable);
    }

    /// The client asked for something: it is alive, and what was written out to it
    /// before the request was read has arrived.
    pub(crate) fn is_alive(&self) {
        if !self.wants_channel {
            return;
        }
        let arrived = std::mem::take(&mut self.lock().injected);
        if !arrived.is_empty() {
            self.general.tell_of_room();
        }
        for arrival in arrived {
            arrival.arrived(&self.caller);
        }
    }

    /// The client's name as it gave it, in small letters.
    fn host(&self) -> Option<String> {
        let info = self.info()?;
        let name = info.get("name")?;
        let name = name.to_str()?;
        Some(name.to_lowercase())
    }
}
