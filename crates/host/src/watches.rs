//! Which resources are watched, for whom.
//!
//! Kept apart from the instances that do the watching: those come and go with
//! restarts and changed configurations, and a client's subscription outlives
//! them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use legation_core::ServerName;

use crate::instance::Key;

/// How many want each resource of each instance watched.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    wanted: Mutex<Wanted>,
}

type Wanted = HashMap<(ServerName, Key), BTreeMap<Box<str>, usize>>;

// === impl Watches ===

impl Watches {
    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more who wants a resource watched.
    pub(crate) fn add(&self, server: &ServerName, key: &Key, uri: &str) {
        let mut wanted = self.wanted();
        let of = wanted.entry((server.clone(), key.clone())).or_default();
        *of.entry(uri.into()).or_default() += 1;
    }

    /// Counts one less.
    pub(crate) fn remove(&self, server: &ServerName, key: &Key, uri: &str) {
        let mut wanted = self.wanted();
        let id = (server.clone(), key.clone());
        let Some(of) = wanted.get_mut(&id) else {
            return;
        };
        if let Some(count) = of.get_mut(uri) {
            *count -= 1;
            if *count == 0 {
                of.remove(uri);
            }
        }
        if of.is_empty() {
            wanted.remove(&id);
        }
    }

    /// The resources an instance is to watch, sorted.
    pub(crate) fn of(&self, server: &ServerName, key: &Key) -> Vec<Box<str>> {
        let wanted = self.wanted();
        let of = wanted.get(&(server.clone(), key.clone()));
        of.map(|of| of.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// Whether an instance has anything to watch.
    pub(crate) fn any(&self, server: &ServerName, key: &Key) -> bool {
        self.wanted().contains_key(&(server.clone(), key.clone()))
    }

    /// The instances of a server that have something to watch.
    pub(crate) fn keys(&self, server: &ServerName) -> Vec<Key> {
        let wanted = self.wanted();
        let of = wanted.keys().filter(|(name, _)| name == server);
        of.map(|(_, key)| key.clone()).collect()
    }
}
