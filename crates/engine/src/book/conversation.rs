//! Sessions and their entries.

use std::cmp::Reverse;
use std::collections::hash_map;
use std::path::{Path, PathBuf};

use legation_api::conversation::{Body, Event, MessageView, SessionView, Source};
use legation_core::id::random_hex;
use legation_core::{ClientId, EntityLabels, SessionId, TaskId, Wall};
use legation_store::{SessionRow, SessionUpdate};

use super::rows::{labels_of, labels_text};
use super::{Book, title};
use crate::BookError;
use crate::record::{Entry, NewEntry};

/// Most entries that are read at once.
const READ_MAX: usize = 1_000;

/// A session as it is held in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionState {
    pub(crate) id: SessionId,
    pub(crate) workspace: Option<PathBuf>,
    /// The client whose it is, where there is no folder; people's when not given.
    pub(crate) client: Option<ClientId>,
    pub(crate) title: String,
    pub(crate) created: Wall,
    /// When somebody last said something in it.
    pub(crate) active: Wall,
    /// When it became the one of its folder that is gone on with.
    pub(crate) current: Wall,
    pub(crate) labels: EntityLabels,
    /// Those of them that are in the store for certain.
    kept: EntityLabels,
}

// === impl SessionState ===

impl SessionState {
    /// Takes in what another hub stored of it.
    fn join(&mut self, stored: &Self) {
        self.labels = self.labels.join(&stored.labels);
        self.kept = self.kept.join(&stored.kept);
        self.active = self.active.max(stored.active);
        self.current = self.current.max(stored.current);
        if self.title.is_empty() {
            self.title.clone_from(&stored.title);
        }
    }
}

// === impl Book ===

impl Book {
    pub(crate) async fn read_sessions(&self) -> Result<(), BookError> {
        let hub = self.hub.clone();
        let rows = self
            .with_store(true, move |store| store.session_list(&hub))
            .await?;
        let mut sessions = self.sessions_held();
        for row in rows {
            let state = self.session_state(&row);
            match sessions.entry(row.id) {
                // One that is held is newer than its row, but for what another hub brought into it
                // meanwhile: whose data it holds above all, which is never forgotten.
                hash_map::Entry::Occupied(mut held) => held.get_mut().join(&state),
                hash_map::Entry::Vacant(free) => {
                    free.insert(state);
                }
            }
        }
        Ok(())
    }

    fn session_state(&self, row: &SessionRow) -> SessionState {
        let labels = labels_of(&row.labels);
        let title = self.seals.open(&labels, &beside(&row.id), &row.title);
        SessionState {
            id: row.id.clone(),
            workspace: row.workspace.as_ref().map(Into::into),
            client: row.client.as_deref().map(ClientId::new),
            title: title.unwrap_or_default(),
            created: Wall(row.created_ms),
            active: Wall(row.active_ms),
            current: Wall(row.current_ms),
            kept: labels.clone(),
            labels,
        }
    }

    fn session_row(&self, session: &SessionState) -> Result<SessionRow, BookError> {
        let beside = beside(&session.id);
        let title = self.seals.seal(&session.labels, &beside, &session.title)?;
        let workspace = session.workspace.as_deref().map(Path::to_string_lossy);
        Ok(SessionRow {
            id: session.id.clone(),
            hub: self.hub.clone(),
            workspace: workspace.map(std::borrow::Cow::into_owned),
            client: session.client.as_ref().map(ToString::to_string),
            created_ms: session.created.0,
            active_ms: session.active.0,
            current_ms: session.current.0,
            labels: labels_text(&session.labels),
            title,
        })
    }

    pub(crate) fn session(&self, id: &SessionId) -> Option<SessionState> {
        self.sessions_held().get(id).cloned()
    }

    /// The session of a folder that is gone on with, if there is one. Without a folder every client
    /// has its own, because nothing says that they work on the same thing.
    pub(crate) fn session_current(
        &self,
        workspace: Option<&Path>,
        client: Option<&ClientId>,
    ) -> Option<SessionState> {
        let sessions = self.sessions_held();
        let of_folder = sessions.values().filter(|session| {
            session.workspace.as_deref() == workspace
                && (workspace.is_some() || session.client.as_ref() == client)
        });
        of_folder
            .max_by_key(|session| (session.current, session.id.clone()))
            .cloned()
    }

