//! Sessions, as people and clients see them.

use std::path::Path;

use legation_api::conversation::{Body, MessageView, SessionView};
use legation_core::{ClientId, SessionId};
use serde_json::Value;

use super::{Asker, Core, Engine};
use crate::book::SessionState;
use crate::record::Entry;
use crate::{BookError, SessionError};

/// The most entries that are told at once.
const HISTORY_MAX: usize = 10_000;
/// How many are read at once.
const PAGE: usize = 500;

// === impl Engine ===

impl Engine {
    /// The last entries of a session before one, oldest first.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn history(
        &self,
        who: &Asker,
        session: &SessionId,
        (limit, before): (usize, Option<u64>),
        with_tools: bool,
    ) -> Result<Vec<MessageView>, SessionError> {
        let session = self.seen(who, session).await?;
        let limit = limit.min(HISTORY_MAX);
        let mut before = before;
        let mut found: Vec<Entry> = Vec::new();
        while found.len() < limit {
            let page = self.core.book.last(Some(&session.id), before, PAGE).await?;
            let Some(first) = page.first() else { break };
            before = Some(first.seq);
            let is_shown =
                |entry: &Entry| with_tools || !matches!(entry.entry.body, Body::Tool { .. });
            let shown = page.into_iter().rev().filter(is_shown);
            found.extend(shown.take(limit - found.len()));
        }
        Ok(found.iter().rev().map(Entry::view).collect())
    }

    /// Every session, the most recently used first. For the owner.
    ///
    /// # Errors
    /// [`SessionError`] when the book cannot be read.
    pub async fn sessions(&self) -> Result<Vec<SessionView>, SessionError> {
        Ok(self.core.book.session_views().await?)
    }

    /// The session of a folder that is gone on with, which is begun if there is none. On disk on
    /// return.
    ///
    /// # Errors
    /// [`SessionError`] when the book cannot be used.
    pub async fn session_current(
        &self,
        workspace: Option<&Path>,
    ) -> Result<SessionView, SessionError> {
        let _beginning = self.core.beginning.lock().await;
        let book = &self.core.book;
        let session = match book.session_current(workspace, None) {
            Some(session) => session,
            None => {
                book.session_new(workspace.map(Path::to_owned), None)
                    .await?
            }
        };
        Ok(book.session_view(&session).await?)
    }

    /// The session that a client goes on with in a folder, or without one, if there is one.
    #[must_use]
    pub fn session_of(&self, client: &ClientId, workspace: Option<&Path>) -> Option<SessionId> {
        let session = self.core.book.session_current(workspace, Some(client))?;
        Some(session.id)
    }

    /// Begins a session, which is then its folder's current one. On disk on return.
    ///
    /// # Errors
    /// [`SessionError`] when the book cannot be written.
    pub async fn session_new(&self, workspace: Option<&Path>) -> Result<SessionView, SessionError> {
        let book = &self.core.book;
        let session = book
            .session_new(workspace.map(Path::to_owned), None)
            .await?;
        Ok(book.session_view(&session).await?)
    }

    /// Makes a session its folder's current one. On disk on return.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn session_resume(&self, id: &SessionId) -> Result<SessionView, SessionError> {
        let id = self.seen(&Asker::Owner, id).await?.id;
        let session = self.core.book.session_resume(&id).await?;
        Ok(self.core.book.session_view(&session).await?)
    }

    /// Deletes a session with everything in it. On disk on return.
    ///
    /// # Errors
    /// [`SessionError`]; nothing was deleted then.
    pub async fn session_delete(&self, id: &SessionId) -> Result<(), SessionError> {
        let id = self.seen(&Asker::Owner, id).await?.id;
        if self.core.book.session_delete(&id).await? {
            return Ok(());
        }
        Err(SessionError::Busy { id: id.to_string() })
    }

    /// Everything of a session as JSON: `session`, and `messages` with the oldest first.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn session_export(&self, id: &SessionId) -> Result<Value, SessionError> {
        let session = self.seen(&Asker::Owner, id).await?;
        let (session, messages) = self.core.book.export(&session).await?;
        Ok(serde_json::json!({ "session": session, "messages": messages }))
    }

    /// The session, if it is somebody's to see.
    async fn seen(&self, who: &Asker, id: &SessionId) -> Result<SessionState, SessionError> {
        let unknown = || SessionError::Unknown { id: id.to_string() };
        let session = self.core.book.session(id).ok_or_else(unknown)?;
        if self.core.may_see(who, &session).await? {
            return Ok(session);
        }
        Err(unknown())
    }
}

// === impl Core ===

impl Core {
    /// A client sees the sessions of the folder it works in, and those it handed a task in.
    pub(super) async fn may_see(
        &self,
        who: &Asker,
        session: &SessionState,
    ) -> Result<bool, BookError> {
        match who {
            Asker::Owner => Ok(true),
            Asker::Client { workspace, .. }
                if workspace.is_some() && *workspace == session.workspace =>
            {
                Ok(true)
            }
            Asker::Client { client, .. } => self.book.takes_part(client.as_str(), session).await,
        }
    }
}
