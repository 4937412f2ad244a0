//! Request headers that mirror a message's body, so that whatever stands between client and
//! server can route without reading it (2026-07-28, Streamable HTTP, "Request Metadata").
//!
//! Both directions: what the hub sends to an upstream server, and the check of what a client
//! sent. Declarations of mirrored tool parameters are read once per tool, not per call.

mod declare;
pub mod trace;
mod value;

#[cfg(test)]
mod tests;

use http::header::HeaderName;

pub use self::declare::{BadDeclaration, DeclarationFault, ParamHeaders};
pub use self::value::{decode, encode};
use crate::codes;
use crate::http1::{Fields, NotSole};
use crate::json::{Kind, Object, Raw};
use crate::message::ErrorObject;
use crate::meta;
use crate::revision::Revision;

/// The revision of a request.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The method of a request.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The name of the tool or prompt, the URI of the resource, or the id of the task.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The session, in the revisions 2025-03-26 to 2025-11-25.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The event to resume after, in the same revisions.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// What the names of mirrored parameters begin with.
pub const PARAM_PREFIX: &str = "mcp-param-";

/// Headers and body of a request tell different stories.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("header mismatch: {fault}")]
pub struct HeaderMismatch {
    /// What differs.
    pub fault: MismatchFault,
}

/// The closed list of differences. Values are not repeated: a parameter may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MismatchFault {
    /// A required header is missing.
    #[error("{header} is missing")]
    Missing { header: Box<str> },
    /// A header that must stand once stands more than once.
    #[error("{header} is repeated")]
    Repeated { header: Box<str> },
    /// A header's value has characters it cannot have, or is not the base64 it claims to be.
    #[error("{header} has a malformed value")]
    Malformed { header: Box<str> },
    /// A header's value is not the value in the body.
    #[error("{header} does not match the body")]
    Differs { header: Box<str> },
    /// A parameter's header although the body has no such value.
    #[error("{header} is sent, but the body has no such value")]
    Unexpected { header: Box<str> },
}

// === impl HeaderMismatch ===

impl HeaderMismatch {
    /// What the sender can do about it.
    pub fn hint(&self) -> &'static str {
        "list the tools again and send the headers that the body and the tool's inputSchema call for"
    }

    /// The error to answer with, along with HTTP status 400.
    pub fn to_error(&self) -> ErrorObject {
        ErrorObject::new(codes::HEADER_MISMATCH, &format!("{self}; {}", self.hint()))
    }
}

fn mismatch(fault: MismatchFault) -> HeaderMismatch {
    HeaderMismatch { fault }
}

/// The member of the parameters that `Mcp-Name` mirrors; `None` for methods without one.
/// Task methods are those of the tasks extension, which asks for the task's id.
fn name_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// Writes the header lines of a request or notification of the modern era, each with its end.
/// `revision` is the one to be put into the parameters' metadata; `None` takes the one that
/// stands there. `declared` belongs to the tool that `tools/call` calls.
pub fn write(
    out: &mut Vec<u8>,
    method: &str,
    params: &Object,
    revision: Option<Revision>,
    declared: Option<&ParamHeaders>,
) {
    let stated = match revision {
        Some(_) => None,
        None => meta::get(params, meta::PROTOCOL_VERSION),
    };
    let stated = stated.as_ref().and_then(Raw::to_str);
    if let Some(version) = revision.map(Revision::as_str).or(stated.as_deref()) {
        line(out, &PROTOCOL_VERSION, version);
    }
    line(out, &METHOD, method);
    if let Some(name) = name_member(method).and_then(|member| params.get(member))
        && let Some(name) = name.to_str()
    {
        line(out, &NAME, &encode(&name));
    }
    if method == "tools/call"
        && let Some(declared) = declared
    {
        for declaration in declared.iter() {
            if let Some(value) = declaration.extract(params).as_ref().and_then(value::plain) {
                line(out, &declaration.header, &encode(&value));
            }
        }
    }
}

/// Encoded text is visible ASCII; what is not, such as a method that never came from a checked
/// list, is left out, so that no text can end its line.
fn line(out: &mut Vec<u8>, name: &HeaderName, text: &str) {
    if text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

/// Checks a client's headers against the body of its request (modern era). `version` is the
/// revision that stands in the parameters' metadata, if one does. `declared` belongs to the tool that `tools/call` calls, under the name the client calls it by.
///
/// # Errors
/// The first difference; to be answered with HTTP status 400 and code -32020.
pub fn validate(
    headers: &impl Fields,
    method: &str,
    version: Option<&str>,
    params: &Object,
    declared: Option<&ParamHeaders>,
) -> Result<(), HeaderMismatch> {
    let sent = required(headers, &PROTOCOL_VERSION)?;
    if version.is_some_and(|version| version != sent) {
        return Err(differs(&PROTOCOL_VERSION));
    }
    if required(headers, &METHOD)? != method {
        return Err(differs(&METHOD));
    }
    if let Some(name) = name_member(method).and_then(|member| params.get(member))
        && name.kind() == Kind::String
    {
        let sent = decoded(&NAME, required(headers, &NAME)?)?;
        if name.to_str().as_deref() != Some(sent.as_ref()) {
            return Err(differs(&NAME));
        }
    }
    if method == "tools/call"
        && let Some(declared) = declared
    {
        for declaration in declared.iter() {
            let body = declaration.extract(params);
            validate_param(headers, &declaration.header, body.as_ref())?;
        }
    }
    Ok(())
}

fn validate_param(
    headers: &impl Fields,
    name: &HeaderName,
    body: Option<&Raw>,
) -> Result<(), HeaderMismatch> {
    let sent = sole(headers, name)?;
    match (sent, body.and_then(value::plain)) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(mismatch(MismatchFault::Unexpected {
            header: name.as_str().into(),
        })),
        (None, Some(_)) => Err(mismatch(MismatchFault::Missing {
            header: name.as_str().into(),
        })),
        (Some(sent), Some(expected)) => {
            let sent = decoded(name, sent)?;
            let number = body.is_some_and(|body| body.kind() == Kind::Number);
            if sent == expected || (number && value::same_number(&sent, &expected)) {
                Ok(())
            } else {
                Err(differs(name))
            }
        }
    }
}

fn differs(name: &HeaderName) -> HeaderMismatch {
    mismatch(MismatchFault::Differs {
        header: name.as_str().into(),
    })
}

fn decoded<'a>(
    name: &HeaderName,
    text: &'a str,
) -> Result<std::borrow::Cow<'a, str>, HeaderMismatch> {
    decode(text).ok_or_else(|| {
        mismatch(MismatchFault::Malformed {
            header: name.as_str().into(),
        })
    })
}

fn required<'a>(headers: &'a impl Fields, name: &HeaderName) -> Result<&'a str, HeaderMismatch> {
    sole(headers, name)?.ok_or_else(|| {
        mismatch(MismatchFault::Missing {
            header: name.as_str().into(),
        })
    })
}

/// The one value of a header. Two values would let an intermediary route by the other one.
fn sole<'a>(
    headers: &'a impl Fields,
    name: &HeaderName,
) -> Result<Option<&'a str>, HeaderMismatch> {
    let header = || name.as_str().into();
    headers.sole(name).map_err(|not_sole| {
        mismatch(match not_sole {
            NotSole::Repeated => MismatchFault::Repeated { header: header() },
            NotSole::NoText => MismatchFault::Malformed { header: header() },
        })
    })
}
