//! From text to messages.

use bytes::Bytes;

use super::{
    ErrorObject, Id, Message, MessageError, MessageFault, Notification, Parsed, Request, Response,
};
use crate::json::scan::{self, Scanned};
use crate::json::{Kind, Limits, Raw};

/// Reads one message or a batch.
pub(super) fn parse(text: &Bytes, limits: &Limits) -> Result<Parsed, MessageError> {
    let scanned = scan::scan(text, limits).map_err(|error| refused(MessageFault::Json(error)))?;
    let whole = Raw::from_scanned(text, &scanned);
    match whole.kind() {
        Kind::Object => envelope(text, &scanned).map(Parsed::One),
        Kind::Array => batch(&whole, limits),
        Kind::Null | Kind::Bool | Kind::Number | Kind::String => {
            Err(refused(MessageFault::NotAnObject))
        }
    }
}

fn batch(whole: &Raw, limits: &Limits) -> Result<Parsed, MessageError> {
    let items = whole.to_array().unwrap_or_default();
    if items.is_empty() {
        return Err(refused(MessageFault::EmptyBatch));
    }
    let messages = items.iter().map(|item| {
        if item.kind() != Kind::Object {
            return Err(refused(MessageFault::NotAnObject));
        }
        let text = item.as_bytes();
        let scanned =
            scan::scan(text, limits).map_err(|error| refused(MessageFault::Json(error)))?;
        envelope(text, &scanned)
    });
    Ok(Parsed::Batch(messages.collect()))
}

fn refused(fault: MessageFault) -> MessageError {
    MessageError {
        id: None,
        is_response: false,
        fault,
    }
}

/// The members of a message that mean something; others are tolerated and dropped.
#[derive(Default)]
struct Members {
    version: Option<Raw>,
    id: Option<Raw>,
    method: Option<Raw>,
    params: Option<Raw>,
    result: Option<Raw>,
    error: Option<Raw>,
}

fn envelope(text: &Bytes, scanned: &Scanned) -> Result<Message, MessageError> {
    let members = members(text, scanned);
    let id = members.id.as_ref().map(Id::from_raw);
    let is_response =
        members.method.is_none() && (members.result.is_some() || members.error.is_some());
    let known_id = id.clone().flatten();
    let fail = |fault| MessageError {
        id: known_id.clone(),
        is_response,
        fault,
    };
    if members
        .version
        .as_ref()
        .map(|version| version.as_bytes().as_ref())
        != Some(b"\"2.0\"")
    {
        return Err(fail(MessageFault::Version));
    }
    // Some libraries write members they have no value for as null.
    let params = members.params.filter(|params| !params.is_null());
    let error = members
        .error
        .filter(|error| members.result.is_none() || !error.is_null());
    match (members.method, members.result, error) {
        (Some(method), None, None) => {
            let method: Box<str> = method
                .to_str()
                .ok_or_else(|| fail(MessageFault::Method))?
                .into();
            if params
                .as_ref()
                .is_some_and(|params| params.kind() != Kind::Object)
            {
                return Err(fail(MessageFault::Params));
            }
            match id {
                Some(Some(id)) => Ok(Message::Request(Request { id, method, params })),
                Some(None) => Err(fail(MessageFault::Id)),
                None => Ok(Message::Notification(Notification { method, params })),
            }
        }
        (None, Some(result), None) => match id {
            Some(Some(id)) => Ok(Message::Response(Response {
                id: Some(id),
                body: Ok(result),
            })),
            _ => Err(fail(MessageFault::Id)),
        },
        (None, None, Some(error)) => {
            // Whoever could not read a request answers with a null id, or with none.
            let null = members.id.as_ref().is_none_or(Raw::is_null);
            if known_id.is_none() && !null {
                return Err(fail(MessageFault::Id));
            }
            let body = ErrorObject::from_raw(&error).ok_or_else(|| fail(MessageFault::Error))?;
            Ok(Message::Response(Response {
                id: known_id,
                body: Err(body),
            }))
        }
        (None, None, None) => Err(fail(MessageFault::Empty)),
        _ => Err(fail(MessageFault::Mixed)),
    }
}

fn members(text: &Bytes, scanned: &Scanned) -> Members {
    let mut members = Members::default();
    for member in &scanned.members {
        let value = || Some(Raw::from_member(text, member));
        match member.name(text).as_ref() {
            b"jsonrpc" => members.version = value(),
            b"id" => members.id = value(),
            b"method" => members.method = value(),
            b"params" => members.params = value(),
            b"result" => members.result = value(),
            b"error" => members.error = value(),
            _ => {}
        }
    }
    members
}
