//! What resources and authorization servers say of themselves: protected-resource
//! metadata (RFC 9728), authorization-server metadata (RFC 8414) and OpenID Connect
//! discovery, in the order of the MCP specification (2025-11-25 and 2026-07-28,
//! basic/authorization).

use serde::Deserialize;

use crate::url::{BadUrl, WebUrl};

/// Most scopes of a document that are asked for, and the longest.
const SCOPES_MAX: usize = 64;
const SCOPE_MAX: usize = 256;

/// What a protected resource says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    /// `resource`, exactly as published.
    pub(crate) resource: Box<str>,
    /// `authorization_servers`, exactly as published.
    pub(crate) issuers: Vec<Box<str>>,
    /// `scopes_supported`.
    pub(crate) scopes: Vec<Box<str>>,
    /// Whether it takes tokens that are bound to a key of ES256 (`DPoP`).
    pub(crate) has_dpop: bool,
}

/// What an authorization server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issuer {
    /// `issuer`, which is its name.
    pub(crate) issuer: Box<str>,
    /// Where people sign in.
    pub(crate) authorization_endpoint: Option<WebUrl>,
    /// Where tokens come from.
    pub(crate) token_endpoint: WebUrl,
    /// Where clients register themselves (RFC 7591).
    pub(crate) registration_endpoint: Option<WebUrl>,
    /// Where tokens are given back (RFC 7009).
    pub(crate) revocation_endpoint: Option<WebUrl>,
    /// `scopes_supported`.
    pub(crate) scopes: Vec<Box<str>>,
    /// `token_endpoint_auth_methods_supported`.
    pub(crate) auth_methods: Vec<Box<str>>,
    /// Whether S256 is among `code_challenge_methods_supported`.
    pub(crate) has_s256: bool,
    /// `client_id_metadata_document_supported`.
    pub(crate) takes_documents: bool,
    /// `authorization_response_iss_parameter_supported` (RFC 9207).
    pub(crate) sends_iss: bool,
    /// Whether its tokens are to be bound to a key: ES256 is among its
    /// `dpop_signing_alg_values_supported` (RFC 9449), and the resource takes such tokens.
    pub(crate) has_dpop: bool,
}

/// A document that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// It is no JSON object with the members it must have.
    #[error("the document cannot be read: {why}")]
    Unreadable {
        /// What is wrong, in the reader's words, which quote nothing.
        why: &'static str,
    },
    /// The resource it describes is another.
    #[error("it describes {found}, not the server that was asked for it")]
    OtherResource {
        /// Which.
        found: String,
    },
    /// The authorization server it describes is another.
    #[error("it describes the issuer {found}, not the one it was looked up for")]
    OtherIssuer {
        /// Which.
        found: String,
    },
    /// An endpoint is no address to send people or tokens to.
    #[error("`{member}` {bad}")]
    Endpoint {
        /// Which.
        member: &'static str,
        /// Why not.
        bad: BadUrl,
    },
}

#[derive(Deserialize)]
struct ResourceDocument {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    dpop_signing_alg_values_supported: Vec<String>,
    #[serde(default)]
    dpop_bound_access_tokens_required: bool,
}

#[derive(Deserialize)]
struct IssuerDocument {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    dpop_signing_alg_values_supported: Vec<String>,
}

/// Where a server's own description is looked for, in order: where its challenge
/// says, else below the well-known path, first for its path, then for its root.
pub(crate) fn resource_places(server: &WebUrl, hint: Option<&str>) -> Vec<WebUrl> {
    if let Some(hint) = hint {
        return WebUrl::parse(hint).into_iter().collect();
    }
    let path = server.path().trim_end_matches('/');
    well_known(server, "oauth-protected-resource", path)
}

/// Where an issuer's description is looked for, in order.
pub(crate) fn issuer_places(issuer: &WebUrl) -> Vec<WebUrl> {
    let path = issuer.path().trim_end_matches('/');
    let mut places: Vec<WebUrl> = ["oauth-authorization-server", "openid-configuration"]
        .iter()
        .filter_map(|name| issuer.at(&format!("/.well-known/{name}{path}")))
        .collect();
    if !path.is_empty() {
        places.extend(issuer.at(&format!("{path}/.well-known/openid-configuration")));
    }
    places
}

fn well_known(of: &WebUrl, name: &str, path: &str) -> Vec<WebUrl> {
    let mut places = Vec::new();
    if !path.is_empty() {
        places.extend(of.at(&format!("/.well-known/{name}{path}")));
    }
    places.extend(of.at(&format!("/.well-known/{name}")));
    places
}

// === impl Resource ===

