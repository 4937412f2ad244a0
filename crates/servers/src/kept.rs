//! What must survive the hub: what was sent under a key, which questions are
//! open, how far somebody has read. No text of a message is among it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use legation_core::error::chain;
use legation_core::id::hex;
use legation_core::{ClientId, SharedClock};
use legation_entra::Class;
use legation_store::{KeptRow, Store, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::accounts::Failure;

/// A kind of row: its word in the store, how long a row stays after its last
/// change, and how many there may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) word: &'static str,
    pub(crate) days: i64,
    pub(crate) most: u32,
}

/// Rows of the hub's store, read and written off the runtime's threads.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    store: Arc<Store>,
    pub(crate) clock: SharedClock,
    /// Rows that could not be read, by their names; as many as a kind may have.
    reported: Arc<Mutex<HashSet<String>>>,
}

const DAY_MS: i64 = 24 * 3600 * 1000;

/// The name of a row: the same for the same parts, and telling nothing of them.
pub(crate) fn name(client: &ClientId, account: &str, parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in [client.as_str(), account].iter().chain(parts) {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    hex(&digest.finalize())
}

// === impl Kept ===

impl Kept {
    pub(crate) fn new(store: Arc<Store>, clock: SharedClock) -> Self {
        Self {
            store,
            clock,
            reported: Arc::default(),
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.wall().0
    }

    /// The row of that name. One that cannot be read counts as a failure, not
    /// as missing: what was sent would be sent again.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        kind: Kind,
        name: &str,
    ) -> Result<Option<T>, Failure> {
        let name = name.to_owned();
        let row = self
            .run(move |store| store.kept_get(kind.word, &name))
            .await?;
        row.map(|row| read(&row)).transpose()
    }

    /// Everything of a kind that can be read, with its names, oldest first. One
    /// damaged row must not keep others from what is theirs; it is reported once.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        kind: Kind,
    ) -> Result<Vec<(String, T)>, Failure> {
        let rows = self.run(move |store| store.kept_list(kind.word)).await?;
        let all = rows.into_iter().filter_map(|row| match read(&row) {
            Ok(value) => Some((row.name, value)),
            Err(failure) => {
                self.report(kind, row.name, &failure);
                None
            }
        });
        Ok(all.collect())
    }

    fn report(&self, kind: Kind, name: String, failure: &Failure) {
        let reported = self.reported.lock();
        let mut reported = reported.unwrap_or_else(PoisonError::into_inner);
        if !reported.contains(&name) {
            let error = &failure.message;
            tracing::error!(error, kind = kind.word, name, "a row is left out");
            reported.insert(name);
        }
    }

    /// Stores a row in place of the one of its name; on disk on return.
    pub(crate) async fn put<T: Serialize>(
        &self,
        kind: Kind,
        name: &str,
        value: &T,
    ) -> Result<(), Failure> {
        let row = self.row(kind, name, value)?;
        self.run(move |store| store.kept_put(&row)).await
    }

    /// Forgets the row of that name.
    pub(crate) async fn remove(&self, kind: Kind, name: &str) -> Result<(), Failure> {
        let name = name.to_owned();
        self.run(move |store| store.kept_remove(kind.word, &name).map(drop))
            .await
    }

    /// Stores a row unless there is one of its name, which is given back then.
    /// Makes room first.
    pub(crate) async fn add<T: Serialize + DeserializeOwned>(
        &self,
        kind: Kind,
        name: &str,
        value: &T,
    ) -> Result<Option<T>, Failure> {
        let row = self.row(kind, name, value)?;
        let now = self.now_ms();
        let found = self
            .run(move |store| {
                store.kept_expire(now)?;
                // What is there is given back before room is made: it may be
                // the oldest, and gone it would be done again.
                if let Some(found) = store.kept_get(kind.word, &row.name)? {
                    return Ok(Some(found));
                }
                store.kept_trim(kind.word, kind.most - 1)?;
                store.kept_add(&row)
            })
            .await?;
        found.map(|row| read(&row)).transpose()
    }

    fn row<T: Serialize>(&self, kind: Kind, name: &str, value: &T) -> Result<KeptRow, Failure> {
        let value = serde_json::to_string(value).map_err(|error| failed(&error))?;
        let now = self.now_ms();
        Ok(KeptRow {
            kind: kind.word.to_owned(),
            name: name.to_owned(),
            value,
            changed_ms: now,
            expires_ms: now + kind.days * DAY_MS,
        })
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Failure> {
        let store = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        done.map_err(|error| failed(&error))?
            .map_err(|error| failed(&error))
    }
}

fn read<T: DeserializeOwned>(row: &KeptRow) -> Result<T, Failure> {
    serde_json::from_str(&row.value).map_err(|error| failed(&error))
}

fn failed(error: &(dyn std::error::Error + 'static)) -> Failure {
    let message = format!(
        "what the hub keeps of its chats could not be used: {}; the call was not finished",
        chain(error)
    );
    Failure::said(Class::Local, message, "see the hub's log and its disk")
}
