//! Between what is held in memory and rows.

use legation_api::conversation::{Body, Source};
use legation_api::tasks::{Class, NewTask, TaskState};
use legation_core::{ClientId, EntityLabels, SeatId, Wall};
use legation_store::{DelegatedRow, DelegatedState, MessageNew, MessageRow};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

use super::Book;
use super::open::{Listed, OpenTask};
use crate::BookError;
use crate::record::{Entry, NewEntry, Outcome};

/// What lies in a task's second body.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    outcome: Outcome,
    #[serde(default)]
    calls: Vec<Listed>,
}

// === impl Book ===

impl Book {
    pub(super) fn task_row(&self, task: &OpenTask) -> Result<DelegatedRow, BookError> {
        let id = &task.id;
        let kept = Kept {
            outcome: task.outcome.clone(),
            calls: task.calls.clone(),
        };
        let labels = &task.labels;
        let spec = self.seals.seal(labels, &beside_spec(task), &*task.new)?;
        let outcome = self.seals.seal(labels, &beside_outcome(task), &kept)?;
        Ok(DelegatedRow {
            id: id.clone(),
            hub: self.hub.clone(),
            session: task.session.clone(),
            class: class_word(task.class).to_owned(),
            client: task.client.to_string(),
            seat: task.seat.to_string(),
            workspace: task
                .workspace
                .as_ref()
                .map(|path| path.to_string_lossy().into_owned()),
            state: to_row_state(task.state),
            hint: task.new.hint.clone(),
            place: task.place,
            created_ms: task.created.0,
            changed_ms: task.changed.0,
            worked_ms: i64::try_from(task.worked.as_millis()).unwrap_or(i64::MAX),
            attempts: i64::from(task.attempts),
            labels: labels_text(labels),
            spec,
            outcome: Some(outcome),
            owner: self.owner(),
        })
    }

    /// The task of a row. Where its bodies cannot be opened its message is empty, and what it was
    /// is said by its error.
    pub(super) fn task_of(&self, row: DelegatedRow) -> OpenTask {
        let mut task = OpenTask {
            id: row.id,
            session: row.session,
            class: class_of(&row.class),
            client: ClientId::new(row.client),
            seat: SeatId::new(row.seat),
            workspace: row.workspace.map(Into::into),
            state: of_row_state(row.state),
            place: row.place,
            created: Wall(row.created_ms),
            changed: Wall(row.changed_ms),
            worked: Duration::from_millis(row.worked_ms.unsigned_abs()),
            since: None,
            attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
            labels: labels_of(&row.labels),
            new: Arc::default(),
            outcome: Outcome::default(),
            calls: Vec::new(),
            doing: None,
            said: String::new(),
        };
        let spec = self
            .seals
            .open::<NewTask>(&task.labels, &beside_spec(&task), &row.spec);
        let outcome = row.outcome.unwrap_or_default();
        let kept = self
            .seals
            .open::<Kept>(&task.labels, &beside_outcome(&task), &outcome);
        match (spec, kept) {
            (Ok(spec), Ok(kept)) => {
                task.new = Arc::new(spec);
                task.outcome = kept.outcome;
                task.calls = kept.calls;
            }
            (Err(error), _) | (_, Err(error)) => {
                task.outcome.error = Some(error.to_string());
            }
        }
        task
    }

    pub(super) fn message_new(&self, entry: &NewEntry, at: Wall) -> Result<MessageNew, BookError> {
        let kind = kind_word(&entry.body);
        let beside = beside_message(entry.session.as_str(), kind, at);
        let body = self.seals.seal(&entry.labels, &beside, &entry.body)?;
        Ok(MessageNew {
            session: entry.session.clone(),
            task: entry.task.clone(),
            source: source_text(&entry.source),
            kind: kind.to_owned(),
            created_ms: at.0,
            labels: labels_text(&entry.labels),
            body,
        })
    }

    /// The entry of a row; one whose body does not open says so in its place.
    pub(super) fn entry_of(&self, row: MessageRow) -> Entry {
        let MessageRow { seq, message } = row;
        let labels = labels_of(&message.labels);
        let at = Wall(message.created_ms);
        let beside = beside_message(message.session.as_str(), &message.kind, at);
        let opened = self.seals.open::<Body>(&labels, &beside, &message.body);
        let body = opened.unwrap_or_else(|error| Body::Note {
            text: format!("This entry is gone: {error}."),
        });
        Entry {
            seq,
            at,
            entry: NewEntry {
                session: message.session,
                task: message.task,
                source: source_of(&message.source),
                labels,
                body,
            },
        }
    }
}

fn beside_spec(task: &OpenTask) -> String {
    format!("task {}", task.id)
}

fn beside_outcome(task: &OpenTask) -> String {
    format!("outcome of {}", task.id)
}

fn beside_message(session: &str, kind: &str, at: Wall) -> String {
    format!("{kind} of {session} at {}", at.0)
}

pub(super) fn labels_text(labels: &EntityLabels) -> String {
    serde_json::to_string(labels).expect("a list of names always serialises")
}

/// Only this hub writes what is read here; what it cannot read counts as nobody's, and then its
/// body does not open either.
pub(super) fn labels_of(text: &str) -> EntityLabels {
    serde_json::from_str(text).unwrap_or_default()
}

fn class_word(class: Class) -> &'static str {
    match class {
        Class::Human => "human",
        Class::System => "system",
        Class::Agent => "agent",
    }
}

/// Unknown words come last.
fn class_of(word: &str) -> Class {
    match word {
        "human" => Class::Human,
        "system" => Class::System,
        _ => Class::Agent,
    }
}

fn to_row_state(state: TaskState) -> DelegatedState {
    match state {
        TaskState::Queued => DelegatedState::Queued,
        TaskState::InProgress => DelegatedState::InProgress,
        TaskState::Preempted => DelegatedState::Preempted,
        TaskState::InputRequired => DelegatedState::InputRequired,
        TaskState::Completed => DelegatedState::Completed,
        TaskState::Failed => DelegatedState::Failed,
        TaskState::Cancelled => DelegatedState::Cancelled,
    }
}

fn of_row_state(state: DelegatedState) -> TaskState {
    match state {
        DelegatedState::Queued => TaskState::Queued,
        DelegatedState::InProgress => TaskState::InProgress,
        DelegatedState::Preempted => TaskState::Preempted,
        DelegatedState::InputRequired => TaskState::InputRequired,
        DelegatedState::Completed => TaskState::Completed,
        DelegatedState::Failed => TaskState::Failed,
        DelegatedState::Cancelled => TaskState::Cancelled,
    }
}

fn kind_word(body: &Body) -> &'static str {
    match body {
        Body::Text { .. } => "text",
        Body::Tool { .. } => "tool",
        Body::Summary { .. } => "summary",
        Body::Note { .. } => "note",
    }
}

fn source_text(source: &Source) -> String {
    match source {
        Source::Human => "human".to_owned(),
        Source::Client(name) => format!("client:{name}"),
        Source::Model => "model".to_owned(),
        Source::System => "system".to_owned(),
    }
}

fn source_of(text: &str) -> Source {
    match text {
        "human" => Source::Human,
        "model" => Source::Model,
        text => match text.strip_prefix("client:") {
            Some(name) => Source::Client(name.to_owned()),
            None => Source::System,
        },
    }
}
