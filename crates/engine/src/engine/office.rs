//! Several hubs at the same tasks: one works on each, and when it is gone another does.

use std::sync::Arc;
use std::time::Duration;

use legation_core::error::chain;

use super::Core;
use crate::BookError;
use crate::control::Control;
use crate::queue::Queue;

/// So long the tasks of a hub that is not heard of stay its own.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// How often in that time it says that it is there, and looks for those that are gone.
const TURNS: u32 = 3;

// === impl Core ===

impl Core {
    /// Begins to work on what is this hub's, and on what nobody works on any more.
    pub(super) async fn enter_office(self: &Arc<Self>) -> Result<(), BookError> {
        self.book.take_office(self.lease).await?;
        self.book.adopt(self.lease).await?;
        self.clear_offices().await;
        self.take_up_left().await
    }

    /// Removes what is left of hubs that are gone. What stays behind costs a row.
    pub(super) async fn clear_offices(&self) {
        if let Err(error) = self.book.clear_offices(self.lease).await {
            let error = chain(&error);
            tracing::warn!(error, "leases of hubs that are gone were not cleared away");
        }
    }

    /// Stays in office for as long as the engine lives.
    pub(super) fn run_office(self: &Arc<Self>) {
        if !self.book.is_shared() {
            return;
        }
        let (weak, turn) = (Arc::downgrade(self), self.lease / TURNS);
        self.tasks
            .spawn_on(&self.runtime, "office of tasks", async move {
                let mut missed = 0;
                loop {
                    tokio::time::sleep(turn).await;
                    let Some(core) = weak.upgrade() else { return };
                    missed = core.keep_office(missed).await;
                }
            });
    }

    /// One turn of it; how many were missed in a row by then.
    async fn keep_office(self: &Arc<Self>, missed: u32) -> u32 {
        if self.desk().is_closed {
            return missed;
        }
        let is_lost = missed >= TURNS;
        let (done, missed) = match self.book.keep_office(self.lease).await {
            Ok(true) if !is_lost => (self.take_over().await, 0),
            // Whatever it was, it is not any more.
            Ok(_) => {
                let again = self.begin_again().await;
                let missed = if again.is_ok() { 0 } else { TURNS };
                (again, missed)
            }
            Err(error) => (Err(error), missed.saturating_add(1)),
        };
        if let Err(error) = done {
            let error = chain(&error);
            tracing::warn!(error, "which tasks are this hub's is not known for certain");
        }
        if missed == TURNS && !is_lost {
            // Somebody else may be at them by now.
            self.put_down().await;
        }
        missed
    }

    /// Takes up what hubs left that are gone.
    async fn take_over(self: &Arc<Self>) -> Result<(), BookError> {
        let adopted = self.book.adopt(self.lease).await?;
        if adopted > 0 {
            tracing::info!(adopted, "tasks of a hub that is gone are worked on here");
            self.book.read_sessions().await?;
            self.take_up_left().await?;
        }
        Ok(())
    }

    /// Puts everything down and begins as a hub that starts: its lease was over, and its tasks may
    /// be another's.
    pub(super) async fn begin_again(self: &Arc<Self>) -> Result<(), BookError> {
        tracing::warn!("another hub may have this hub's tasks; it goes on with what is left");
        if !self.put_down().await {
            // Under a new lease a run of the old one could store again, over whoever has its task.
            return Err(BookError::AtWork);
        }
        // Where it is still this hub's, nobody need wait for its end.
        self.book.leave_office().await;
        self.book.forget_open();
        self.desk().queue = Queue::new(self.settings().queue());
        self.book.take_office(self.lease).await?;
        self.book.adopt(self.lease).await?;
        self.book.read_sessions().await?;
        let is_closed = {
            let mut desk = self.desk();
            desk.is_stopping = desk.is_closed;
            desk.is_closed
        };
        if is_closed {
            // The hub ended meanwhile, and gave back a lease that was not this one.
            self.book.leave_office().await;
            return Ok(());
        }
        self.take_up_left().await
    }

    /// Has every run put down what it has, takes nothing more, and waits until they are gone;
    /// `false` where some still are not.
    pub(super) async fn put_down(&self) -> bool {
        let runs: Vec<Control> = {
            let mut desk = self.desk();
            desk.is_stopping = true;
            desk.runs.values().cloned().collect()
        };
        for control in runs {
            control.set_stopping();
        }
        let over = async {
            loop {
                let changed = self.changed.notified();
                if self.desk().runs.is_empty() {
                    return;
                }
                changed.await;
            }
        };
        let is_over = tokio::time::timeout(super::STOP_MAX, over).await.is_ok();
        if !is_over {
            let left = self.desk().runs.len();
            tracing::warn!(
                left,
                "tasks that did not stop in time go on from their last step"
            );
        }
        is_over
    }
}
