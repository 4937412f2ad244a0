//! Sign-ins that outlive the process. Only what renews a token is kept; tokens
//! themselves are not worth a place on a disk.

use std::sync::Arc;

use legation_core::Secret;
use legation_keystore::{SecretStore, SecretsError};

use super::Role;

/// The sign-ins of one account.
#[derive(Clone, Debug)]
pub(crate) struct Vault {
    store: Arc<SecretStore>,
    account: Box<str>,
}

// === impl Vault ===

impl Vault {
    pub(crate) fn new(store: Arc<SecretStore>, account: &str) -> Self {
        Self {
            store,
            account: account.into(),
        }
    }

    pub(crate) async fn refresh_token(&self, role: Role) -> Result<Option<Secret>, SecretsError> {
        let name = self.name(role);
        self.blocking(move |store| store.get(&name)).await
    }

    pub(crate) async fn keep(&self, role: Role, token: &Secret) -> Result<(), SecretsError> {
        let (name, token) = (self.name(role), token.clone());
        self.blocking(move |store| store.put(&name, &token)).await
    }

    /// Keeps what was got with a person's sign-in, unless that is there no more.
    pub(crate) async fn keep_for_human(
        &self,
        role: Role,
        token: &Secret,
    ) -> Result<bool, SecretsError> {
        let (name, token, human) = (self.name(role), token.clone(), self.name(Role::Human));
        self.blocking(move |store| store.put_beside(&name, &token, &human))
            .await
    }

    /// Keeps a renewed sign-in, unless the one it renews is there no more.
    pub(crate) async fn renew(
        &self,
        role: Role,
        old: &Secret,
        new: &Secret,
    ) -> Result<bool, SecretsError> {
        let (name, old, new) = (self.name(role), old.clone(), new.clone());
        self.blocking(move |store| store.replace(&name, &old, &new))
            .await
    }

    pub(crate) async fn forget(&self, role: Role) -> Result<bool, SecretsError> {
        let name = self.name(role);
        self.blocking(move |store| store.delete(&name)).await
    }

    pub(crate) async fn identity(&self) -> Result<Option<Secret>, SecretsError> {
        let name = self.identity_name();
        self.blocking(move |store| store.get(&name)).await
    }

    pub(crate) async fn keep_identity(&self, kept: &Secret) -> Result<(), SecretsError> {
        let (name, kept) = (self.identity_name(), kept.clone());
        self.blocking(move |store| store.put(&name, &kept)).await
    }

    pub(crate) async fn forget_identity(&self) -> Result<bool, SecretsError> {
        let name = self.identity_name();
        self.blocking(move |store| store.delete(&name)).await
    }

    fn identity_name(&self) -> String {
        format!("entra/{}/identity", self.account)
    }

    /// Forgets a sign-in that is over, unless a newer one took its place;
    /// whether it is gone.
    pub(crate) async fn forget_over(&self, role: Role, old: &Secret) -> Result<bool, SecretsError> {
        let (name, old) = (self.name(role), old.clone());
        self.blocking(move |store| store.delete_if(&name, &old))
            .await
    }

    fn name(&self, role: Role) -> String {
        format!("entra/{}/refresh/{}", self.account, role.as_str())
    }

    /// The store reads and writes files; that is not for a thread that serves
    /// others.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SecretStore) -> Result<T, SecretsError> + Send + 'static,
    ) -> Result<T, SecretsError> {
        let store = Arc::clone(&self.store);
        match tokio::task::spawn_blocking(move || work(&store)).await {
            Ok(result) => result,
            Err(error) => Err(SecretsError::Read {
                path: "secrets".into(),
                source: std::io::Error::other(error.to_string()),
            }),
        }
    }
}