impl Resource {
    /// Reads the description of `server`. What it calls itself must be the server's
    /// address or what that lies below (RFC 9728, section 3.3): otherwise a token
    /// for somebody else's resource would be asked for and sent here.
    ///
    /// # Errors
    /// See [`MetadataError`].
    pub(crate) fn read(body: &[u8], server: &WebUrl) -> Result<Self, MetadataError> {
        let document: ResourceDocument = parse(body)?;
        let covers = WebUrl::parse(&document.resource).is_ok_and(|found| {
            let above = found.path().trim_end_matches('/');
            let rest = server.path().strip_prefix(above);
            found.has_origin_of(server)
                && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if !covers {
            let found = shown(&document.resource);
            return Err(MetadataError::OtherResource { found });
        }
        let algorithms = &document.dpop_signing_alg_values_supported;
        let has_dpop = document.dpop_bound_access_tokens_required
            || algorithms.iter().any(|algorithm| algorithm == "ES256");
        Ok(Self {
            has_dpop,
            resource: document.resource.into(),
            issuers: document
                .authorization_servers
                .into_iter()
                .map(Into::into)
                .collect(),
            scopes: scopes(document.scopes_supported),
        })
    }
}

// === impl Issuer ===

impl Issuer {
    /// Reads the description of `issuer`, which it must repeat to the letter (RFC
    /// 8414, section 3.3).
    ///
    /// # Errors
    /// See [`MetadataError`].
    pub(crate) fn read(body: &[u8], issuer: &str) -> Result<Self, MetadataError> {
        let document: IssuerDocument = parse(body)?;
        if document.issuer != issuer {
            return Err(MetadataError::other_issuer(&document.issuer));
        }
        let url = |member, text: String| {
            WebUrl::parse_safe(&text).map_err(|bad| MetadataError::Endpoint { member, bad })
        };
        let maybe = |member, text: Option<String>| text.map(|text| url(member, text)).transpose();
        let has = |list: &[String], word: &str| list.iter().any(|one| one == word);
        Ok(Self {
            issuer: document.issuer.into(),
            authorization_endpoint: maybe(
                "authorization_endpoint",
                document.authorization_endpoint,
            )?,
            token_endpoint: url("token_endpoint", document.token_endpoint)?,
            registration_endpoint: maybe("registration_endpoint", document.registration_endpoint)?,
            revocation_endpoint: maybe("revocation_endpoint", document.revocation_endpoint)?,
            scopes: scopes(document.scopes_supported),
            auth_methods: document
                .token_endpoint_auth_methods_supported
                .unwrap_or_else(|| vec!["client_secret_basic".to_owned()])
                .into_iter()
                .map(Into::into)
                .collect(),
            has_s256: has(&document.code_challenge_methods_supported, "S256"),
            takes_documents: document.client_id_metadata_document_supported,
            sends_iss: document.authorization_response_iss_parameter_supported,
            has_dpop: has(&document.dpop_signing_alg_values_supported, "ES256"),
        })
    }

    /// What servers of revision 2025-03-26 have that describe nothing: endpoints at
    /// fixed places of the server's own origin.
    pub(crate) fn assumed(server: &WebUrl) -> Option<Self> {
        Some(Self {
            issuer: server.origin().into(),
            authorization_endpoint: server.at("/authorize"),
            token_endpoint: server.at("/token")?,
            registration_endpoint: server.at("/register"),
            revocation_endpoint: None,
            scopes: Vec::new(),
            auth_methods: vec!["client_secret_post".into(), "none".into()],
            has_s256: true,
            takes_documents: false,
            sends_iss: false,
            has_dpop: false,
        })
    }
}

// === impl MetadataError ===

impl MetadataError {
    /// A description that calls its author this.
    pub(crate) fn other_issuer(found: &str) -> Self {
        Self::OtherIssuer {
            found: shown(found),
        }
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, MetadataError> {
    // The reader's own words could quote the document.
    serde_json::from_slice(body).map_err(|error| MetadataError::Unreadable {
        why: match error.classify() {
            serde_json::error::Category::Data => "a member is missing, or of another kind",
            _ => "it is no JSON",
        },
    })
}

/// Scopes that a request can hold (RFC 6749, section 3.3).
fn scopes(found: Vec<String>) -> Vec<Box<str>> {
    let is_scope = |scope: &String| {
        (1..=SCOPE_MAX).contains(&scope.len())
            && scope
                .bytes()
                .all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
    };
    let found = found.into_iter().filter(is_scope);
    found.take(SCOPES_MAX).map(Into::into).collect()
}

/// What somebody else called itself, fit for a message.
fn shown(text: &str) -> String {
    let plain = text.chars().filter(|letter| !letter.is_control());
    format!("{:?}", plain.take(120).collect::<String>())
}

#[cfg(test)]
mod tests;
