//! The desk's rows, sealed under the key of whose data they are.
//!
//! Every read and write of the disk happens off the runtime's threads. Whose a row is, is asked
//! before a call is decided and must be answered at once, so the owners of everything that a tool
//! can name are in memory.

mod damaged;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use legation_core::error::chain;
use legation_core::id::hex;
use legation_core::{EntityId, SharedClock};
use legation_keystore::{Key, Keystore, KeystoreError};
use legation_store::{DeskAdded, DeskEvent, DeskRow, DeskWhich, Store, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use damaged::Damaged;

/// Longest name of a key, in bytes.
const KEY_NAME_MAX: usize = 100;
/// Most rows that are forgotten in one go: nobody waits for longer than that.
const FORGET_MAX: usize = 500;
/// Whoever shares a database may write a row a little after the moment that stands in it.
const OVERLAP_MS: i64 = 60_000;

/// A kind of row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A deal.
    Deal,
    /// Something that waits to be sorted, or was.
    Triage,
    /// Where something might be filed.
    Filing,
    /// A deadline that was found.
    Deadline,
    /// An event of a calendar, as it was read.
    Event,
    /// A letter of a mailbox, as it was read.
    Letter,
    /// How far a calendar or mailbox was read.
    Mark,
}

/// A row with its body open.
#[derive(Debug, Clone)]
pub(crate) struct Entry<T> {
    pub(crate) id: String,
    pub(crate) entity: EntityId,
    pub(crate) account: String,
    pub(crate) state: String,
    pub(crate) key: Option<String>,
    pub(crate) at_ms: i64,
    pub(crate) until_ms: i64,
    pub(crate) changed_ms: i64,
    pub(crate) version: i64,
    pub(crate) body: T,
}

/// Which rows are wanted.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) entity: EntityId,
    pub(crate) state: Option<&'static str>,
    pub(crate) account: Option<String>,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
    pub(crate) limit: usize,
    pub(crate) newest_first: bool,
}

/// Whether a row was added.
#[derive(Debug, Clone)]
pub(crate) enum Added<T> {
    /// It is there now.
    New,
    /// There was one of its id or key, which is this.
    Was(Entry<T>),
}

/// A row could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BookError {
    /// The store refused.
    #[error("the desk's rows cannot be used")]
    Store(#[from] StoreError),
    /// A key cannot be had.
    #[error("the key of the desk's data cannot be used")]
    Key(#[from] KeystoreError),
    /// The body is not what was sealed here, or its key is gone.
    #[error("a row of the desk cannot be read any more: its key is gone, or it was changed")]
    Unreadable,
    /// The work was dropped.
    #[error("the hub is stopping")]
    Stopping,
}

/// The rows.
#[derive(Clone)]
pub(crate) struct Book {
    store: Arc<Store>,
    keystore: Arc<Keystore>,
    pub(crate) clock: SharedClock,
    owners: Arc<RwLock<Owners>>,
    damaged: Arc<Damaged>,
}

/// Whose the rows are that tools can name.
#[derive(Default)]
struct Owners {
    of: HashMap<(Kind, String), EntityId>,
    seen_ms: i64,
}

// === impl Kind ===

impl Kind {
    /// Kinds whose ids a tool can name.
    const NAMED: [Self; 4] = [Self::Deal, Self::Triage, Self::Filing, Self::Deadline];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Deal => "deal",
            Self::Triage => "triage",
            Self::Filing => "filing",
            Self::Deadline => "deadline",
            Self::Event => "event",
            Self::Letter => "letter",
            Self::Mark => "mark",
        }
    }
}

// === impl Wanted ===

impl Wanted {
    /// Everything of an entity's, oldest first, at most `limit`.
    pub(crate) fn of(entity: &EntityId, limit: usize) -> Self {
        Self {
            entity: entity.clone(),
            state: None,
            account: None,
            from_ms: i64::MIN,
            to_ms: i64::MAX,
            limit,
            newest_first: false,
        }
    }
}

// === impl BookError ===

impl BookError {
    /// What to do next.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Store(_) => "see the hub's log and its disk",
            Self::Key(_) | Self::Unreadable => "see `legation doctor`; what has no key stays lost",
            Self::Stopping => "try again when the hub runs",
        }
    }
}

// === impl Book ===

impl Book {
    pub(crate) fn new(store: Arc<Store>, keystore: Arc<Keystore>, clock: SharedClock) -> Self {
        Self {
            store,
            keystore,
            clock,
            owners: Arc::default(),
            damaged: Arc::default(),
        }
    }

