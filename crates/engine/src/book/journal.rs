//! How far a task has come, so that the next hub goes on from there.
//!
//! That a call is about to be made is on disk before it is made, if making it twice would be more
//! than making it once; what it came to is stored after. Where the hub ends between the two nobody
//! knows whether it was made, and a person is asked.

mod read;

use legation_api::conversation::{Body, Source};
use legation_api::tasks::{BackgroundKind, BackgroundView, ToolCallView};
use legation_core::{EntityLabels, SessionId, TaskHandle, TaskId, Wall};
use legation_store::{PartialRow, StepRow, StepState};
use serde::{Deserialize, Serialize};

use super::Book;
use super::open::Listed;
use super::rows::labels_text;
use crate::BookError;
use crate::record::{Background, CallEnd, Intent, NewEntry, Outcome, Partial, TurnRecord};

/// How much of a call's arguments and result an entry shows, in bytes.
const SHOWN_MAX: usize = 4 * 1024;

/// A call as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptCall {
    /// When the entry that shows it was made.
    at: Wall,
    arguments: String,
    view: ToolCallView,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<CallEnd>,
}

// === impl Book ===

impl Book {
    /// Stores a turn that is over, and with it the entry that shows what was said in it, if there
    /// is one. On disk on return.
    pub(crate) async fn turn(
        &self,
        task: &TaskId,
        turn: &TurnRecord,
        labels: &EntityLabels,
        entry: Option<NewEntry>,
    ) -> Result<(), BookError> {
        let at = self.clock.wall();
        self.label(task, labels);
        let body = self.seals.seal(labels, &beside(task, turn.step, 0), turn)?;
        let row = StepRow {
            task: task.clone(),
            step: i64::from(turn.step),
            place: 0,
            call_id: String::new(),
            state: StepState::Done,
            tool: String::new(),
            changes: false,
            seq: 0,
            at_ms: at.0,
            labels: labels_text(labels),
            body,
        };
        let message = match &entry {
            Some(entry) => {
                self.session_used(entry, at).await?;
                Some(self.message_new(entry, at)?)
            }
            None => None,
        };
        // Before it is stored: nobody is to be told both what was said and the entry of it.
        if let Some(open) = self.tasks_open().get_mut(task) {
            open.said.clear();
        }
        let seq = self
            .with_store(true, move |store| {
                store.step_put(&row, message.as_ref(), true)
            })
            .await?;
        if let Some(entry) = entry {
            self.told(seq, at, entry);
        }
        Ok(())
    }

    /// Stores that a call is about to be made, and the entry that shows it. On disk on return if it
    /// changes something.
    pub(crate) async fn intent(&self, task: &TaskId, intent: &Intent) -> Result<(), BookError> {
        let session = self.task_open(task)?.session;
        let at = self.clock.wall();
        self.label(task, &intent.labels);
        let kept = KeptCall {
            at,
            arguments: intent.arguments.clone(),
            view: intent.view.clone(),
            end: None,
        };
        let row = self.call_row(task, intent, StepState::Intent, &kept)?;
        let entry = self.call_entry(task, &session, intent, &intent.view, String::new());
        self.session_used(&entry, at).await?;
        let message = self.message_new(&entry, at)?;
        let durable = intent.changes;
        let seq = self
            .with_store(durable, move |store| {
                store.step_put(&row, Some(&message), durable)
            })
            .await?;
        self.told(seq, at, entry);
        if let Some(open) = self.tasks_open().get_mut(task) {
            let listed = Listed {
                step: intent.step,
                place: intent.place,
                seq,
                at,
                view: intent.view.clone(),
                background: None,
            };
            open.calls
                .retain(|call| (call.step, call.place) != (intent.step, intent.place));
            open.calls.push(listed);
        }
        Ok(())
    }

    /// Stores what a call came to, or how what it began stands by now; its labels are those of its
    /// result too.
    pub(crate) async fn result(
        &self,
        task: &TaskId,
        intent: &Intent,
        end: &CallEnd,
    ) -> Result<(), BookError> {
        self.label(task, &intent.labels);
        let key = (intent.step, intent.place);
        let (session, seq, at) = {
            let mut open = self.tasks_open();
            let open = open.get_mut(task).ok_or(BookError::Gone { what: "task" })?;
            let calls = &mut open.calls;
            let call = calls.iter_mut().find(|call| (call.step, call.place) == key);
            let call = call.ok_or(BookError::Gone { what: "call" })?;
            call.view.clone_from(&end.view);
            let background = end.background.as_ref();
            call.background = background.map(|background| background.view.clone());
            (open.session.clone(), call.seq, call.at)
        };
        let kept = KeptCall {
            at,
            arguments: intent.arguments.clone(),
            view: end.view.clone(),
            end: Some(end.clone()),
        };
        let mut row = self.call_row(task, intent, StepState::Done, &kept)?;
        let background = end.background.as_ref();
        if background.is_some() {
            // While it runs nobody works on the task, whose time is counted to its last step.
            row.at_ms = at.0;
        }
        let brought = background.and_then(|background| background.result.clone());
        let text = brought.unwrap_or_else(|| end.text.clone());
        let entry = self.call_entry(task, &session, intent, &end.view, text);
        self.session_used(&entry, at).await?;
        let said = self.message_new(&entry, at)?.body;
        self.with_store(false, move |store| store.step_end(&row, &said))
            .await?;
        self.told(seq, at, entry);
        Ok(())
    }

