//! Tasks: handed in, moved on, over.

use std::sync::Arc;
use std::time::Duration;

use legation_api::conversation::{Body, Source};
use legation_api::tasks::{Class, Failure, NewTask, TaskState, TaskView, ToolCallView};
use legation_core::{SessionId, TaskId, Wall};
use legation_store::DelegatedWhich;

use super::open::OpenTask;
use super::{Book, SessionState};
use crate::BookError;
use crate::record::{CallEnd, Intent, NewEntry, Outcome, Question};

/// Old tasks that are forgotten at once.
const FORGET_MAX: usize = 500;

/// Which tasks are listed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Which {
    pub(crate) open: bool,
    pub(crate) session: Option<SessionId>,
    pub(crate) client: Option<String>,
    pub(crate) limit: usize,
}

/// What a person says of a call that may have been made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Make it again.
    Again,
    /// Go on without it.
    Skip,
    /// It failed.
    Failed,
}

// === impl Book ===

impl Book {
    /// Stores a task that was handed in. On disk on return.
    pub(crate) async fn task_add(&self, task: OpenTask) -> Result<(), BookError> {
        let row = self.task_row(&task)?;
        self.with_store(true, move |store| store.delegated_add(&row))
            .await?;
        self.tasks_open().insert(task.id.clone(), task);
        Ok(())
    }

    /// A task that is not over.
    pub(crate) fn task_open(&self, id: &TaskId) -> Result<OpenTask, BookError> {
        let open = self.tasks_open().get(id).cloned();
        open.ok_or(BookError::Gone { what: "task" })
    }

    /// Reads the tasks that an earlier hub left, in the order of their places. Those that cannot go
    /// on have failed or ask when this returns.
    pub(crate) async fn tasks_left(&self) -> Result<Vec<OpenTask>, BookError> {
        let hub = self.hub.clone();
        let rows = self
            .with_store(true, move |store| store.delegated_open(&hub))
            .await?;
        let own = self.owner();
        let mut left = Vec::new();
        for row in rows {
            // Others are at work on theirs, and this hub on what it has.
            if row.owner != own || self.task_open(&row.id).is_ok() {
                continue;
            }
            let mut task = self.task_of(row);
            if let Some(error) = self.broken(&task) {
                self.fail_broken(task, error).await?;
                continue;
            }
            match self.journalled(&task.id).await {
                Ok((calls, unfinished)) => {
                    task.calls = calls;
                    task.said = self.said_so_far(&task.id).await?;
                    // Its own row is older than its last steps, where the hub was killed.
                    let kept = self.kept_of(&task.id).await?;
                    task.labels = task.labels.join(&kept.labels);
                    task.worked += worked_on(&task, kept.last);
                    if let Some(intent) = unfinished.filter(|_| !task.state.is_final()) {
                        task.outcome.question = Some(ask_about(&intent));
                        task.state = TaskState::InputRequired;
                    }
                }
                Err(BookError::Unreadable { what }) => {
                    let error = format!("{what} cannot be read any more");
                    self.fail_broken(task, error).await?;
                    continue;
                }
                Err(error) => return Err(error),
            }
            self.tasks_open().insert(task.id.clone(), task.clone());
            self.keep(&task.id, None, true).await?;
            left.push(task);
        }
        Ok(left)
    }

    /// Why a task that was read cannot go on.
    fn broken(&self, task: &OpenTask) -> Option<String> {
        if let Some(error) = &task.outcome.error {
            return Some(error.clone());
        }
        let is_there = self.session(&task.session).is_some();
        (!is_there).then(|| "its session is gone".to_owned())
    }

    async fn fail_broken(&self, mut task: OpenTask, error: String) -> Result<(), BookError> {
        task.outcome = Outcome {
            error: Some(error),
            failure: Some(Failure::Other),
            hint: Some("hand it in again".to_owned()),
            ..Outcome::default()
        };
        task.enter(TaskState::Failed, self.clock.now(), self.clock.wall());
        let row = self.task_row(&task)?;
        self.with_store(true, move |store| store.delegated_update(&row, None, true))
            .await
            .map(drop)
    }

    /// A task begins or is gone on with by a new run. What it is about becomes an entry the first
    /// time.
    pub(crate) async fn begin(&self, id: &TaskId) -> Result<(), BookError> {
        let entry = {
            let mut open = self.tasks_open();
            let task = open.get_mut(id).ok_or(BookError::Gone { what: "task" })?;
            task.attempts += 1;
            task.enter(TaskState::InProgress, self.clock.now(), self.clock.wall());
            task.outcome.question = None;
            (task.attempts == 1).then(|| NewEntry {
                session: task.session.clone(),
                task: Some(id.clone()),
                source: match task.class {
                    Class::Human => Source::Human,
                    Class::System => Source::System,
                    Class::Agent => Source::Client(task.client.to_string()),
                },
                labels: task.labels.clone(),
                body: Body::Text {
                    text: task.new.message.clone(),
                    partial: false,
                },
            })
        };
        self.keep(id, entry, false).await
    }

