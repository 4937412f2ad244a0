//! The accounts of the settings, for whoever signs in with them.
//!
//! A command and a running hub make them of the same settings and keep their
//! sign-ins in the same place, so that what one signs in the other can use.

mod keyring;
pub(crate) mod state;

pub use keyring::HomeKeyring;
pub(crate) use keyring::KEPT;

use std::sync::Arc;

use legation_config::settings::{AccountSettings, BrokerChoice, Hidden, SecretsPlace};
use legation_config::{Environment, Settings};
use legation_core::{Home, SharedClock, TaskSet};
use legation_entra::account::BrokerSettings;
use legation_entra::{Accounts, Parts};
use legation_keystore::{KeepIn, Keystore, SecretStore, SecretsError};

/// Every account of the settings. `announce` is told, once, what the user must
/// hear of the place where the secrets are; it may be called from any thread.
pub fn accounts(
    settings: &Settings,
    home: &Home,
    environment: &Environment,
    clock: &SharedClock,
    announce: impl Fn(&str) + Send + Sync + 'static,
) -> Accounts {
    let all = settings.accounts.values().map(account).collect();
    let keep = keep_in(settings);
    let (home, clock) = (home.clone(), Arc::clone(clock));
    let env = environment.child([]);
    let open = move || {
        let store = secrets(&home, keep)?;
        if let Some(text) = store.announcement() {
            announce(&text);
        }
        Ok(Parts {
            store: Arc::new(store),
            clock: Arc::clone(&clock),
            tasks: TaskSet::new(),
            env: env.clone(),
            memory: None,
        })
    };
    Accounts::new(all, Arc::new(open))
}

/// Where the settings want secrets kept.
pub fn keep_in(settings: &Settings) -> KeepIn {
    match settings.secrets_keep_in {
        SecretsPlace::Auto => KeepIn::Auto,
        SecretsPlace::System => KeepIn::System,
        SecretsPlace::File => KeepIn::File,
    }
}

/// The one place where secrets are kept.
///
/// # Errors
/// See [`SecretsError`].
pub fn secrets(home: &Home, keep: KeepIn) -> Result<SecretStore, SecretsError> {
    let keys = Keystore::open(&home.keys()).map_err(|source| SecretsError::Key { source })?;
    SecretStore::open(&keys, &home.secrets(), keep)
}

/// The settings of one account, as whoever signs in reads them.
pub fn account(settings: &AccountSettings) -> legation_entra::AccountSettings {
    let secret = |hidden: &Option<Hidden>| hidden.as_ref().map(|hidden| hidden.0.clone());
    legation_entra::AccountSettings {
        name: settings.name.clone(),
        entity: settings.entity.clone(),
        tenant_id: settings.tenant_id.clone(),
        cloud: settings.cloud.clone(),
        authority: settings.authority.clone(),
        graph: settings.graph.clone(),
        client_id: settings.client_id.clone(),
        api_client_id: settings.api_client_id.clone(),
        api_scope: settings.api_scope.clone(),
        blueprint_id: settings.blueprint_id.clone(),
        agent_id: settings.agent_id.clone(),
        agent_user: settings.agent_user.clone(),
        human: settings.human.clone(),
        broker: match &settings.broker {
            BrokerChoice::Keystore => BrokerSettings::Keystore,
            BrokerChoice::Command(command) => BrokerSettings::Command(command.clone()),
            BrokerChoice::Https(url) => BrokerSettings::Https(url.clone()),
        },
        certificate: settings.certificate.clone(),
        ca_file: settings.ca_file.clone(),
        proxy: settings.proxy.clone(),
        client_secret: secret(&settings.client_secret),
        blueprint_secret: secret(&settings.blueprint_secret),
    }
}
