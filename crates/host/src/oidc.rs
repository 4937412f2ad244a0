//! Tokens of this machine's identity, for servers that ask for one (`oidc`).
//!
//! A run of a pipeline has an issuer that says who it is: GitHub Actions tells a job where
//! to ask, and gives it a secret to ask with. Only what asks by its entry is given a token,
//! fresh for each connection; the secret itself goes to nobody but the issuer, and no
//! redirect is followed with it.

use std::fmt;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request};
use http_body_util::Full;
use legation_config::{Environment, OidcEntry};
use legation_core::Secret;
use legation_core::net::{Lookup as _, SystemLookup};
use legation_net::proxy::Proxies;
use legation_net::{Answer, BodyEnd, Tls, USER_AGENT, exchange, first_of};
use legation_oauth::WebUrl;
use legation_wire::json::{Limits, Raw};
use tokio::net::TcpStream;

/// Under which name a program finds its token, as with Copilot CLI.
pub(crate) const VARIABLE: &str = "GITHUB_COPILOT_OIDC_MCP_TOKEN";
/// Where a job asks for tokens, and with what (GitHub, "OpenID Connect reference").
const URL: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";
const BEARER: &str = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";

/// How long the issuer may take.
const LIMIT: Duration = Duration::from_secs(15);
/// Longest answer of it: a token has two kilobytes.
const BODY_MAX: usize = 64 << 10;

/// Who says which machine this is.
pub(crate) struct Issuer {
    url: WebUrl,
    bearer: Secret,
    lookup: SystemLookup,
    /// Those of the environment.
    proxies: Proxies,
    tls: Tls,
}

/// There is no token; the server was not asked without one.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// Nobody here says who this is.
    #[error(
        "it asks for a token of this machine's identity (`oidc`), and ACTIONS_ID_TOKEN_REQUEST_URL and \
         ACTIONS_ID_TOKEN_REQUEST_TOKEN name no issuer"
    )]
    None,
    /// The issuer's address cannot be used.
    #[error("ACTIONS_ID_TOKEN_REQUEST_URL cannot be used: it is no https:// address")]
    Url,
    /// The issuer was not reached.
    #[error("no token from {host}: {why}")]
    Connect {
        /// Its host.
        host: String,
        /// What went wrong.
        why: String,
    },
    /// The issuer answered something else.
    #[error("no token from {host}: it answered HTTP status {status}")]
    Refused {
        /// Its host.
        host: String,
        /// The status; one of success where there was no token in the answer.
        status: u16,
    },
}

// === impl Issuer ===

impl Issuer {
    /// The issuer of this run, for the audience that an entry names.
    pub(crate) fn of(environment: &Environment, entry: &OidcEntry) -> Result<Self, IssueError> {
        let set = |name| environment.get(name).filter(|value| !value.is_empty());
        let (Some(url), Some(bearer)) = (set(URL), set(BEARER)) else {
            return Err(IssueError::None);
        };
        let mut url = url.to_owned();
        if let Some(audience) = &entry.audience {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str("audience=");
            encode(audience, &mut url);
        }
        Ok(Self {
            url: WebUrl::parse_safe(&url).map_err(|_| IssueError::Url)?,
            bearer: Secret::new(bearer),
            lookup: SystemLookup::default(),
            proxies: Proxies::of_environment(|name| environment.get(name)),
            tls: Tls::new(None),
        })
    }

