//! Several sign-ins side by side, by name.
//!
//! What is kept of them is opened with the first that is used: where the
//! system has to ask its user to unlock, nobody else should wait for that.

use std::fmt;
use std::sync::Arc;

use legation_core::EntityId;
use legation_keystore::SecretsError;
use tokio::sync::OnceCell;

use crate::account::{Account, AccountError, AccountSettings, Parts, Told};
use crate::error::Class;
use crate::http::WaitMemory;

/// Opens what the accounts share; may block.
pub type Open = dyn Fn() -> Result<Parts, SecretsError> + Send + Sync;

/// Every configured account. One whose settings are broken keeps its error, so
/// that the others work and every use of it says why.
pub struct Accounts {
    settings: Vec<AccountSettings>,
    open: Arc<Open>,
    memory: Option<Arc<dyn WaitMemory>>,
    told: Option<Arc<Told>>,
    made: OnceCell<Vec<Result<Account, Arc<AccountError>>>>,
}

/// An account that was not found or cannot be used; nobody was asked anything.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoAccount {
    /// There is none.
    #[error("no account is configured; nothing was done")]
    None,
    /// None was named, and there are several.
    #[error("there are several accounts, and none was named; nothing was done")]
    Several {
        /// Those there are.
        names: Vec<Box<str>>,
    },
    /// There is none of that name.
    #[error("there is no account {name:?}; nothing was done")]
    Unknown {
        /// The name given.
        name: Box<str>,
        /// Those there are.
        names: Vec<Box<str>>,
    },
    /// Its settings are broken.
    #[error("the account `{name}` cannot be used; nothing was done")]
    Settings {
        /// Its name.
        name: Box<str>,
        /// Why.
        #[source]
        source: Arc<AccountError>,
    },
    /// What is kept of the sign-ins cannot be opened.
    #[error("what is kept of earlier sign-ins cannot be opened; nothing was done")]
    Secrets {
        /// Why.
        #[source]
        source: Arc<SecretsError>,
    },
    /// Opening it was not brought to an end.
    #[error("opening what is kept of earlier sign-ins was broken off; nothing was done")]
    BrokenOff,
}

// === impl Accounts ===

impl Accounts {
    /// The accounts with these settings.
    #[must_use]
    pub fn new(settings: Vec<AccountSettings>, open: Arc<Open>) -> Self {
        Self {
            settings,
            open,
            memory: None,
            told: None,
            made: OnceCell::new(),
        }
    }

    /// Keeps what services say about waiting beyond the process.
    #[must_use]
    pub fn with_memory(mut self, memory: Arc<dyn WaitMemory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Has somebody told the identity that an account acts under, whenever it
    /// changes; what was kept of it, as soon as the account is made.
    #[must_use]
    pub fn telling(mut self, told: Arc<Told>) -> Self {
        self.told = Some(told);
        self
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// The settings, in the order of their names.
    #[must_use]
    pub fn settings(&self) -> &[AccountSettings] {
        &self.settings
    }

    /// The account of that name, or the only one there is.
    ///
    /// # Errors
    /// See [`NoAccount`].
    pub async fn pick(&self, name: Option<&str>) -> Result<Account, NoAccount> {
        let at = self.find(name)?;
        let made = self.made.get_or_try_init(|| self.make()).await?;
        made[at].clone().map_err(|source| NoAccount::Settings {
            name: self.settings[at].name.clone(),
            source,
        })
    }

    /// The settings of the account that [`Accounts::pick`] would find.
    ///
    /// # Errors
    /// See [`NoAccount`].
    pub fn settings_of(&self, name: Option<&str>) -> Result<&AccountSettings, NoAccount> {
        Ok(&self.settings[self.find(name)?])
    }

    /// Whose data the account reads that [`Accounts::pick`] would find.
    ///
    /// # Errors
    /// See [`NoAccount`].
    pub fn entity(&self, name: Option<&str>) -> Result<&EntityId, NoAccount> {
        Ok(&self.settings[self.find(name)?].entity)
    }

    /// Reads what is kept of the identities again: another process may have
    /// signed in, or out.
    pub async fn recall(&self) {
        for account in self.made() {
            recall(account).await;
        }
    }

    /// The accounts that are made already; empty before the first was used.
    pub fn made(&self) -> impl Iterator<Item = &Account> {
        let made = self.made.get().map(Vec::as_slice).unwrap_or_default();
        made.iter().flatten()
    }

    fn find(&self, name: Option<&str>) -> Result<usize, NoAccount> {
        let names = || {
            let names = self.settings.iter();
            names.map(|settings| settings.name.clone()).collect()
        };
        match (name, &self.settings[..]) {
            (_, []) => Err(NoAccount::None),
            (None, [_]) => Ok(0),
            (None, _) => Err(NoAccount::Several { names: names() }),
            (Some(name), all) => {
                let at = all.iter().position(|settings| *settings.name == *name);
                at.ok_or_else(|| NoAccount::Unknown {
                    name: crate::base::plain(name, 80).into(),
                    names: names(),
                })
            }
        }
    }

    async fn make(&self) -> Result<Vec<Result<Account, Arc<AccountError>>>, NoAccount> {
        let (open, memory) = (Arc::clone(&self.open), self.memory.clone());
        let settings = self.settings.clone();
        let made = tokio::task::spawn_blocking(move || {
            let parts = open()?;
            let parts = Parts {
                memory: memory.or(parts.memory),
                ..parts
            };
            let made = settings.into_iter().map(|settings| {
                let account = Account::new(settings, parts.clone());
                account.map_err(Arc::new)
            });
            Ok(made.collect())
        });
        let made = made.await.map_err(|_| NoAccount::BrokenOff)?;
        let made: Vec<_> = made.map_err(|source| NoAccount::Secrets {
            source: Arc::new(source),
        })?;
        if let Some(told) = &self.told {
            for account in made.iter().flatten() {
                account.tell_identity(Arc::clone(told));
                recall(account).await;
            }
        }
        Ok(made)
    }
}

/// An identity that cannot be read is none; whoever acts says so anew.
async fn recall(account: &Account) {
    if let Err(error) = account.recall_identity().await {
        let (account, error) = (account.name(), legation_core::error::chain(&error));
        tracing::warn!(account, error, "under whose identity it acts is not known");
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.settings.iter().map(|settings| &settings.name);
        f.debug_list().entries(names).finish()
    }
}

// === impl NoAccount ===

impl NoAccount {
    /// Its class.
    #[must_use]
    pub fn class(&self) -> Class {
        Class::Local
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::None => {
                "write [accounts.NAME] into legation.toml, with `entity` and `tenant_id`".to_owned()
            }
            Self::Several { names } | Self::Unknown { names, .. } => {
                format!("name one of {}", names.join(", "))
            }
            Self::Settings { source, .. } => source.hint(),
            Self::Secrets { source } => source.hint().to_owned(),
            Self::BrokenOff => "try again".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
