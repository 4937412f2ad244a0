//! Questions of a server's on their way to a client.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_gate::{Ask, Peer};
use legation_wire::codes;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;
use legation_wire::meta;
use legation_wire::translate::elicit_for_modern;

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
        params: for_client(&method, params),
        method,
    })
}

/// A question in the shape of the newest revision, without what only its server
/// can make sense of: the server's own ids of tasks and elicitations.
fn for_client(method: &str, params: Option<Raw>) -> Raw {
    let params = match method {
        "elicitation/create" => elicit_for_modern(params.as_ref()).0,
        _ => params,
    };
    let Some(params) = params else {
        return Raw::empty_object();
    };
    let mut object = params.to_object().unwrap_or_default();
    match meta::remove(&mut object, meta::RELATED_TASK) {
        Some(_) => object.to_raw(),
        None => params,
    }
}

#[cfg(test)]
mod tests {
    use legation_wire::json::Raw;

    use super::for_client;

    #[test]
    fn a_question_loses_what_only_its_server_knows() {
        let cases = [
            (
                "elicitation/create",
                r#"{"mode":"url","url":"u","elicitationId":"e","_meta":{"v":1}}"#,
                r#"{"mode":"url","url":"u","_meta":{"v":1}}"#,
            ),
            (
                "sampling/createMessage",
                r#"{"n":1.0,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#,
                r#"{"n":1.0}"#,
            ),
        ];
        for (method, params, expected) in cases {
            let asked = for_client(method, Some(Raw::from_static(params)));
            assert_eq!(asked.as_text(), expected);
        }
        assert_eq!(for_client("roots/list", None).as_text(), "{}");
    }
}
