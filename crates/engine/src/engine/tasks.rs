//! Tasks, as their owners handle them.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use legation_api::conversation::{Body, Source};
use legation_api::tasks::{Class, EngineStatusAnswer, NewTask, ReportView, TaskState, TaskView};
use legation_core::id::random_hex;
use legation_core::{ClientId, EntityLabels, SessionId, TaskId};
use serde_json::Value;

use super::{Asker, Core, Engine, Filter, Submitter, WAIT_MAX};
use crate::book::{OpenTask, Report, SessionState, Verdict, Which};
use crate::queue::Event;
use crate::record::{NewEntry, Outcome, Question};
use crate::{BookError, SubmitError, TaskError};

/// The most that may be handed over with a task, in bytes.
const TASK_MAX: usize = 4 * 1024 * 1024;
/// Tasks that are listed where nobody says how many.
const LIST_DEFAULT: usize = 100;
/// The most that are listed.
const LIST_MAX: usize = 10_000;
/// So long a call-off waits until the task is over.
const CANCEL_WAIT: Duration = Duration::from_secs(2);

/// A report of a poor result.
#[derive(Debug, Clone)]
pub struct NewReport {
    /// The task it is about.
    pub task: Option<String>,
    /// What is wrong, in a word.
    pub issue_type: String,
    /// What is wrong.
    pub description: String,
    /// What was expected instead.
    pub expected: Option<String>,
}

// === impl Engine ===

impl Engine {
    /// Takes a task. On disk when this returns.
    ///
    /// # Errors
    /// [`SubmitError`]; the task was not taken then.
    pub async fn submit(&self, from: &Submitter, new: NewTask) -> Result<TaskView, SubmitError> {
        let core = &self.core;
        if !core.settings().enabled {
            return Err(SubmitError::Off);
        }
        if core.desk().is_stopping {
            return Err(SubmitError::Stopping);
        }
        check_size(&new)?;
        let session = self.session_for(from, new.session.as_deref()).await?;
        let class = match from.class {
            Class::Human if !from.is_owner => Class::Agent,
            class => class,
        };
        let name = random_hex().map_err(|_| BookError::NoName)?;
        let id = TaskId::new(format!("task_{name}"));
        let ticket = core.desk().queue.accept(&session.id, class);
        let ticket = ticket.map_err(|full| SubmitError::Full {
            class,
            most: full.most,
        })?;
        let now = core.clock.wall();
        let task = OpenTask {
            id,
            session: session.id,
            class,
            client: from.client.clone(),
            seat: from.seat.clone(),
            workspace: from.workspace.clone(),
            state: TaskState::Queued,
            place: ticket.place(),
            created: now,
            changed: now,
            worked: Duration::ZERO,
            since: None,
            attempts: 0,
            labels: from.labels.clone(),
            new,
            outcome: Outcome::default(),
            calls: Vec::new(),
            doing: None,
            said: String::new(),
        };
        Ok(core.take(task, ticket).await?)
    }

