//! How the servers are, for people.

use legation_config::ServerSpec;
use legation_core::{ServerName, Wall};
use legation_gate::ListKind;

use crate::instance::{Instance, Key, Phase};
use crate::server::Server;

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Connecting for the first time, or again.
    Starting,
    /// Ready to be called.
    Connected,
    /// Not reachable, for this reason; tried again from time to time.
    Failed(String),
    /// Waits for the user to sign in.
    NeedsAuth,
    /// Configured, and not started.
    Disabled,
    /// Started when a client needs it; nothing is wrong.
    Waiting,
}

/// One server, as it is now.
#[derive(Debug, Clone)]
pub struct ServerStatus {
    /// Its name.
    pub name: ServerName,
    /// What people read.
    pub title: String,
    /// How it is.
    pub state: State,
    /// Since when.
    pub since: Option<Wall>,
    /// Its configuration.
    pub spec: ServerSpec,
    /// The revision it speaks, or spoke when it was last connected.
    pub revision: Option<legation_wire::revision::Revision>,
    /// `serverInfo` as it was last sent, as JSON text.
    pub server_info: Option<String>,
    /// How many tools are known of it.
    pub tools: usize,
    /// How many resources and resource templates.
    pub resources: usize,
    /// How many prompts.
    pub prompts: usize,
    /// The child process of the instance the state is of.
    pub pid: Option<u32>,
    /// How many instances run.
    pub instances: usize,
    /// How often one had to be started again.
    pub restarts: u32,
}

/// How many servers are how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Enabled servers.
    pub enabled: usize,
    /// Those that can be called, or would be started for a call.
    pub connected: usize,
    /// Those still connecting.
    pub starting: usize,
    /// Those that failed or want a sign-in.
    pub failed: usize,
}

// === impl State ===

impl State {
    /// The word for it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Connected => "connected",
            Self::Failed(_) => "failed",
            Self::NeedsAuth => "needs-auth",
            Self::Disabled => "disabled",
            Self::Waiting => "waiting",
        }
    }
}

// === impl ServerStatus ===

impl ServerStatus {
    /// A server's status now.
    pub(crate) fn of(server: &Server) -> Self {
        let running = server.all_running();
        // Of many instances, one that fares badly says more than one that
        // fares well; the one that only learns says least.
        let worst = running.iter().max_by_key(|instance| rank(instance));
        let known = server.known.load_full();
        let state = match worst.map(|instance| instance.phase()) {
            _ if !server.enabled => State::Disabled,
            Some(Phase::Starting) => State::Starting,
            Some(Phase::Connected(_)) => State::Connected,
            Some(Phase::Failed(reason)) => State::Failed(reason.to_string()),
            Some(Phase::NeedsAuth) => State::NeedsAuth,
            Some(Phase::Stopped) | None => match server.failure() {
                Some(reason) if known.is_none() => State::Failed(reason),
                _ => State::Waiting,
            },
        };
        let live = worst.and_then(|instance| instance.live());
        let shown = live
            .as_ref()
            .map(|live| live.published.load_full())
            .or(known);
        let count = |kind: ListKind| {
            let list = shown.as_ref().map(|shown| shown.definitions.list(kind));
            list.map_or(0, |list| list.items().len())
        };
        let about = shown.as_ref().map(|shown| &shown.definitions.about);
        Self {
            name: server.spec.name.clone(),
            title: server.spec.title().to_owned(),
            state,
            since: worst.map(|instance| instance.since()),
            spec: (*server.spec).clone(),
            revision: about.map(|about| about.revision),
            server_info: about
                .and_then(|about| about.server_info.as_ref().map(ToString::to_string)),
            tools: count(ListKind::Tools),
            resources: count(ListKind::Resources) + count(ListKind::Templates),
            prompts: count(ListKind::Prompts),
            pid: live.and_then(|live| live.pid),
            instances: running.len(),
            restarts: server.restarts(),
        }
    }

    /// What to do about it, where something is to be done.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let name = &self.name;
        match &self.state {
            State::Failed(_) => Some(format!("see `legation mcp show {name}`")),
            State::NeedsAuth => Some(format!(
                "put credentials into `headers` of {name}, then `legation mcp reload {name}`"
            )),
            State::Disabled => Some(format!("`legation mcp enable {name}` starts it")),
            State::Starting | State::Connected | State::Waiting => None,
        }
    }
}

fn rank(instance: &Instance) -> (bool, u8) {
    let badness = match instance.phase() {
        Phase::Stopped => 0,
        Phase::Connected(_) => 1,
        Phase::Starting => 2,
        Phase::NeedsAuth => 3,
        Phase::Failed(_) => 4,
    };
    (instance.key != Key::Probe, badness)
}

// === impl Summary ===

impl Summary {
    /// Counts states.
    pub(crate) fn of<'a>(states: impl Iterator<Item = &'a State>) -> Self {
        let mut summary = Self::default();
        for state in states {
            match state {
                State::Disabled => continue,
                State::Connected | State::Waiting => summary.connected += 1,
                State::Starting => summary.starting += 1,
                State::Failed(_) | State::NeedsAuth => summary.failed += 1,
            }
            summary.enabled += 1;
        }
        summary
    }
}
