//! The accounts that the servers of the hub's own act with.

use std::sync::Arc;

use legation_cli::{Output, accounts};
use legation_core::TaskSet;
use legation_entra::Accounts;

use super::HubOptions;

/// The accounts of the settings a hub starts with.
pub(super) fn of(options: &HubOptions) -> Arc<Accounts> {
    let announce = |text: &str| {
        // Whoever started the hub hears it; a detached hub has only its log.
        Output::new(false).say(text);
        tracing::warn!("{text}");
    };
    let (settings, home) = (&options.settings, &options.home);
    let (environment, clock) = (&options.environment, &options.clock);
    let made = accounts::accounts(settings, home, environment, clock, announce);
    Arc::new(made)
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
            let error = legation_core::error::chain(&error);
            tracing::warn!(error, "an account cannot be used");
        }
    });
}
