//! Whose credentials are good, for the front and for the gate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use legation_config::clients::{Credentials, DELEGATE, LOCAL, OWNER};
use legation_core::{ClientId, Home};
use legation_front::{Authenticator, Issued};
use legation_gate::stage::KnownClients;
use legation_oauth::{Bearer, Judged, ResourceServer};

/// The credentials in force; none while their files cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    current: ArcSwapOption<Credentials>,
    /// How often they were read.
    edition: AtomicU64,
    issuer: Option<Issuer>,
}

/// An authorization server whose tokens are good over HTTP.
#[derive(Debug)]
pub(crate) struct Issuer {
    /// Judges them.
    pub(crate) server: Arc<ResourceServer>,
    /// Scopes, each with the client whose rules hold.
    pub(crate) scopes: Vec<(Box<str>, Box<str>)>,
}

// === impl Keys ===

impl Keys {
    /// With an issuer besides, if there is one.
    pub(crate) fn new(issuer: Option<Issuer>) -> Self {
        Self {
            current: ArcSwapOption::empty(),
            edition: AtomicU64::new(0),
            issuer,
        }
    }

    /// The issuer whose tokens are good too.
    pub(crate) fn issuer(&self) -> Option<&Issuer> {
        self.issuer.as_ref()
    }

    /// Reads the files again; returns what is wrong, if they cannot be used.
    /// Nobody is let in over HTTP then.
    pub(crate) fn reload(&self, home: &Home) -> Option<String> {
        let loaded = Credentials::load(home);
        let problem = loaded.as_ref().err().map(|error| {
            format!(
                "no credential is accepted: {} ({})",
                legation_core::error::chain(error),
                error.hint()
            )
        });
        self.current.store(loaded.ok().map(Arc::new));
        // Whoever sees this sees them too.
        self.edition.fetch_add(1, Ordering::Release);
        problem
    }

    /// The clients the gate lets through.
    pub(crate) fn known(&self, no_auth: bool) -> KnownClients {
        let current = self.current.load();
        let clients = current
            .iter()
            .flat_map(|credentials| credentials.clients().cloned());
        let built_in = [OWNER, LOCAL, DELEGATE].map(ClientId::new);
        let issued = self.issuer.iter().flat_map(|issuer| &issuer.scopes);
        KnownClients::new(clients.chain(built_in))
            .with_no_auth(no_auth)
            .with_issued(issued.map(|(_, client)| client.clone()))
    }
}

impl Authenticator for Keys {
    fn bearer(&self, token: &str) -> Option<ClientId> {
        self.current.load().as_ref()?.verify(token).cloned()
    }

    fn edition(&self) -> Option<u64> {
        Some(self.edition.load(Ordering::Acquire))
    }

    fn issued(&self, token: &str) -> Issued {
        let Some(issuer) = &self.issuer else {
            return Issued::Refused;
        };
        match issuer.server.judge(token) {
            Judged::Good(bearer) => match issuer.client(&bearer) {
                Some(client) => Issued::Client {
                    client,
                    until: bearer.until,
                },
                None => Issued::NoScope,
            },
            Judged::Wait(wait) => Issued::Wait(wait),
            Judged::Bad(bad) if bad.is_passing() => Issued::Unavailable,
            Judged::Bad(bad) => {
                tracing::debug!(why = %bad, "a token was refused");
                Issued::Refused
            }
        }
    }

    fn local(&self, _name: Option<&str>) -> Option<ClientId> {
        // A name that is not proved by a credential is not believed.
        Some(ClientId::new(LOCAL))
    }

    fn is_owner(&self, client: &ClientId) -> bool {
        client.as_str() == OWNER
    }
}

// === impl Issuer ===

impl Issuer {
    /// Who comes with a token: one of the people of the client that the first scope is for.
    fn client(&self, bearer: &Bearer) -> Option<ClientId> {
        let has = |scope: &str| bearer.scopes.iter().any(|one| **one == *scope);
        let (_, client) = self.scopes.iter().find(|(scope, _)| has(scope))?;
        // No reader of the inbox is called so (`legation_servers::inbox`).
        Some(ClientId::member(client, &format!("~{}", bearer.name)))
    }
}