    /// Keeps what a model has said so far of a turn. A run does so every quarter of a second, or
    /// every 2 KiB, while text comes.
    pub(crate) async fn save_partial(
        &self,
        task: &TaskId,
        partial: &Partial,
        labels: &EntityLabels,
    ) -> Result<(), BookError> {
        self.label(task, labels);
        let body = self.seals.seal(labels, &beside_partial(task), partial)?;
        let row = PartialRow {
            task: task.clone(),
            step: i64::from(partial.step),
            at_ms: self.clock.wall().0,
            labels: labels_text(labels),
            body,
        };
        self.with_store(false, move |store| store.partial_put(&row))
            .await
    }

    /// Takes note of how a task gets on: its model, tokens, check and files. Stored with the next
    /// change of its state.
    pub(crate) fn progress(
        &self,
        task: &TaskId,
        doing: Option<String>,
        note: impl FnOnce(&mut Outcome),
    ) {
        let mut open = self.tasks_open();
        if let Some(open) = open.get_mut(task) {
            note(&mut open.outcome);
            open.doing = doing;
        }
    }

    /// The record of a task that a server began instead of answering a call: what the host stored of
    /// it under its handle, before the handle was given out.
    pub(crate) async fn began(
        &self,
        handle: &TaskHandle,
        id: &str,
        call: (&str, &str),
    ) -> Result<Background, BookError> {
        let of = handle.clone();
        let row = self
            .with_store(false, move |store| store.task_get(&of))
            .await?;
        let now = self.clock.wall().to_string();
        let (server, tool) = match &row {
            Some(row) => (row.server.as_str(), call.1),
            None => call,
        };
        Ok(Background {
            handle: handle.to_string(),
            view: BackgroundView {
                kind: BackgroundKind::McpTask,
                id: id.to_owned(),
                server: server.to_owned(),
                tool: tool.to_owned(),
                server_task_id: row
                    .as_ref()
                    .map(|row| row.upstream.clone())
                    .unwrap_or_default(),
                status: "working".to_owned(),
                status_message: None,
                created: now.clone(),
                updated: now,
                poll_interval_ms: None,
            },
            result: None,
        })
    }

    /// A task waits for what runs beside it and is not worked on, or no longer does.
    pub(crate) async fn rests(&self, task: &TaskId, rests: bool) -> Result<(), BookError> {
        if let Some(open) = self.tasks_open().get_mut(task) {
            open.rest(rests, self.clock.now(), self.clock.wall());
        }
        self.keep(task, None, false).await
    }

    /// Adds to the files that a task changed. Stored with the next change of its state.
    pub(crate) fn changed_files(&self, task: &TaskId, files: Vec<String>) {
        let mut open = self.tasks_open();
        let Some(open) = open.get_mut(task) else {
            return;
        };
        let known = &mut open.outcome.changed_files;
        for file in files {
            if !known.contains(&file) {
                known.push(file);
            }
        }
    }

    /// Adds to whose data a task holds.
    pub(crate) fn label(&self, task: &TaskId, labels: &EntityLabels) {
        let mut open = self.tasks_open();
        if let Some(open) = open.get_mut(task) {
            open.labels = open.labels.join(labels);
        }
    }

    /// Takes back that a call was about to be made: a person says that it may be made again. On disk
    /// on return.
    pub(super) async fn take_back(&self, task: &TaskId, key: (u32, u32)) -> Result<(), BookError> {
        let id = task.clone();
        let (step, place) = (i64::from(key.0), i64::from(key.1));
        self.with_store(true, move |store| store.step_undo(&id, step, place))
            .await
            .map(drop)
    }

    fn call_row(
        &self,
        task: &TaskId,
        intent: &Intent,
        state: StepState,
        kept: &KeptCall,
    ) -> Result<StepRow, BookError> {
        let beside = beside(task, intent.step, intent.place);
        Ok(StepRow {
            task: task.clone(),
            step: i64::from(intent.step),
            place: i64::from(intent.place),
            call_id: intent.call_id.clone(),
            state,
            tool: intent.tool.clone(),
            changes: intent.changes,
            seq: 0,
            at_ms: self.clock.wall().0,
            labels: labels_text(&intent.labels),
            body: self.seals.seal(&intent.labels, &beside, kept)?,
        })
    }

    fn call_entry(
        &self,
        task: &TaskId,
        session: &SessionId,
        intent: &Intent,
        view: &ToolCallView,
        result: String,
    ) -> NewEntry {
        NewEntry {
            session: session.clone(),
            task: Some(task.clone()),
            source: Source::Model,
            labels: intent.labels.clone(),
            body: Body::Tool {
                call_id: intent.call_id.clone(),
                call: view.clone(),
                arguments: shown(&intent.arguments),
                result: shown(&result),
            },
        }
    }
}

fn beside(task: &TaskId, step: u32, place: u32) -> String {
    format!("step {step}.{place} of {task}")
}

fn beside_partial(task: &TaskId) -> String {
    format!("unfinished answer of {task}")
}

/// The beginning of a text, cut between characters.
fn shown(text: &str) -> String {
    if text.len() <= SHOWN_MAX {
        return text.to_owned();
    }
    let cut = text.floor_char_boundary(SHOWN_MAX);
    format!("{}…", &text[..cut])
}
