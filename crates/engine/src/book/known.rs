//! What must be known of a task before anything is decided about it, at once.

use legation_core::{ClientId, EntityLabels, TaskId};
use legation_store::{DelegatedWhich, StoreError};

use super::Book;
use super::rows::labels_of;

/// Whose a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The client that delegated it.
    pub client: ClientId,
    /// Whose data it holds so far.
    pub labels: EntityLabels,
}

// === impl Book ===

impl Book {
    /// Whose a task is. A row, where it is not open; a remote store makes its caller wait.
    pub(crate) fn known(&self, id: &TaskId) -> Result<Option<Known>, StoreError> {
        if let Ok(task) = self.task_open(id) {
            return Ok(Some(Known {
                client: task.client,
                labels: task.labels,
            }));
        }
        let row = self.store.delegated_get(id)?;
        let row = row.filter(|row| row.hub == self.hub);
        Ok(row.map(|row| Known {
            client: ClientId::new(row.client),
            labels: labels_of(&row.labels),
        }))
    }

    /// The tasks of a client, oldest first; the last `limit` of them.
    pub(crate) fn ids_of(
        &self,
        client: &ClientId,
        limit: usize,
    ) -> Result<Vec<TaskId>, StoreError> {
        let which = DelegatedWhich {
            client: Some(client.as_str()),
            ..DelegatedWhich::default()
        };
        let rows = self.store.delegated_list(&self.hub, which, limit)?;
        Ok(rows.into_iter().rev().map(|row| row.id).collect())
    }
}