    /// Begins a session, which is then its folder's current one. On disk on return.
    pub(crate) async fn session_new(
        &self,
        workspace: Option<PathBuf>,
        client: Option<&ClientId>,
    ) -> Result<SessionState, BookError> {
        let name = random_hex().map_err(|_| BookError::NoName)?;
        let now = self.later_than_current(workspace.as_deref(), client);
        let client = client.filter(|_| workspace.is_none()).cloned();
        let session = SessionState {
            id: SessionId::new(format!("ses_{name}")),
            workspace,
            client,
            title: String::new(),
            created: now,
            active: now,
            current: now,
            labels: EntityLabels::none(),
            kept: EntityLabels::none(),
        };
        let row = self.session_row(&session)?;
        self.with_store(true, move |store| store.session_add(&row))
            .await?;
        self.sessions_held()
            .insert(session.id.clone(), session.clone());
        Ok(session)
    }

    /// Stores a session as it is held, and changed by `change`. What others brought into it since it
    /// was read here is taken in first, whichever hub they are of: whose data it holds only grows.
    async fn session_store(
        &self,
        id: &SessionId,
        change: impl Fn(&mut SessionState),
        durable: bool,
    ) -> Result<SessionState, BookError> {
        let gone = || BookError::Gone { what: "session" };
        let mut session = self.session(id).ok_or_else(gone)?;
        change(&mut session);
        let of = id.clone();
        let mut read = self
            .with_store(durable, move |store| store.session_get(&of))
            .await?;
        // Whoever comes second reads again, and the first has stored: somebody always gets on.
        while let Some(now) = read {
            let stored = self.session_state(&now);
            session.join(&stored);
            let mut row = self.session_row(&session)?;
            if (&session.labels, &session.title) == (&stored.labels, &stored.title) {
                // Sealed anew it would be other bytes, and send others to read again for nothing.
                row.title.clone_from(&now.title);
            }
            let update = self
                .with_store(durable, move |store| {
                    store.session_update(&row, &now, durable)
                })
                .await?;
            match update {
                SessionUpdate::Done => {
                    session.kept.clone_from(&session.labels);
                    if let Some(held) = self.sessions_held().get_mut(id) {
                        held.join(&session);
                    }
                    return Ok(session);
                }
                SessionUpdate::Stale(row) => read = Some(row),
                SessionUpdate::Gone => read = None,
            }
        }
        // Another hub deleted it.
        self.sessions_held().remove(id);
        Err(gone())
    }

    /// Makes a session its folder's current one. On disk on return.
    pub(crate) async fn session_resume(&self, id: &SessionId) -> Result<SessionState, BookError> {
        let gone = BookError::Gone { what: "session" };
        let session = self.session(id).ok_or(gone)?;
        let (workspace, client) = (session.workspace.as_deref(), session.client.as_ref());
        let now = self.later_than_current(workspace, client);
        self.session_store(
            id,
            |session| session.current = session.current.max(now),
            true,
        )
        .await
    }

    /// Now, but later than the current session of a folder began to be it.
    fn later_than_current(&self, workspace: Option<&Path>, client: Option<&ClientId>) -> Wall {
        let now = self.clock.wall();
        let current = self.session_current(workspace, client);
        current.map_or(now, |session| now.max(Wall(session.current.0 + 1)))
    }

    /// Deletes a session with everything in it; `false`, and nothing done, while one of its tasks
    /// is open. On disk on return.
    pub(crate) async fn session_delete(&self, id: &SessionId) -> Result<bool, BookError> {
        let of = id.clone();
        let removed = self
            .with_store(true, move |store| store.session_remove(&of))
            .await?;
        if removed {
            self.sessions_held().remove(id);
        }
        Ok(removed)
    }

    /// Every session, the most recently used first.
    pub(crate) async fn session_views(&self) -> Result<Vec<SessionView>, BookError> {
        let mut sessions: Vec<SessionState> = self.sessions_held().values().cloned().collect();
        sessions.sort_by_key(|session| (Reverse(session.active), session.id.clone()));
        let mut views = Vec::new();
        for session in sessions {
            views.push(self.session_view(&session).await?);
        }
        Ok(views)
    }

    pub(crate) async fn session_view(
        &self,
        session: &SessionState,
    ) -> Result<SessionView, BookError> {
        let id = session.id.clone();
        let messages = self
            .with_store(false, move |store| store.session_messages(&id))
            .await?;
        let (folder, client) = (session.workspace.as_deref(), session.client.as_ref());
        let current = self.session_current(folder, client);
        let workspace = session.workspace.as_deref().map(Path::to_string_lossy);
        Ok(SessionView {
            id: session.id.to_string(),
            workspace: workspace.map(std::borrow::Cow::into_owned),
            title: session.title.clone(),
            created: session.created.to_string(),
            active: session.active.to_string(),
            messages,
            entities: session.labels.iter().map(ToString::to_string).collect(),
            current: current.is_some_and(|current| current.id == session.id),
        })
    }

