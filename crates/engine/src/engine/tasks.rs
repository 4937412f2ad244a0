//! Tasks, as their owners handle them.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use legation_api::tasks::{Class, EngineStatusAnswer, NewTask, TaskState, TaskView};
use legation_core::id::random_hex;
use legation_core::{ClientId, SeatId, SessionId, TaskId};

use super::{Asker, Core, Engine, Filter, Submitter, WAIT_MAX};
use crate::book::{OpenTask, SessionState, Which, size};
use crate::queue::Event;
use crate::record::Outcome;
use crate::{BookError, SubmitError, TaskError};

/// The most that may be handed over with a task, in bytes.
const TASK_MAX: usize = 4 * 1024 * 1024;
/// Tasks that are listed where nobody says how many.
const LIST_DEFAULT: usize = 100;
/// The most that are listed.
const LIST_MAX: usize = 10_000;
/// So long a call-off waits until the task is over.
const CANCEL_WAIT: Duration = Duration::from_secs(2);

/// What a task holds that is being stored, and counts until it is among the open ones.
#[derive(Debug)]
struct Arriving<'a> {
    core: &'a Core,
    bytes: usize,
    /// With everything else that arrives.
    all: usize,
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
        let bytes = check_size(&new)?;
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
            new: Arc::new(new),
            outcome: Outcome::default(),
            calls: Vec::new(),
            doing: None,
            said: String::new(),
        };
        let arriving = Arriving::begin(core, bytes);
        let most = core.open_bytes_max;
        if core.book.bytes_open() + arriving.all > most {
            core.give_up(&ticket);
            return Err(SubmitError::TooMuch { most });
        }
        let taken = core.take(task, ticket).await;
        drop(arriving);
        Ok(taken?)
    }

    /// How a task is. Its id may be cut where no other begins so.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn task(&self, who: &Asker, id: &str) -> Result<TaskView, TaskError> {
        let id = self.found(who, id).await?;
        Ok(self.view(&id).await?.1)
    }

    /// In which of its client's conversations an open task was handed in.
    #[must_use]
    pub fn seat(&self, id: &str) -> Option<SeatId> {
        let task = self.core.book.task_open(&TaskId::new(id));
        task.ok().map(|task| task.seat)
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

    /// How many tasks are worked on, and how many wait.
    #[must_use]
    pub fn load(&self) -> (usize, usize) {
        let open = self.core.book.all_open();
        let count = |is: fn(TaskState) -> bool| open.iter().filter(|task| is(task.state)).count();
        (
            count(|state| matches!(state, TaskState::InProgress | TaskState::Preempted)),
            count(|state| state == TaskState::Queued),
        )
    }

    pub(super) async fn view(&self, id: &TaskId) -> Result<(OpenTask, TaskView), TaskError> {
        let (task, _) = self.core.book.view(id).await.map_err(|error| match error {
            BookError::Gone { .. } => TaskError::Unknown { id: id.to_string() },
            error => error.into(),
        })?;
        let view = self.core.view_of(&task);
        Ok((task, view))
    }

    /// The task that somebody means, if it is theirs to see.
    pub(super) async fn found(&self, who: &Asker, given: &str) -> Result<TaskId, TaskError> {
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

    /// The session a task belongs to: the one it names, or the current one of its folder (of its
    /// client, where there is no folder), which is begun if there is none.
    async fn session_for(
        &self,
        from: &Submitter,
        given: Option<&str>,
    ) -> Result<SessionState, SubmitError> {
        let core = &self.core;
        let Some(given) = given else {
            let _beginning = core.beginning.lock().await;
            let workspace = from.workspace.clone();
            let client = (!from.is_owner).then_some(&from.client);
            return match core.book.session_current(workspace.as_deref(), client) {
                Some(session) => Ok(session),
                None => Ok(core.book.session_new(workspace, client).await?),
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
}

// === impl Arriving ===

impl<'a> Arriving<'a> {
    fn begin(core: &'a Core, bytes: usize) -> Self {
        let all = core.arriving.fetch_add(bytes, Ordering::SeqCst) + bytes;
        Self { core, bytes, all }
    }
}

impl Drop for Arriving<'_> {
    fn drop(&mut self) {
        self.core.arriving.fetch_sub(self.bytes, Ordering::SeqCst);
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

/// How many bytes a task was handed.
fn check_size(new: &NewTask) -> Result<usize, SubmitError> {
    if new.message.trim().is_empty() {
        return Err(SubmitError::Empty);
    }
    let bytes = size(new);
    if bytes > TASK_MAX {
        return Err(SubmitError::TooLong {
            bytes,
            most: TASK_MAX,
        });
    }
    Ok(bytes)
}
