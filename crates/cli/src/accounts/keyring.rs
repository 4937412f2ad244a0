//! The secrets that entries of servers refer to, from the keystore of the data
//! directory.

use std::sync::{Mutex, PoisonError};

use legation_config::environment::Keyring;
use legation_core::error::chain;
use legation_core::{Home, Secret};
use legation_keystore::{KeepIn, SecretStore};

use super::secrets;

/// What the names of these secrets begin with in the keystore, so that no entry gets at a sign-in's.
pub(crate) const KEPT: &str = "server/";

/// Opened when the first secret is asked for, and kept open.
#[derive(Debug)]
pub struct HomeKeyring {
    home: Home,
    open: Mutex<Option<SecretStore>>,
}

// === impl HomeKeyring ===

impl HomeKeyring {
    /// The secrets of a data directory.
    #[must_use]
    pub fn of(home: &Home) -> Self {
        Self {
            home: home.clone(),
            open: Mutex::new(None),
        }
    }
}

impl Keyring for HomeKeyring {
    fn secret(&self, name: &str) -> Option<Secret> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_none() {
            // Looking must not make what it looks for.
            if !self.home.secrets().exists() {
                return None;
            }
            // What was sealed stays where it is, so it makes no difference where new ones would be.
            match secrets(&self.home, KeepIn::Auto) {
                Ok(store) => *open = Some(store),
                Err(error) => {
                    tracing::warn!(error = %chain(&error), "the keystore does not open");
                    return None;
                }
            }
        }
        let found = open.as_ref()?.get(&format!("{KEPT}{name}"));
        found.unwrap_or_else(|error| {
            tracing::warn!(error = %chain(&error), "a secret cannot be read");
            // Another process may have made the file anew.
            *open = None;
            None
        })
    }
}