    /// Adds an entry and tells it. On disk on return if `durable`.
    pub(crate) async fn append(&self, entry: NewEntry, durable: bool) -> Result<Entry, BookError> {
        let at = self.clock.wall();
        let message = self.message_new(&entry, at)?;
        self.session_used(&entry, at).await?;
        let seq = self
            .with_store(durable, move |store| store.message_add(&message, durable))
            .await?;
        Ok(self.told(seq, at, entry))
    }

    /// Tells an entry that was stored.
    pub(super) fn told(&self, seq: u64, at: Wall, entry: NewEntry) -> Entry {
        let entry = Entry { seq, at, entry };
        let message = Box::new(entry.view());
        self.live
            .tell(&entry.entry.session, Event::Message { message });
        entry
    }

    /// Notes that an entry comes to a session: when, whose data it brings, and what it is about if
    /// it is the first.
    pub(super) async fn session_used(&self, entry: &NewEntry, at: Wall) -> Result<(), BookError> {
        let changed = {
            let mut sessions = self.sessions_held();
            let Some(session) = sessions.get_mut(&entry.session) else {
                return Err(BookError::Gone { what: "session" });
            };
            let before = session.title.clone();
            session.labels = session.labels.join(&entry.labels);
            session.active = session.active.max(at);
            if let Body::Text { text, .. } = &entry.body
                && session.title.is_empty()
                && entry.source != Source::Model
            {
                session.title = title(text);
            }
            // Compared with what is stored: what could not be stored the last time still has to be.
            let is_same = session.labels == session.kept && before == session.title;
            let is_talk = matches!(entry.source, Source::Human | Source::Client(_));
            !is_same || is_talk
        };
        if changed {
            self.session_store(&entry.session, |_| {}, false).await?;
        }
        Ok(())
    }

    /// The entries of a session after a number, oldest first; at most a thousand. None only where
    /// none follow, however many another hub has in the same store.
    pub(crate) async fn since(
        &self,
        session: Option<&SessionId>,
        after: u64,
    ) -> Result<Vec<Entry>, BookError> {
        let mut after = after;
        loop {
            let of = session.cloned();
            let rows = self
                .with_store(false, move |store| {
                    store.message_after(of.as_ref(), after, READ_MAX)
                })
                .await?;
            let Some(last) = rows.last().map(|row| row.seq) else {
                return Ok(Vec::new());
            };
            let rows = rows.into_iter();
            let entries: Vec<Entry> = rows.filter_map(|row| self.hub_entry(row)).collect();
            if !entries.is_empty() {
                return Ok(entries);
            }
            after = last;
        }
    }

    /// The last entries of a session before a number, oldest first.
    pub(crate) async fn last(
        &self,
        session: Option<&SessionId>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Entry>, BookError> {
        let of = session.cloned();
        let limit = limit.min(READ_MAX);
        let rows = self
            .with_store(false, move |store| {
                store.message_last(of.as_ref(), before, limit)
            })
            .await?;
        Ok(rows
            .into_iter()
            .filter_map(|row| self.hub_entry(row))
            .collect())
    }

    /// The entry of a row, if its session is one of this hub's.
    fn hub_entry(&self, row: legation_store::MessageRow) -> Option<Entry> {
        let is_ours = self.sessions_held().contains_key(&row.message.session);
        is_ours.then(|| self.entry_of(row))
    }

    /// Everything of a session as its owner takes it along.
    pub(crate) async fn export(
        &self,
        session: &SessionState,
    ) -> Result<(SessionView, Vec<MessageView>), BookError> {
        let view = self.session_view(session).await?;
        let mut messages: Vec<MessageView> = Vec::new();
        loop {
            let after = messages.last().map_or(0, |message| message.seq);
            let more = self.since(Some(&session.id), after).await?;
            if more.is_empty() {
                return Ok((view, messages));
            }
            messages.extend(more.iter().map(Entry::view));
        }
    }

    /// Tells how a task is now.
    pub(crate) fn tell_task(&self, session: &SessionId, task: legation_api::tasks::TaskView) {
        let task = Box::new(task);
        self.live.tell(session, Event::Task { task });
    }

    /// More of what a task's model says or thinks.
    pub(crate) fn delta(&self, task: &TaskId, text: String, is_reasoning: bool) {
        let mut open = self.tasks_open();
        let Some(open) = open.get_mut(task) else {
            return;
        };
        let task_id = task.to_string();
        let event = if is_reasoning {
            Event::Reasoning { task_id, text }
        } else {
            open.said.push_str(&text);
            Event::Delta { task_id, text }
        };
        // Told under the lock: whoever comes has it in what was said already, or hears it.
        self.live.tell(&open.session, event);
    }
}

fn beside(session: &SessionId) -> String {
    format!("title of {session}")
}
