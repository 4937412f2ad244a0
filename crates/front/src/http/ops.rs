//! `/ops/…`: what the owner asks and changes over HTTP, with the owner's own
//! token and no client's.

use bytes::Bytes;
use http::{Method, StatusCode};
use legation_core::Via;
use legation_wire::json::{Limits, Raw};

use super::guard;
use super::reply::{self, Reply};
use super::route::{Asked, PostTo};
use crate::access::OpsAnswer;

/// Looks at a request's head; the answer where that is enough for one.
pub(super) fn begin(asked: &Asked<'_>, path: &'static str) -> Result<PostTo, Reply> {
    // Without authentication anybody could be the owner.
    let shared = &asked.connection.shared;
    let is_owner = asked.principal.via != Via::NoAuth
        && shared.authenticator.is_owner(&asked.principal.client);
    if !is_owner {
        return Err(reply::refuse(
            StatusCode::FORBIDDEN,
            "only the owner's own token is taken here",
        ));
    }
    match asked.head.method {
        Method::GET | Method::HEAD => Err(answer(asked, path, None)),
        Method::POST => {
            guard::content(asked.head)?;
            Ok(PostTo::Ops(path))
        }
        _ => Err(reply::not_allowed("GET, HEAD, POST")),
    }
}

/// Takes in what shall be changed.
pub(super) fn finish(asked: &Asked<'_>, path: &'static str, body: Bytes) -> Reply {
    let limits = Limits {
        bytes: asked.connection.shared.settings.body_max,
        ..Limits::CLIENT
    };
    match Raw::parse(body, &limits) {
        Ok(body) => answer(asked, path, Some(body)),
        Err(_) => reply::refuse(StatusCode::BAD_REQUEST, "the body is no JSON"),
    }
}

fn answer(asked: &Asked<'_>, path: &'static str, body: Option<Raw>) -> Reply {
    match asked.connection.shared.admin.ops(path, body) {
        Some(OpsAnswer { status, body }) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            reply::json(status, body.as_bytes().clone())
        }
        None => reply::refuse(StatusCode::NOT_FOUND, "there is nothing at this path"),
    }
}
