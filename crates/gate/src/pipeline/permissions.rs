//! What a client asks a person of its own accord, on its way to the desk.

use std::sync::Arc;

use legation_core::Caller;

use super::*;
use crate::approval::NotOpen;
use crate::desk::{Asker, PermissionGuard, PermissionRequest};

impl Gate {
    /// Puts a client's question about a tool of its own to a person. It is
    /// labelled with whose data its conversation holds, which the preview of
    /// the tool's input may repeat.
    ///
    /// # Errors
    /// When the credential is not good, nobody knows the labels, or too many
    /// are open.
    pub fn ask_permission(
        &self,
        caller: &Caller,
        request: PermissionRequest,
        asker: Arc<dyn Asker>,
    ) -> Result<PermissionGuard, NotAskedFor> {
        let known = self.clients.load().check(&caller.principal);
        known.map_err(NotAskedFor::NotAuthentic)?;
        let labels = self.asking.conversations.labels(caller);
        let labels = labels.map_err(NotAskedFor::NoLabels)?;
        let entities = labels.as_slice().to_vec();
        let asked = self
            .asking
            .permissions
            .ask(caller, entities, request, asker);
        asked.map_err(NotAskedFor::NotOpen)
    }
}

/// A question of a client's that is put to nobody.
#[derive(Debug, thiserror::Error)]
pub enum NotAskedFor {
    /// Its credential is not good.
    #[error(transparent)]
    NotAuthentic(crate::stage::NotAuthentic),
    /// Nobody knows whose data it may hold.
    #[error("whose data the conversation holds cannot be read; nobody was asked")]
    NoLabels(#[source] legation_store::StoreError),
    /// It cannot be taken in.
    #[error(transparent)]
    NotOpen(NotOpen),
}
