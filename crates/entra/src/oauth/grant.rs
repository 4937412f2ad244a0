//! The grants, and the answer to each of them.

use std::time::Duration;

use legation_core::Secret;
use serde::Deserialize;

use super::{EXCHANGE_SCOPE, Form};
use crate::base::Private;

/// `urn:ietf:params:oauth:client-assertion-type:jwt-bearer` (RFC 7523).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// How the client proves that it is the client.
#[derive(Clone, Debug)]
pub(crate) enum Prover {
    /// A public client proves nothing.
    Public,
    /// By its secret.
    Secret(Secret),
    /// By an assertion: its own, or a token made for it.
    Assertion(Secret),
}

/// What is asked for, and on what ground.
pub(crate) enum GrantKind<'a> {
    /// A code that a person entered (RFC 8628 section 3.4).
    DeviceCode { code: &'a Secret },
    /// An earlier sign-in (RFC 6749 section 6).
    Refresh { token: &'a Secret, scope: &'a str },
    /// The client itself (RFC 6749 section 4.4).
    ClientCredentials { scope: &'a str },
    /// The client itself, for one of its agents.
    ForAgent { agent: &'a str },
    /// A person's token, made for the client.
    OnBehalfOf {
        assertion: &'a Secret,
        scope: &'a str,
    },
    /// The agent's own user.
    AgentUser {
        credential: &'a Secret,
        user: &'a str,
        scope: &'a str,
    },
}

/// A token.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) access_token: Secret,
    pub(crate) expires_in: Duration,
    pub(crate) refresh_token: Option<Secret>,
    pub(crate) id_token: Option<Secret>,
    pub(crate) scope: String,
}

#[derive(Deserialize)]
struct Body {
    token_type: String,
    access_token: Private,
    #[serde(default)]
    expires_in: Option<Seconds>,
    #[serde(default)]
    refresh_token: Option<Private>,
    #[serde(default)]
    id_token: Option<Private>,
    #[serde(default)]
    scope: Option<String>,
}

/// A number, or one as text, as the older endpoints have it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(u64),
    Text(String),
}

// === impl Prover ===

impl Prover {
    pub(super) fn put(&self, form: &mut Form) {
        match self {
            Self::Public => {}
            Self::Secret(secret) => form.put("client_secret", secret.reveal()),
            Self::Assertion(assertion) => {
                form.put("client_assertion_type", ASSERTION_TYPE);
                form.put("client_assertion", assertion.reveal());
            }
        }
    }
}

// === impl GrantKind ===

impl GrantKind<'_> {
    pub(super) fn put(&self, form: &mut Form) {
        match self {
            Self::DeviceCode { code } => {
                form.put("grant_type", "urn:ietf:params:oauth:grant-type:device_code");
                form.put("device_code", code.reveal());
                form.put("client_info", "1");
            }
            Self::Refresh { token, scope } => {
                form.put("grant_type", "refresh_token");
                form.put("refresh_token", token.reveal());
                form.put("scope", scope);
            }
            Self::ClientCredentials { scope } => {
                form.put("grant_type", "client_credentials");
                form.put("scope", scope);
            }
            Self::ForAgent { agent } => {
                form.put("grant_type", "client_credentials");
                form.put("scope", EXCHANGE_SCOPE);
                form.put("fmi_path", agent);
            }
            Self::OnBehalfOf { assertion, scope } => {
                form.put("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
                form.put("assertion", assertion.reveal());
                form.put("requested_token_use", "on_behalf_of");
                form.put("scope", scope);
            }
            Self::AgentUser {
                credential,
                user,
                scope,
            } => {
                form.put("grant_type", "user_fic");
                form.put("user_federated_identity_credential", credential.reveal());
                form.put("requested_token_use", "on_behalf_of");
                form.put(
                    if user.contains('@') {
                        "username"
                    } else {
                        "user_id"
                    },
                    user,
                );
                form.put("scope", scope);
            }
        }
    }

    /// `X-AnchorMailbox`, which routes to the part of Entra ID that knows the
    /// user.
    pub(super) fn anchor(&self) -> Option<String> {
        match self {
            Self::AgentUser { user, .. } if user.contains('@') => Some(format!("upn:{user}")),
            _ => None,
        }
    }
}

// === impl Grant ===

impl Grant {
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let body: Body = serde_json::from_slice(body).ok()?;
        if !body.token_type.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let seconds = match body.expires_in {
            Some(Seconds::Number(number)) => number,
            Some(Seconds::Text(text)) => text.parse().ok()?,
            // RFC 6749 leaves it open; an hour is the least Entra ID gives.
            None => 3600,
        };
        Some(Self {
            access_token: body.access_token.some()?,
            expires_in: Duration::from_secs(seconds.min(90 * 24 * 3600)),
            refresh_token: body.refresh_token.and_then(Private::some),
            id_token: body.id_token.and_then(Private::some),
            scope: body.scope.unwrap_or_default(),
        })
    }
}
