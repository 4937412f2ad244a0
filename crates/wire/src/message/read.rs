//! From text to messages.

use bytes::Bytes;

use super::{
    ErrorObject, Id, Message, MessageError, MessageFault, Notification, Parsed, Request, Response,
};
use crate::json::scan::{self, Member, Scanned};
use crate::json::{self, Kind, Limits, Raw};

/// Reads one message or a batch.
pub(super) fn parse(text: &Bytes, limits: &Limits) -> Result<Parsed, MessageError> {
    let scanned = scan::scan(text, limits).map_err(|error| refused(MessageFault::Json(error)))?;
    match Kind::of(&text[scanned.value.clone()]) {
        Kind::Object => envelope(text, &scanned).map(Parsed::One),
        Kind::Array => batch(&Raw::from_scanned(text, &scanned), limits),
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

/// The members of a message that mean something; others are tolerated and dropped. What is kept of a
/// message is a part of it that knows the whole, so only of what is kept such a part is made.
#[derive(Default)]
struct Members<'a> {
    version: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    method: Option<&'a [u8]>,
    params: Option<&'a Member>,
    result: Option<&'a Member>,
    error: Option<&'a Member>,
}

fn envelope(text: &Bytes, scanned: &Scanned) -> Result<Message, MessageError> {
    let members = members(text, scanned);
    let id = members.id.map(Id::from_text);
    let is_response =
        members.method.is_none() && (members.result.is_some() || members.error.is_some());
    let known_id = id.clone().flatten();
    let fail = |fault| MessageError {
        id: known_id.clone(),
        is_response,
        fault,
    };
    if members.version != Some(b"\"2.0\"") {
        return Err(fail(MessageFault::Version));
    }
    // Some libraries write members they have no value for as null.
    let kind = |member: &&Member| Kind::of(&text[member.value.clone()]);
    let params = members.params.filter(|params| kind(params) != Kind::Null);
    let error = members
        .error
        .filter(|error| members.result.is_none() || kind(error) != Kind::Null);
    match (members.method, members.result, error) {
        (Some(method), None, None) => {
            let method: Box<str> = json::str_of(method)
                .ok_or_else(|| fail(MessageFault::Method))?
                .into();
            if params.is_some_and(|params| kind(&params) != Kind::Object) {
                return Err(fail(MessageFault::Params));
            }
            let params = params.map(|params| Raw::from_member(text, params));
            match id {
                Some(Some(id)) => Ok(Message::Request(Request { id, method, params })),
                Some(None) => Err(fail(MessageFault::Id)),
                None => Ok(Message::Notification(Notification { method, params })),
            }
        }
        (None, Some(result), None) => match id {
            Some(Some(id)) => Ok(Message::Response(Response {
                id: Some(id),
                body: Ok(Raw::from_member(text, result)),
            })),
            _ => Err(fail(MessageFault::Id)),
        },
        (None, None, Some(error)) => {
            // Whoever could not read a request answers with a null id, or with none.
            let null = members.id.is_none_or(|id| Kind::of(id) == Kind::Null);
            if known_id.is_none() && !null {
                return Err(fail(MessageFault::Id));
            }
            let error = Raw::from_member(text, error);
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

fn members<'a>(text: &'a Bytes, scanned: &'a Scanned) -> Members<'a> {
    let mut members = Members::default();
    for member in &scanned.members {
        let value = Some(&text[member.value.clone()]);
        match member.name(text).as_ref() {
            b"jsonrpc" => members.version = value,
            b"id" => members.id = value,
            b"method" => members.method = value,
            b"params" => members.params = Some(member),
            b"result" => members.result = Some(member),
            b"error" => members.error = Some(member),
            _ => {}
        }
    }
    members
}
