//! Requests to a token endpoint and what comes back (RFC 6749 section 5; RFC 8693,
//! RFC 8707, RFC 7523).

use legation_core::{Secret, Wall};
use serde::Deserialize;

use crate::client::Client;
use crate::fetch::{Ask, Body, Reply};
use crate::jwt::{KeyError, Proof, ProofKey};
use crate::settings::Enterprise;
use crate::url::{WebUrl, put};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// What is given for a token.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Give<'a> {
    /// What the browser brought.
    Code {
        code: &'a Secret,
        verifier: &'a Secret,
        redirect: &'a str,
    },
    /// What renews a sign-in.
    Refresh(&'a Secret),
    /// Nothing but who asks.
    Client,
    /// A statement.
    Assertion(&'a Secret),
}

/// One request for a token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Want<'a> {
    pub(crate) endpoint: &'a WebUrl,
    /// Who answers, for statements about who asks.
    pub(crate) issuer: &'a str,
    pub(crate) client: &'a Client,
    pub(crate) give: Give<'a>,
    /// `resource` (RFC 8707); `None` for servers that describe nothing.
    pub(crate) resource: Option<&'a str>,
    pub(crate) scope: Option<&'a str>,
    /// The key that the token is to be bound to, and the server's nonce.
    pub(crate) key: Option<(&'a ProofKey, Option<&'a str>)>,
    pub(crate) now: Wall,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Tokens {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// Whether the token is bound to the key of the request.
    pub(crate) is_bound: bool,
    /// How long it is good for, in seconds, where that is said.
    pub(crate) expires_in_s: Option<u64>,
    /// What was granted, where it is not what was asked for.
    pub(crate) scope: Option<Box<str>>,
}

/// No token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The authorization server's own error.
    #[error("the authorization server refused: {error}")]
    Refused {
        /// Its code (RFC 6749, section 5.2).
        error: Box<str>,
    },
    /// Something else than an answer.
    #[error("the authorization server answered with HTTP status {status} and no token")]
    Odd {
        /// The status.
        status: u16,
    },
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    #[serde(default)]
    token_type: String,
    refresh_token: Option<String>,
    expires_in: Option<serde_json::Number>,
    scope: Option<String>,
    issued_token_type: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

// === impl Want ===

impl Want<'_> {
    /// The request.
    pub(crate) fn ask(&self) -> Result<Ask, KeyError> {
        let mut form = String::with_capacity(1024);
        let mut headers = Vec::new();
        match &self.give {
            Give::Code {
                code,
                verifier,
                redirect,
            } => {
                put(&mut form, "grant_type", "authorization_code");
                put(&mut form, "code", code.reveal());
                put(&mut form, "code_verifier", verifier.reveal());
                put(&mut form, "redirect_uri", redirect);
            }
            Give::Refresh(token) => {
                put(&mut form, "grant_type", "refresh_token");
                put(&mut form, "refresh_token", token.reveal());
            }
            Give::Client => put(&mut form, "grant_type", "client_credentials"),
            Give::Assertion(assertion) => {
                put(&mut form, "grant_type", JWT_BEARER);
                put(&mut form, "assertion", assertion.reveal());
            }
        }
        if let Some(resource) = self.resource {
            put(&mut form, "resource", resource);
        }
        if let Some(scope) = self.scope {
            put(&mut form, "scope", scope);
        }
        self.client
            .identify(&mut form, &mut headers, self.issuer, self.now)?;
        if let Some((key, nonce)) = self.key {
            let proof = Proof {
                method: "POST",
                url: &self.endpoint.without_query(),
                nonce,
                token: None,
            };
            headers.push(("dpop", key.proof(&proof, self.now)?));
        }
        Ok(Ask {
            url: self.endpoint.clone(),
            headers,
            body: Some(Body::Form(Secret::new(form))),
        })
    }
}

/// The request that exchanges a person's identity token for a statement to `issuer`
/// about `resource`.
pub(crate) fn exchange(
    enterprise: &Enterprise,
    issuer: &str,
    resource: &str,
    scope: Option<&str>,
) -> Ask {
    let mut form = String::with_capacity(2048);
    put(&mut form, "grant_type", TOKEN_EXCHANGE);
    put(&mut form, "requested_token_type", ID_JAG);
    put(&mut form, "audience", issuer);
    put(&mut form, "resource", resource);
    if let Some(scope) = scope {
        put(&mut form, "scope", scope);
    }
    put(&mut form, "subject_token", enterprise.id_token.reveal());
    put(&mut form, "subject_token_type", ID_TOKEN);
    put(&mut form, "client_id", &enterprise.client_id);
    if let Some(secret) = &enterprise.client_secret {
        put(&mut form, "client_secret", secret.reveal());
    }
    Ask {
        body: Some(Body::Form(Secret::new(form))),
        ..Ask::get(enterprise.token_endpoint.clone())
    }
}

/// The statement that came back for [`exchange`].
pub(crate) fn exchanged(reply: &Reply) -> Result<Secret, TokenError> {
    let answer = answer(reply)?;
    match answer.issued_token_type.as_deref() {
        Some(ID_JAG) => Ok(Secret::new(answer.access_token)),
        _ => Err(TokenError::Odd {
            status: reply.status,
        }),
    }
}

/// Reads an answer. A token of a kind that is not known is none.
pub(crate) fn read(reply: &Reply) -> Result<Tokens, TokenError> {
    let odd = || TokenError::Odd {
        status: reply.status,
    };
    let answer = answer(reply)?;
    let is_bound = match answer.token_type.to_ascii_lowercase().as_str() {
        "bearer" => false,
        "dpop" => true,
        _ => return Err(odd()),
    };
    // What stands in a header is made of these letters (RFC 6750, section 2.1).
    let plain = |byte: u8| byte.is_ascii_graphic();
    if answer.access_token.is_empty() || !answer.access_token.bytes().all(plain) {
        return Err(odd());
    }
    let refresh = answer.refresh_token.filter(|token| !token.is_empty());
    let expires_in_s = answer.expires_in.and_then(|number| {
        let whole = number.as_u64();
        whole.or_else(|| number.as_f64().map(|_| 0))
    });
    Ok(Tokens {
        access: Secret::new(answer.access_token),
        refresh: refresh.map(Secret::new),
        is_bound,
        expires_in_s,
        scope: answer.scope.map(Into::into),
    })
}

/// Whether the server only wants its nonce in the proof (RFC 9449, section 8).
pub(crate) fn wants_nonce(reply: &Reply) -> bool {
    matches!(refused(reply), Some(error) if &*error == "use_dpop_nonce")
}

fn answer(reply: &Reply) -> Result<Answer, TokenError> {
    if reply.status == 200
        && let Ok(answer) = serde_json::from_slice::<Answer>(&reply.body)
    {
        return Ok(answer);
    }
    Err(match refused(reply) {
        Some(error) => TokenError::Refused { error },
        None => TokenError::Odd {
            status: reply.status,
        },
    })
}

/// The code alone: what stands beside it may repeat what was asked.
fn refused(reply: &Reply) -> Option<Box<str>> {
    let refusal: Refusal = serde_json::from_slice(&reply.body).ok()?;
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_code = (1..=64).contains(&refusal.error.len()) && refusal.error.bytes().all(plain);
    is_code.then(|| refusal.error.into())
}

// === impl TokenError ===

impl TokenError {
    /// Whether asking again with the same will never help.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Refused { error } => !matches!(
                &**error,
                "temporarily_unavailable" | "server_error" | "slow_down"
            ),
            Self::Odd { .. } => false,
        }
    }
}
