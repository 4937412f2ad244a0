//! A scripted client.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use legation_gate::{Ask, Peer};
use legation_wire::caps::ClientCapabilities;
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

use super::{Answer, raw};

/// A client that answers from a table and notes what it hears.
pub(crate) struct FakePeer {
    pub(crate) name: String,
    pub(crate) revision: Revision,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) takes_input: bool,
    pub(crate) level: Option<&'static str>,
    /// Asked, it never answers.
    pub(crate) mute: AtomicBool,
    pub(crate) heard: Mutex<Vec<String>>,
    pub(crate) asked: Mutex<Vec<Ask>>,
}

impl std::fmt::Debug for FakePeer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl FakePeer {
    pub(crate) fn legacy(name: &str, capabilities: &str) -> Arc<Self> {
        Self::of(name, Revision::V2025_11_25, capabilities)
    }

    pub(crate) fn modern(name: &str, capabilities: &str) -> Arc<Self> {
        Self::of(name, Revision::V2026_07_28, capabilities)
    }

    fn of(name: &str, revision: Revision, capabilities: &str) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            revision,
            capabilities: ClientCapabilities::from_raw(&raw(capabilities), revision),
            takes_input: revision.is_modern(),
            level: Some("info"),
            mute: AtomicBool::new(false),
            heard: Mutex::default(),
            asked: Mutex::default(),
        })
    }

    /// The same client, who never answers.
    pub(crate) fn muted(self: Arc<Self>) -> Arc<Self> {
        self.mute.store(true, Ordering::SeqCst);
        self
    }

    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("a lock").clone()
    }
}

impl Peer for FakePeer {
    fn revision(&self) -> Revision {
        self.revision
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn client_info(&self) -> Option<Raw> {
        let info = Object::new().with("name", Raw::str(&self.name));
        Some(info.to_raw())
    }

    fn takes_input_required(&self) -> bool {
        self.takes_input
    }

    fn log_level(&self) -> Option<Box<str>> {
        self.level.map(Into::into)
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: Object) {
        let text = format!("progress {}", params.to_raw());
        self.heard.lock().expect("a lock").push(text);
    }

    fn log(&self, params: Raw) {
        self.heard
            .lock()
            .expect("a lock")
            .push(format!("log {params}"));
    }

    fn ask(&self, ask: Ask) -> BoxFuture<'static, Answer> {
        let method = ask.method.clone();
        self.asked.lock().expect("a lock").push(ask);
        let name = self.name.clone();
        let mute = self.mute.load(Ordering::SeqCst);
        Box::pin(async move {
            if mute {
                std::future::pending::<()>().await;
            }
            match &*method {
                "elicitation/create" => Ok(raw(&format!(
                    r#"{{"action":"accept","content":{{"name":"{name}"}}}}"#
                ))),
                "roots/list" => Ok(raw(r#"{"roots":[]}"#)),
                _ => Err(ErrorObject::new(codes::INTERNAL_ERROR, "no")),
            }
        })
    }
}
