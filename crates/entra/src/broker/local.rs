//! A secret or key kept here.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_core::{OpContext, Secret};
use legation_keystore::SecretStore;

use super::{Application, Ask, Broker, BrokerError, KeyError, Proof};
use crate::oauth::{Assertion, SigningKey};

/// A secret or key from the keystore, or a secret from the settings.
#[derive(Debug)]
pub struct LocalBroker {
    /// Where secrets are kept.
    pub store: Arc<SecretStore>,
    /// The certificate, where it is not kept with the key.
    pub certificate: Option<PathBuf>,
    /// The middle tier's secret from the settings; it comes before one kept.
    pub client_secret: Option<Secret>,
    /// The blueprint's.
    pub blueprint_secret: Option<Secret>,
}

/// Under what name a key is kept.
#[must_use]
pub fn key_name(account: &str, client_id: &str) -> String {
    format!("entra/{account}/key/{client_id}")
}

/// Under what name a secret is kept.
#[must_use]
pub fn secret_name(account: &str, client_id: &str) -> String {
    format!("entra/{account}/secret/{client_id}")
}

// === impl LocalBroker ===

impl LocalBroker {
    fn find(&self, ask: &Ask) -> Result<Proof, BrokerError> {
        let given = match ask.application {
            Application::MiddleTier => &self.client_secret,
            Application::Blueprint => &self.blueprint_secret,
        };
        if let Some(secret) = given {
            return Ok(Proof::Secret(secret.clone()));
        }
        let kept = |name: String| {
            let kept = self.store.get(&name);
            kept.map_err(|source| BrokerError::Store { source })
        };
        if let Some(key) = kept(key_name(&ask.account, &ask.client_id))? {
            return self.sign(ask, &key).map(Proof::Assertion);
        }
        match kept(secret_name(&ask.account, &ask.client_id))? {
            Some(secret) => Ok(Proof::Secret(secret)),
            None => Err(BrokerError::Nothing {
                client_id: ask.client_id.clone(),
            }),
        }
    }

    fn sign(&self, ask: &Ask, pem: &Secret) -> Result<Secret, BrokerError> {
        let fail = |source| BrokerError::Key {
            client_id: ask.client_id.clone(),
            source,
        };
        let pem = pem.reveal().as_bytes();
        let key = match (SigningKey::from_pem(pem, pem), &self.certificate) {
            (Err(KeyError::NoCertificate), Some(path)) => {
                let certificate =
                    std::fs::read(path).map_err(|source| BrokerError::Certificate {
                        path: path.clone(),
                        source,
                    })?;
                SigningKey::from_pem(pem, &certificate)
            }
            (key, _) => key,
        };
        let assertion = Assertion {
            client_id: &ask.client_id,
            audience: &ask.audience,
            now: ask.now,
        };
        key.and_then(|key| key.sign(&assertion)).map_err(fail)
    }
}

impl Broker for LocalBroker {
    fn name(&self) -> &'static str {
        "keystore"
    }

    fn prove<'a>(
        &'a self,
        _ctx: &'a OpContext,
        ask: &'a Ask,
    ) -> BoxFuture<'a, Result<Proof, BrokerError>> {
        // Reading and signing take a millisecond or two, once an hour.
        Box::pin(async move { self.find(ask) })
    }
}
