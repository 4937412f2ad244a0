//! Questions of a server's on their way to a client.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_gate::{Ask, Peer};
use legation_wire::codes;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

/// The answer to a question that nobody can be asked.
pub(crate) fn unsupported() -> ErrorObject {
    ErrorObject::new(
        codes::METHOD_NOT_FOUND,
        "the client of this call does not support that request",
    )
}

/// Whether a question is of `elicitation/create` in URL mode.
pub(crate) fn is_url_mode(method: &str, params: Option<&Raw>) -> bool {
    method == "elicitation/create"
        && params
            .and_then(|params| params.get("mode"))
            .is_some_and(|mode| mode.to_str().as_deref() == Some("url"))
}

/// Asks a client, unless it did not declare that it can be asked this: a server
/// may ask for nothing that the client of this very call does not offer.
pub(crate) fn ask(
    peer: &Arc<dyn Peer>,
    method: Box<str>,
    params: Option<Raw>,
) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
    let url_mode = is_url_mode(&method, params.as_ref());
    if !peer.capabilities().allows(&method, url_mode) {
        return Box::pin(std::future::ready(Err(unsupported())));
    }
    peer.ask(Ask {
        method,
        params: params.unwrap_or_else(Raw::empty_object),
    })
}
