//! What stands before every HTTP request: the checks that need its head only,
//! in the order in which a stranger learns least.

use std::net::IpAddr;

use http::StatusCode;
use http::header::{self, HeaderName};
use legation_core::{ClientId, Principal, Via};
use legation_wire::http1::{self, Fields};

use super::head::Target;
use crate::access::Authenticator;
use crate::settings::FrontSettings;

/// A request that goes no further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct Rejected {
    pub(super) status: StatusCode,
    pub(super) message: &'static str,
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

fn rejected(status: StatusCode, message: &'static str) -> Rejected {
    Rejected { status, message }
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
) -> Result<(), Rejected> {
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
        return Ok(());
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
    if host.is_some_and(|host| is_own(host, port)) {
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
/// 401 when the bearer token is missing, doubled or not good.
pub(super) fn principal(
    headers: &impl Fields,
    via: Via,
    authenticator: &dyn Authenticator,
    settings: &FrontSettings,
) -> Result<Principal, Rejected> {
    let refused = |message| rejected(StatusCode::UNAUTHORIZED, message);
    let sent = sole(headers, &header::AUTHORIZATION)
        .map_err(|()| refused("the Authorization header is doubled or unreadable"))?;
    let Some(sent) = sent else {
        if settings.no_auth {
            return Ok(Principal {
                client: ClientId::new("no-auth"),
                via: Via::NoAuth,
            });
        }
        return Err(refused(
            "no bearer token; run `legation connect` for this client",
        ));
    };
    if settings.no_auth {
        return Ok(Principal {
            client: ClientId::new("no-auth"),
            via: Via::NoAuth,
        });
    }
    let token = sent
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or_else(|| refused("the Authorization header is not a bearer token"))?;
    match authenticator.bearer(token) {
        Some(client) => Ok(Principal { client, via }),
        None => Err(refused(
            "the bearer token is not good; run `legation connect` for this client",
        )),
    }
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
