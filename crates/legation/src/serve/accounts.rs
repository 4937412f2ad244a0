//! The accounts that the servers of the hub's own act with.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use legation_cli::{Output, accounts};
use legation_core::error::chain;
use legation_core::{SharedClock, TaskSet, Wall};
use legation_entra::Accounts;
use legation_entra::http::WaitMemory;
use legation_store::{KeptRow, Store, StoreError};

use super::HubOptions;

/// What is kept of waits in the hub's store.
const WAITS: &str = "wait";

/// What services said about waiting, in the hub's store: a hub that is started
/// anew asks no earlier than the one before it was told.
struct StoredWaits {
    store: Arc<Store>,
    clock: SharedClock,
    /// Held while a row is read and written: several are told to wait at once,
    /// and the shorter must not stand in place of the longer.
    turn: Arc<Mutex<()>>,
}

/// The accounts of the settings a hub starts with.
pub(super) fn of(options: &HubOptions, store: &Arc<Store>) -> Accounts {
    let announce = |text: &str| {
        // Whoever started the hub hears it; a detached hub has only its log.
        Output::new(false).say(text);
        tracing::warn!("{text}");
    };
    let (settings, home) = (&options.settings, &options.home);
    let (environment, clock) = (&options.environment, &options.clock);
    let made = accounts::accounts(settings, home, environment, clock, announce);
    let waits = StoredWaits {
        store: Arc::clone(store),
        clock: Arc::clone(clock),
        turn: Arc::default(),
    };
    made.with_memory(Arc::new(waits))
}

/// Opens what is kept of them, while nobody waits for it. What fails is tried
/// again by whoever needs an account, and said to them.
pub(super) fn open(tasks: &TaskSet, accounts: &Arc<Accounts>) {
    let Some(first) = accounts.settings().first() else {
        return;
    };
    let (name, accounts) = (first.name.clone(), Arc::clone(accounts));
    tasks.spawn("accounts", async move {
        if let Err(error) = accounts.pick(Some(&name)).await {
            let error = chain(&error);
            tracing::warn!(error, "an account cannot be used");
        }
    });
}

// === impl StoredWaits ===

impl WaitMemory for StoredWaits {
    fn kept(&self, account: &str) -> Vec<(String, Wall)> {
        let rows = self.store.kept_list(WAITS).unwrap_or_else(|error| {
            let error = chain(&error);
            tracing::error!(error, "what services said about waiting is not known");
            Vec::new()
        });
        let of_account = rows.into_iter().filter_map(|row| {
            let requests = row.name.strip_prefix(account)?.strip_prefix(' ')?;
            Some((requests.to_owned(), Wall(row.expires_ms)))
        });
        of_account.collect()
    }

    fn keep(&self, account: &str, requests: &str, not_before: Wall) {
        let row = KeptRow {
            kind: WAITS.to_owned(),
            name: format!("{account} {requests}"),
            value: String::new(),
            changed_ms: self.clock.wall().0,
            expires_ms: not_before.0,
        };
        let (store, turn) = (Arc::clone(&self.store), Arc::clone(&self.turn));
        // The disk is waited for elsewhere; who was told to wait does so already.
        drop(tokio::task::spawn_blocking(move || {
            if let Err(error) = keep_longer(&store, &turn, &row) {
                let error = chain(&error);
                tracing::error!(error, "what a service said about waiting was not kept");
            }
        }));
    }
}

/// Keeps a wait, unless a longer one is kept.
fn keep_longer(store: &Store, turn: &Mutex<()>, row: &KeptRow) -> Result<(), StoreError> {
    let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
    let known = store.kept_get(&row.kind, &row.name)?;
    if known.is_some_and(|known| known.expires_ms >= row.expires_ms) {
        return Ok(());
    }
    store.kept_put(row)
}

impl fmt::Debug for StoredWaits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredWaits").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