    /// The same rows, of whose owners nothing is known yet.
    #[cfg(test)]
    pub(crate) fn again(&self) -> Self {
        Self {
            owners: Arc::default(),
            damaged: Arc::default(),
            ..self.clone()
        }
    }

    /// Puts what nobody sealed in the place of the bodies of rows.
    #[cfg(test)]
    pub(crate) async fn damage<T>(&self, kind: Kind, entries: &[Entry<T>])
    where
        T: Serialize + Sync,
    {
        let rows = entries.iter().map(|entry| DeskRow {
            body: vec![0; 64],
            ..self.row(kind, entry).unwrap()
        });
        let rows: Vec<DeskRow> = rows.collect();
        self.run(move |book| Ok(book.store.desk_put(&rows)?))
            .await
            .unwrap();
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.wall().0
    }

    /// Whether other hubs may write rows too.
    pub(crate) fn is_shared(&self) -> bool {
        self.store.is_remote()
    }

    /// Whose a row is, as far as is known here.
    pub(crate) fn owner(&self, kind: Kind, id: &str) -> Option<EntityId> {
        let owners = self.owners.read().unwrap_or_else(PoisonError::into_inner);
        owners.of.get(&(kind, id.to_owned())).cloned()
    }

    /// Learns whose rows are that were written since it last learned.
    pub(crate) async fn learn(&self) -> Result<(), BookError> {
        let since_ms = {
            let owners = self.owners.read().unwrap_or_else(PoisonError::into_inner);
            owners.seen_ms.saturating_sub(OVERLAP_MS)
        };
        let found = self
            .run(move |book| {
                let mut found = Vec::new();
                for kind in Kind::NAMED {
                    let rows = book.store.desk_owners(kind.word(), since_ms)?;
                    found.extend(rows.into_iter().map(|row| (kind, row)));
                }
                Ok(found)
            })
            .await?;
        let mut owners = self.owners.write().unwrap_or_else(PoisonError::into_inner);
        for (kind, (id, entity, changed_ms)) in found {
            owners.seen_ms = owners.seen_ms.max(changed_ms);
            owners.of.insert((kind, id), entity);
        }
        Ok(())
    }

    /// How many rows of an entity's were there and could not be read when they were last listed.
    pub(crate) fn damaged(&self, kind: Kind, entity: &EntityId) -> usize {
        self.damaged.count(kind, entity)
    }

    fn learned(&self, kind: Kind, id: &str, entity: &EntityId) {
        if Kind::NAMED.contains(&kind) {
            let mut owners = self.owners.write().unwrap_or_else(PoisonError::into_inner);
            owners.of.insert((kind, id.to_owned()), entity.clone());
        }
    }

