//! Error codes, of which the eras use different ones.

use crate::codes;
use crate::json::Raw;
use crate::message::ErrorObject;
use crate::revision::Revision;

/// Makes a server's error fit a legacy client.
///
/// `-32602` on `resources/read` means "not found" when it names the URI, which legacy clients
/// know as `-32002`. Codes that only modern peers know, or that came later than the client's
/// revision, become what such a client can make sense of; message and data stay.
pub fn error_for_legacy(method: &str, revision: Revision, mut error: ErrorObject) -> ErrorObject {
    let names_uri = || {
        error
            .data
            .as_ref()
            .is_some_and(|data| data.get("uri").is_some())
    };
    error.code = match error.code {
        codes::INVALID_PARAMS if method == "resources/read" && names_uri() => {
            codes::RESOURCE_NOT_FOUND
        }
        codes::MISSING_CAPABILITY => codes::INVALID_REQUEST,
        codes::HEADER_MISMATCH | codes::UNSUPPORTED_VERSION => codes::INTERNAL_ERROR,
        codes::URL_ELICITATION_REQUIRED if revision < Revision::V2025_11_25 => {
            codes::INVALID_REQUEST
        }
        code => code,
    };
    error
}

/// Makes a server's error fit a modern client. `-32042` is not handled here: it becomes a
/// result that asks for input, see [`super::url_elicitations`]; where that is not possible it
/// becomes a missing capability.
pub fn error_for_modern(mut error: ErrorObject) -> ErrorObject {
    match error.code {
        codes::RESOURCE_NOT_FOUND => error.code = codes::INVALID_PARAMS,
        codes::URL_ELICITATION_REQUIRED => {
            error.code = codes::MISSING_CAPABILITY;
            error.data = Some(Raw::from_static(
                r#"{"requiredCapabilities":{"elicitation":{"url":{}}}}"#,
            ));
        }
        _ => {}
    }
    error
}
