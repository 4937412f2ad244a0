//! First stage: the credential behind the call is still good.
//!
//! Fronts read credentials once, when a connection or session begins; this
//! stage stands before every call so that revoking a client takes effect on
//! sessions that are open already.

use std::collections::BTreeSet;

use legation_core::{COPILOT, ClientId, Principal, Via};

/// The clients whose credentials are good at the moment.
#[derive(Debug, Clone, Default)]
pub struct KnownClients {
    clients: BTreeSet<ClientId>,
    /// Those who may write to the Copilot webhook; they come by no other way.
    copilot: BTreeSet<ClientId>,
    /// Clients of several people who come over HTTP with tokens of an issuer.
    issued: BTreeSet<Box<str>>,
    no_auth: bool,
}

/// The client's credential is not good, or no longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("client {client} has no valid credential; nothing was called")]
pub struct NotAuthentic {
    /// Which client.
    pub client: ClientId,
}

/// The client that a login of GitHub's is.
#[must_use]
pub fn copilot(login: &str) -> ClientId {
    ClientId::member(COPILOT, &login.to_ascii_lowercase())
}

// === impl KnownClients ===

impl KnownClients {
    /// The clients of the data directory.
    #[must_use]
    pub fn new(clients: impl IntoIterator<Item = ClientId>) -> Self {
        Self {
            clients: clients.into_iter().collect(),
            copilot: BTreeSet::new(),
            issued: BTreeSet::new(),
            no_auth: false,
        }
    }

    /// Lets in these logins of GitHub's through the Copilot webhook. Logins have no case.
    #[must_use]
    pub fn with_copilot<'l>(mut self, logins: impl IntoIterator<Item = &'l str>) -> Self {
        let logins = logins.into_iter();
        self.copilot = logins.map(copilot).collect();
        self
    }

    /// Lets in over HTTP whoever a front found to be one of the people of these clients. Each
    /// request shows a token of its own there, so it is enough to know of which client.
    #[must_use]
    pub fn with_issued(mut self, clients: impl IntoIterator<Item = Box<str>>) -> Self {
        self.issued = clients.into_iter().collect();
        self
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
            Via::Http | Via::Sse if principal.client.acts_for().is_some() => {
                self.issued.contains(principal.client.family())
            }
            Via::Http | Via::Sse | Via::Socket | Via::Admin | Via::Web => {
                self.clients.contains(&principal.client)
            }
            Via::Copilot => self.copilot.contains(&principal.client),
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
        if self.client.family() == COPILOT && self.client.acts_for().is_some() {
            return "the owner can name this login in github_logins of operator_profile.json"
                .to_owned();
        }
        "run `legation connect` again for this client".to_owned()
    }
}
