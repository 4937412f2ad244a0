//! A task that is not over, as it is held in memory.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use legation_api::tasks::{
    BackgroundView, Class, NewTask, TaskState, TaskView, TokenUsage, ToolCallView,
};
use legation_core::{ClientId, EntityLabels, SeatId, SessionId, TaskId, Wall};
use serde::{Deserialize, Serialize};

use crate::record::Outcome;

/// Longest title, in characters.
const TITLE_MAX: usize = 80;

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct OpenTask {
    pub(crate) id: TaskId,
    pub(crate) session: SessionId,
    pub(crate) class: Class,
    pub(crate) client: ClientId,
    pub(crate) seat: SeatId,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) state: TaskState,
    pub(crate) place: i64,
    pub(crate) created: Wall,
    pub(crate) changed: Wall,
    /// How long it was worked on before `since`.
    pub(crate) worked: Duration,
    /// Since when it is worked on, while it is.
    pub(crate) since: Option<Instant>,
    pub(crate) attempts: u32,
    pub(crate) labels: EntityLabels,
    /// What it was handed, which may be megabytes and never changes while it runs.
    pub(crate) new: Arc<NewTask>,
    pub(crate) outcome: Outcome,
    /// The calls it made.
    pub(crate) calls: Vec<Listed>,
    /// What it does at the moment.
    pub(crate) doing: Option<String>,
    /// What its model says at the moment.
    pub(crate) said: String,
}

/// A call in a task's list, and where it stands in the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) step: u32,
    pub(crate) place: u32,
    /// The entry that shows it, and when it was made.
    pub(crate) seq: u64,
    pub(crate) at: Wall,
    pub(crate) view: ToolCallView,
    /// What runs beside the task because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) background: Option<BackgroundView>,
}

// === impl OpenTask ===

impl OpenTask {
    /// How long it was worked on so far.
    pub(crate) fn worked_at(&self, now: Instant) -> Duration {
        let running = self.since.map(|since| now.saturating_duration_since(since));
        self.worked + running.unwrap_or_default()
    }

    /// Whether something runs beside it that nobody has seen the end of.
    pub(crate) fn has_background(&self) -> bool {
        let mut all = self
            .calls
            .iter()
            .filter_map(|call| call.background.as_ref());
        all.any(|one| !["completed", "failed", "cancelled"].contains(&&*one.status))
    }

    /// Waits, without being worked on, for what runs beside it; or no longer does.
    pub(crate) fn rest(&mut self, rests: bool, now: Instant, wall: Wall) {
        if self.state != TaskState::InProgress || rests == self.since.is_none() {
            return;
        }
        self.worked = self.worked_at(now);
        self.since = (!rests).then_some(now);
        self.changed = wall;
    }

    /// Enters another state at a time; what it was worked on until then is added up.
    pub(crate) fn enter(&mut self, state: TaskState, now: Instant, wall: Wall) {
        self.worked = self.worked_at(now);
        self.since = (state == TaskState::InProgress).then_some(now);
        self.state = state;
        self.changed = wall;
        if state != TaskState::InProgress {
            self.doing = None;
        }
        if state.is_final() {
            self.said.clear();
        }
    }

    /// The task as others see it, but for its place in the queue.
    pub(crate) fn view(&self, now: Instant) -> TaskView {
        let Outcome {
            response,
            error,
            failure,
            hint,
            question,
            model,
            usage,
            check,
            changed_files,
        } = self.outcome.clone();
        let is_waiting = self.state == TaskState::InputRequired;
        let (id, session) = (self.id.to_string(), self.session.to_string());
        TaskView {
            source: source_name(self.class, &self.client),
            title: title(&self.new.message),
            progress: self.doing.clone(),
            elapsed_seconds: self.worked_at(now).as_secs(),
            created: self.created.to_string(),
            changed: self.changed.to_string(),
            response,
            partial_response: Some(self.said.clone()).filter(|said| !said.is_empty()),
            tool_calls: self.calls.iter().map(|call| call.view.clone()).collect(),
            background: self
                .calls
                .iter()
                .filter_map(|call| call.background.clone())
                .collect(),
            token_usage: Some(usage).filter(|usage| *usage != TokenUsage::default()),
            check,
            question: question
                .filter(|_| is_waiting)
                .map(|question| question.text().to_owned()),
            error,
            failure,
            hint,
            model,
            entities: self.labels.iter().map(ToString::to_string).collect(),
            changed_files,
            ..TaskView::new(id, session, self.class, self.state)
        }
    }
}

/// Under whose name a task is shown.
fn source_name(class: Class, client: &ClientId) -> String {
    match class {
        Class::Human => "you".to_owned(),
        Class::System => "legation".to_owned(),
        Class::Agent => client.to_string(),
    }
}

/// The first line of a message, cut.
pub(crate) fn title(message: &str) -> String {
    let line = message.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim();
    if line.chars().count() <= TITLE_MAX {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE_MAX - 1).collect();
    format!("{}…", cut.trim_end())
}