    /// Adds a row with what happened, unless its id or key is taken.
    pub(crate) async fn add<T>(
        &self,
        kind: Kind,
        entry: &Entry<T>,
        event: Option<&(impl Serialize + Sync)>,
    ) -> Result<Added<T>, BookError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        let (row, event) = self.rows(kind, entry, event)?;
        let (id, entity) = (row.id.clone(), row.entity.clone());
        let added = self
            .run(
                move |book| match book.store.desk_add(&row, event.as_ref())? {
                    DeskAdded::New => Ok(Added::New),
                    DeskAdded::Taken(row) => book.open(kind, *row).map(Added::Was),
                },
            )
            .await?;
        if matches!(added, Added::New) {
            self.learned(kind, &id, &entity);
        }
        Ok(added)
    }

    /// Puts a row in the place of the one before it; `false` when somebody else changed that one
    /// meanwhile. `entry.version` is that of the one before.
    pub(crate) async fn set<T>(
        &self,
        kind: Kind,
        entry: &Entry<T>,
        event: Option<&(impl Serialize + Sync)>,
    ) -> Result<bool, BookError>
    where
        T: Serialize + Sync,
    {
        let (mut row, event) = self.rows(kind, entry, event)?;
        row.version += 1;
        let (id, entity) = (row.id.clone(), row.entity.clone());
        let done = self
            .run(move |book| Ok(book.store.desk_set(&row, event.as_ref())?))
            .await?;
        if done {
            self.learned(kind, &id, &entity);
        }
        Ok(done)
    }

    /// Puts rows in the place of those of their ids.
    pub(crate) async fn put<T: Serialize + Sync>(
        &self,
        kind: Kind,
        entries: &[Entry<T>],
    ) -> Result<(), BookError> {
        let rows = entries.iter().map(|entry| self.row(kind, entry));
        let rows: Vec<DeskRow> = rows.collect::<Result<_, _>>()?;
        let written: Vec<(String, EntityId)> = rows
            .iter()
            .map(|row| (row.id.clone(), row.entity.clone()))
            .collect();
        self.run(move |book| Ok(book.store.desk_put(&rows)?))
            .await?;
        for (id, entity) in &written {
            self.learned(kind, id, entity);
        }
        Ok(())
    }

    /// The row of that id.
    pub(crate) async fn get<T>(&self, kind: Kind, id: &str) -> Result<Option<Entry<T>>, BookError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let id = id.to_owned();
        self.run(move |book| {
            let row = book.store.desk_get(kind.word(), &id)?;
            row.map(|row| book.open(kind, row)).transpose()
        })
        .await
    }

    /// Rows. One that cannot be read is left out and reported: it must not keep others from what
    /// is theirs.
    pub(crate) async fn list<T>(
        &self,
        kind: Kind,
        wanted: Wanted,
    ) -> Result<Vec<Entry<T>>, BookError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        self.run(move |book| {
            let which = DeskWhich {
                kind: kind.word(),
                entity: &wanted.entity,
                state: wanted.state,
                account: wanted.account.as_deref(),
                from_ms: wanted.from_ms,
                to_ms: wanted.to_ms,
                limit: wanted.limit,
            };
            let rows = match wanted.newest_first {
                true => book.store.desk_newest(&which)?,
                false => book.store.desk_oldest(&which)?,
            };
            let Some(key) = book.keystore.existing(&key_name(&wanted.entity))? else {
                if !rows.is_empty() {
                    tracing::error!(kind = kind.word(), "rows of the desk have lost their key");
                }
                let lost = rows.into_iter().map(|row| row.id).collect();
                book.damaged
                    .looked_at(kind, &wanted.entity, (Vec::new(), lost));
                return Ok(Vec::new());
            };
            let mut entries = Vec::with_capacity(rows.len());
            let mut lost = Vec::new();
            for row in rows {
                let id = row.id.clone();
                match opened(kind, &key, row) {
                    Ok(entry) => entries.push(entry),
                    Err(error) => {
                        let error = chain(&error);
                        tracing::error!(error, kind = kind.word(), "a row is left out");
                        lost.push(id);
                    }
                }
            }
            let read = entries.iter().map(|entry| entry.id.as_str()).collect();
            book.damaged.looked_at(kind, &wanted.entity, (read, lost));
            Ok(entries)
        })
        .await
    }

    /// How many rows there are, by whose they are and how they stand.
    pub(crate) async fn counts(
        &self,
        kind: Kind,
    ) -> Result<Vec<(EntityId, String, u64)>, BookError> {
        self.run(move |book| Ok(book.store.desk_counts(kind.word())?))
            .await
    }

    /// Forgets a row.
    pub(crate) async fn remove(&self, kind: Kind, id: &str) -> Result<bool, BookError> {
        let id = id.to_owned();
        self.run(move |book| {
            book.damaged.gone(kind, Some(&id));
            Ok(book.store.desk_remove(kind.word(), &id)?)
        })
        .await
    }

    /// Forgets the rows that ended before a moment.
    pub(crate) async fn trim(&self, kind: Kind, before_ms: i64) -> Result<usize, BookError> {
        self.run(move |book| {
            book.damaged.gone(kind, None);
            Ok(book.store.desk_trim(kind.word(), before_ms)?)
        })
        .await
    }

    /// Forgets rows that stand so and did not change since a moment; how many.
    pub(crate) async fn forget(
        &self,
        kind: Kind,
        state: &'static str,
        before_ms: i64,
    ) -> Result<usize, BookError> {
        let mut count = 0;
        loop {
            let gone = self
                .run(move |book| {
                    let which = (kind.word(), state);
                    Ok(book.store.desk_forget(which, before_ms, FORGET_MAX)?)
                })
                .await?;
            let (is_last, more) = (gone.len() < FORGET_MAX, gone.len());
            count += more;
            self.damaged.gone(kind, None);
            let mut owners = self.owners.write().unwrap_or_else(PoisonError::into_inner);
            for id in gone {
                owners.of.remove(&(kind, id));
            }
            if is_last {
                return Ok(count);
            }
        }
    }

    /// What happened to a row, with when, the latest last.
    pub(crate) async fn log<T>(
        &self,
        kind: Kind,
        (id, entity): (&str, &EntityId),
        limit: usize,
    ) -> Result<Vec<(i64, T)>, BookError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let (id, entity) = (id.to_owned(), entity.clone());
        self.run(move |book| {
            let events = book.store.desk_log((kind.word(), &id), &entity, limit)?;
            let key = book.keystore.existing(&key_name(&entity))?;
            let Some(key) = key else {
                return Ok(Vec::new());
            };
            let beside = beside(kind, &id);
            let read = |event: DeskEvent| {
                let body = key.open(beside.as_bytes(), &event.body);
                let body = body.map_err(|_| BookError::Unreadable)?;
                let body = serde_json::from_slice(&body).map_err(|_| BookError::Unreadable)?;
                Ok((event.at_ms, body))
            };
            events.into_iter().map(read).collect()
        })
        .await
    }

    fn rows<T: Serialize>(
        &self,
        kind: Kind,
        entry: &Entry<T>,
        event: Option<&impl Serialize>,
    ) -> Result<(DeskRow, Option<DeskEvent>), BookError> {
        let row = self.row(kind, entry)?;
        let Some(event) = event else {
            return Ok((row, None));
        };
        let event = DeskEvent {
            kind: row.kind.clone(),
            id: row.id.clone(),
            entity: row.entity.clone(),
            at_ms: row.changed_ms,
            body: self.sealed(kind, &row.id, &row.entity, event)?,
        };
        Ok((row, Some(event)))
    }

    fn row<T: Serialize>(&self, kind: Kind, entry: &Entry<T>) -> Result<DeskRow, BookError> {
        Ok(DeskRow {
            kind: kind.word().to_owned(),
            id: entry.id.clone(),
            entity: entry.entity.clone(),
            account: entry.account.clone(),
            state: entry.state.clone(),
            key: entry.key.clone(),
            at_ms: entry.at_ms,
            until_ms: entry.until_ms.max(entry.at_ms),
            changed_ms: self.now_ms(),
            version: entry.version,
            body: self.sealed(kind, &entry.id, &entry.entity, &entry.body)?,
        })
    }

    fn sealed(
        &self,
        kind: Kind,
        id: &str,
        entity: &EntityId,
        body: &impl Serialize,
    ) -> Result<Vec<u8>, BookError> {
        let plain = serde_json::to_vec(body).map_err(|_| BookError::Unreadable)?;
        let key = self.keystore.key(&key_name(entity))?;
        Ok(key.seal(beside(kind, id).as_bytes(), &plain)?)
    }

    fn open<T: DeserializeOwned>(&self, kind: Kind, row: DeskRow) -> Result<Entry<T>, BookError> {
        let key = self.keystore.existing(&key_name(&row.entity))?;
        opened(kind, &key.ok_or(BookError::Unreadable)?, row)
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, BookError> + Send + 'static,
    ) -> Result<T, BookError> {
        let book = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&book)).await;
        done.map_err(|_| BookError::Stopping)?
    }
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book").finish_non_exhaustive()
    }
}

fn opened<T: DeserializeOwned>(kind: Kind, key: &Key, row: DeskRow) -> Result<Entry<T>, BookError> {
    let plain = key.open(beside(kind, &row.id).as_bytes(), &row.body);
    let plain = plain.map_err(|_| BookError::Unreadable)?;
    let body = serde_json::from_slice(&plain).map_err(|_| BookError::Unreadable)?;
    Ok(Entry {
        id: row.id,
        entity: row.entity,
        account: row.account,
        state: row.state,
        key: row.key,
        at_ms: row.at_ms,
        until_ms: row.until_ms,
        changed_ms: row.changed_ms,
        version: row.version,
        body,
    })
}

/// What a body is bound to beside its key: it opens in no other row's place.
fn beside(kind: Kind, id: &str) -> String {
    format!("desk {} {id}", kind.word())
}

/// Entities may be named in any letters, keys are files.
fn key_name(entity: &EntityId) -> String {
    let entity = entity.as_str();
    let name = format!("desk-{}", hex(entity.as_bytes()));
    if name.len() <= KEY_NAME_MAX {
        return name;
    }
    // Cut, two entities could have one key, and end with one of them.
    format!("desk-{}", hex(&Sha256::digest(entity.as_bytes())))
}