    /// How a task is. Its id may be cut where no other begins so.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn task(&self, who: &Asker, id: &str) -> Result<TaskView, TaskError> {
        let id = self.found(who, id).await?;
        Ok(self.view(&id).await?.1)
    }

    /// Tasks, newest first, but those of the queue in its order.
    ///
    /// # Errors
    /// [`TaskError`] when the book cannot be read.
    pub async fn tasks(&self, who: &Asker, filter: Filter) -> Result<Vec<TaskView>, TaskError> {
        let which = Which {
            open: filter.open,
            session: filter.session,
            client: who.client().map(ToString::to_string),
            limit: filter.limit.unwrap_or(LIST_DEFAULT).min(LIST_MAX),
        };
        let mut tasks = self.core.book.list(which).await?;
        // Those of the queue come last in its order, and everything else is newest first.
        tasks.sort_by_key(|task| {
            let is_queued = task.state == TaskState::Queued;
            let order = if is_queued {
                (task.class as i64, task.place)
            } else {
                (0, 0)
            };
            (is_queued, order, Reverse(task.created))
        });
        Ok(tasks.iter().map(|task| self.core.view_of(task)).collect())
    }

    /// Waits until a task is over, asks something, or the time is up.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn wait(&self, who: &Asker, id: &str, time: Duration) -> Result<TaskView, TaskError> {
        let id = self.found(who, id).await?;
        let is_enough = |state: TaskState| state.is_final() || state == TaskState::InputRequired;
        self.wait_for(&id, time, is_enough).await
    }

    async fn wait_for(
        &self,
        id: &TaskId,
        time: Duration,
        is_enough: impl Fn(TaskState) -> bool,
    ) -> Result<TaskView, TaskError> {
        let up = tokio::time::sleep(time.min(WAIT_MAX));
        tokio::pin!(up);
        loop {
            let changed = self.core.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let (_, view) = self.view(id).await?;
            if is_enough(view.status) {
                return Ok(view);
            }
            tokio::select! {
                () = changed => {}
                () = &mut up => return Ok(view),
            }
        }
    }

    /// Calls a task off, and waits a moment until it is over.
    ///
    /// # Errors
    /// [`TaskError`]; a task that is over stays as it is.
    pub async fn cancel(
        &self,
        who: &Asker,
        id: &str,
        reason: Option<&str>,
    ) -> Result<TaskView, TaskError> {
        let id = self.found(who, id).await?;
        // A run that has just asked hears nothing any more.
        self.run_gone(&id).await;
        let (task, _) = self.view(&id).await?;
        if task.state.is_final() {
            return Err(TaskError::NotNow {
                id,
                state: task.state,
                what: "it cannot be called off",
            });
        }
        let by = match who {
            Asker::Owner => "its user".to_owned(),
            Asker::Client { client, .. } => client.to_string(),
        };
        let reason = match reason {
            Some(reason) if !reason.trim().is_empty() => format!("{by}: {}", reason.trim()),
            _ => format!("called off by {by}"),
        };
        self.core.cancel(&id, &reason);
        self.wait_for(&id, CANCEL_WAIT, TaskState::is_final).await
    }

    /// Calls off every task of a session that was accepted until now, and none that comes after.
    pub fn cancel_session(&self, session: &SessionId) {
        self.core.dispatch(Event::CancelAll(session.clone()));
    }

    /// Answers what a task asks; it then goes on, or asks the next thing.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn answer(&self, who: &Asker, id: &str, text: &str) -> Result<TaskView, TaskError> {
        self.answer_with(who, id, text, &EntityLabels::none()).await
    }

    /// As [`Engine::answer`], with words that may hold these entities' data; the task holds it from
    /// then on.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn answer_with(
        &self,
        who: &Asker,
        id: &str,
        text: &str,
        labels: &EntityLabels,
    ) -> Result<TaskView, TaskError> {
        let id = self.found(who, id).await?;
        let _answering = self.core.answering.lock().await;
        self.run_gone(&id).await;
        let (task, _) = self.view(&id).await?;
        let question = task.outcome.question.clone();
        let question = question.filter(|_| task.state == TaskState::InputRequired);
        let Some(question) = question else {
            return Err(TaskError::NotNow {
                id,
                state: task.state,
                what: "it asks nothing",
            });
        };
        let book = &self.core.book;
        let next = match question {
            Question::Call { step, place, .. } => {
                // What an agent says is no proof that a person looked.
                if !matches!(who, Asker::Owner) {
                    return Err(TaskError::NotYours {
                        what: "say whether a call ran",
                    });
                }
                let verdict = Verdict::parse(text).ok_or_else(|| TaskError::NoAnswer {
                    id: id.clone(),
                    answer: text.to_owned(),
                })?;
                book.settle(&id, (step, place), verdict).await?
            }
            Question::Run { .. } => {
                book.label(&id, labels);
                self.say(who, &book.task_open(&id)?, text).await?;
                None
            }
        };
        self.core.answered(&id, next).await?;
        Ok(self.view(&id).await?.1)
    }

    /// Says something to a task: it hears it before its next step.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn steer(&self, who: &Asker, id: &str, text: &str) -> Result<TaskView, TaskError> {
        let id = self.found(who, id).await?;
        let (task, _) = self.view(&id).await?;
        if task.state.is_final() {
            return Err(TaskError::NotNow {
                id,
                state: task.state,
                what: "nobody can say anything to it",
            });
        }
        self.say(who, &task, text).await?;
        if let Some(control) = self.core.desk().runs.get(&id) {
            control.wake();
        }
        Ok(self.view(&id).await?.1)
    }

    async fn say(&self, who: &Asker, task: &OpenTask, text: &str) -> Result<(), TaskError> {
        let entry = NewEntry {
            session: task.session.clone(),
            task: Some(task.id.clone()),
            source: match who {
                Asker::Owner => Source::Human,
                Asker::Client { client, .. } => Source::Client(client.to_string()),
            },
            labels: task.labels.clone(),
            body: Body::Text {
                text: text.to_owned(),
                partial: false,
            },
        };
        self.core.book.append(entry, true).await?;
        Ok(())
    }

    /// Moves a task that has not begun before another of its class, or to the end. For the owner.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn reorder(&self, id: &str, before: Option<&str>) -> Result<TaskView, TaskError> {
        let id = self.found(&Asker::Owner, id).await?;
        let before = match before {
            Some(before) => Some(self.found(&Asker::Owner, before).await?),
            None => None,
        };
        let moved = self.core.desk().queue.reorder(&id, before.as_ref());
        let Some(moved) = moved else {
            let (task, _) = self.view(&id).await?;
            return Err(TaskError::NotNow {
                id,
                state: task.state,
                what: "it cannot be moved there",
            });
        };
        self.core.book.place(moved).await?;
        self.core.changed(&id);
        Ok(self.view(&id).await?.1)
    }

    /// Puts another message in place of a task's that has not begun. For the owner.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn edit(&self, id: &str, message: &str) -> Result<TaskView, TaskError> {
        let id = self.found(&Asker::Owner, id).await?;
        let (task, _) = self.view(&id).await?;
        let is_queued = task.state == TaskState::Queued && task.attempts == 0;
        if !is_queued || !self.core.book.edit(&id, message.to_owned()).await? {
            return Err(TaskError::NotNow {
                id,
                state: task.state,
                what: "it has begun and cannot be changed",
            });
        }
        self.core.changed(&id);
        Ok(self.view(&id).await?.1)
    }

    /// Somebody presses keys: agents' steps that have not begun wait for a moment.
    pub fn typing(&self, session: &SessionId) {
        self.core.dispatch(Event::Typing(session.clone()));
    }

    /// How the engine is. Which model would have the next task is for `models` to say.
    #[must_use]
    pub fn status(&self) -> EngineStatusAnswer {
        let settings = self.core.settings();
        let open = self.core.book.all_open();
        let is_worked_on =
            |task: &&OpenTask| matches!(task.state, TaskState::InProgress | TaskState::Preempted);
        let active: Vec<TaskView> = open
            .iter()
            .filter(is_worked_on)
            .map(|task| self.core.view_of(task))
            .collect();
        let is_busy = active
            .iter()
            .any(|task| task.status == TaskState::InProgress);
        let state = match (settings.enabled, is_busy, active.is_empty()) {
            (false, ..) => "off",
            (true, true, _) => "busy",
            (true, false, false) => "paused",
            (true, false, true) => "idle",
        };
        let waits = |task: &&OpenTask| task.state == TaskState::Queued;
        EngineStatusAnswer {
            state: state.to_owned(),
            active,
            queue_depth: open.iter().filter(waits).count(),
            ..EngineStatusAnswer::default()
        }
    }

    /// Reports a poor result, with the transcript of its task. On disk on return.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn report(&self, who: &Asker, report: NewReport) -> Result<ReportView, TaskError> {
        let task = match &report.task {
            Some(id) => Some(self.found(who, id).await?),
            None => None,
        };
        let report = Report {
            task,
            client: who
                .client()
                .map_or_else(|| "you".to_owned(), ToString::to_string),
            issue_type: report.issue_type,
            description: report.description,
            expected: report.expected,
        };
        Ok(self.core.book.report(report).await?)
    }

    /// Reports, newest first. For the owner.
    ///
    /// # Errors
    /// [`TaskError`] when the book cannot be read.
    pub async fn reports(&self) -> Result<Vec<ReportView>, TaskError> {
        Ok(self.core.book.reports().await?)
    }

    /// A report with the transcript of its task. For the owner.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn report_export(&self, id: &str) -> Result<Value, TaskError> {
        Ok(self.core.book.report_export(id).await?)
    }

    async fn view(&self, id: &TaskId) -> Result<(OpenTask, TaskView), TaskError> {
        let (task, _) = self.core.book.view(id).await.map_err(|error| match error {
            BookError::Gone { .. } => TaskError::Unknown { id: id.to_string() },
            error => error.into(),
        })?;
        let view = self.core.view_of(&task);
        Ok((task, view))
    }

    /// The task that somebody means, if it is theirs to see.
    async fn found(&self, who: &Asker, given: &str) -> Result<TaskId, TaskError> {
        let unknown = || TaskError::Unknown {
            id: given.to_owned(),
        };
        let begin = if given.starts_with("task_") {
            given.to_owned()
        } else {
            format!("task_{given}")
        };
        let mut found = Vec::new();
        for id in self.core.book.find(&begin).await? {
            let (task, _) = self.view(&id).await?;
            if who.client().is_none_or(|client| *client == task.client) {
                found.push(id);
            }
        }
        // Which others begin so is nobody's business but their owners'.
        if found.len() > 1 {
            return match found.iter().find(|id| id.as_str() == begin) {
                Some(exact) => Ok(exact.clone()),
                None => Err(TaskError::Ambiguous {
                    id: given.to_owned(),
                }),
            };
        }
        found.pop().ok_or_else(unknown)
    }

    /// Returns when no run works on a task any more that has just ended.
    async fn run_gone(&self, id: &TaskId) {
        loop {
            let changed = self.core.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let is_ending = self.core.desk().runs.contains_key(id)
                && self
                    .core
                    .book
                    .task_open(id)
                    .is_ok_and(|task| task.state == TaskState::InputRequired);
            if !is_ending {
                return;
            }
            changed.await;
        }
    }

    /// The session a task belongs to: the one it names, or the current one of its folder, which is
    /// begun if there is none.
    async fn session_for(
        &self,
        from: &Submitter,
        given: Option<&str>,
    ) -> Result<SessionState, SubmitError> {
        let core = &self.core;
        let Some(given) = given else {
            let _beginning = core.beginning.lock().await;
            let workspace = from.workspace.clone();
            return match core.book.session_current(workspace.as_deref()) {
                Some(session) => Ok(session),
                None => Ok(core.book.session_new(workspace).await?),
            };
        };
        let unknown = || SubmitError::NoSession {
            session: given.to_owned(),
        };
        let session = core
            .book
            .session(&SessionId::new(given))
            .ok_or_else(unknown)?;
        let asker = Asker::Client {
            client: from.client.clone(),
            workspace: from.workspace.clone(),
        };
        if from.is_owner || core.may_see(&asker, &session).await? {
            return Ok(session);
        }
        Err(unknown())
    }
}

