//! Between the queue and what it decides about.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use legation_api::tasks::{TaskState, TaskView};
use legation_core::TaskId;
use legation_core::error::chain;

use super::{Core, Desk};
use crate::BookError;
use crate::book::OpenTask;
use crate::control::{Control, Says};
use crate::queue::{Effect, Event, Hold, Ticket};

/// How often tasks that are over for long are looked for.
const FORGET_EVERY: Duration = Duration::from_secs(60 * 60);
/// How long after a task gave way that is stored: what the person said it gave way to is stored in
/// that time, and would wait for it.
const KEEP_AFTER: Duration = Duration::from_millis(250);

// === impl Core ===

impl Core {
    /// Goes on with what an earlier hub left.
    pub(super) async fn take_up_left(self: &Arc<Self>) -> Result<(), BookError> {
        for task in self.book.tasks_left().await? {
            if task.state == TaskState::InputRequired {
                continue;
            }
            let ticket = self
                .desk()
                .queue
                .take_up(&task.session, task.class, task.place);
            self.dispatch(Event::Submitted(ticket, task.id));
        }
        Ok(())
    }

    /// Stores a task that was accepted and puts it into the queue; how it is then.
    pub(super) async fn take(
        self: &Arc<Self>,
        task: OpenTask,
        ticket: Ticket,
    ) -> Result<TaskView, BookError> {
        let core = Arc::clone(self);
        self.to_end(async move {
            let taken = task.clone();
            if let Err(error) = core.book.task_add(task).await {
                core.give_up(&ticket);
                return Err(error);
            }
            let id = taken.id.clone();
            core.dispatch(Event::Submitted(ticket, id.clone()));
            core.changed(&id);
            // It may be over already.
            let task = core.book.task_open(&id).unwrap_or(taken);
            Ok(core.view_of(&task))
        })
        .await
    }

