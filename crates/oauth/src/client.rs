//! Who the hub is for an authorization server: a client that was registered
//! beforehand, one that describes itself at an address, or one that registers itself
//! (RFC 7591).

use std::sync::Arc;

use legation_core::{Secret, Wall};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fetch::{Ask, Body, Reply};
use crate::jwt::{KeyError, SigningKey};
use crate::metadata::Issuer;
use crate::settings::Settings;
use crate::url::{WebUrl, encode, put};

/// What a client is called where people see it.
const CLIENT_NAME: &str = "Legation";
/// RFC 7523, section 2.2.
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A client of one authorization server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: Box<str>,
    pub(crate) proof: ClientProof,
    /// The port of the redirect address that was registered.
    pub(crate) redirect_port: Option<u16>,
}

/// How a client proves who it is at the token endpoint.
#[derive(Debug, Clone)]
pub(crate) enum ClientProof {
    None,
    Basic(Secret),
    Post(Secret),
    Key(Arc<SigningKey>),
}

/// Where a client comes from.
pub(crate) enum Choice {
    /// It is there.
    Known(Client),
    /// It has to register itself.
    Register(WebUrl),
    /// There is no way.
    Impossible,
}

/// What is kept of a registration.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Registered {
    pub(crate) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_endpoint_auth_method: Option<String>,
    /// Seconds since 1970; 0 is never.
    #[serde(default)]
    pub(crate) client_secret_expires_at: i64,
    #[serde(default)]
    pub(crate) redirect_port: u16,
}

/// A registration that was refused, or is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the authorization server registered no client (HTTP status {status})")]
pub struct RegisterError {
    /// The status.
    pub status: u16,
}

/// The client of these settings at this issuer, in the order of the specification:
/// registered beforehand, by a document, by registration.
pub(crate) fn choose(settings: &Settings, issuer: &Issuer) -> Choice {
    if let Some(id) = &settings.client_id {
        return Choice::Known(Client {
            id: id.clone(),
            proof: configured(settings, issuer),
            redirect_port: settings.redirect_port,
        });
    }
    if issuer.takes_documents
        && let Some(url) = &settings.metadata_url
    {
        return Choice::Known(Client {
            id: url.as_str().into(),
            proof: ClientProof::None,
            redirect_port: settings.redirect_port,
        });
    }
    match &issuer.registration_endpoint {
        Some(endpoint) => Choice::Register(endpoint.clone()),
        None => Choice::Impossible,
    }
}

fn configured(settings: &Settings, issuer: &Issuer) -> ClientProof {
    if let Some(key) = &settings.client_key {
        return ClientProof::Key(Arc::clone(key));
    }
    match &settings.client_secret {
        Some(secret) if !settings.public_client => {
            let takes = |method: &str| issuer.auth_methods.iter().any(|one| **one == *method);
            if !takes("client_secret_basic") && takes("client_secret_post") {
                ClientProof::Post(secret.clone())
            } else {
                ClientProof::Basic(secret.clone())
            }
        }
        _ => ClientProof::None,
    }
}

/// The request that registers a client (RFC 7591, section 3.1).
pub(crate) fn register(
    settings: &Settings,
    issuer: &Issuer,
    endpoint: WebUrl,
    redirect: &str,
) -> Ask {
    let takes = |method: &str| issuer.auth_methods.iter().any(|one| **one == *method);
    let method = if settings.public_client || takes("none") {
        "none"
    } else if takes("client_secret_basic") || !takes("client_secret_post") {
        "client_secret_basic"
    } else {
        "client_secret_post"
    };
    let body = json!({
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": "native",
    });
    Ask {
        body: Some(Body::Json(Secret::new(body.to_string()))),
        ..Ask::get(endpoint)
    }
}

/// What came back for it.
pub(crate) fn registered(reply: &Reply, port: u16) -> Result<Registered, RegisterError> {
    let failed = || RegisterError {
        status: reply.status,
    };
    if !matches!(reply.status, 200 | 201) {
        return Err(failed());
    }
    let read: Registered = serde_json::from_slice(&reply.body).map_err(|_| failed())?;
    if read.client_id.is_empty() {
        return Err(failed());
    }
    Ok(Registered {
        redirect_port: port,
        ..read
    })
}

// === impl Registered ===

impl Registered {
    pub(crate) fn is_expired(&self, now: Wall) -> bool {
        self.client_secret_expires_at > 0 && self.client_secret_expires_at <= now.0.div_euclid(1000)
    }

    pub(crate) fn client(&self, issuer: &Issuer) -> Client {
        let secret = self.client_secret.as_deref().map(Secret::new);
        let takes = |method: &str| issuer.auth_methods.iter().any(|one| **one == *method);
        let method = self.token_endpoint_auth_method.as_deref();
        let proof = match (secret, method) {
            (None, _) | (_, Some("none")) => ClientProof::None,
            (Some(secret), Some("client_secret_post")) => ClientProof::Post(secret),
            (Some(secret), None) if !takes("client_secret_basic") => {
                if takes("client_secret_post") {
                    ClientProof::Post(secret)
                } else {
                    ClientProof::None
                }
            }
            (Some(secret), _) => ClientProof::Basic(secret),
        };
        Client {
            id: self.client_id.as_str().into(),
            proof,
            redirect_port: Some(self.redirect_port),
        }
    }
}

// === impl Client ===

impl Client {
    /// Adds to a form, and to the headers beside it, who asks (RFC 6749 section
    /// 2.3.1, RFC 7523 section 2.2).
    pub(crate) fn identify(
        &self,
        form: &mut String,
        headers: &mut Vec<(&'static str, Secret)>,
        audience: &str,
        now: Wall,
    ) -> Result<(), KeyError> {
        match &self.proof {
            ClientProof::None => put(form, "client_id", &self.id),
            ClientProof::Basic(secret) => headers.push(("authorization", self.basic(secret))),
            ClientProof::Post(secret) => {
                put(form, "client_id", &self.id);
                put(form, "client_secret", secret.reveal());
            }
            ClientProof::Key(key) => {
                put(form, "client_id", &self.id);
                put(form, "client_assertion_type", ASSERTION_TYPE);
                let assertion = key.assertion(&self.id, audience, now)?;
                put(form, "client_assertion", assertion.reveal());
            }
        }
        Ok(())
    }

    fn basic(&self, secret: &Secret) -> Secret {
        use base64::Engine as _;
        let mut pair = String::new();
        encode(&self.id, &mut pair);
        pair.push(':');
        encode(secret.reveal(), &mut pair);
        let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
        Secret::new(format!("Basic {encoded}"))
    }
}
