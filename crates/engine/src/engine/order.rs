//! Tasks that have not begun, as their owner puts them in order and changes them.

use legation_api::tasks::{TaskState, TaskView};

use super::{Asker, Engine};
use crate::TaskError;

// === impl Engine ===

impl Engine {
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
}
