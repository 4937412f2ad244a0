//! Notes what happens in the hub, for as long as it runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use legation_config::ServerSpec;
use legation_core::{TaskSet, Wall};
use legation_gate::HubEvent;
use legation_gate::approval::State;
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;

use super::EventLog;
use crate::serve::hub::Inner;
use crate::serve::moves::{Heard, Moves};

/// `session.mcp_servers_loaded`.
#[derive(Debug, Serialize)]
struct Loaded {
    servers: Vec<LoadedServer>,
}

#[derive(Debug, Serialize)]
struct LoadedServer {
    name: String,
    status: &'static str,
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// `session.mcp_server_status_changed`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusChanged<'a> {
    server_name: &'a str,
    status: &'static str,
}

/// `session.mcp_list_changed`: what a server offers is otherwise, or waits to be reviewed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListChanged<'a> {
    server_name: &'a str,
}

/// `approval.requested` and `approval.answered`.
#[derive(Debug, Serialize)]
struct ApprovalMoved<'a> {
    id: &'a str,
    state: &'static str,
    at: String,
}

/// `inbox.received`: places of messages, and nothing of them.
#[derive(Debug, Serialize)]
struct Received {
    from: u64,
    to: u64,
}

/// What was last said of servers.
#[derive(Debug, Default)]
struct Servers {
    said: BTreeMap<Box<str>, &'static str>,
    /// Whether some have not been heard of since they were started.
    loading: bool,
}

/// Begins to note.
pub(crate) fn run(tasks: &TaskSet, inner: &Arc<Inner>) {
    let log = Arc::clone(&inner.happened);
    inner.gate.set_watcher(Arc::clone(&log) as _);
    let waiting = Arc::clone(&inner.gate.asking().approvals);
    let mut approvals = waiting.events();
    let mut moves = Moves::begin(&*waiting);
    let mut events = inner.gate.servers().events();
    let mut announced = inner.inbox.announced();
    let mut told = *announced.borrow_and_update();
    let inner = Arc::clone(inner);
    tasks.spawn("events of the hub", async move {
        let mut servers = Servers {
            loading: true,
            ..Servers::default()
        };
        servers.look(&inner, &log);
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Ok(HubEvent::StatusChanged { .. }) => servers.look(&inner, &log),
                    Ok(HubEvent::ListChanged { server, .. }) => {
                        servers.look(&inner, &log);
                        let server_name = server.as_str();
                        log.note("session.mcp_list_changed", &ListChanged { server_name });
                    }
                    Err(RecvError::Lagged(missed)) => {
                        // How servers stand can be looked up; which tasks changed cannot.
                        log.note_gap("servers and tasks moved on faster than they were told", missed);
                        servers.look(&inner, &log);
                    }
                    Ok(event) => task(&log, &event),
                    Err(RecvError::Closed) => return,
                },
                event = approvals.recv() => match moves.next(event, &*waiting) {
                    Some(heard) => tell(&log, &heard, inner.clock.wall()),
                    None => return,
                },
                changed = announced.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let newest = *announced.borrow_and_update();
                    if newest > told {
                        log.note("inbox.received", &Received { from: told + 1, to: newest });
                        told = newest;
                    }
                }
            }
        }
    });
}

fn task(log: &EventLog, event: &HubEvent) {
    if let HubEvent::TaskChanged { task, .. } = event {
        log.note("task.changed", &Task::of(task));
    }
}

/// `task.changed`: which, and how it stands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    task_id: String,
    status: String,
}

impl Task {
    fn of(task: &legation_wire::json::Object) -> Self {
        let text = |member| {
            let raw = task.get(member);
            raw.and_then(|raw| raw.to_str().map(|text| text.into_owned()))
        };
        Self {
            task_id: text("taskId").unwrap_or_default(),
            status: text("status").unwrap_or_default(),
        }
    }
}

/// Says how approvals moved on. Whoever missed some of it is told that first, and reads again.
fn tell(log: &EventLog, heard: &Heard, at: Wall) {
    if heard.missed > 0 {
        log.note_gap(
            "approvals moved on faster than they were told",
            heard.missed,
        );
    }
    for one in &heard.moves {
        let name = match one.state {
            Some(State::Pending) => "approval.requested",
            Some(State::Granted | State::Denied) | None => "approval.answered",
        };
        let moved = ApprovalMoved {
            id: one.id.as_str(),
            state: one.as_str(),
            at: at.to_string(),
        };
        log.note(name, &moved);
    }
}

// === impl Servers ===

impl Servers {
    /// Says what is new, and once nobody is starting any more how all of them are.
    fn look(&mut self, inner: &Inner, log: &EventLog) {
        let all = inner.host.states();
        let now = all
            .iter()
            .map(|(spec, state)| (spec.label(), state.as_str()))
            .collect();
        if self.tell(now, log) {
            let servers = all.iter().map(LoadedServer::of).collect();
            log.note("session.mcp_servers_loaded", &Loaded { servers });
        }
    }

    /// Says who is not as before; whether all are heard of for the first time.
    fn tell(&mut self, now: BTreeMap<Box<str>, &'static str>, log: &EventLog) -> bool {
        for (name, status) in &now {
            if self.said.get(name) != Some(status) {
                let server_name = &**name;
                let changed = StatusChanged {
                    server_name,
                    status,
                };
                log.note("session.mcp_server_status_changed", &changed);
            }
        }
        self.loading |= now.keys().ne(self.said.keys());
        let is_over = now.values().all(|status| *status != "starting");
        self.said = now;
        is_over && std::mem::take(&mut self.loading)
    }
}

// === impl LoadedServer ===

impl LoadedServer {
    fn of((spec, state): &(Arc<ServerSpec>, legation_host::State)) -> Self {
        Self {
            name: spec.label().into(),
            status: state.as_str(),
            source: spec.source.to_string(),
            error: match state {
                legation_host::State::Failed(reason) => Some(reason.clone()),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests;
