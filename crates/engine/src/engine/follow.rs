//! Looking on: what was said, then what is said.

use std::collections::VecDeque;
use std::sync::Arc;

use legation_api::conversation::Event;
use legation_core::SessionId;
use legation_core::error::chain;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::{Core, Engine};
use crate::SessionError;
use crate::live::Told;
use crate::record::Entry;

/// Entries that are told first where nobody says from where.
const FIRST: usize = 200;

/// What happens in a session, or in all of them, from an entry on. Dropping it ends it.
#[derive(Debug)]
pub struct Follow {
    core: Arc<Core>,
    session: Option<SessionId>,
    live: broadcast::Receiver<Arc<Told>>,
    /// What comes next.
    ready: VecDeque<Event>,
    /// The last entry that was told, or will be from `ready`.
    last: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// What was said before is told.
    Past,
    /// What is said is told.
    Live,
    /// Something was missed.
    Over,
}

// === impl Engine ===

impl Engine {
    /// Follows a session, or all of them: first the entries after one (the last 200 when not
    /// given) and the tasks that are not over, then [`Event::Live`], then what happens. One who
    /// reads too slowly gets [`Event::Lagged`] and nothing more.
    ///
    /// # Errors
    /// [`SessionError`].
    pub async fn follow(
        &self,
        session: Option<SessionId>,
        after: Option<u64>,
    ) -> Result<Follow, SessionError> {
        let core = Arc::clone(&self.core);
        if let Some(id) = &session
            && core.book.session(id).is_none()
        {
            return Err(SessionError::Unknown { id: id.to_string() });
        }
        // Before anything is read, so that nothing falls between.
        let live = core.book.live().listen();
        let mut follow = Follow {
            core,
            session,
            live,
            ready: VecDeque::new(),
            last: after.unwrap_or_default(),
            stage: Stage::Past,
        };
        if after.is_none() {
            let book = &follow.core.book;
            let first = book.last(follow.session.as_ref(), None, FIRST).await?;
            follow.take(&first);
        }
        Ok(follow)
    }
}

// === impl Follow ===

impl Follow {
    /// The next event; `None` when nothing follows. May be dropped and called again.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            match self.stage {
                Stage::Over => return None,
                Stage::Past => self.read_past().await,
                Stage::Live => match self.live.recv().await {
                    Ok(told) => {
                        if let Some(event) = self.is_new(&told) {
                            return Some(event);
                        }
                    }
                    Err(RecvError::Lagged(_)) => return Some(self.lagged()),
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }

    fn lagged(&mut self) -> Event {
        self.stage = Stage::Over;
        Event::Lagged {}
    }

    /// Reads more of what was said; when nothing is left, how things are now.
    async fn read_past(&mut self) {
        let book = &self.core.book;
        let more = match book.since(self.session.as_ref(), self.last).await {
            Ok(more) => more,
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(error, "a conversation could not be read");
                let lagged = self.lagged();
                self.ready.push_back(lagged);
                return;
            }
        };
        if !more.is_empty() {
            self.take(&more);
            return;
        }
        let live = &mut self.live;
        let (open, missed) = self.core.book.snapshot(|| drain(live));
        let Some(missed) = missed else {
            let lagged = self.lagged();
            self.ready.push_back(lagged);
            return;
        };
        for task in open {
            if self.session.as_ref().is_some_and(|of| *of != task.session) {
                continue;
            }
            let view = self.core.view_of(&task);
            self.ready.push_back(Event::Task {
                task: Box::new(view),
            });
            if !task.said.is_empty() {
                self.ready.push_back(Event::Delta {
                    task_id: task.id.to_string(),
                    text: task.said,
                });
            }
        }
        for told in missed {
            // What else was told is in how things are now.
            if matches!(told.event, Event::Message { .. })
                && let Some(event) = self.is_new(&told)
            {
                self.ready.push_back(event);
            }
        }
        self.ready.push_back(Event::Live {});
        self.stage = Stage::Live;
    }

    fn take(&mut self, entries: &[Entry]) {
        for entry in entries {
            self.last = self.last.max(entry.seq);
            self.ready.push_back(Event::Message {
                message: Box::new(entry.view()),
            });
        }
    }

    /// What of it is to be told here.
    fn is_new(&self, told: &Told) -> Option<Event> {
        if self.session.as_ref().is_some_and(|of| *of != told.session) {
            return None;
        }
        Some(told.event.clone())
    }
}

/// Everything that was told until now; `None` where something was missed, of which no later read
/// says anything.
fn drain(live: &mut broadcast::Receiver<Arc<Told>>) -> Option<Vec<Arc<Told>>> {
    let mut all = Vec::new();
    loop {
        match live.try_recv() {
            Ok(told) => all.push(told),
            Err(TryRecvError::Lagged(_)) => return None,
            Err(TryRecvError::Empty | TryRecvError::Closed) => return Some(all),
        }
    }
}
