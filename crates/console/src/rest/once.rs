//! Requests that are done once under their idempotency key
//! (draft-ietf-httpapi-idempotency-key-header).

use std::sync::Arc;

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use sha2::{Digest as _, Sha256};

use super::problem::Problem;
use crate::web::{Answer, Body, Request};
use crate::{Claimed, Hub, Kept};

/// The header that names a key.
pub(super) const KEY: &str = "idempotency-key";
/// Longest key.
pub(super) const KEY_MAX: usize = 255;
/// Says that an answer was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The key of a request, if it has one.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut given = headers.get_all(KEY).iter();
    let Some(first) = given.next() else {
        return Ok(None);
    };
    let key = first.to_str().ok().filter(|key| {
        !key.is_empty() && key.len() <= KEY_MAX && key.bytes().all(|byte| byte.is_ascii_graphic())
    });
    match (key, given.next()) {
        (Some(key), None) => Ok(Some(key.to_owned())),
        _ => Err(Problem::invalid(
            "Idempotency-Key must be given once, with 1 to 255 visible ASCII characters",
        )),
    }
}

/// What makes a request the same.
pub(super) fn digest(request: &Request) -> [u8; 32] {
    let mut hash = Sha256::new();
    let parts = [
        request.method.as_str().as_bytes(),
        request.path.as_bytes(),
        request.query.as_deref().unwrap_or_default().as_bytes(),
        &request.body,
    ];
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// Has a request answered unless it was before.
pub(super) async fn once(
    hub: Arc<dyn Hub>,
    key: String,
    digest: [u8; 32],
    work: impl Future<Output = Result<Answer, Problem>>,
) -> Answer {
    match hub.claim(&key, digest).await {
        Err(fault) => return Problem::of_fault(fault).answer(),
        Ok(Claimed::New) => {}
        Ok(Claimed::Answered(kept)) => return replayed(kept),
        Ok(Claimed::Running) => {
            return conflict(
                "a request with this idempotency key is being answered; nothing was done",
                "send it again in a moment",
            );
        }
        Ok(Claimed::Unknown) => {
            return conflict(
                "the hub ended while it answered this request; whether it was done is not known, and nothing was done now",
                "look at the ledger, then use another idempotency key",
            );
        }
        Ok(Claimed::Other) => {
            return conflict(
                "another request has this idempotency key; nothing was done",
                "use another one for another request",
            );
        }
    }
    let (answer, is_undone) = match work.await {
        Ok(answer) => (answer, false),
        Err(problem) => (problem.answer(), problem.is_undone()),
    };
    let kept = match &answer.body {
        _ if is_undone => None,
        Body::Whole(body) => Some(Kept {
            status: answer.status.as_u16(),
            body: Some(body.clone()),
        }),
        Body::Stream(_) => None,
    };
    hub.settle(&key, digest, kept).await;
    answer
}

fn replayed(kept: Kept) -> Answer {
    let status = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::OK);
    let answer = match kept.body {
        Some(body) => Answer::whole(status, "application/json", body),
        None => {
            return conflict(
                "this request was done, and its answer was too long to be kept; nothing was done now",
                "read what it changed",
            );
        }
    };
    answer.with(REPLAYED, HeaderValue::from_static("true"))
}

fn conflict(error: &str, hint: &str) -> Answer {
    Problem::new(StatusCode::CONFLICT, error)
        .with_hint(hint)
        .answer()
}
