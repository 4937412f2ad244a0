//! What clients are told of their tasks unasked: `notifications/task_progress`,
//! `task_completed` and `task_preempted` for those that declare to understand them, and
//! changes of MCP tasks.
//!
//! Nothing is queued for anybody: what a client misses it finds when it looks.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use legation_api::conversation::Event;
use legation_api::tasks::{Class, TaskState, TaskView};
use legation_core::{ClientId, EntityId, SeatId, ServerName};
use legation_engine::Engine;
use legation_gate::Note;
use legation_wire::json::{Object, Raw};
use tokio::time::Instant;

use super::{NAME, tasks};
use crate::TaskNews;

/// The experimental capability of a client that wants to hear it.
pub(super) const CAPABILITY: &str = "legation/tasks";
/// Most bytes of a text in a notification; `poll_task` has it whole.
const TEXT_MAX: usize = 4 * 1024;
/// Most calls in a notification.
const CALLS_MAX: usize = 32;
/// How often one task's progress is told at most.
const PROGRESS: Duration = Duration::from_secs(1);
/// Tasks of which it is remembered how they stood when they were last told.
const TOLD_MAX: usize = 4_096;

/// Tells clients.
pub trait Notes: Send + Sync + fmt::Debug {
    /// Something for one client; dropped where nobody listens.
    fn note(&self, note: Note);
}

/// What was told of a task last.
#[derive(Debug)]
struct Told {
    status: TaskState,
    progress: Option<String>,
    at: Instant,
    /// Where it was handed in; known only while it is open.
    seat: Option<SeatId>,
}

/// Tells clients what becomes of their tasks, as long as the engine lives.
pub async fn tell(engine: Engine, notes: Arc<dyn Notes>, news: Arc<dyn TaskNews>) {
    let Ok(server) = ServerName::parse(NAME) else {
        return;
    };
    let mut told: HashMap<String, Told> = HashMap::new();
    loop {
        // Nothing that was said before is of interest.
        let Ok(mut live) = engine.follow(None, Some(u64::MAX)).await else {
            return;
        };
        let mut is_live = false;
        loop {
            let task = match live.next().await {
                Some(Event::Task { task }) => task,
                Some(Event::Live {}) => {
                    is_live = true;
                    continue;
                }
                Some(Event::Lagged {}) => {
                    // One that could not even begin would begin again at once, and for ever.
                    if !is_live {
                        tokio::time::sleep(PROGRESS).await;
                    }
                    break;
                }
                Some(_) => continue,
                None => return,
            };
            // Those that are open when this begins are remembered, and told of when they move.
            let seat = engine.seat(&task.task_id).or_else(|| {
                let last = told.get(&task.task_id);
                last.and_then(|last| last.seat.clone())
            });
            if !is_live && !told.contains_key(&task.task_id) {
                remember(&mut told, &task, Instant::now(), seat);
                continue;
            }
            if task.class != Class::Agent {
                continue;
            }
            let client = ClientId::new(task.source.as_str());
            let (now, moved) = (Instant::now(), has_moved(&told, &task));
            if moved {
                news.moved(&client, tasks::moved(&task));
            }
            let mut note = note(&told, &server, client, &task, now);
            if let Some(note) = &mut note {
                note.seat.clone_from(&seat);
            }
            // What was not told is told with the next change.
            if moved || note.is_some() {
                remember(&mut told, &task, now, seat);
            }
            if let Some(note) = note {
                notes.note(note);
            }
        }
    }
}

/// Whether a task's state is another than was told last.
fn has_moved(told: &HashMap<String, Told>, task: &TaskView) -> bool {
    let last = told.get(&task.task_id);
    last.is_none_or(|last| last.status != task.status)
}

/// What is to be told of a task that changed, if anything.
fn note(
    told: &HashMap<String, Told>,
    server: &ServerName,
    client: ClientId,
    task: &TaskView,
    now: Instant,
) -> Option<Note> {
    let last = told.get(&task.task_id);
    let is_same = last.is_some_and(|last| last.status == task.status);
    let (method, params) = match task.status {
        TaskState::InProgress => {
            let progress = task.progress.as_deref()?;
            let is_old = last.is_some_and(|last| last.progress.as_deref() == Some(progress));
            let is_soon = is_same && last.is_some_and(|last| now - last.at < PROGRESS);
            if is_old || is_soon {
                return None;
            }
            ("notifications/task_progress", progressed(task, progress))
        }
        TaskState::Preempted if !is_same => ("notifications/task_preempted", preempted(task)),
        TaskState::Completed | TaskState::Failed | TaskState::Cancelled if !is_same => {
            ("notifications/task_completed", completed(task))
        }
        TaskState::Queued
        | TaskState::InputRequired
        | TaskState::Preempted
        | TaskState::Completed
        | TaskState::Failed
        | TaskState::Cancelled => return None,
    };
    let bare = begun(task).with("status", Raw::str(task.status.as_str()));
    Some(Note {
        client,
        // Whoever follows the engine knows it.
        seat: None,
        server: server.clone(),
        capability: CAPABILITY,
        method,
        params,
        entities: task
            .entities
            .iter()
            .map(|name| EntityId::new(name.as_str()))
            .collect(),
        bare,
    })
}

/// Notes how a task stood when it was last told of.
fn remember(told: &mut HashMap<String, Told>, task: &TaskView, now: Instant, seat: Option<SeatId>) {
    if told.len() >= TOLD_MAX {
        // What is forgotten is told once more, at worst.
        told.clear();
    }
    told.insert(
        task.task_id.clone(),
        Told {
            status: task.status,
            progress: task.progress.clone(),
            at: now,
            seat,
        },
    );
}

fn begun(task: &TaskView) -> Object {
    Object::new().with("task_id", Raw::str(&task.task_id))
}

fn progressed(task: &TaskView, progress: &str) -> Object {
    begun(task)
        .with("progress", cut(progress))
        // Nobody measures it.
        .with("percent", Raw::null())
}

fn preempted(task: &TaskView) -> Object {
    let mut params = begun(task).with("reason", Raw::str("human_input"));
    if let Some(partial) = &task.partial_response {
        params.set("partial_response", cut(partial));
    }
    params.with("will_resume", Raw::bool(true))
}

fn completed(task: &TaskView) -> Object {
    let mut params = begun(task).with("status", Raw::str(task.status.as_str()));
    if let Some(response) = &task.response {
        params.set("response", cut(response));
    }
    if let Some(error) = &task.error {
        params.set("error", cut(error));
    }
    let calls = &task.tool_calls[..task.tool_calls.len().min(CALLS_MAX)];
    params.with("tool_calls", Raw::from_serialize(&calls))
}

/// A text, cut where it is long.
fn cut(text: &str) -> Raw {
    let end = text.floor_char_boundary(TEXT_MAX);
    match end < text.len() {
        true => Raw::str(&format!("{}\u{2026}", &text[..end])),
        false => Raw::str(text),
    }
}

#[cfg(test)]
mod tests;
