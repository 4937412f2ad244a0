//! A Model Context Protocol server with everything the official conformance
//! suite asks of a server, in both protocol eras.
//!
//! It is written directly on JSON values rather than on an SDK: an SDK's typed
//! round trip would hide exactly the losses that the fidelity tests look for.
//! One tool has one behaviour; [`context::Context::ask`] makes it a live
//! request to a legacy client and an `input_required` answer to a modern one.

pub mod content;
pub mod context;
pub mod definitions;
pub mod dispatch;
pub mod headers;
pub mod http;
mod http_legacy;
mod http_modern;
pub mod listen;
pub mod rpc;
pub mod sdk;
pub mod seal;
pub mod session;
pub mod skills;
pub mod sse;
pub mod stdio;
pub mod tasks;
pub mod tools;

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use self::listen::{Change, Listeners};
use self::seal::Seal;
use self::session::Session;
use self::tasks::Tasks;

/// The newest legacy revision, answered to clients that ask for an unknown one.
pub const LATEST_LEGACY: &str = "2025-11-25";
/// The modern revision.
pub const MODERN: &str = "2026-07-28";
/// The legacy revisions that `initialize` accepts.
pub const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Which protocol eras the fixture speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Era {
    /// `initialize` and sessions only.
    Legacy,
    /// `server/discover` and per-request `_meta` only.
    Modern,
    /// Whatever the client begins with.
    Both,
}

/// What the process as a whole knows.
#[derive(Debug)]
pub struct Fixture {
    /// The eras it answers.
    pub era: Era,
    /// The name it gives itself.
    pub name: String,
    /// The features it declares; empty means all.
    pub features: Vec<String>,
    /// Integrity protection of `requestState`.
    pub seal: Seal,
    /// Tasks of both shapes.
    pub tasks: Tasks,
    /// Open `subscriptions/listen` streams.
    pub listeners: Listeners,
    /// What it reads and writes.
    pub files: Files,
    /// Counters that tests read through the tool `stats`.
    pub counters: Counters,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    extra_tool: AtomicBool,
    extra_prompt: AtomicBool,
}

/// The files of a fixture.
#[derive(Debug, Default)]
pub struct Files {
    /// Definitions of more tools, which answer like `echo`; read for every
    /// list, so that a test can change what a tool says of itself.
    pub script: Option<PathBuf>,
    /// Where tool calls are written down before anything is done about them:
    /// what a hub that is killed cannot make undone.
    pub journal: Option<PathBuf>,
}

/// How often something happened since the start.
#[derive(Debug, Default)]
pub struct Counters {
    /// Tool calls begun.
    pub calls: AtomicU64,
    /// Requests that were cancelled before they answered.
    pub cancelled: AtomicU64,
    /// When the first handshake was answered.
    pub shaken: OnceLock<Instant>,
    /// When the first tool call came.
    pub called: OnceLock<Instant>,
}

/// Locks a mutex whose holder cannot leave it half-written.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Era ===

impl Era {
    /// Whether `initialize` is answered.
    #[must_use]
    pub fn legacy(self) -> bool {
        self != Self::Modern
    }

    /// Whether `server/discover` is answered.
    #[must_use]
    pub fn modern(self) -> bool {
        self != Self::Legacy
    }
}

// === impl Counters ===

impl Counters {
    /// How long after the first handshake the first call came, once both have.
    #[must_use]
    pub fn first_call(&self) -> Option<Duration> {
        let called = self.called.get()?;
        Some(called.saturating_duration_since(*self.shaken.get()?))
    }
}

// === impl Fixture ===

impl Fixture {
    /// A fixture with empty state.
    #[must_use]
    pub fn new(era: Era, name: String, features: Vec<String>, files: Files) -> Arc<Self> {
        Arc::new(Self {
            era,
            name,
            features,
            files,
            seal: Seal::new(),
            tasks: Tasks::default(),
            listeners: Listeners::default(),
            counters: Counters::default(),
            sessions: Mutex::default(),
            extra_tool: AtomicBool::new(false),
            extra_prompt: AtomicBool::new(false),
        })
    }

    /// Whether a feature (`tools`, `resources`, `tasks`, …) is declared.
    #[must_use]
    pub fn has(&self, feature: &str) -> bool {
        self.features.is_empty() || self.features.iter().any(|name| name == feature)
    }

    /// The definitions of the script.
    #[must_use]
    pub fn scripted(&self) -> Vec<Value> {
        let read = |path: &PathBuf| std::fs::read(path).ok();
        let text = self
            .files
            .script
            .as_ref()
            .and_then(read)
            .unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// What lies beside the script for `read_note`, which nothing that was sent
    /// to the fixture can be.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        self.beside("note")
    }

    /// The text of the file beside the script that has this extension.
    #[must_use]
    pub fn beside(&self, extension: &str) -> Option<String> {
        std::fs::read_to_string(self.files.script.as_ref()?.with_extension(extension)).ok()
    }

    /// Writes a tool call down: its name, a space, its arguments.
    ///
    /// # Errors
    /// The file's.
    pub fn write_down(&self, name: &str, arguments: &Value) -> std::io::Result<()> {
        let Some(journal) = &self.files.journal else {
            return Ok(());
        };
        let mut file = OpenOptions::new().create(true).append(true).open(journal)?;
        file.write_all(format!("{name} {arguments}\n").as_bytes())
    }

    /// Whether the tool that `test_trigger_tool_change` toggles is listed.
    #[must_use]
    pub fn extra_tool(&self) -> bool {
        self.extra_tool.load(Ordering::Relaxed)
    }

    /// Whether the prompt that `test_trigger_prompt_change` toggles is listed.
    #[must_use]
    pub fn extra_prompt(&self) -> bool {
        self.extra_prompt.load(Ordering::Relaxed)
    }

    /// Toggles the extra tool or prompt and tells whoever listens.
    pub async fn toggle(&self, change: Change) {
        let flag = match change {
            Change::Prompts => &self.extra_prompt,
            Change::Tools | Change::Resources | Change::Resource(_) => &self.extra_tool,
        };
        flag.fetch_xor(true, Ordering::Relaxed);
        self.announce(change).await;
    }

    /// Tells every session and every listener that wants to know.
    pub async fn announce(&self, change: Change) {
        let sessions: Vec<_> = lock(&self.sessions).values().cloned().collect();
        for session in sessions {
            session.announce(&change).await;
        }
        self.listeners.announce(&change).await;
    }

    /// Makes a session reachable for announcements and, over HTTP, by its id.
    pub fn session_insert(&self, session: &Arc<Session>) {
        lock(&self.sessions).insert(session.id.clone(), Arc::clone(session));
    }

    /// The session of an `Mcp-Session-Id`.
    #[must_use]
    pub fn session(&self, id: &str) -> Option<Arc<Session>> {
        lock(&self.sessions).get(id).cloned()
    }

    /// Forgets a session; whether there was one.
    pub fn session_remove(&self, id: &str) -> bool {
        lock(&self.sessions).remove(id).is_some()
    }

    /// How many sessions are open.
    #[must_use]
    pub fn session_count(&self) -> usize {
        lock(&self.sessions).len()
    }
}