    /// A run stands still, or goes on. Stored by [`Book::keep`], when there is time.
    pub(crate) fn stand(&self, id: &TaskId, state: TaskState) {
        let mut open = self.tasks_open();
        if let Some(task) = open.get_mut(id) {
            task.enter(state, self.clock.now(), self.clock.wall());
        }
    }

    /// A task's run is over, or a person called it off: it enters its last state, or asks. On disk
    /// on return. An error leaves it as it was.
    pub(crate) async fn finish(
        &self,
        id: &TaskId,
        state: TaskState,
        note: impl FnOnce(&mut Outcome),
    ) -> Result<(), BookError> {
        let before = self.task_open(id)?;
        let mut after = before.clone();
        note(&mut after.outcome);
        after.enter(state, self.clock.now(), self.clock.wall());
        let row = self.task_row(&after)?;
        self.with_store(true, move |store| store.delegated_update(&row, None, true))
            .await?;
        let mut open = self.tasks_open();
        if state.is_final() {
            open.remove(id);
        } else {
            open.insert(id.clone(), after);
        }
        Ok(())
    }

    /// Stores how a task is now, and an entry with it if there is one. On disk on return if
    /// `durable`.
    pub(crate) async fn keep(
        &self,
        id: &TaskId,
        entry: Option<NewEntry>,
        durable: bool,
    ) -> Result<(), BookError> {
        let Ok(task) = self.task_open(id) else {
            // It is over, and stored as that.
            return Ok(());
        };
        let at = self.clock.wall();
        let row = self.task_row(&task)?;
        let message = match &entry {
            Some(entry) => {
                self.session_used(entry, at).await?;
                Some(self.message_new(entry, at)?)
            }
            None => None,
        };
        let seq = self
            .with_store(durable, move |store| {
                store.delegated_update(&row, message.as_ref(), durable)
            })
            .await?;
        if let (Some(seq), Some(entry)) = (seq, entry) {
            self.told(seq, at, entry);
        }
        Ok(())
    }

    /// Puts another message in place of a task's that has not begun; `false` when it has. On disk
    /// on return.
    pub(crate) async fn edit(&self, id: &TaskId, message: String) -> Result<bool, BookError> {
        let mut task = self.task_open(id)?;
        Arc::make_mut(&mut task.new).message = message;
        let row = self.task_row(&task)?;
        let (of, now) = (id.clone(), self.clock.wall());
        let changed = self
            .with_store(true, move |store| {
                store.delegated_edit(&of, &row.spec, now.0)
            })
            .await?;
        if changed && let Some(open) = self.tasks_open().get_mut(id) {
            open.new = task.new;
            open.changed = now;
        }
        Ok(changed)
    }

    /// Gives tasks other places in the queue. On disk on return.
    pub(crate) async fn place(&self, places: Vec<(TaskId, i64)>) -> Result<(), BookError> {
        {
            let mut open = self.tasks_open();
            for (id, place) in &places {
                if let Some(task) = open.get_mut(id) {
                    task.place = *place;
                }
            }
        }
        self.with_store(true, move |store| store.delegated_place(&places))
            .await
    }

    /// Settles a call that may have been made, as a person says. The next one that is not known is
    /// asked about; `None` when the task can go on.
    pub(crate) async fn settle(
        &self,
        id: &TaskId,
        (step, place): (u32, u32),
        verdict: Verdict,
    ) -> Result<Option<Question>, BookError> {
        let (_, unfinished) = self.journalled(id).await?;
        if let Some(intent) = unfinished.filter(|call| (call.step, call.place) == (step, place)) {
            match verdict {
                Verdict::Again => self.take_back(id, (step, place)).await?,
                Verdict::Skip | Verdict::Failed => {
                    self.result(id, &intent, &verdict.end(&intent)).await?;
                }
            }
        }
        let (_, next) = self.journalled(id).await?;
        Ok(next.as_ref().map(ask_about))
    }

    /// How a task is, whether it is over or not.
    pub(crate) async fn view(&self, id: &TaskId) -> Result<(OpenTask, TaskView), BookError> {
        let task = if let Ok(task) = self.task_open(id) {
            task
        } else {
            let (of, hub) = (id.clone(), self.hub.clone());
            let row = self
                .with_store(false, move |store| store.delegated_get(&of))
                .await?;
            let row = row.filter(|row| row.hub == hub);
            self.task_of(row.ok_or(BookError::Gone { what: "task" })?)
        };
        let view = task.view(self.clock.now());
        Ok((task, view))
    }

