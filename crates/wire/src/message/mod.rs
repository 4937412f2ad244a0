//! JSON-RPC 2.0 messages whose payloads stay raw.

mod error;
mod excerpt;
mod id;
mod read;

#[cfg(test)]
mod tests;

use std::fmt;

use bytes::Bytes;

pub use self::error::{MessageError, MessageFault};
pub use self::excerpt::{Cut, Excerpt};
pub use self::id::Id;
use crate::json::{Limits, Object, Raw};

/// One JSON-RPC message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none.
    Notification(Notification),
    /// Is one.
    Response(Response),
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Unique among the sender's requests.
    pub id: Id,
    /// What is asked for.
    pub method: Box<str>,
    /// An object when present.
    pub params: Option<Raw>,
}

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// What happened.
    pub method: Box<str>,
    /// An object when present.
    pub params: Option<Raw>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The request's id; `None` is written as null and comes with an error only.
    pub id: Option<Id>,
    /// The result, or why there is none.
    pub body: Result<Raw, ErrorObject>,
}

/// The error of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorObject {
    /// See [`crate::codes`].
    pub code: i64,
    /// For people.
    pub message: Box<str>,
    /// For programs.
    pub data: Option<Raw>,
    /// Members that JSON-RPC does not know, passed on as they are.
    pub rest: Object,
}

/// What one text held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// One message.
    One(Message),
    /// A batch (2025-03-26 only); never empty. Members are refused one by one.
    Batch(Vec<Result<Message, MessageError>>),
}

// === impl Message ===

impl Message {
    /// Reads one message or one batch. Members that JSON-RPC does not know are tolerated and
    /// left out. For every revision but 2025-03-26 use [`Message::parse_one`].
    ///
    /// # Errors
    /// Why the text is not a message, and the id to answer under if it could be read.
    pub fn parse(text: &Bytes, limits: &Limits) -> Result<Parsed, MessageError> {
        read::parse(text, limits)
    }

    /// Reads one message and refuses batches.
    ///
    /// # Errors
    /// As [`Message::parse`].
    pub fn parse_one(text: &Bytes, limits: &Limits) -> Result<Self, MessageError> {
        match read::parse(text, limits)? {
            Parsed::One(message) => Ok(message),
            Parsed::Batch(_) => Err(MessageError {
                id: None,
                is_response: false,
                fault: MessageFault::BatchNotAllowed,
            }),
        }
    }

    /// A request with parameters.
    pub fn request(id: Id, method: &str, params: Option<Raw>) -> Self {
        Self::Request(Request {
            id,
            method: method.into(),
            params,
        })
    }

    /// A notification.
    pub fn notification(method: &str, params: Option<Raw>) -> Self {
        Self::Notification(Notification {
            method: method.into(),
            params,
        })
    }

    /// An answer.
    pub fn response(id: Id, body: Result<Raw, ErrorObject>) -> Self {
        Self::Response(Response { id: Some(id), body })
    }

    /// The message as text, composed of what was checked.
    pub fn to_bytes(&self) -> Bytes {
        self.to_vec().into()
    }

    /// As [`Message::to_bytes`], for a text that nobody shares.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size_hint());
        self.write_to(&mut out);
        out
    }

    /// Appends the message as text.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Request(request) => request.write_to(out),
            Self::Notification(notification) => notification.write_to(out),
            Self::Response(response) => response.write_to(out),
        }
    }

    fn size_hint(&self) -> usize {
        let payload = match self {
            Self::Request(Request { params, .. })
            | Self::Notification(Notification { params, .. }) => params.as_ref(),
            Self::Response(Response { body, .. }) => body.as_ref().ok(),
        };
        payload.map_or(0, |raw| raw.as_bytes().len()) + 128
    }
}

/// Joins answers into a batch; the answer to a batch of 2025-03-26.
pub fn batch_to_bytes(messages: &[Message]) -> Bytes {
    let mut out = vec![b'['];
    for (index, message) in messages.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        message.write_to(&mut out);
    }
    out.push(b']');
    out.into()
}

impl From<Request> for Message {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

impl From<Notification> for Message {
    fn from(notification: Notification) -> Self {
        Self::Notification(notification)
    }
}

impl From<Response> for Message {
    fn from(response: Response) -> Self {
        Self::Response(response)
    }
}

// === impl Request ===

impl Request {
    /// The parameters' members; empty when there are none.
    pub fn params_object(&self) -> Object {
        self.params
            .as_ref()
            .and_then(Raw::to_object)
            .unwrap_or_default()
    }

    fn write_to(&self, out: &mut Vec<u8>) {
        write_id(out, Some(&self.id));
        write_call(out, &self.method, self.params.as_ref());
    }
}

// === impl Notification ===

impl Notification {
    /// The parameters' members; empty when there are none.
    pub fn params_object(&self) -> Object {
        self.params
            .as_ref()
            .and_then(Raw::to_object)
            .unwrap_or_default()
    }

    fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
        write_call(out, &self.method, self.params.as_ref());
    }
}

// === impl Response ===

impl Response {
    fn write_to(&self, out: &mut Vec<u8>) {
        write_id(out, self.id.as_ref());
        match &self.body {
            Ok(result) => {
                out.extend_from_slice(br#","result":"#);
                out.extend_from_slice(result.as_bytes());
            }
            Err(error) => {
                out.extend_from_slice(br#","error":"#);
                error.to_object().write_to(out);
            }
        }
        out.push(b'}');
    }
}

fn write_id(out: &mut Vec<u8>, id: Option<&Id>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    match id {
        Some(id) => id.write_to(out),
        None => out.extend_from_slice(b"null"),
    }
}

fn write_call(out: &mut Vec<u8>, method: &str, params: Option<&Raw>) {
    out.extend_from_slice(br#","method":"#);
    crate::json::write_string(out, method);
    if let Some(params) = params {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params.as_bytes());
    }
    out.push(b'}');
}

// === impl ErrorObject ===

impl ErrorObject {
    /// An error without data.
    pub fn new(code: i64, message: &str) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
            rest: Object::new(),
        }
    }

    /// The same error with data for programs.
    #[must_use]
    pub fn with_data(mut self, data: Raw) -> Self {
        self.data = Some(data);
        self
    }

    /// Reads an error; `None` unless it is an object with an integer code. A message that is
    /// missing or not a string is read as empty, because the code says enough to go on.
    pub fn from_raw(raw: &Raw) -> Option<Self> {
        let mut rest = raw.to_object()?;
        let code = rest.remove("code")?.to_i64()?;
        let message = rest
            .remove("message")
            .and_then(|raw| raw.to_str().map(Into::into))
            .unwrap_or_default();
        let data = rest.remove("data");
        Some(Self {
            code,
            message,
            data,
            rest,
        })
    }

    /// The error as an object, vendor members last.
    pub fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.set("code", Raw::int(self.code));
        object.set("message", Raw::str(&self.message));
        if let Some(data) = &self.data {
            object.set("data", data.clone());
        }
        object.merge(&self.rest);
        object
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl std::error::Error for ErrorObject {}
