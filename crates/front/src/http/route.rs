//! Which path is asked for, and by whom.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, StatusCode};
use legation_core::{Principal, ServerName, Via};
use legation_gate::Endpoint;

use super::connection::Connection;
use super::guard::{self, Accepts, Rejected};
use super::head::{Head, Target};
use super::reply::{self, Reply};
use super::stream::Waiting;
use super::{mcp, ops, pair, plain};
use crate::session::Session;
use crate::shared::count;

/// The preferences of models.
const LLM_PROVIDER: &str = "/ops/llm-provider";

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
    /// What the owner asks and changes.
    Ops(&'static str),
}

/// A request that passed the guard.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) connection: &'a Arc<Connection>,
    pub(super) head: &'a Head,
    pub(super) target: Target<'a>,
    pub(super) principal: Principal,
}

/// What follows a request's head.
#[derive(Debug)]
pub(super) enum Next {
    /// Its answer.
    Reply(Reply),
    /// Its body, to be read and brought to [`finish`].
    Body(Posting),
}

/// A request whose body is wanted.
#[derive(Debug)]
pub(super) struct Posting {
    principal: Principal,
    to: PostTo,
}

/// Whose body it is.
#[derive(Debug)]
pub(super) enum PostTo {
    /// A message over Streamable HTTP.
    Mcp(Endpoint, Accepts),
    /// A message beside the stream of this session.
    Pair(Arc<Session>),
    /// What the owner changes.
    Ops(&'static str),
}

/// What a whole request leads to.
#[derive(Debug)]
pub(super) enum Begun {
    /// Its answer.
    Reply(Reply),
    /// An answer that takes a while.
    Wait(Box<Waiting>),
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
            LLM_PROVIDER => Self::Ops(LLM_PROVIDER),
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

/// Looks at a request's head.
pub(super) fn begin(connection: &Arc<Connection>, head: &Head) -> Next {
    let target = match head.target() {
        Ok(target) => target,
        Err(bad) => return Next::Reply(bad.into()),
    };
    let route = Route::find(target.path);
    let principal = match check(connection, &target, head, route.as_ref()) {
        Ok(principal) => principal,
        Err(rejected) => {
            count(&connection.shared.counters.rejected);
            return Next::Reply(rejected.into());
        }
    };
    let Some(route) = route else {
        let nothing = reply::refuse(StatusCode::NOT_FOUND, "there is nothing at this path");
        return Next::Reply(nothing);
    };
    let asked = match principal {
        Some(principal) => Asked {
            connection,
            head,
            target,
            principal,
        },
        None => {
            return Next::Reply(match route {
                _ if head.method != Method::GET && head.method != Method::HEAD => {
                    reply::not_allowed("GET, HEAD")
                }
                Route::Health => plain::health(&connection.shared),
                _ => plain::metrics(&connection.shared),
            });
        }
    };
    let to = match route {
        Route::Mcp(endpoint) => mcp::begin(&asked, endpoint),
        Route::Sse => Err(pair::stream(&asked)),
        Route::Messages => pair::begin(&asked),
        Route::Ops(path) => ops::begin(&asked, path),
        Route::Health | Route::Metrics => Err(reply::not_allowed("GET, HEAD")),
    };
    match to {
        Ok(to) => Next::Body(Posting {
            principal: asked.principal,
            to,
        }),
        Err(reply) => Next::Reply(reply),
    }
}

/// Takes in a request whose body has come.
pub(super) fn finish(
    connection: &Arc<Connection>,
    head: &Head,
    posting: Posting,
    body: Bytes,
) -> Begun {
    let target = match head.target() {
        Ok(target) => target,
        Err(bad) => return Begun::Reply(bad.into()),
    };
    let asked = Asked {
        connection,
        head,
        target,
        principal: posting.principal,
    };
    match posting.to {
        PostTo::Mcp(endpoint, accepts) => mcp::finish(asked, endpoint, accepts, body),
        PostTo::Pair(session) => Begun::Reply(pair::finish(&asked, &session, body)),
        PostTo::Ops(path) => Begun::Reply(ops::finish(&asked, path, body)),
    }
}

/// Everything that can be refused by a request's head alone; the principal of a
/// path that needs one.
fn check(
    connection: &Connection,
    target: &Target<'_>,
    headers: &Head,
    route: Option<&Route>,
) -> Result<Option<Principal>, Rejected> {
    let shared = &connection.shared;
    guard::host(target, headers, connection.port, &shared.settings)?;
    guard::origin(headers, connection.port, &shared.settings)?;
    guard::query(target)?;
    let via = match route {
        Some(Route::Health | Route::Metrics) => return Ok(None),
        Some(Route::Sse | Route::Messages) => Via::Sse,
        Some(Route::Mcp(_) | Route::Ops(_)) | None => Via::Http,
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
        assert_eq!(Route::find(LLM_PROVIDER), Some(Route::Ops(LLM_PROVIDER)));
        for nowhere in [
            "/",
            "/ops/",
            "/ops/llm-provider/",
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
