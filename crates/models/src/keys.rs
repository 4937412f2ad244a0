//! Where the keys of providers come from: the environment or the keystore, and
//! never a file of rules.

use std::fmt;
use std::sync::Arc;

use legation_core::Secret;
use legation_keystore::{SecretStore, SecretsError};
use legation_policy::governance::{Provider, ProviderKind};

/// The keys of providers.
pub struct Keys {
    variable: Box<Variable>,
    store: Box<Store>,
}

/// Reads the environment.
type Variable = dyn Fn(&str) -> Option<Secret> + Send + Sync;
/// Opens the keystore.
type Store = dyn Fn() -> Result<Arc<SecretStore>, SecretsError> + Send + Sync;

/// Where a provider's key is taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// The environment variable of this name.
    Variable(String),
    /// The keystore.
    Keystore,
    /// The request that the model is asked for brings it.
    Caller,
    /// It has none and needs none.
    Nowhere,
}

/// A key that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// There is none.
    #[error("{provider} has no key: {place}; nothing was sent")]
    Missing {
        /// Whose.
        provider: String,
        /// Where it was looked for, in words.
        place: String,
    },
    /// The keystore cannot be read.
    #[error("the key of {provider} cannot be read; nothing was sent")]
    Store {
        /// Whose.
        provider: String,
        /// Why.
        #[source]
        source: SecretsError,
    },
}

// === impl KeyPlace ===

impl KeyPlace {
    /// Where the key of an entry is.
    #[must_use]
    pub fn of(name: &str, provider: &Provider) -> Self {
        if provider.kind_as(name) == Some(ProviderKind::CopilotExtension) {
            // Only ever the caller's own, whatever the entry says.
            return Self::Caller;
        }
        if let Some(variable) = &provider.auth_env_var {
            return Self::Variable(variable.clone());
        }
        let is_local = provider.kind_as(name) == Some(ProviderKind::LocalModel);
        match provider.auth_source.as_deref() {
            None if is_local => Self::Nowhere,
            Some("none") => Self::Nowhere,
            _ => Self::Keystore,
        }
    }
}

// === impl Keys ===

impl Keys {
    /// Keys from what `variable` reads of the environment, and from a keystore
    /// that is opened when it is first needed.
    pub fn new(
        variable: impl Fn(&str) -> Option<Secret> + Send + Sync + 'static,
        store: impl Fn() -> Result<Arc<SecretStore>, SecretsError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            variable: Box::new(variable),
            store: Box::new(store),
        }
    }

    /// What the keystore calls the key of a provider.
    #[must_use]
    pub fn name(provider: &str) -> String {
        format!("model-key:{provider}")
    }

    /// The key of a provider; `None` where it needs none. `callers` is the token
    /// that came with the request.
    ///
    /// # Errors
    /// See [`KeyError`]. Without a key that is demanded nothing is asked, since
    /// some servers answer without one from another account.
    pub fn get(
        &self,
        name: &str,
        provider: &Provider,
        callers: Option<&Secret>,
    ) -> Result<Option<Secret>, KeyError> {
        let missing = |place: String| KeyError::Missing {
            provider: name.to_owned(),
            place,
        };
        match KeyPlace::of(name, provider) {
            KeyPlace::Nowhere => Ok(None),
            KeyPlace::Caller => match callers {
                Some(token) => Ok(Some(token.clone())),
                None => Err(missing("the request brought no token".to_owned())),
            },
            KeyPlace::Variable(variable) => {
                let found = (self.variable)(&variable);
                match found.filter(|key| !key.reveal().trim().is_empty()) {
                    Some(key) => Ok(Some(Secret::new(key.reveal().trim()))),
                    None => Err(missing(format!("{variable} is not set"))),
                }
            }
            KeyPlace::Keystore => {
                let fail = |source| KeyError::Store {
                    provider: name.to_owned(),
                    source,
                };
                let store = (self.store)().map_err(fail)?;
                match store.get(&Self::name(name)).map_err(fail)? {
                    Some(key) => Ok(Some(key)),
                    None => Err(missing("the keystore has none".to_owned())),
                }
            }
        }
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

// === impl KeyError ===

impl KeyError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Missing { provider, .. } => format!(
                "set the variable that `auth_env_var` of {provider} names, or keep a key with \
                 `legation models set key {provider}`"
            ),
            Self::Store { source, .. } => source.hint().to_owned(),
        }
    }
}
