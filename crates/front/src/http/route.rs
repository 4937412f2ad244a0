//! Which path is asked for, and by whom.

use std::sync::Arc;

use http::{Method, Request, StatusCode, Uri};
use hyper::body::Incoming;
use legation_core::{Principal, ServerName, Via};
use legation_gate::Endpoint;

use super::connection::Connection;
use super::guard::{self, Rejected};
use super::reply::{self, Reply};
use super::{mcp, pair, plain};
use crate::shared::count;

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Streamable HTTP.
    Mcp(Endpoint),
    /// The stream of 2024-11-05.
    Sse,
    /// The requests beside it.
    Messages,
    /// Whether the hub is there.
    Health,
    /// Numbers for Prometheus.
    Metrics,
}

/// A request that passed the guard.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) connection: &'a Arc<Connection>,
    pub(super) head: http::request::Parts,
    pub(super) principal: Principal,
}

// === impl Route ===

impl Route {
    /// Reads a path; `None` when there is nothing.
    pub(super) fn find(path: &str) -> Option<Self> {
        Some(match path {
            "/mcp" => Self::Mcp(Endpoint::All),
            "/sse" => Self::Sse,
            "/messages" => Self::Messages,
            "/healthz" => Self::Health,
            "/metrics" => Self::Metrics,
            path => {
                if let Some(name) = path.strip_prefix("/mcp/s/") {
                    Self::Mcp(Endpoint::Server(ServerName::parse(&decoded(name)?).ok()?))
                } else {
                    let name = decoded(path.strip_prefix("/mcp/v/")?)?;
                    if name.is_empty() {
                        return None;
                    }
                    Self::Mcp(Endpoint::View(name.into()))
                }
            }
        })
    }
}

/// Answers one request.
pub(super) async fn answer(connection: &Arc<Connection>, request: Request<Incoming>) -> Reply {
    let (head, body) = request.into_parts();
    let route = Route::find(head.uri.path());
    let principal = match check(connection, &head.uri, &head.headers, route.as_ref()) {
        Ok(principal) => principal,
        Err(rejected) => {
            count(&connection.shared.counters.rejected);
            return rejected.into();
        }
    };
    let Some(route) = route else {
        return reply::refuse(StatusCode::NOT_FOUND, "there is nothing at this path");
    };
    let asked = match principal {
        Some(principal) => Asked {
            connection,
            head,
            principal,
        },
        None if head.method != Method::GET && head.method != Method::HEAD => {
            return reply::not_allowed("GET, HEAD");
        }
        None if route == Route::Health => return plain::health(&connection.shared),
        None => return plain::metrics(&connection.shared),
    };
    match route {
        Route::Mcp(endpoint) => mcp::answer(asked, body, endpoint).await,
        Route::Sse => pair::stream(&asked),
        Route::Messages => pair::message(asked, body).await,
        Route::Health | Route::Metrics => reply::not_allowed("GET, HEAD"),
    }
}

/// Everything that can be refused by a request's head alone; the principal of a
/// path that needs one.
fn check(
    connection: &Connection,
    uri: &Uri,
    headers: &http::HeaderMap,
    route: Option<&Route>,
) -> Result<Option<Principal>, Rejected> {
    let shared = &connection.shared;
    guard::host(uri, headers, connection.port, &shared.settings)?;
    guard::origin(headers, connection.port, &shared.settings)?;
    guard::query(uri)?;
    let via = match route {
        Some(Route::Health | Route::Metrics) => return Ok(None),
        Some(Route::Sse | Route::Messages) => Via::Sse,
        Some(Route::Mcp(_)) | None => Via::Http,
    };
    guard::principal(
        headers,
        via,
        shared.authenticator.as_ref(),
        &shared.settings,
    )
    .map(Some)
}

/// Undoes percent encoding (RFC 3986, section 2.1).
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            bytes.push(byte);
            rest = tail;
            continue;
        }
        let (digits, tail) = tail.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits)
            .ok()
            .filter(|text| !text.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_where_they_say() {
        let server = |name: &str| {
            Some(Route::Mcp(Endpoint::Server(
                ServerName::parse(name).expect("a name"),
            )))
        };
        assert_eq!(Route::find("/mcp"), Some(Route::Mcp(Endpoint::All)));
        assert_eq!(Route::find("/mcp/s/github"), server("github"));
        assert_eq!(Route::find("/mcp/s/a%20b%2Fc"), server("a b/c"));
        assert_eq!(Route::find("/mcp/s/a/b"), server("a/b"));
        assert_eq!(
            Route::find("/mcp/v/work"),
            Some(Route::Mcp(Endpoint::View("work".into())))
        );
        for nowhere in [
            "/",
            "/mcp/",
            "/mcp/s/",
            "/mcp/s/%",
            "/mcp/s/%zz",
            "/mcp/s/%0a",
            "/mcp/v/",
            "/MCP",
            "/mcp/s/%ff",
        ] {
            assert_eq!(Route::find(nowhere), None, "{nowhere}");
        }
    }
}
