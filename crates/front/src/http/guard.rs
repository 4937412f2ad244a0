//! What stands before every HTTP request: the checks that need its head only,
//! in the order in which a stranger learns least.

use std::fmt;
use std::net::IpAddr;

use futures_util::future::BoxFuture;
use http::StatusCode;
use http::header::{self, HeaderName};
use legation_core::{ClientId, Principal, Via, Wall};
use legation_wire::http1::{self, Fields};

use super::head::Target;
use crate::access::{Authenticator, Issued};
use crate::settings::{FrontSettings, ProtectedResource};

/// A request that goes no further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct Rejected {
    pub(super) status: StatusCode,
    pub(super) message: &'static str,
    /// What is wrong with a token, as a challenge says it (RFC 6750, section 3.1).
    pub(super) error: Option<&'static str>,
}

/// A request that does not go on as it is.
pub(super) enum Halt {
    /// It goes no further.
    Rejected(Rejected),
    /// Whose it is can be told when this is over.
    Wait(BoxFuture<'static, ()>),
}

/// Whose request it is.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) principal: Principal,
    /// When what was shown is no longer good, where that is known.
    pub(super) until: Option<Wall>,
}

/// Under which name the hub was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// One of this machine's.
    Own,
    /// The one that only an authorization server's tokens open.
    Public,
}

/// Names of query parameters that carry credentials elsewhere.
const SECRET_PARAMETERS: [&str; 6] = [
    "token",
    "access_token",
    "bearer",
    "api_key",
    "apikey",
    "authorization",
];

/// What a request without a credential is told.
pub(super) const NO_TOKEN: &str = "no bearer token; run `legation connect` for this client";
/// What a request with a bad one is told.
const BAD_TOKEN: &str = "the bearer token is not good; run `legation connect` for this client";

// === impl Rejected ===

impl Rejected {
    pub(super) fn new(status: StatusCode, message: &'static str) -> Self {
        Self {
            status,
            message,
            error: None,
        }
    }

    /// What is said of a token that is not good.
    fn token(message: &'static str) -> Self {
        Self {
            error: Some("invalid_token"),
            ..Self::new(StatusCode::UNAUTHORIZED, message)
        }
    }
}

// === impl Shown ===

impl Shown {
    /// By what is good until its owner takes it back.
    fn lasting(client: ClientId, via: Via) -> Self {
        Self {
            principal: Principal { client, via },
            until: None,
        }
    }
}

// === impl Halt ===

impl From<Rejected> for Halt {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

impl fmt::Debug for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejected) => f.debug_tuple("Rejected").field(rejected).finish(),
            Self::Wait(_) => f.write_str("Wait"),
        }
    }
}

fn rejected(status: StatusCode, message: &'static str) -> Rejected {
    Rejected::new(status, message)
}

/// Exactly one `Host`, and it is the hub's own (DNS rebinding).
///
/// # Errors
/// 400 when it cannot be told which host is meant, 403 when it is another.
pub(super) fn host(
    target: &Target<'_>,
    headers: &impl Fields,
    port: u16,
    settings: &FrontSettings,
) -> Result<Named, Rejected> {
    let host = sole(headers, &header::HOST)
        .map_err(|()| {
            rejected(
                StatusCode::BAD_REQUEST,
                "more than one Host header, or an unreadable one",
            )
        })?
        .ok_or_else(|| rejected(StatusCode::BAD_REQUEST, "no Host header"))?;
    if target
        .authority
        .is_some_and(|authority| !authority.eq_ignore_ascii_case(host))
    {
        return Err(rejected(
            StatusCode::BAD_REQUEST,
            "the request's target and its Host differ",
        ));
    }
    let listed = settings
        .hosts
        .iter()
        .any(|own| own.eq_ignore_ascii_case(host));
    if listed || is_own(host, port) {
        return Ok(Named::Own);
    }
    if is_public(host, settings.resource.as_ref()) {
        return Ok(Named::Public);
    }
    Err(rejected(
        StatusCode::FORBIDDEN,
        "this Host is not the hub's",
    ))
}

/// No `Origin`, or one of the hub's own (2025-11-25 and later: 403 otherwise).
///
/// # Errors
/// 403.
pub(super) fn origin(
    headers: &impl Fields,
    port: u16,
    settings: &FrontSettings,
) -> Result<(), Rejected> {
    let refused = || rejected(StatusCode::FORBIDDEN, "this Origin may not use the hub");
    let Some(origin) = sole(headers, &header::ORIGIN).map_err(|()| refused())? else {
        return Ok(());
    };
    if settings
        .origins
        .iter()
        .any(|own| own.eq_ignore_ascii_case(origin))
    {
        return Ok(());
    }
    let host = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    let is_hubs = |host| is_own(host, port) || is_public(host, settings.resource.as_ref());
    if host.is_some_and(is_hubs) {
        Ok(())
    } else {
        Err(refused())
    }
}

/// Nobody's credential stands in the address, where logs keep it.
///
/// # Errors
/// 401.
pub(super) fn query(target: &Target<'_>) -> Result<(), Rejected> {
    let secret = target.query.unwrap_or_default().split('&').any(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        SECRET_PARAMETERS
            .iter()
            .any(|secret| name.eq_ignore_ascii_case(secret))
    });
    if secret {
        return Err(rejected(
            StatusCode::UNAUTHORIZED,
            "a token belongs in the Authorization header, never in the address; mint a new one",
        ));
    }
    Ok(())
}

