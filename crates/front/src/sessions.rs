//! The handshake sessions over HTTP, by id.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use legation_core::{CancelReason, ClientId};

use crate::session::Session;
use crate::shared::Shared;

/// Why no session was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{limit} sessions are in use already")]
pub(crate) struct TooMany {
    limit: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<Box<str>, Arc<Session>>>,
}

// === impl Sessions ===

impl Sessions {
    /// Keeps a session. Where a client has too many, the one it has not used for
    /// longest ends: agents that never end theirs must not lock themselves out.
    ///
    /// # Errors
    /// When there are too many and none of this client's is idle.
    pub(crate) fn insert(&self, shared: &Shared, session: &Arc<Session>) -> Result<(), TooMany> {
        let settings = &shared.settings;
        let client = &session.caller.principal.client;
        let over = {
            let mut open = self.lock();
            let own = || {
                open.values()
                    .filter(|one| one.caller.principal.client == *client)
            };
            let limit = if open.len() >= settings.sessions_max {
                Some(settings.sessions_max)
            } else if own().count() >= settings.sessions_per_client {
                Some(settings.sessions_per_client)
            } else {
                None
            };
            let over = match limit {
                None => None,
                Some(limit) => {
                    let idle = own().filter_map(|one| Some((one.idle_since()?, one.id.clone())));
                    Some(idle.min().ok_or(TooMany { limit })?.1)
                }
            };
            let over = over.and_then(|id| open.remove(&id));
            open.insert(session.id.clone(), Arc::clone(session));
            over
        };
        if let Some(over) = over {
            end(shared, &over, CancelReason::Disconnected);
        }
        Ok(())
    }

    /// Finds a session of this client's; another's is as unknown as none.
    pub(crate) fn find(&self, id: &str, client: &ClientId) -> Option<Arc<Session>> {
        let open = self.lock();
        let session = open.get(id)?;
        (session.caller.principal.client == *client).then(|| Arc::clone(session))
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Ends one session; whether it was there.
    pub(crate) fn close(&self, shared: &Shared, id: &str, reason: CancelReason) -> bool {
        let open = self.lock().remove(id);
        let Some(session) = open else { return false };
        end(shared, &session, reason);
        true
    }

    /// Ends the sessions nobody used for so long.
    pub(crate) fn sweep(&self, shared: &Shared, idle: Duration) {
        let idle_ms = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        let now_ms = shared.now_ms();
        let over: Vec<Box<str>> = self
            .lock()
            .iter()
            .filter(|(_, session)| {
                session
                    .idle_since()
                    .is_some_and(|since| now_ms.saturating_sub(since) >= idle_ms)
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
        for session in all.into_values() {
            end(shared, &session, reason);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What every session does at its end, whatever carried it.
pub(crate) fn end(shared: &Shared, session: &Session, reason: CancelReason) {
    if session.close(reason) && session.is_seated() {
        shared.seats.release(shared.servers(), &session.caller);
    }
}
