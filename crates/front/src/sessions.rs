//! The handshake sessions over HTTP, by id.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use legation_core::{CancelReason, ClientId};

use crate::outbox::Outbox;
use crate::session::Session;
use crate::settings::FrontSettings;
use crate::shared::Shared;
use crate::watch::WatchGuard;

/// Why no session was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{limit} sessions are open already; nothing was done")]
pub(crate) struct TooMany {
    limit: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<Box<str>, Open>>,
}

#[derive(Debug)]
struct Open {
    session: Arc<Session>,
    watch: Option<WatchGuard>,
}

// === impl Sessions ===

impl Sessions {
    /// Keeps a session.
    ///
    /// # Errors
    /// When there are too many, of this client or altogether.
    pub(crate) fn insert(&self, session: &Arc<Session>, settings: &FrontSettings) -> Result<(), TooMany> {
        let mut open = self.lock();
        if open.len() >= settings.sessions_max {
            return Err(TooMany { limit: settings.sessions_max });
        }
        let client = &session.caller.principal.client;
        let own = open.values().filter(|one| one.session.caller.principal.client == *client).count();
        if own >= settings.sessions_per_client {
            return Err(TooMany { limit: settings.sessions_per_client });
        }
        open.insert(session.id.clone(), Open { session: Arc::clone(session), watch: None });
        Ok(())
    }

    /// Finds a session of this client's; another's is as unknown as none.
    pub(crate) fn find(&self, id: &str, client: &ClientId) -> Option<Arc<Session>> {
        let open = self.lock();
        let session = &open.get(id)?.session;
        (session.caller.principal.client == *client).then(|| Arc::clone(session))
    }

    /// Ties a session's place among the watchers to the session.
    pub(crate) fn watched(&self, id: &str, watch: WatchGuard) {
        let before = match self.lock().get_mut(id) {
            Some(open) => open.watch.replace(watch),
            None => Some(watch),
        };
        drop(before);
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Ends one session; whether it was there.
    pub(crate) fn close(&self, shared: &Shared, id: &str, reason: CancelReason) -> bool {
        let open = self.lock().remove(id);
        let Some(open) = open else { return false };
        end(shared, &open.session, reason);
        true
    }

    /// Ends the sessions nobody used for so long.
    pub(crate) fn sweep(&self, shared: &Shared, idle: Duration) {
        let idle_ms = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        let now_ms = shared.now_ms();
        let over: Vec<Box<str>> = self
            .lock()
            .iter()
            .filter(|(_, open)| {
                open.session.idle_since().is_some_and(|since| now_ms.saturating_sub(since) >= idle_ms)
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in over {
            self.close(shared, &id, CancelReason::Disconnected);
        }
    }

    /// Ends them all.
    pub(crate) fn close_all(&self, shared: &Shared, reason: CancelReason) {
        let all = std::mem::take(&mut *self.lock());
        for open in all.into_values() {
            end(shared, &open.session, reason);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What every session does at its end, whatever carried it.
pub(crate) fn end(shared: &Shared, session: &Session, reason: CancelReason) {
    let seated = session.is_greeted();
    if session.close(reason) && seated {
        shared.seats.release(shared.servers(), &session.caller);
    }
}

/// What is said outside every call of an HTTP session is kept for a while.
pub(crate) fn general() -> Outbox {
    Outbox::kept()
}
