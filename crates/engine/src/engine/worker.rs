//! One task from its beginning to its end.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use legation_api::conversation::{Body, Source};
use legation_api::tasks::{Failure, TaskState};
use legation_core::TaskId;
use legation_core::error::chain;

use super::{Core, Finished, Seat};
use crate::BookError;
use crate::control::Control;
use crate::queue::Event;
use crate::record::{NewEntry, Question, RunEnd};

/// So long a run that was called off may take to end by itself.
const CANCEL_MAX: Duration = Duration::from_secs(5);
/// How long is waited until the end of a task that could not be stored is stored again.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(30);

// === impl Core ===

impl Core {
    /// Works on a task until it is over, asks something, or the hub stops.
    pub(super) async fn work(self: Arc<Self>, id: TaskId, control: Control) {
        let end = match self.book.begin(&id).await {
            Ok(()) => {
                self.changed(&id);
                self.run(&id, &control).await
            }
            Err(error) => RunEnd::Failed {
                failure: Failure::Other,
                error: chain(&error),
                hint: Some(error.hint()),
            },
        };
        self.end(&id, end, Some(&control)).await;
        // In this order: who takes it up again waits until its run is gone.
        self.dispatch(Event::Ended(id.clone()));
        self.desk().runs.remove(&id);
        self.changed.notify_waiters();
    }

    async fn run(&self, id: &TaskId, control: &Control) -> RunEnd {
        let seat = Seat {
            book: Arc::clone(&self.book),
            control: control.clone(),
            settings: self.settings(),
        };
        let run = AssertUnwindSafe((self.drive)(seat, id.clone())).catch_unwind();
        tokio::select! {
            end = run => end.unwrap_or_else(|_| {
                tracing::error!(task = %id, "a run panicked");
                RunEnd::Failed {
                    failure: Failure::Other,
                    error: "the hub made a mistake while it worked on it; its log says which"
                        .to_owned(),
                    hint: Some("see `legation logs`, and hand it in again".to_owned()),
                }
            }),
            () = overdue(control) => {
                if control.is_stopping() {
                    RunEnd::Paused
                } else {
                    RunEnd::Cancelled
                }
            }
        }
    }

    /// Ends a task that no run works on.
    pub(super) fn end_soon(self: &Arc<Self>, id: TaskId, reason: &str) {
        let control = Control::new(|_| {});
        control.set_cancelled(reason);
        let core = Arc::clone(self);
        self.tasks
            .spawn_on(&self.runtime, "end of a task", async move {
                let open = core.book.task_open(&id);
                if open.is_ok_and(|task| task.has_background()) {
                    // A run that hears of it first calls off what runs beside it.
                    drop(core.run(&id, &control).await);
                }
                core.end(&id, RunEnd::Cancelled, Some(&control)).await;
            });
    }

    /// Stores how a task ended. As long as it cannot be stored the task is not over, and says why.
    async fn end(&self, id: &TaskId, end: RunEnd, control: Option<&Control>) {
        let reason = control.and_then(Control::cancelled);
        let mut wait = RETRY;
        loop {
            let Err(error) = self.store_end(id, &end, reason.as_deref()).await else {
                return;
            };
            if matches!(error, BookError::Gone { .. }) || error.is_taken_over() {
                return;
            }
            let text = chain(&error);
            tracing::warn!(task = %id, error = text, "the end of a task was not stored yet");
            self.book
                .progress(id, Some(format!("waits to be stored: {text}")), |_| {});
            self.changed(id);
            if control.is_some_and(Control::is_stopping) {
                return;
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(RETRY_MAX);
        }
    }

    async fn store_end(
        &self,
        id: &TaskId,
        end: &RunEnd,
        reason: Option<&str>,
    ) -> Result<(), BookError> {
        let (state, note) = match end {
            RunEnd::Paused => return self.book.keep(id, None, true).await,
            RunEnd::Completed { .. } => (TaskState::Completed, None),
            RunEnd::Failed { error, .. } => (TaskState::Failed, Some(format!("Failed: {error}"))),
            RunEnd::Cancelled => {
                let reason = reason.unwrap_or("it was called off");
                (TaskState::Cancelled, Some(format!("Cancelled: {reason}")))
            }
            RunEnd::InputRequired { question } => {
                (TaskState::InputRequired, Some(question.clone()))
            }
        };
        let before = self.book.task_open(id)?;
        self.book
            .finish(id, state, |outcome| match end {
                RunEnd::Completed { response } => outcome.response = Some(response.clone()),
                RunEnd::Failed {
                    failure,
                    error,
                    hint,
                } => {
                    outcome.failure = Some(*failure);
                    outcome.error = Some(error.clone());
                    outcome.hint.clone_from(hint);
                }
                RunEnd::Cancelled => outcome.error = reason.map(str::to_owned),
                RunEnd::InputRequired { question } => {
                    let text = question.clone();
                    outcome.question = Some(Question::Run { text });
                }
                RunEnd::Paused => {}
            })
            .await?;
        if state.is_final() {
            (self.let_go)(id);
        }
        self.tell_end(id, state).await;
        // What never began was never said, and needs no remark.
        if let Some(text) = note.filter(|_| before.attempts > 0) {
            let entry = NewEntry {
                session: before.session,
                task: Some(id.clone()),
                source: Source::System,
                labels: before.labels,
                body: Body::Note { text },
            };
            // It is over whether this is told or not.
            if let Err(error) = self.book.append(entry, false).await {
                let error = chain(&error);
                tracing::warn!(task = %id, error, "a remark was not stored");
            }
        }
        Ok(())
    }

    async fn tell_end(&self, id: &TaskId, state: TaskState) {
        match self.book.view(id).await {
            Ok((task, view)) => {
                if state.is_final() {
                    drop(self.finished.send(Finished {
                        task: id.clone(),
                        client: task.client.clone(),
                        state,
                        at: task.changed,
                        labels: task.labels.clone(),
                    }));
                }
                self.book.tell_task(&task.session, view);
            }
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(task = %id, error, "the end of a task was not told");
            }
        }
        self.changed.notify_waiters();
    }
}

/// Returns when a run was told to end and has had its time.
async fn overdue(control: &Control) {
    control.cancel_token().cancelled().await;
    tokio::time::sleep(CANCEL_MAX).await;
}