    /// A fresh token.
    pub(crate) async fn token(&self) -> Result<Secret, IssueError> {
        let late = || self.failed(format!("no answer within {} s", LIMIT.as_secs()));
        let answer = tokio::time::timeout(LIMIT, self.ask()).await;
        let answer = answer.map_err(|_| late())??;
        let refused = || IssueError::Refused {
            host: self.url.host().to_owned(),
            status: answer.status.as_u16(),
        };
        if !answer.status.is_success() || answer.end != BodyEnd::Whole {
            return Err(refused());
        }
        let document = Raw::parse(answer.body.clone(), &Limits::UPSTREAM).ok();
        let token = document.as_ref().and_then(|raw| raw.get("value"));
        let token = token.as_ref().and_then(Raw::to_str);
        let is_token =
            |token: &str| !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic());
        match token {
            Some(token) if is_token(&token) => Ok(Secret::new(&*token)),
            Some(_) | None => Err(refused()),
        }
    }

    /// The header that carries a fresh token.
    pub(crate) async fn headers(&self) -> Result<HeaderMap, IssueError> {
        Ok(headers(&self.token().await?))
    }

    async fn ask(&self) -> Result<Answer, IssueError> {
        let tcp = self.connect().await?;
        let request = self.request();
        let answer = if self.url.is_tls() {
            let tls = self.tls.connect(self.url.host(), tcp).await;
            let tls = tls.map_err(|error| self.failed(legation_core::error::chain(&error)))?;
            exchange(tls, request, BODY_MAX).await
        } else {
            exchange(tcp, request, BODY_MAX).await
        };
        answer.map_err(|error| self.failed(error.to_string()))
    }

    async fn connect(&self) -> Result<TcpStream, IssueError> {
        let (host, port) = (self.url.host(), self.url.port());
        let failed = |error: io::Error| self.failed(error.to_string());
        let proxy = self.proxies.towards(self.url.is_tls(), host, port);
        let proxy = proxy.map_err(|bad| self.failed(bad.to_string()))?;
        // Without TLS it is on this machine, where no proxy leads.
        if let Some(proxy) = proxy.filter(|_| self.url.is_tls()) {
            let failed = |error: io::Error| {
                self.failed(format!("not reached through the proxy {proxy}: {error}"))
            };
            let found = self.lookup.lookup(&proxy.host, proxy.port).await;
            let reached = first_of(found.map_err(failed)?).await;
            let mut tcp = reached.map_err(failed)?;
            let opened = proxy.open_tunnel(&mut tcp, host, port).await;
            opened.map_err(failed)?;
            return Ok(tcp);
        }
        let found = self.lookup.lookup(host, port).await.map_err(failed)?;
        // Plain HTTP is for what is on this machine, and stays there.
        let found = found
            .into_iter()
            .filter(|address| self.url.is_tls() || address.ip().to_canonical().is_loopback());
        first_of(found).await.map_err(failed)
    }

    fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::default());
        *request.method_mut() = Method::GET;
        // Both were read as parts of a URL.
        *request.uri_mut() = self.url.target().parse().unwrap_or_default();
        let bearer = format!("Bearer {}", self.bearer.reveal());
        let values = [
            (header::HOST, HeaderValue::from_str(self.url.authority())),
            (header::AUTHORIZATION, HeaderValue::from_str(&bearer)),
            (header::ACCEPT, HeaderValue::from_str("application/json")),
            (header::USER_AGENT, HeaderValue::from_str(USER_AGENT)),
        ];
        for (name, value) in values {
            if let Ok(value) = value {
                request.headers_mut().insert(name, value);
            }
        }
        request
    }

    fn failed(&self, why: String) -> IssueError {
        let host = self.url.host().to_owned();
        IssueError::Connect { host, why }
    }
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer")
            .field("url", &self.url.host())
            .finish_non_exhaustive()
    }
}

// === impl IssueError ===

impl IssueError {
    /// What the server's owner can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::None | Self::Url => {
                "run the hub in a job that may have tokens (`permissions: id-token: write`), or remove `oidc`"
            }
            Self::Connect { .. } | Self::Refused { .. } => {
                "check that the job may have tokens, and the audience in `oidc`"
            }
        }
    }

    /// Whether no further attempt fares better.
    pub(crate) fn is_lasting(&self) -> bool {
        matches!(self, Self::None | Self::Url)
    }
}

/// The header that carries a token.
pub(crate) fn headers(token: &Secret) -> HeaderMap {
    let mut headers = HeaderMap::new();
    // A token has visible ASCII only.
    if let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", token.reveal())) {
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    headers
}

/// `%XX` for all but the unreserved letters (RFC 3986, section 2.3).
fn encode(text: &str, into: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            into.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests;
