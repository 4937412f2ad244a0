//! Approvals and tasks, as they move on.

use std::collections::HashMap;
use std::sync::Arc;

use legation_core::{ApprovalId, ClientId, EntityId, TaskSet, Wall};
use legation_events::{Journal, Kind, Noted};
use legation_gate::HubEvent;
use legation_gate::approval::State;
use legation_wire::json::{Object, Raw};
use tokio::sync::broadcast::error::RecvError;

use crate::serve::hub::Inner;
use crate::serve::moves::{Move, Moves};

/// Approvals that are remembered before those that have left the book are forgotten: as
/// many as it can hold.
const OPEN_MAX: usize = 1024;
/// How ids of delegated tasks begin, and no handle of a server's task does.
const DELEGATED: &str = "task_";
/// States a task does not leave.
const OVER: [&str; 3] = ["completed", "failed", "cancelled"];

/// Whose approval it is, and for what: what is closed has left the book.
#[derive(Clone)]
struct Open {
    client: ClientId,
    entity: EntityId,
    tool: String,
}

/// Notes what happens, for as long as the hub runs.
pub(super) fn run(tasks: &TaskSet, inner: &Arc<Inner>, journal: &Arc<Journal>) {
    let waiting = Arc::clone(&inner.gate.asking().approvals);
    let mut approvals = waiting.events();
    let mut moves = Moves::begin(&*waiting);
    let mut servers = inner.gate.servers().events();
    let (inner, journal) = (Arc::clone(inner), Arc::clone(journal));
    tasks.spawn("journal of events", async move {
        let mut open = HashMap::new();
        remember(&inner, &mut open);
        loop {
            tokio::select! {
                event = approvals.recv() => {
                    let Some(heard) = moves.next(event, &*waiting) else {
                        return;
                    };
                    if heard.missed > 0 {
                        let missed = heard.missed;
                        tracing::warn!(missed, "approvals moved on faster than they were told");
                    }
                    for one in &heard.moves {
                        approval(&inner, &journal, &mut open, one);
                    }
                }
                event = servers.recv() => match event {
                    Ok(HubEvent::TaskChanged { client, task: changed }) => {
                        task(&inner, &journal, client, &changed);
                    }
                    Ok(_) => {}
                    Err(RecvError::Lagged(missed)) => {
                        tracing::warn!(missed, "tasks moved on faster than they were told");
                    }
                    Err(RecvError::Closed) => return,
                },
            }
        }
    });
}

fn remember(hub: &Inner, open: &mut HashMap<ApprovalId, Open>) {
    for approval in hub.gate.asking().approvals.list() {
        open.insert(approval.id.clone(), of(&approval));
    }
}

fn of(approval: &legation_gate::approval::Approval) -> Open {
    let bound = &approval.bound;
    Open {
        client: bound.client.clone(),
        entity: bound.entity.clone(),
        tool: format!("{}/{}", bound.server, bound.item),
    }
}

fn approval(hub: &Inner, journal: &Journal, open: &mut HashMap<ApprovalId, Open>, one: &Move) {
    let approvals = &hub.gate.asking().approvals;
    let (id, state) = (&one.id, one.as_str());
    let kind = match one.state {
        Some(State::Pending) => Kind::ApprovalRequested,
        Some(State::Granted | State::Denied) | None => Kind::ApprovalAnswered,
    };
    let mut data = Object::new()
        .with("id", Raw::str(id.as_str()))
        .with("state", Raw::str(state));
    let known = match approvals.get(id) {
        Some(approval) => {
            data.set("expires", Raw::str(&Wall(approval.expires_ms).to_string()));
            // What was used up leaves the book without a word.
            if open.len() >= OPEN_MAX {
                open.retain(|id, _| approvals.get(id).is_some());
            }
            let known = of(&approval);
            open.insert(id.clone(), known.clone());
            known
        }
        None => match open.remove(id) {
            Some(known) => known,
            None => return,
        },
    };
    data.set("tool", Raw::str(&known.tool));
    journal.note(Noted {
        kind,
        of: format!("{id} {state}"),
        at: hub.clock.wall(),
        entity: Some(known.entity).filter(|entity| *entity != EntityId::personal()),
        client: known.client,
        data,
    });
}

fn task(hub: &Inner, journal: &Journal, client: ClientId, task: &Object) {
    let text = |member: &str| {
        task.get(member)
            .and_then(|raw| raw.to_str().map(String::from))
    };
    let (Some(id), Some(status)) = (text("taskId"), text("status")) else {
        return;
    };
    // Delegated tasks are told by the engine, also those that are no tasks to their client.
    if !OVER.contains(&&*status) || id.starts_with(DELEGATED) {
        return;
    }
    journal.note(Noted {
        kind: Kind::TaskCompleted,
        // The handle is unique.
        of: id.clone(),
        at: hub.clock.wall(),
        entity: None,
        client,
        data: Object::new()
            .with("taskId", Raw::str(&id))
            .with("status", Raw::str(&status)),
    });
}
