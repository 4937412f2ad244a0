//! Which path is asked for, and by whom.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Method, StatusCode};
use legation_core::{Principal, ServerName, Via, Wall};
use legation_gate::Endpoint;

use super::connection::Connection;
use super::guard::{self, Halt, Named, Rejected, Shown};
use super::head::{Head, Target};
use super::known::{Known, LastSession};
use super::mcp::Said;
use super::reply::{self, Reply};
use super::stream::Waiting;
use super::{mcp, pair, plain, web};
use crate::session::Session;
use crate::settings::FrontSettings;
use crate::shared::count;
use crate::web::WEB_BODY_MAX;

/// Before the path of the resource that is described (RFC 9728, section 3).
const RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Streamable HTTP.
    Mcp(Endpoint),
    /// The stream of 2024-11-05.
    Sse,
    /// The requests beside it.
    Messages,
    /// What the hub is for an authorization server (RFC 9728), for this path of it.
    Resource(Box<str>),
    /// Whether the hub is there.
    Health,
    /// Numbers for Prometheus.
    Metrics,
    /// Whatever the admin API and the console have.
    Web,
}

/// Whose request passed the guard.
#[derive(Debug)]
enum Passed {
    /// Who it is does not matter.
    Anybody,
    /// A client's.
    Client(Shown),
    /// The owner's, or a browser's.
    Web(web::Asker),
}

/// A request that passed the guard.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) connection: &'a Arc<Connection>,
    pub(super) head: &'a Head,
    pub(super) principal: Principal,
    /// When the credential it came with ends, where that is known.
    pub(super) until: Option<Wall>,
    /// Where the session is kept that a message's head names.
    pub(super) session: Option<&'a LastSession>,
}

