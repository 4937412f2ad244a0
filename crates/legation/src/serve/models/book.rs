//! What models cost, in the store and in memory.
//!
//! Limits are asked before every request, so they are asked of memory; rows go
//! to the disk behind the answers, several at once. A hub that is killed loses
//! what it counted in the last moments, which the ledger has.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use legation_core::SharedClock;
use legation_core::error::chain;
use legation_models::{BookError, Day, Spend, SpendBook, Spent};
use legation_store::{SpendRow, Store, StoreError};
use tokio::sync::Notify;

/// How long what was counted may wait for more.
const GATHER: Duration = Duration::from_millis(50);
/// How long a store that failed is left alone.
const RETRY: Duration = Duration::from_secs(1);
/// How many days are kept: a year and the month that is compared with it.
const KEPT_DAYS: i64 = 400;

/// The book of a hub.
pub(crate) struct Book {
    store: Arc<Store>,
    clock: SharedClock,
    rows: Mutex<Rows>,
    /// Held by who writes, so that what fails goes back before the next try.
    writing: Mutex<()>,
    more: Notify,
}

/// What is known, each by what it is about: bounded by days, providers, models,
/// jobs and entities, not by requests.
#[derive(Default)]
struct Rows {
    /// The store's rows of this month; `None` until they were read.
    kept: Option<BTreeMap<Key, SpendRow>>,
    /// On their way there.
    going: BTreeMap<Key, SpendRow>,
    /// Not on their way yet.
    waiting: BTreeMap<Key, SpendRow>,
}

/// Day, provider, model, job and entities.
type Key = (i64, String, String, String, String);

/// The rows were not read yet.
#[derive(Debug, thiserror::Error)]
#[error("what was counted before has not been read")]
struct NotRead;

// === impl Book ===

impl Book {
    pub(super) fn new(store: Arc<Store>, clock: SharedClock) -> Self {
        Self {
            store,
            clock,
            rows: Mutex::default(),
            writing: Mutex::default(),
            more: Notify::new(),
        }
    }

    /// Reads what there is, and writes what comes.
    pub(super) async fn run(self: Arc<Self>) {
        while self.lock().kept.is_none() {
            if !self.aside("reading what models cost", Self::read).await {
                tokio::time::sleep(RETRY).await;
            }
        }
        loop {
            self.more.notified().await;
            tokio::time::sleep(GATHER).await;
            while !self.aside("keeping what models cost", Self::write).await {
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    /// Whether it could be done.
    async fn aside(
        self: &Arc<Self>,
        what: &'static str,
        work: fn(&Self) -> Result<(), StoreError>,
    ) -> bool {
        let book = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&book)).await;
        if let Ok(Err(error)) = &done {
            let error = chain(error);
            tracing::error!(%error, what, "it is tried again");
        }
        matches!(done, Ok(Ok(())))
    }

    /// Reads the rows of this month, and drops those of long ago. Blocks.
    pub(super) fn read(&self) -> Result<(), StoreError> {
        let today = Day::of(self.clock.wall());
        self.store.spend_trim(today.0 - KEPT_DAYS)?;
        let rows = self.store.spend_list(today.month_start().0)?;
        let kept = rows.into_iter().map(|row| (key(&row), row));
        self.lock().kept = Some(kept.collect());
        Ok(())
    }

    /// Writes what was counted; on disk on return. Blocks.
    ///
    /// # Errors
    /// When it cannot; it stays then.
    pub(crate) fn write(&self) -> Result<(), StoreError> {
        let _one_writer = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let going: Vec<SpendRow> = {
            let mut rows = self.lock();
            rows.going = std::mem::take(&mut rows.waiting);
            rows.going.values().cloned().collect()
        };
        if going.is_empty() {
            return Ok(());
        }
        let added = self.store.spend_add(&going);
        // Others that share the database add to the same limits.
        let shared = added.is_ok() && self.store.is_remote();
        let mut rows = self.lock();
        let sent = std::mem::take(&mut rows.going);
        let Rows { kept, waiting, .. } = &mut *rows;
        // What was never read will be, with these rows.
        let into = match &added {
            Ok(()) => kept.as_mut(),
            Err(_) => Some(waiting),
        };
        if let Some(into) = into {
            for row in sent.into_values() {
                add(into, row);
            }
        }
        // No limit looks further back than the month.
        let month = Day::of(self.clock.wall()).month_start().0;
        if let Some(kept) = kept {
            kept.retain(|(day, ..), _| *day >= month);
        }
        drop(rows);
        if shared {
            self.read()?;
        }
        added
    }

    /// What was kept from a day on. Blocks.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn list(&self, from: Day) -> Result<Vec<SpendRow>, StoreError> {
        self.write()?;
        self.store.spend_list(from.0)
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpendBook for Book {
    fn add(&self, spend: Spend) -> Result<(), BookError> {
        add(&mut self.lock().waiting, row(spend));
        self.more.notify_one();
        Ok(())
    }

    fn since(&self, provider: &str, from: Day) -> Result<Spent, BookError> {
        let rows = self.lock();
        let kept = rows.kept.as_ref();
        let kept = kept.ok_or_else(|| BookError(Box::new(NotRead)))?;
        let all = kept.values().chain(rows.going.values());
        let all = all.chain(rows.waiting.values());
        let wanted = all.filter(|row| row.provider == provider && row.day >= from.0);
        Ok(wanted.fold(Spent::default(), |spent, row| Spent {
            tokens: spent
                .tokens
                .saturating_add(positive(row.input + row.output)),
            cost_micro_usd: spent
                .cost_micro_usd
                .saturating_add(positive(row.cost_micro)),
        }))
    }
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book").finish_non_exhaustive()
    }
}

fn key(row: &SpendRow) -> Key {
    (
        row.day,
        row.provider.clone(),
        row.model.clone(),
        row.job.clone(),
        row.entities.clone(),
    )
}

fn add(rows: &mut BTreeMap<Key, SpendRow>, row: SpendRow) {
    let sum = rows.entry(key(&row)).or_insert_with(|| SpendRow {
        requests: 0,
        uncounted: 0,
        input: 0,
        output: 0,
        cost_micro: 0,
        saved_micro: 0,
        ..row.clone()
    });
    for (sum, more) in [
        (&mut sum.requests, row.requests),
        (&mut sum.uncounted, row.uncounted),
        (&mut sum.input, row.input),
        (&mut sum.output, row.output),
        (&mut sum.cost_micro, row.cost_micro),
        (&mut sum.saved_micro, row.saved_micro),
    ] {
        *sum = sum.saturating_add(more);
    }
}

fn row(spend: Spend) -> SpendRow {
    let number = |count: Option<u64>| i64::try_from(count.unwrap_or(0)).unwrap_or(i64::MAX);
    let usage = &spend.usage;
    let entities = match &spend.labels {
        Some(labels) => labels.iter().map(|one| one.as_str()).collect::<Vec<_>>(),
        None => vec!["all"],
    };
    SpendRow {
        day: spend.day.0,
        entities: entities.join(" "),
        requests: 1,
        uncounted: i64::from(usage.input.is_none() || usage.output.is_none()),
        input: number(usage.input),
        output: number(usage.output),
        cost_micro: number(spend.cost_micro_usd),
        saved_micro: number(spend.saved_micro_usd),
        provider: spend.provider,
        model: spend.model,
        job: spend.job.unwrap_or_default(),
    }
}

fn positive(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

#[cfg(test)]
mod tests;
