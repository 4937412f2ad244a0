//! What others must know of tasks and settings at once.

use std::sync::Arc;

use legation_core::error::chain;
use legation_core::{ClientId, TaskId};

use super::Engine;
use crate::EngineSettings;
use crate::book::Known;

/// Most of a client's tasks that are listed by their ids.
const IDS_MAX: usize = 1_000;

// === impl Engine ===

impl Engine {
    /// Whose a task is, by its whole id; `None` when there is none, or the store cannot say.
    #[must_use]
    pub fn known(&self, id: &str) -> Option<Known> {
        match self.core.book.known(&TaskId::new(id)) {
            Ok(known) => known,
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(error, "whose a task is could not be read");
                None
            }
        }
    }

    /// The ids of a client's tasks, oldest first; the last thousand of them.
    #[must_use]
    pub fn ids_of(&self, client: &ClientId) -> Vec<TaskId> {
        match self.core.book.ids_of(client, IDS_MAX) {
            Ok(ids) => ids,
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(error, "the tasks of a client could not be listed");
                Vec::new()
            }
        }
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> Arc<EngineSettings> {
        self.core.settings()
    }
}