/// What follows a request's head.
pub(super) enum Next {
    /// Its answer.
    Reply(Reply),
    /// Its body, to be read and brought to [`finish`].
    Body(Posting),
    /// Nothing yet: once this is over, its head is to be looked at again.
    Wait(BoxFuture<'static, ()>),
}

/// A request whose body is wanted.
#[derive(Debug)]
pub(super) enum Posting {
    /// A client's.
    Client(Shown, PostTo),
    /// For the admin API or the console.
    Web(web::Asker),
}

/// Whose body it is.
#[derive(Debug)]
pub(super) enum PostTo {
    /// A message over Streamable HTTP.
    Mcp(Endpoint, Said),
    /// A message beside the stream of this session.
    Pair(Arc<Session>),
}

/// What a whole request leads to.
#[derive(Debug)]
pub(super) enum Begun {
    /// Its answer.
    Reply(Reply),
    /// An answer that takes a while.
    Wait(Box<Waiting>),
    /// An answer of the admin API's or the console's.
    Web(web::Answering),
}

// === impl Route ===

impl Route {
    /// Reads a path; `None` where it names no endpoint of MCP and nothing else could.
    pub(super) fn find(path: &str) -> Option<Self> {
        Some(match path {
            "/mcp" => Self::Mcp(Endpoint::All),
            "/sse" => Self::Sse,
            "/messages" => Self::Messages,
            "/healthz" => Self::Health,
            "/metrics" => Self::Metrics,
            path if !path.starts_with("/mcp/") => match path.strip_prefix(RESOURCE) {
                Some(of) => Self::Resource(of.into()),
                None => Self::Web,
            },
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

// === impl Posting ===

impl Posting {
    /// How long the body may be.
    pub(super) fn body_max(&self, settings: &FrontSettings) -> usize {
        match self {
            Self::Client(..) => settings.body_max,
            Self::Web(_) => WEB_BODY_MAX,
        }
    }
}

/// Looks at a request's head.
pub(super) fn begin(connection: &Arc<Connection>, head: &Head) -> Next {
    let target = match head.target() {
        Ok(target) => target,
        Err(bad) => return Next::Reply(bad.into()),
    };
    let route = Route::find(target.path);
    let passed = match check(connection, &target, head, route.as_ref()) {
        Ok(passed) => passed,
        Err(Halt::Wait(wait)) => return Next::Wait(wait),
        Err(Halt::Rejected(rejected)) => {
            let shared = &connection.shared;
            count(&shared.counters.mine().rejected);
            return Next::Reply(match route {
                Some(Route::Web) => web::refused(&rejected),
                _ => reply::rejected(&rejected, shared.settings.resource.as_ref()),
            });
        }
    };
    let Some(route) = route else {
        let nothing = reply::refuse(StatusCode::NOT_FOUND, "there is nothing at this path");
        return Next::Reply(nothing);
    };
    let asked = match passed {
        Passed::Client(shown) => Asked {
            connection,
            head,
            principal: shown.principal,
            until: shown.until,
            session: None,
        },
        Passed::Web(asker) => return Next::Body(Posting::Web(asker)),
        Passed::Anybody => {
            return Next::Reply(match route {
                _ if head.method != Method::GET && head.method != Method::HEAD => {
                    reply::not_allowed("GET, HEAD")
                }
                Route::Resource(_) => plain::resource(&connection.shared),
                Route::Health => plain::health(&connection.shared),
                _ => plain::metrics(&connection.shared),
            });
        }
    };
    let to = match route {
        Route::Mcp(endpoint) => mcp::begin(&asked, endpoint),
        Route::Sse => Err(pair::stream(&asked)),
        Route::Messages => pair::begin(&asked, &target),
        Route::Health | Route::Metrics | Route::Resource(_) | Route::Web => {
            Err(reply::not_allowed("GET, HEAD"))
        }
    };
    match to {
        Ok(to) => {
            let shown = Shown {
                principal: asked.principal,
                until: asked.until,
            };
            Next::Body(Posting::Client(shown, to))
        }
        Err(reply) => Next::Reply(reply),
    }
}

/// Takes in a request whose body has come.
pub(super) fn finish(
    connection: &Arc<Connection>,
    known: &Known,
    posting: Posting,
    body: Bytes,
) -> Begun {
    let head = &known.head;
    let (shown, to) = match posting {
        Posting::Client(shown, to) => (shown, to),
        Posting::Web(asker) => {
            return match head.target() {
                Ok(target) => web::finish(connection, (head, target), asker, body),
                Err(bad) => Begun::Reply(bad.into()),
            };
        }
    };
    let asked = Asked {
        connection,
        head,
        principal: shown.principal,
        until: shown.until,
        session: Some(&known.session),
    };
    match to {
        PostTo::Mcp(endpoint, said) => mcp::finish(asked, endpoint, said, body),
        PostTo::Pair(session) => Begun::Reply(pair::finish(&asked, &session, body)),
    }
}

/// Everything that can be refused by a request's head alone; whose it is where
/// its path needs somebody.
fn check(
    connection: &Connection,
    target: &Target<'_>,
    headers: &Head,
    route: Option<&Route>,
) -> Result<Passed, Halt> {
    let shared = &connection.shared;
    let named = guard::host(target, headers, connection.port, &shared.settings)?;
    guard::origin(headers, connection.port, &shared.settings)?;
    guard::query(target)?;
    let via = match route {
        Some(Route::Resource(of)) if is_described(of, &shared.settings) => {
            return Ok(Passed::Anybody);
        }
        Some(Route::Health | Route::Metrics | Route::Web | Route::Resource(_))
            if named == Named::Public =>
        {
            let nothing = "there is nothing at this path under this name";
            return Err(Rejected::new(StatusCode::NOT_FOUND, nothing).into());
        }
        Some(Route::Health | Route::Metrics) => return Ok(Passed::Anybody),
        Some(Route::Web | Route::Resource(_)) => {
            return Ok(Passed::Web(web::asker(headers, shared)?));
        }
        Some(Route::Sse | Route::Messages) => Via::Sse,
        Some(Route::Mcp(_)) | None => Via::Http,
    };
    let authenticator = shared.authenticator.as_ref();
    guard::principal(headers, (via, named), authenticator, &shared.settings).map(Passed::Client)
}

/// Whether the description is looked for where it may be: for the resource, for its root, or for
/// an endpoint of MCP.
fn is_described(of: &str, settings: &FrontSettings) -> bool {
    settings.resource.as_ref().is_some_and(|resource| {
        let endpoint = || matches!(Route::find(of), Some(Route::Mcp(_) | Route::Sse));
        of.is_empty() || *of == *resource.path || endpoint()
    })
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
        let described = |of: &str| Some(Route::Resource(of.into()));
        assert_eq!(Route::find(RESOURCE), described(""));
        assert_eq!(Route::find(&format!("{RESOURCE}/mcp")), described("/mcp"));
        for elsewhere in ["/", "/ops/llm-provider", "/MCP", "/mcps", "*"] {
            assert_eq!(Route::find(elsewhere), Some(Route::Web), "{elsewhere}");
        }
        for nowhere in [
            "/mcp/",
            "/mcp/x",
            "/mcp/s/",
            "/mcp/s/%",
            "/mcp/s/%zz",
            "/mcp/s/%0a",
            "/mcp/v/",
            "/mcp/s/%ff",
        ] {
            assert_eq!(Route::find(nowhere), None, "{nowhere}");
        }
    }
}
