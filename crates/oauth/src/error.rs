//! Why there is no token.

use std::sync::Arc;

use legation_keystore::SecretsError;

use crate::authorize::AnswerError;
use crate::client::RegisterError;
use crate::fetch::FetchError;
use crate::jwt::KeyError;
use crate::metadata::MetadataError;
use crate::token::TokenError;
use crate::url::BadUrl;

/// A token that could not be had. Clones go to everybody who waited for it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OAuthError {
    /// The server was never reached with its configuration.
    #[error("the server has not been reached yet, so nothing is known of its sign-in")]
    Unknown,
    /// The server asks nobody to sign in.
    #[error("the server describes no sign-in")]
    NotProtected,
    /// Something could not be fetched.
    #[error("{what} could not be had")]
    Fetch {
        /// What.
        what: &'static str,
        /// Why.
        #[source]
        source: FetchError,
    },
    /// A document cannot be used.
    #[error("{what} cannot be used")]
    Metadata {
        /// Which.
        what: &'static str,
        /// Why.
        #[source]
        source: MetadataError,
    },
    /// The server names no authorization server, or not the configured one.
    #[error("the server does not name {wanted} as its authorization server")]
    Issuer {
        /// Which was wanted.
        wanted: String,
    },
    /// An issuer's name is no address that can be asked.
    #[error("the authorization server's address {bad}")]
    IssuerAddress {
        /// Why not.
        bad: BadUrl,
    },
    /// The authorization server describes itself nowhere.
    #[error("the authorization server {issuer} describes itself nowhere")]
    NoIssuer {
        /// Which.
        issuer: String,
    },
    /// It has no S256, without which a code could be stolen.
    #[error("the authorization server does not offer PKCE with S256; nobody was sent there")]
    NoPkce,
    /// It has no page to sign in at.
    #[error("the authorization server has no authorization endpoint")]
    NoPage,
    /// There is no client for it.
    #[error("the authorization server knows no client of the hub's and registers none")]
    NoClient,
    /// It has forgotten the client that signed in.
    #[error("the authorization server does not know any more which client signed in")]
    ClientGone,
    /// It registered none.
    #[error("no client was registered")]
    Register {
        /// Why.
        #[source]
        source: RegisterError,
    },
    /// It gave no token.
    #[error("no token was given")]
    Token {
        /// Why.
        #[source]
        source: TokenError,
    },
    /// The sign-in was forgotten here and may be good there.
    #[error("the authorization server did not take the sign-in back (HTTP status {status})")]
    NotRevoked {
        /// The status.
        status: u16,
    },
    /// What the browser brought is no sign-in.
    #[error("nobody signed in")]
    Answer {
        /// Why.
        #[source]
        source: AnswerError,
    },
    /// Nobody came back in time.
    #[error("nobody came back from the sign-in page in time")]
    Late,
    /// The sign-in was given up for a newer one, or with the hub.
    #[error("the sign-in was given up")]
    Withdrawn,
    /// No port for the browser to come back to.
    #[error("127.0.0.1 could not be listened on for the browser's return")]
    Listen {
        /// Why.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// A key cannot be used.
    #[error("nothing could be signed for the authorization server")]
    Key {
        /// Why.
        #[source]
        source: KeyError,
    },
    /// The keystore cannot be used.
    #[error("what is kept of the sign-in cannot be read or written")]
    Store {
        /// Why.
        #[source]
        source: Arc<SecretsError>,
    },
}

// === impl OAuthError ===

impl OAuthError {
    /// What the owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unknown => "connect the server first: `legation mcp reload NAME`",
            Self::NotProtected => {
                "it needs none, or wants a credential under `headers` in mcp.json"
            }
            Self::Fetch { source, .. } => source.hint(),
            Self::Issuer { .. } => "correct `oauth.issuer` in mcp.json",
            Self::NoClient => {
                "register a client there and put its id into `oauthClientId`, and \
                               its secret into `oauth.clientSecret`, in mcp.json"
            }
            Self::Late | Self::Withdrawn | Self::ClientGone | Self::Answer { .. } => {
                "begin again with `legation mcp auth NAME`"
            }
            Self::Token { .. } | Self::Register { .. } => {
                "check the client in mcp.json, or sign in anew with `legation mcp auth NAME --force`"
            }
            Self::NotRevoked { .. } => {
                "it is forgotten here; end it there, in the account's list of applications"
            }
            Self::Listen { .. } => "choose a free `oauth.redirectPort` in mcp.json",
            Self::Key { .. } => "check `oauth.privateKey` and `oauth.signingAlg`",
            Self::Store { source } => source.hint(),
            Self::Metadata { .. }
            | Self::IssuerAddress { .. }
            | Self::NoIssuer { .. }
            | Self::NoPkce
            | Self::NoPage => "ask who runs the server: its sign-in cannot be used safely as it is",
        }
    }

    /// Whether what renewed the sign-in is worth nothing any more.
    pub(crate) fn is_end_of_grant(&self) -> bool {
        matches!(self, Self::Token { source: TokenError::Refused { error } } if **error == *"invalid_grant")
    }

    /// Whether the authorization server knows nothing of who asks.
    pub(crate) fn is_end_of_client(&self) -> bool {
        matches!(self, Self::Token { source: TokenError::Refused { error } } if **error == *"invalid_client")
    }

    /// Whether asking again with the same may help.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Token { source } => !source.is_final(),
            Self::Fetch { source, .. } => !matches!(
                source,
                FetchError::Private { .. } | FetchError::Plain { .. }
            ),
            Self::Store { .. } => true,
            _ => false,
        }
    }
}

impl From<KeyError> for OAuthError {
    fn from(source: KeyError) -> Self {
        Self::Key { source }
    }
}

impl From<TokenError> for OAuthError {
    fn from(source: TokenError) -> Self {
        Self::Token { source }
    }
}
