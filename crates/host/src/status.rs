//! How the servers are, for people.

use std::sync::Arc;

use legation_config::{SandboxEntry, ServerSpec};
use legation_core::{ServerName, Wall};
use legation_gate::ListKind;

use crate::instance::{Instance, Key, Phase};
use crate::server::Server;

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Connecting for the first time, or again.
    Starting,
    /// Ready to be called; of a server whose instances are started for their
    /// clients, that the last one that was started connected.
    Connected,
    /// Not reachable, for this reason; tried again from time to time.
    Failed(String),
    /// Waits for the user to sign in.
    NeedsAuth,
    /// Configured, and not started.
    Disabled,
    /// Not started, because the organisation's policy forbids it, for this reason.
    Filtered(String),
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
    pub spec: Arc<ServerSpec>,
    /// The revision it speaks, or spoke when it was last connected.
    pub revision: Option<legation_wire::revision::Revision>,
    /// `serverInfo` as it was last sent, as JSON text.
    pub server_info: Option<String>,
    /// How many tools are known of it.
    pub tools: usize,
    /// How many resources.
    pub resources: usize,
    /// How many resource templates.
    pub templates: usize,
    /// How many prompts.
    pub prompts: usize,
    /// How many skills.
    pub skills: usize,
    /// The child process of the instance the state is of.
    pub pid: Option<u32>,
    /// How many instances are connected.
    pub instances: usize,
    /// How many calls are under way.
    pub calls: usize,
    /// How often one had to be started again.
    pub restarts: u32,
    /// How many of its definitions nobody has agreed to.
    pub waiting: usize,
    /// The walls that it runs behind, where it is a program and has any.
    pub sandbox: Option<SandboxEntry>,
    /// Whether the hub can sign in at it.
    pub can_sign_in: bool,
    /// What is wrong with it although it works, the latest last.
    pub warnings: Vec<String>,
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
    /// A server's state now.
    pub(crate) fn of(server: &Server) -> Self {
        let running = server.all_running();
        Self::judge(server, worst(&running))
    }

    fn judge(server: &Server, worst: Option<&Instance>) -> Self {
        if let Some(reason) = &server.spec.filtered {
            return Self::Filtered(reason.to_string());
        }
        if server.spec.waits_for_token().is_some() && !server.spec.disabled {
            return Self::NeedsAuth;
        }
        match worst.map(Instance::phase) {
            _ if !server.enabled => Self::Disabled,
            Some(Phase::Starting) => Self::Starting,
            Some(Phase::Connected(_)) if server.waits_for_sign_in() => Self::NeedsAuth,
            Some(Phase::Connected(_)) => Self::Connected,
            Some(Phase::Failed(reason)) => Self::Failed(reason.to_string()),
            Some(Phase::NeedsAuth) => Self::NeedsAuth,
            Some(Phase::Stopped) | None => match server.failure() {
                Some(reason) => Self::Failed(reason),
                None if server.known.load().is_some() => Self::Connected,
                None => Self::Starting,
            },
        }
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Connected => "connected",
            Self::Failed(_) => "failed",
            Self::NeedsAuth => "needs-auth",
            Self::Disabled => "disabled",
            Self::Filtered(_) => "filtered",
        }
    }
}

// === impl ServerStatus ===

impl ServerStatus {
    /// A server's status now.
    pub(crate) fn of(server: &Server) -> Self {
        let running = server.all_running();
        let worst = worst(&running);
        let state = State::judge(server, worst);
        let known = server.known.load_full();
        let live = worst.and_then(Instance::live);
        let shown = live
            .as_ref()
            .map(|live| live.published.load_full())
            .or(known)
            .filter(|_| server.enabled);
        let count = |kind: ListKind| {
            let list = shown.as_ref().map(|shown| shown.definitions.list(kind));
            list.map_or(0, |list| list.items().len())
        };
        let about = shown.as_ref().map(|shown| &shown.definitions.about);
        Self {
            name: server.spec.name.clone(),
            title: server.spec.title().to_owned(),
            state,
            since: worst.map(Instance::since),
            spec: Arc::clone(&server.spec),
            revision: about.map(|about| about.revision),
            server_info: about
                .and_then(|about| about.server_info.as_ref().map(ToString::to_string)),
            tools: count(ListKind::Tools),
            resources: count(ListKind::Resources),
            templates: count(ListKind::Templates),
            prompts: count(ListKind::Prompts),
            skills: count(ListKind::Skills),
            pid: live.and_then(|live| live.pid),
            instances: running
                .iter()
                .filter_map(|instance| instance.live())
                .count(),
            calls: running.iter().map(|instance| instance.calls()).sum(),
            restarts: server.restarts(),
            waiting: shown.as_ref().map_or(0, |shown| shown.pinned.waiting()),
            sandbox: server.sandbox.clone(),
            can_sign_in: server.auth.is_some(),
            warnings: server.log.warnings(),
        }
    }

    /// What to do about it, where something is to be done.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let name = &self.name;
        match &self.state {
            State::Failed(_) => Some(format!("see `legation mcp show {name}`")),
            State::NeedsAuth => Some(hint_for(
                &self.spec,
                self.can_sign_in || self.spec.github.is_some(),
            )),
            State::Disabled => Some(format!("`legation mcp enable {name}` starts it")),
            State::Filtered(_) => Some("only the organisation can change its policy".to_owned()),
            State::Starting | State::Connected if self.waiting > 0 => Some(format!(
                "{} of its definitions are new or changed: `legation mcp review {name}`",
                self.waiting
            )),
            State::Starting | State::Connected => None,
        }
    }
}

/// What to do about a server that wants a sign-in.
pub(crate) fn sign_in_hint(server: &Server) -> String {
    hint_for(&server.spec, server.auth.is_some())
}

fn hint_for(spec: &ServerSpec, can_sign_in: bool) -> String {
    let name = &spec.name;
    if can_sign_in {
        format!("`legation mcp auth {name}`")
    } else if spec.transport.headers_helper().is_some() {
        format!(
            "it refuses the headers that its `headersHelper` prints; mend that, then `legation mcp reload {name}`"
        )
    } else {
        format!("put credentials into `headers` of {name}, then `legation mcp reload {name}`")
    }
}

/// Of many instances, one that fares badly says more than one that fares well;
/// the one that only learns says least.
fn worst(running: &[Arc<Instance>]) -> Option<&Instance> {
    let worst = running.iter().max_by_key(|instance| rank(instance));
    worst.map(|instance| &**instance)
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
                State::Disabled | State::Filtered(_) => continue,
                State::Connected => summary.connected += 1,
                State::Starting => summary.starting += 1,
                State::Failed(_) | State::NeedsAuth => summary.failed += 1,
            }
            summary.enabled += 1;
        }
        summary
    }
}
