//! What is kept of sign-ins: under an issuer's name, the resource's, the client's and
//! the entity's, so that what one authorization server gave is never shown to another,
//! nor sent to another server or for another company.

use std::fmt;
use std::sync::{Arc, OnceLock};

use legation_core::Secret;
use legation_core::id::hex;
use legation_keystore::{SecretStore, SecretsError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::OAuthError;

/// Opens the keystore, which may ask its owner to unlock it.
type Open = dyn Fn() -> Result<Arc<SecretStore>, SecretsError> + Send + Sync;

/// The keystore, opened when it is first needed.
#[derive(Clone)]
pub(crate) struct Vault {
    inner: Arc<Inner>,
}

struct Inner {
    open: Box<Open>,
    is_there: Box<dyn Fn() -> bool + Send + Sync>,
    store: OnceLock<Arc<SecretStore>>,
}

/// The name of something kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Name(Box<str>);

/// Which sign-in a server uses.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) issuer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resource: Option<String>,
    /// The server's origin: a server that describes nothing names no resource, and an
    /// entry may name any issuer for it.
    pub(crate) origin: String,
    pub(crate) client_id: String,
    /// Whose account it is: one company's is nobody else's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) entity: Option<String>,
}

/// What renews a sign-in.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh: Option<String>,
    /// Only of a sign-in that cannot be renewed: it is all there is of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) access: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_ms: Option<i64>,
    #[serde(default)]
    pub(crate) is_bound: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
}

// === impl Name ===

impl Name {
    /// A name made of these parts, of which none can be taken for two.
    pub(crate) fn of(kind: &str, parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        Self(format!("oauth:{kind}:{}", hex(&hash.finalize())).into())
    }
}

// === impl Binding ===

impl Binding {
    /// The name of its sign-in.
    pub(crate) fn name(&self) -> Name {
        let resource = self.resource.as_deref().unwrap_or_default();
        let entity = self.entity.as_deref().unwrap_or_default();
        let parts = [
            &self.issuer,
            resource,
            &self.origin,
            &self.client_id,
            entity,
        ];
        Name::of("grant", &parts)
    }
}

// === impl Vault ===

impl Vault {
    pub(crate) fn new(open: Box<Open>, is_there: Box<dyn Fn() -> bool + Send + Sync>) -> Self {
        Self {
            inner: Arc::new(Inner {
                open,
                is_there,
                store: OnceLock::new(),
            }),
        }
    }

    /// What is kept under a name. What cannot be read as what it should be is none.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        name: &Name,
    ) -> Result<Option<T>, OAuthError> {
        let name = name.clone();
        if !self.is_there() {
            return Ok(None);
        }
        let found = self.with(move |store| store.get(&name.0)).await?;
        Ok(found.and_then(|found| serde_json::from_str(found.reveal()).ok()))
    }

    /// Keeps something; on disk on return.
    pub(crate) async fn put<T: Serialize>(&self, name: &Name, what: &T) -> Result<(), OAuthError> {
        let text = Secret::new(serde_json::to_string(what).unwrap_or_default());
        let name = name.clone();
        self.with(move |store| store.put(&name.0, &text)).await
    }

    /// Forgets something.
    pub(crate) async fn forget(&self, name: &Name) -> Result<bool, OAuthError> {
        if !self.is_there() {
            return Ok(false);
        }
        let name = name.clone();
        self.with(move |store| store.delete(&name.0)).await
    }

    fn is_there(&self) -> bool {
        self.inner.store.get().is_some() || (self.inner.is_there)()
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SecretStore) -> Result<T, SecretsError> + Send + 'static,
    ) -> Result<T, OAuthError> {
        let inner = Arc::clone(&self.inner);
        let done = tokio::task::spawn_blocking(move || {
            let store = match inner.store.get() {
                Some(store) => Arc::clone(store),
                None => {
                    let opened = (inner.open)()?;
                    Arc::clone(inner.store.get_or_init(|| opened))
                }
            };
            work(&store)
        });
        match done.await {
            Ok(done) => done.map_err(|source| OAuthError::Store {
                source: Arc::new(source),
            }),
            // The runtime ends.
            Err(_) => Err(OAuthError::Withdrawn),
        }
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").finish_non_exhaustive()
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept")
            .field("is_renewable", &self.refresh.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Binding;

    #[test]
    fn sign_ins_of_other_servers_have_other_names() {
        // As of servers that describe nothing, whose entries name one issuer.
        let of = |origin: &str, resource: Option<&str>, entity: Option<&str>| Binding {
            issuer: "https://as.example.com".to_owned(),
            resource: resource.map(str::to_owned),
            origin: origin.to_owned(),
            client_id: "me".to_owned(),
            entity: entity.map(str::to_owned),
        };
        let own = of("https://mcp.example.com", None, None);
        assert_eq!(own.name(), own.clone().name());
        for other in [
            of("https://evil.example.com", None, None),
            of(
                "https://mcp.example.com",
                Some("https://mcp.example.com/a"),
                None,
            ),
            of("https://mcp.example.com", None, Some("acme")),
        ] {
            assert_ne!(own.name(), other.name(), "{other:?}");
        }
    }
}
