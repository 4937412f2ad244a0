//! What waits for a person, put to the humans of the accounts whose owner wants
//! that.

use std::sync::Arc;

use legation_cli::CliError;
use legation_config::Settings;
use legation_core::{Cancel, EntityId, TaskSet};
use legation_gate::Asking;
use legation_gate::desk::Desk;
use legation_keystore::Keystore;
use legation_servers::teams::{ApprovalsHere, Rules, Teams};
use legation_store::Store;

use super::hub::Inner;
use super::natives::Windows;

/// Who is asked in Teams; nobody, where no account says so.
pub(super) fn here(
    settings: &Settings,
    store: &Arc<Store>,
    keystore: &Keystore,
    asking: &Asking,
    (windows, teams): (&Windows, Option<&Teams>),
) -> Result<Option<ApprovalsHere>, CliError> {
    let wanting = settings.accounts.values().filter(|one| one.asks_in_teams);
    let accounts: Vec<(Box<str>, EntityId)> = wanting
        .map(|account| (account.name.clone(), account.entity.clone()))
        .collect();
    if accounts.is_empty() {
        return Ok(None);
    }
    let key = keystore
        .key("approvals")
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    let desk = Desk::open(asking.clone(), store, &key);
    let desk = Arc::new(desk.map_err(|error| CliError::failed(&error))?);
    if let Some(teams) = teams {
        teams.keep_cards_of(&desk);
    }
    Ok(Some(ApprovalsHere {
        desk,
        accounts,
        rules: Arc::new(windows.clone()),
    }))
}

/// Asks them, beside everything else.
pub(super) fn run(tasks: &TaskSet, inner: &Arc<Inner>) {
    let (Some(teams), Some(here)) = (inner.teams.clone(), inner.approvals_here.clone()) else {
        return;
    };
    tasks.spawn("approvals in Teams", async move {
        teams.attend(&here, &Cancel::new()).await;
    });
}

impl Rules for Windows {
    /// Without rules nobody knows, and nothing is shown.
    fn holds_health(&self, entity: &EntityId) -> bool {
        let gate = self.gate();
        gate.is_none_or(|gate| gate.rules().holds_health(entity))
    }
}