    /// Does something to its end, even where whoever wants it goes away meanwhile: what is stored
    /// and in no queue would wait for the next hub.
    pub(super) async fn to_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, BookError>> + Send + 'static,
    ) -> Result<T, BookError> {
        let (done, end) = tokio::sync::oneshot::channel();
        self.tasks
            .spawn_on(&self.runtime, "change of a task", async move {
                drop(done.send(work.await));
            });
        end.await.unwrap_or(Err(BookError::Stopping))
    }

    /// Puts a task into the queue again that waited for a person.
    pub(super) fn take_up(self: &Arc<Self>, task: &OpenTask) {
        let ticket = self
            .desk()
            .queue
            .take_up(&task.session, task.class, task.place);
        self.dispatch(Event::Submitted(ticket, task.id.clone()));
    }

    pub(super) fn give_up(&self, ticket: &Ticket) {
        self.desk().queue.give_up(ticket);
    }

    /// Takes in what happened and does what follows from it.
    pub(super) fn dispatch(self: &Arc<Self>, event: Event) {
        let now = self.clock.now();
        let mut told = Vec::new();
        {
            let mut desk = self.desk();
            let effects = desk.queue.handle(event, now);
            for effect in effects {
                told.push(effect.task().clone());
                self.apply(&mut desk, effect);
            }
        }
        self.retimed.notify_one();
        for id in told {
            self.changed(&id);
        }
    }

    pub(super) fn tick(self: &Arc<Self>) {
        self.dispatch(Event::Tick);
    }

    fn apply(self: &Arc<Self>, desk: &mut Desk, effect: Effect) {
        match effect {
            Effect::Start(id) => {
                if desk.is_stopping {
                    return;
                }
                let told = Arc::downgrade(self);
                let of = id.clone();
                let control = Control::new(move |says| {
                    if let Some(core) = told.upgrade() {
                        let of = of.clone();
                        core.dispatch(match says {
                            Says::Yielded => Event::Yielded(of),
                            Says::Rests => Event::Rests(of),
                            Says::Ready => Event::Ready(of),
                        });
                    }
                });
                desk.runs.insert(id.clone(), control.clone());
                let core = Arc::clone(self);
                let work = async move { core.work(id, control).await };
                self.tasks.spawn_on(&self.runtime, "delegated task", work);
            }
            Effect::Hold(id, hold) => {
                if let Some(control) = desk.runs.get(&id) {
                    control.set_hold(Some(hold));
                }
                if hold == Hold::Hard {
                    self.stand(&id, TaskState::Preempted);
                }
            }
            // It stands as it did: what it waits for is part of its work.
            Effect::Rest(id) => {
                if let Some(control) = desk.runs.get(&id) {
                    control.set_hold(Some(Hold::Hard));
                }
            }
            Effect::Resume(id) => {
                if let Some(control) = desk.runs.get(&id) {
                    control.set_hold(None);
                }
                self.stand(&id, TaskState::InProgress);
            }
            Effect::Cancel(id) => {
                if let Some(control) = desk.runs.get(&id) {
                    control.set_cancelled("it was called off");
                }
            }
            Effect::Drop(id) => self.end_soon(id, "it was called off"),
        }
    }

    fn stand(&self, id: &TaskId, state: TaskState) {
        // A run that has just ended with a question still has the floor for a moment, and a task
        // that asks must not be taken for one that goes on by itself.
        let stays = self
            .book
            .task_open(id)
            .is_ok_and(|task| task.state == state || task.state == TaskState::InputRequired);
        if !stays {
            self.book.stand(id, state);
            self.stale
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(id.clone());
            self.stale_any.notify_one();
        }
    }

    /// Tells whoever looks on how a task is now.
    pub(super) fn changed(&self, id: &TaskId) {
        if let Ok(task) = self.book.task_open(id) {
            self.book.tell_task(&task.session, self.view_of(&task));
        }
        self.changed.notify_waiters();
    }

    pub(super) fn view_of(&self, task: &OpenTask) -> TaskView {
        let mut view = task.view(self.clock.now());
        if matches!(task.state, TaskState::Queued | TaskState::Preempted) {
            view.queue_position = self.desk().queue.position(&task.id);
        }
        view
    }

    /// How long until the queue wants to know the time.
    fn next_tick(&self) -> Option<Duration> {
        let next = self.desk().queue.next_tick()?;
        Some(next.saturating_duration_since(self.clock.now()))
    }

    /// Tells the queue that time has passed, whenever it wants to know.
    pub(super) fn run_timer(self: &Arc<Self>) {
        let (weak, retimed) = (Arc::downgrade(self), Arc::clone(&self.retimed));
        self.tasks
            .spawn_on(&self.runtime, "timer of tasks", async move {
                // Nothing is held while it waits, so that the engine may go meanwhile.
                while let Some(wait) = weak.upgrade().map(|core| core.next_tick()) {
                    let Some(wait) = wait else {
                        retimed.notified().await;
                        continue;
                    };
                    tokio::select! {
                        () = retimed.notified() => {}
                        // A moment more, so that it has passed for certain.
                        () = tokio::time::sleep(wait + Duration::from_millis(1)) => {
                            if let Some(core) = weak.upgrade() {
                                core.tick();
                            }
                        }
                    }
                }
            });
    }

    /// Stores where tasks stand after they gave way or went on, which nobody waits for; and forgets
    /// what is over for long.
    pub(super) fn run_keeper(self: &Arc<Self>) {
        let (weak, stale_any) = (Arc::downgrade(self), Arc::clone(&self.stale_any));
        self.tasks
            .spawn_on(&self.runtime, "keeper of tasks", async move {
                // The first time is at once.
                let mut forget = tokio::time::interval(FORGET_EVERY);
                loop {
                    let is_time = tokio::select! {
                        () = stale_any.notified() => {
                            tokio::time::sleep(KEEP_AFTER).await;
                            false
                        }
                        _ = forget.tick() => true,
                    };
                    let Some(core) = weak.upgrade() else { return };
                    if is_time {
                        core.forget_old().await;
                        core.clear_offices().await;
                    }
                    core.keep_stale().await;
                }
            });
    }

    async fn keep_stale(&self) {
        let stale = {
            let mut stale = self.stale.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take::<BTreeSet<TaskId>>(&mut stale)
        };
        for id in stale {
            // A hub that ends now goes on with it from its last step either way.
            if let Err(error) = self.book.keep(&id, None, false).await {
                let error = chain(&error);
                tracing::warn!(task = %id, error, "where a task stands was not stored");
            }
        }
    }

    async fn forget_old(&self) {
        let Some(keep) = self.settings().keep else {
            return;
        };
        match self.book.forget_old(keep).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "tasks that were over for long were forgotten"),
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(error, "old tasks were not forgotten");
            }
        }
    }
}
