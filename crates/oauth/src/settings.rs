//! What the owner configured of one server's sign-in.

use std::sync::Arc;

use legation_core::{EntityId, Secret};
use legation_net::proxy::Proxies;

use crate::fetch::Reach;
use crate::jwt::SigningKey;
use crate::url::WebUrl;

/// One server's sign-in; references have been followed.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's address.
    pub server: WebUrl,
    /// Whose data the server holds, and so whose account signs in.
    pub entity: Option<EntityId>,
    /// How tokens are come by.
    pub grant: Grant,
    /// `oauthClientId`: the client that was registered beforehand.
    pub client_id: Option<Box<str>>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// Its key (`private_key_jwt`).
    pub client_key: Option<Arc<SigningKey>>,
    /// `oauthPublicClient`: the client has no secret and wants none.
    pub public_client: bool,
    /// The address of this client's metadata document, where the owner publishes one.
    pub metadata_url: Option<WebUrl>,
    /// Which issuer of several; one that the server does not name is refused.
    pub issuer: Option<Box<str>>,
    /// The scopes to ask for, in place of those that the server names.
    pub scopes: Vec<Box<str>>,
    /// The port that the browser comes back to; any where it is not said.
    pub redirect_port: Option<u16>,
    /// Hosts beside the Internet that the owner allows.
    pub allowed_hosts: Vec<Box<str>>,
    /// What leads to the server, and so to whoever signs people in for it; the environment's
    /// proxies where the owner does not say.
    pub proxies: Option<Proxies>,
    /// Certificates (PEM) that are trusted there besides those that the process trusts.
    pub ca: Option<Arc<str>>,
}

/// How tokens are come by.
#[derive(Debug, Clone)]
pub enum Grant {
    /// A person signs in with a browser.
    AuthorizationCode,
    /// The client is who signs in (RFC 6749, section 4.4).
    ClientCredentials,
    /// Somebody who vouches for this program wrote a statement (RFC 7523; workload
    /// identity federation).
    JwtBearer {
        /// The statement.
        assertion: Secret,
    },
    /// The organisation's identity provider says who may (Identity Assertion JWT
    /// Authorization Grant).
    Enterprise(Box<Enterprise>),
}

/// The organisation's identity provider.
#[derive(Debug, Clone)]
pub struct Enterprise {
    /// Where the identity token is exchanged (RFC 8693).
    pub token_endpoint: WebUrl,
    /// The client there.
    pub client_id: Box<str>,
    /// Its secret.
    pub client_secret: Option<Secret>,
    /// The person's identity token.
    pub id_token: Secret,
}

// === impl Settings ===

impl Settings {
    /// What may be reached for this sign-in, and how.
    pub(crate) fn reach(&self) -> Reach {
        self.leads(Reach::of(&self.server, &self.allowed_hosts))
    }

    /// The same for the organisation's identity provider, which only the owner names.
    pub(crate) fn reach_of(&self, enterprise: &Enterprise) -> Reach {
        self.leads(Reach::default().and(&enterprise.token_endpoint))
    }

    fn leads(&self, reach: Reach) -> Reach {
        let reach = match &self.proxies {
            Some(proxies) => reach.through(proxies.clone()),
            None => reach,
        };
        match &self.ca {
            Some(ca) => reach.trusting(Arc::clone(ca)),
            None => reach,
        }
    }
}

// === impl Grant ===

impl Grant {
    /// Whether a person has to sign in.
    #[must_use]
    pub fn is_interactive(&self) -> bool {
        matches!(self, Self::AuthorizationCode)
    }
}