    /// The task whose id begins so; more than one where several do.
    pub(crate) async fn find(&self, begin: &str) -> Result<Vec<TaskId>, BookError> {
        let (hub, begin) = (self.hub.clone(), begin.to_owned());
        let rows = self
            .with_store(false, move |store| store.delegated_find(&hub, &begin))
            .await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }

    /// Tasks, newest first.
    pub(crate) async fn list(&self, which: Which) -> Result<Vec<OpenTask>, BookError> {
        // To the store nobody's name is everybody's.
        if which.client.as_deref() == Some("") {
            return Ok(Vec::new());
        }
        let hub = self.hub.clone();
        let rows = self
            .with_store(false, move |store| {
                let of = DelegatedWhich {
                    open: which.open,
                    session: which.session.as_ref(),
                    client: which.client.as_deref(),
                };
                store.delegated_list(&hub, of, which.limit)
            })
            .await?;
        // Those that are listed and no others: a task may have been handed megabytes.
        Ok(rows
            .into_iter()
            .map(|row| match self.task_open(&row.id) {
                Ok(task) => task,
                Err(_) => self.task_of(row),
            })
            .collect())
    }

    /// Every task that is not over, and what `meanwhile` says while no more text is told.
    pub(crate) fn snapshot<T>(&self, meanwhile: impl FnOnce() -> T) -> (Vec<OpenTask>, T) {
        let open = self.tasks_open();
        let said = meanwhile();
        let mut all: Vec<OpenTask> = open.values().cloned().collect();
        drop(open);
        all.sort_by(|one, other| (one.place, &one.id).cmp(&(other.place, &other.id)));
        (all, said)
    }

    /// Every task that is not over.
    pub(crate) fn all_open(&self) -> Vec<OpenTask> {
        self.snapshot(|| ()).0
    }

    /// How much the open tasks were handed together, in bytes.
    pub(crate) fn bytes_open(&self) -> usize {
        self.tasks_open().values().map(|task| size(&task.new)).sum()
    }

    /// Whether a client has, or had, a task in a session.
    pub(crate) async fn takes_part(
        &self,
        client: &str,
        session: &SessionState,
    ) -> Result<bool, BookError> {
        let of_client = self
            .list(Which {
                session: Some(session.id.clone()),
                client: Some(client.to_owned()),
                limit: 1,
                ..Which::default()
            })
            .await?;
        Ok(!of_client.is_empty())
    }

    /// Forgets tasks that have been over for long, and reports that are as old; what was said stays.
    /// How many tasks.
    pub(crate) async fn forget_old(&self, keep: Duration) -> Result<usize, BookError> {
        let keep_ms = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
        let before = self.clock.wall().0.saturating_sub(keep_ms);
        let hub = self.hub.clone();
        let gone = self
            .with_store(true, move |store| {
                store.report_expire(&hub, before)?;
                store.delegated_expire(&hub, before, FORGET_MAX)
            })
            .await?;
        Ok(gone.len())
    }
}

// === impl Verdict ===

impl Verdict {
    /// The verdict in a person's answer.
    pub(crate) fn parse(answer: &str) -> Option<Self> {
        match answer.trim().to_lowercase().as_str() {
            "again" => Some(Self::Again),
            "skip" => Some(Self::Skip),
            "failed" => Some(Self::Failed),
            _ => None,
        }
    }

    fn end(self, intent: &Intent) -> CallEnd {
        let (status, text) = match self {
            Self::Failed => ("error", "This call failed."),
            Self::Again | Self::Skip => (
                "skipped",
                "The hub ended during this call, and its user says to go on without its result.",
            ),
        };
        CallEnd {
            text: text.to_owned(),
            is_error: true,
            view: ToolCallView {
                status: status.to_owned(),
                ..intent.view.clone()
            },
            background: None,
        }
    }
}

/// How much a task was handed, in bytes.
pub(crate) fn size(new: &NewTask) -> usize {
    let files = new.context.iter();
    let files: usize = files.map(|file| file.path.len() + file.content.len()).sum();
    new.message.len() + files
}

/// How long a task was worked on between its last change of state and its last step: so much at
/// least, where the hub that worked on it did not live to say so.
fn worked_on(task: &OpenTask, last: Option<Wall>) -> Duration {
    let last = last.filter(|_| task.state == TaskState::InProgress);
    let millis = last.map_or(0, |last| last.0.saturating_sub(task.changed.0));
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

fn ask_about(intent: &Intent) -> Question {
    let tool = &intent.tool;
    Question::Call {
        text: format!(
            "The hub ended while {tool} ran, so nobody knows whether it took effect. Answer `again` \
             to run it again, `skip` to go on without its result, or `failed` to treat it as failed."
        ),
        step: intent.step,
        place: intent.place,
    }
}
