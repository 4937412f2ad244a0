//! Whose credentials are good, for the front and for the gate.

use arc_swap::ArcSwapOption;
use legation_config::clients::{Credentials, DELEGATE, OWNER};
use legation_core::{ClientId, Home};
use legation_front::Authenticator;
use legation_gate::stage::KnownClients;

/// The client that a program of the same user is when it shows no credential
/// on the socket.
const LOCAL: &str = "local";

/// The credentials in force; none while their files cannot be read.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    current: ArcSwapOption<Credentials>,
}

// === impl Keys ===

impl Keys {
    /// Reads the files again; returns what is wrong, if they cannot be used.
    /// Nobody is let in over HTTP then.
    pub(crate) fn reload(&self, home: &Home) -> Option<String> {
        match Credentials::load(home) {
            Ok(credentials) => {
                self.current.store(Some(credentials.into()));
                None
            }
            Err(error) => {
                self.current.store(None);
                Some(format!(
                    "no credential is accepted: {} ({})",
                    legation_core::error::chain(&error),
                    error.hint()
                ))
            }
        }
    }

    /// The clients the gate lets through.
    pub(crate) fn known(&self, no_auth: bool) -> KnownClients {
        let current = self.current.load();
        let clients = current
            .iter()
            .flat_map(|credentials| credentials.clients().cloned());
        let built_in = [OWNER, LOCAL, DELEGATE].map(ClientId::new);
        KnownClients::new(clients.chain(built_in)).with_no_auth(no_auth)
    }
}

impl Authenticator for Keys {
    fn bearer(&self, token: &str) -> Option<ClientId> {
        self.current.load().as_ref()?.verify(token).cloned()
    }

    fn local(&self, _name: Option<&str>) -> Option<ClientId> {
        // A name that is not proved by a credential is not believed.
        Some(ClientId::new(LOCAL))
    }

    fn is_owner(&self, client: &ClientId) -> bool {
        client.as_str() == OWNER
    }
}
