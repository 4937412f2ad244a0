//! What the bridge must remember to carry its client across a restart of the
//! hub. Sans-IO: lines in, lines to send out.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::envelope::{Envelope, Kind, error_line, id_key, quoted};

/// Ids of the bridge's own requests start with this; no answer to one reaches
/// the client.
const OWN: &str = "legation-bridge-";
/// The hub is gone, the call has no answer (see the wire's error codes).
const HUB_STOPPED: i64 = -31003;
const METHOD_NOT_FOUND: i64 = -32601;
const LISTEN: &str = "subscriptions/listen";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// What to do with a line of the client's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FromClient {
    /// To the hub.
    Forward,
    /// Straight back to the client.
    Answer(String),
}

/// The state of the conversation, as far as it has to be redone.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    channel: bool,
    initialize: Option<String>,
    initialized: Option<String>,
    set_level: Option<String>,
    /// `resources/subscribe` params by URI.
    subscribed: BTreeMap<String, String>,
    /// Open listeners: the whole request by id.
    listeners: BTreeMap<String, Listener>,
    /// Requests of the client's without an answer: the id as it was written.
    in_flight: BTreeMap<String, String>,
    own_ids: u64,
}

#[derive(Debug)]
struct Listener {
    line: String,
    id: String,
    filter: String,
    /// A repeated acknowledgement is the bridge's business, not the client's.
    swallow_ack: bool,
}

// === impl Memory ===