/// Who asks.
///
/// # Errors
/// 401 when the bearer token is missing, doubled or not good, 403 when it has no scope that
/// leads anywhere; or it has to be waited for.
pub(super) fn principal(
    headers: &impl Fields,
    (via, named): (Via, Named),
    authenticator: &dyn Authenticator,
    settings: &FrontSettings,
) -> Result<Shown, Halt> {
    let is_own = named == Named::Own;
    if is_own && settings.no_auth && sole(headers, &header::AUTHORIZATION).is_ok() {
        return Ok(Shown::lasting(ClientId::new("no-auth"), Via::NoAuth));
    }
    let token = shown(headers)?;
    if is_own && let Some(client) = authenticator.bearer(token) {
        return Ok(Shown::lasting(client, via));
    }
    match authenticator.issued(token) {
        Issued::Client { client, until } => Ok(Shown {
            principal: Principal { client, via },
            until: Some(until),
        }),
        Issued::Wait(wait) => Err(Halt::Wait(wait)),
        Issued::Refused => Err(Rejected::token(BAD_TOKEN).into()),
        Issued::NoScope => Err(Halt::Rejected(Rejected {
            error: Some("insufficient_scope"),
            ..rejected(
                StatusCode::FORBIDDEN,
                "the token has none of the scopes that lead anywhere here",
            )
        })),
        Issued::Unavailable => Err(unavailable().into()),
    }
}

/// What is said where nobody can tell whose a token is.
pub(super) fn unavailable() -> Rejected {
    rejected(
        StatusCode::SERVICE_UNAVAILABLE,
        "the keys of the token's issuer could not be had; try again soon",
    )
}

/// Whose bearer token it is.
///
/// # Errors
/// 401 when it is missing, doubled or not good.
pub(super) fn bearer(
    headers: &impl Fields,
    via: Via,
    authenticator: &dyn Authenticator,
) -> Result<Principal, Rejected> {
    match authenticator.bearer(shown(headers)?) {
        Some(client) => Ok(Principal { client, via }),
        None => Err(Rejected::token(BAD_TOKEN)),
    }
}

/// The bearer token that is shown.
fn shown(headers: &impl Fields) -> Result<&str, Rejected> {
    let sent = sole(headers, &header::AUTHORIZATION)
        .map_err(|()| Rejected::token("the Authorization header is doubled or unreadable"))?
        .ok_or_else(|| rejected(StatusCode::UNAUTHORIZED, NO_TOKEN))?;
    sent.split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or_else(|| Rejected::token("the Authorization header is not a bearer token"))
}

/// The body is JSON and nothing else.
///
/// # Errors
/// 415.
pub(super) fn content(headers: &impl Fields) -> Result<(), Rejected> {
    let refused = |message| rejected(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    let encoding = sole(headers, &header::CONTENT_ENCODING)
        .map_err(|()| refused("the Content-Encoding header is doubled"))?;
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return Err(refused("compressed bodies are not taken"));
    }
    let kind = sole(headers, &header::CONTENT_TYPE)
        .map_err(|()| refused("the Content-Type header is doubled"))?
        .and_then(|kind| kind.split(';').next())
        .map(str::trim);
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        Ok(())
    } else {
        Err(refused("the body must be application/json"))
    }
}

/// What a client can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

/// What a client says it can read; all of it when it says nothing.
///
/// # Errors
/// 406 when it is neither JSON nor an event stream.
pub(super) fn accept(headers: &impl Fields) -> Result<Accepts, Rejected> {
    let mut accepts = Accepts {
        json: false,
        events: false,
    };
    let mut any = false;
    headers.each(&header::ACCEPT, |value| {
        any = true;
        for item in http1::text(value).unwrap_or_default().split(',') {
            let kind = item.split(';').next().unwrap_or_default().trim();
            let all = kind == "*/*";
            accepts.json |= all
                || kind.eq_ignore_ascii_case("application/json")
                || kind.eq_ignore_ascii_case("application/*");
            accepts.events |= all
                || kind.eq_ignore_ascii_case("text/event-stream")
                || kind.eq_ignore_ascii_case("text/*");
        }
    });
    match (any, accepts.json || accepts.events) {
        (false, _) => Ok(Accepts {
            json: true,
            events: true,
        }),
        (true, true) => Ok(accepts),
        (true, false) => Err(rejected(
            StatusCode::NOT_ACCEPTABLE,
            "the client must accept application/json and text/event-stream",
        )),
    }
}

/// The one value of a header; an error when there are more, or it is no text.
pub(super) fn sole<'a>(headers: &'a impl Fields, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    headers.sole(name).map_err(|_| ())
}

/// Whether `name[:port]` is what clients elsewhere have of the hub.
fn is_public(host: &str, resource: Option<&ProtectedResource>) -> bool {
    resource.is_some_and(|resource| resource.authority.eq_ignore_ascii_case(host))
}

/// Whether `name[:port]` is this machine's loopback at our port.
fn is_own(host: &str, port: u16) -> bool {
    let (name, given) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, "")) => (name, None),
            Some((name, tail)) => (name, tail.strip_prefix(':').or(Some(""))),
            None => return false,
        },
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    let given = match given {
        None => Some(80),
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        Some(_) => None,
    };
    let loopback = name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    given == Some(port) && loopback
}

#[cfg(test)]
mod tests;
