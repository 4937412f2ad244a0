//! Under whose identity the hub's accounts act, for its records.

use std::sync::{Arc, Mutex, PoisonError};

use legation_config::watch::Watch;
use legation_core::error::chain;
use legation_core::{EntityId, Home, Identity, TaskSet};
use legation_entra::{Account, Accounts};
use legation_ledger::{Identities, Ledger};
use tokio::sync::Notify;

/// The same accounts, which tell the ledger under whose identity they act.
pub(super) fn told_to(ledger: &Arc<Ledger>, accounts: Accounts) -> Accounts {
    let settings = accounts.settings();
    let names: Vec<Box<str>> = settings.iter().map(|one| one.name.clone()).collect();
    let entities = settings.iter().map(|one| one.entity.clone());
    let identities: Vec<(EntityId, Identity)> = entities
        .map(|entity| (entity, Identity::default()))
        .collect();
    ledger.set_identities(Identities::new(&identities));
    let (identities, ledger) = (Mutex::new(identities), Arc::clone(ledger));
    accounts.telling(Arc::new(move |account: &Account, identity: &Identity| {
        let mut all = identities.lock().unwrap_or_else(PoisonError::into_inner);
        let at = names.iter().position(|name| **name == *account.name());
        if let Some((_, known)) = at.and_then(|at| all.get_mut(at)) {
            known.clone_from(identity);
            // Under the lock: of two changes the later is the ledger's last.
            ledger.set_identities(Identities::new(&all));
        }
    }))
}

/// Notices that a command signed in or out. The file is written anew whenever
/// a sign-in is renewed, too; reading it then changes nothing.
pub(super) fn watch(tasks: &TaskSet, accounts: &Arc<Accounts>, home: &Home) {
    if accounts.is_empty() {
        return;
    }
    let (changed, accounts) = (Arc::new(Notify::new()), Arc::clone(accounts));
    let told = Arc::clone(&changed);
    let watch = Watch::start(vec![home.secrets()], move |_| told.notify_one());
    if let Err(error) = &watch {
        let error = chain(error);
        tracing::warn!(error, "sign-ins of commands are noticed when they are used");
    }
    tasks.spawn("account watch", async move {
        // Ends with the task.
        let _watch = watch;
        loop {
            changed.notified().await;
            accounts.recall().await;
        }
    });
}