impl Memory {
    pub(crate) fn new(channel: bool) -> Self {
        Self {
            channel,
            ..Self::default()
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Notes a line of the client's.
    pub(crate) fn note_client(&mut self, line: &str) -> FromClient {
        let Some(envelope) = Envelope::read(line) else {
            return FromClient::Forward;
        };
        match (envelope.kind(), envelope.method.as_deref(), envelope.id) {
            (Kind::Request, Some("server/discover"), Some(id)) if self.channel => {
                return FromClient::Answer(error_line(
                    id.get(),
                    METHOD_NOT_FOUND,
                    "Method not found",
                    "a channel needs the handshake of 2025-11-25",
                ));
            }
            (Kind::Request, Some(method), Some(id)) => {
                self.request(line, method, id, envelope.params);
            }
            (Kind::Notification, Some("notifications/initialized"), _) => {
                self.initialized = Some(line.to_owned());
            }
            (Kind::Notification, Some("notifications/cancelled"), _) => {
                if let Some(id) = envelope.params.and_then(cancelled_id) {
                    self.in_flight.remove(&id);
                    self.listeners.remove(&id);
                }
            }
            _ => {}
        }
        FromClient::Forward
    }

    fn request(&mut self, line: &str, method: &str, id: &RawValue, params: Option<&RawValue>) {
        let key = id_key(id);
        match method {
            "initialize" => self.initialize = Some(line.to_owned()),
            "logging/setLevel" => self.set_level = params.map(|p| p.get().to_owned()),
            "resources/subscribe" | "resources/unsubscribe" => {
                if let (Some(uri), Some(params)) = (params.and_then(uri_of), params) {
                    if method == "resources/subscribe" {
                        self.subscribed.insert(uri, params.get().to_owned());
                    } else {
                        self.subscribed.remove(&uri);
                    }
                }
            }
            LISTEN => {
                let listener = Listener {
                    line: line.to_owned(),
                    id: id.get().to_owned(),
                    filter: params.map(|p| p.get().to_owned()).unwrap_or_default(),
                    swallow_ack: false,
                };
                self.listeners.insert(key, listener);
                return;
            }
            _ => {}
        }
        self.in_flight.insert(key, id.get().to_owned());
    }

    /// Notes a line of the hub's; `false` when the client must not see it.
    pub(crate) fn note_hub(&mut self, line: &str) -> bool {
        let Some(envelope) = Envelope::read(line) else {
            return true;
        };
        match envelope.kind() {
            Kind::Response => {
                let Some(id) = envelope.id else { return true };
                if serde_json::from_str::<String>(id.get()).is_ok_and(|id| id.starts_with(OWN)) {
                    return false;
                }
                if envelope.result.is_some() || envelope.error.is_some() {
                    let key = id_key(id);
                    self.in_flight.remove(&key);
                    self.listeners.remove(&key);
                }
                true
            }
            Kind::Notification if envelope.method.as_deref() == Some(ACKNOWLEDGED) => {
                let key = envelope.params.and_then(subscription_id);
                match key.and_then(|key| self.listeners.get_mut(&key)) {
                    Some(listener) => !std::mem::take(&mut listener.swallow_ack),
                    None => true,
                }
            }
            Kind::Notification | Kind::Request => true,
        }
    }

    /// The hub is gone: an error line for every call in flight.
    pub(crate) fn lost(&mut self) -> Vec<String> {
        std::mem::take(&mut self.in_flight)
            .into_values()
            .map(|id| {
                error_line(
                    &id,
                    HUB_STOPPED,
                    "the hub stopped while this call was under way; whether it took effect is not known",
                    "the bridge reconnects by itself; see `legation audit tail` for what was done",
                )
            })
            .collect()
    }

    /// The hub cannot be reached: the error for one line of the client's, if it
    /// asks for an answer.
    pub(crate) fn unreachable(&mut self, line: &str, message: &str, hint: &str) -> Option<String> {
        let envelope = Envelope::read(line)?;
        let id = (envelope.kind() == Kind::Request).then_some(envelope.id)??;
        let key = id_key(id);
        self.in_flight.remove(&key);
        self.listeners.remove(&key);
        if envelope.method.as_deref() == Some("initialize") {
            self.initialize = None;
        }
        Some(error_line(id.get(), HUB_STOPPED, message, hint))
    }

    /// The lines that put a new hub where the old one was.
    pub(crate) fn redo(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(line) = self.initialize.clone() {
            // A handshake the client still waits for is sent as it was.
            let answered = Envelope::read(&line)
                .and_then(|envelope| envelope.id.map(id_key))
                .is_none_or(|key| !self.in_flight.contains_key(&key));
            if answered {
                lines.push(self.with_own_id(&line));
            }
        }
        lines.extend(self.initialized.clone());
        if let Some(params) = self.set_level.clone() {
            lines.push(self.own_request("logging/setLevel", &params));
        }
        for params in self.subscribed.values().cloned().collect::<Vec<_>>() {
            lines.push(self.own_request("resources/subscribe", &params));
        }
        for listener in self.listeners.values_mut() {
            listener.swallow_ack = true;
            lines.push(listener.line.clone());
        }
        lines
    }

    /// What the client is told once a new hub is in place: its lists may read
    /// differently. Only what it has asked to hear.
    pub(crate) fn news(&self) -> Vec<String> {
        const KINDS: [(&str, &str); 3] = [
            ("toolsListChanged", "notifications/tools/list_changed"),
            ("promptsListChanged", "notifications/prompts/list_changed"),
            (
                "resourcesListChanged",
                "notifications/resources/list_changed",
            ),
        ];
        let mut lines = Vec::new();
        for (wish, method) in KINDS {
            if self.initialized.is_some() {
                lines.push(format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#));
            }
            for listener in self.listeners.values() {
                let wanted = serde_json::from_str::<serde_json::Value>(&listener.filter)
                    .is_ok_and(|filter| filter["notifications"][wish] == true);
                if wanted {
                    lines.push(format!(
                        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}}}"#,
                        listener.id
                    ));
                }
            }
        }
        lines
    }

    fn own_id(&mut self) -> String {
        self.own_ids += 1;
        quoted(&format!("{OWN}{}", self.own_ids))
    }

    fn own_request(&mut self, method: &str, params: &str) -> String {
        let id = self.own_id();
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
    }

    fn with_own_id(&mut self, line: &str) -> String {
        let params = Envelope::read(line)
            .and_then(|envelope| envelope.params.map(|p| p.get().to_owned()))
            .unwrap_or_else(|| "{}".to_owned());
        self.own_request("initialize", &params)
    }
}

fn cancelled_id(params: &RawValue) -> Option<String> {
    let value: BTreeMap<String, &RawValue> = serde_json::from_str(params.get()).ok()?;
    value.get("requestId").map(|id| id_key(id))
}

fn uri_of(params: &RawValue) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(params.get()).ok()?;
    value.get("uri")?.as_str().map(str::to_owned)
}

fn subscription_id(params: &RawValue) -> Option<String> {
    let value: BTreeMap<String, &RawValue> = serde_json::from_str(params.get()).ok()?;
    let meta: BTreeMap<String, &RawValue> = serde_json::from_str(value.get("_meta")?.get()).ok()?;
    meta.get("io.modelcontextprotocol/subscriptionId")
        .map(|id| id_key(id))
}

#[cfg(test)]
mod tests;