// === impl Core ===

impl Core {
    fn cancel(self: &Arc<Self>, id: &TaskId, reason: &str) {
        let is_running = {
            let desk = self.desk();
            let control = desk.runs.get(id);
            if let Some(control) = control {
                control.set_cancelled(reason);
            }
            control.is_some()
        };
        if is_running {
            return;
        }
        self.dispatch(Event::Ended(id.clone()));
        // It may have begun before it was out of the queue; then its run ends it.
        let begun = self.desk().runs.get(id).cloned();
        match begun {
            Some(control) => control.set_cancelled(reason),
            None => self.end_soon(id.clone(), reason),
        }
    }

    /// A person answered: the task asks the next thing, or goes back into the queue.
    async fn answered(
        self: &Arc<Self>,
        id: &TaskId,
        next: Option<Question>,
    ) -> Result<(), BookError> {
        let (core, id) = (Arc::clone(self), id.clone());
        self.to_end(async move { core.go_on(&id, next).await })
            .await
    }

    async fn go_on(self: &Arc<Self>, id: &TaskId, next: Option<Question>) -> Result<(), BookError> {
        if next.is_some() {
            self.book
                .progress(id, None, |outcome| outcome.question = next);
            self.book.keep(id, None, true).await?;
            self.changed(id);
            return Ok(());
        }
        self.book
            .progress(id, None, |outcome| outcome.question = None);
        self.book.stand(id, TaskState::Queued);
        self.book.keep(id, None, true).await?;
        let task = self.book.task_open(id)?;
        self.take_up(&task);
        self.changed(id);
        Ok(())
    }
}

// === impl Asker ===

impl Asker {
    /// The client, where it is one.
    #[must_use]
    pub fn client(&self) -> Option<&ClientId> {
        match self {
            Self::Owner => None,
            Self::Client { client, .. } => Some(client),
        }
    }
}

fn check_size(new: &NewTask) -> Result<(), SubmitError> {
    if new.message.trim().is_empty() {
        return Err(SubmitError::Empty);
    }
    let files = new.context.iter();
    let files: usize = files.map(|file| file.path.len() + file.content.len()).sum();
    let bytes = new.message.len() + files;
    if bytes > TASK_MAX {
        return Err(SubmitError::TooLong {
            bytes,
            most: TASK_MAX,
        });
    }
    Ok(())
}
