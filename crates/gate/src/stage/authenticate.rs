//! First stage: the credential behind the call is still good.
//!
//! Fronts read credentials once, when a connection or session begins; this
//! stage stands before every call so that revoking a client takes effect on
//! sessions that are open already.

use std::collections::BTreeSet;

use legation_core::{ClientId, Principal, Via};

/// The clients whose credentials are good at the moment.
#[derive(Debug, Clone, Default)]
pub struct KnownClients {
    clients: BTreeSet<ClientId>,
    no_auth: bool,
}

/// The client's credential is not good, or no longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("client {client} has no valid credential; nothing was called")]
pub struct NotAuthentic {
    /// Which client.
    pub client: ClientId,
}

// === impl KnownClients ===

impl KnownClients {
    /// The clients of the data directory.
    #[must_use]
    pub fn new(clients: impl IntoIterator<Item = ClientId>) -> Self {
        Self {
            clients: clients.into_iter().collect(),
            no_auth: false,
        }
    }

    /// Lets in whoever comes over loopback without a credential (`--no-auth`).
    #[must_use]
    pub fn with_no_auth(mut self, no_auth: bool) -> Self {
        self.no_auth = no_auth;
        self
    }

    /// Passes a principal on, or stops it here.
    ///
    /// # Errors
    /// When its credential is not among the good ones.
    pub fn check(&self, principal: &Principal) -> Result<(), NotAuthentic> {
        let good = match principal.via {
            Via::NoAuth => self.no_auth,
            Via::Http | Via::Sse | Via::Socket | Via::Admin => {
                self.clients.contains(&principal.client)
            }
        };
        if good {
            Ok(())
        } else {
            Err(NotAuthentic {
                client: principal.client.clone(),
            })
        }
    }
}

// === impl NotAuthentic ===

impl NotAuthentic {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        "run `legation connect` again for this client".to_owned()
    }
}
