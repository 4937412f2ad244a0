//! Why a text was refused as a JSON-RPC message.

use super::{ErrorObject, Id, Message, Response};
use crate::codes;
use crate::json::JsonError;

/// A text that is not a message, with what an answer to it needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct MessageError {
    /// The id of the refused message, if it could be read.
    pub id: Option<Id>,
    /// Whether the text would have been a response, which nobody answers.
    pub is_response: bool,
    /// What is wrong.
    pub fault: MessageFault,
}

/// The closed list of reasons.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageFault {
    /// The text is not JSON, or not the JSON accepted here.
    #[error("not JSON: {0}")]
    Json(JsonError),
    /// The JSON is neither an object nor a batch.
    #[error("a message is an object")]
    NotAnObject,
    /// A batch in a revision that has none.
    #[error("batches are not part of this protocol revision")]
    BatchNotAllowed,
    /// A batch of nothing.
    #[error("an empty batch")]
    EmptyBatch,
    /// `jsonrpc` is missing or is not "2.0".
    #[error("member \"jsonrpc\" must be \"2.0\"")]
    Version,
    /// `method` is not a string.
    #[error("member \"method\" must be a string")]
    Method,
    /// `params` is neither an object nor absent.
    #[error("member \"params\" must be an object")]
    Params,
    /// The id is null, a fraction, beyond 64 bits, too long, or not a scalar.
    #[error("member \"id\" must be a string of at most {max} bytes or a 64-bit integer", max = super::id::MAX_ID)]
    Id,
    /// A response with both a result and an error, or a request with either.
    #[error("\"method\", \"result\" and \"error\" exclude each other")]
    Mixed,
    /// None of `method`, `result`, `error`.
    #[error("one of \"method\", \"result\" and \"error\" is required")]
    Empty,
    /// The error is not an object with an integer code.
    #[error("member \"error\" must be an object with an integer \"code\"")]
    Error,
}

// === impl MessageError ===

impl MessageError {
    /// The JSON-RPC code to answer with.
    pub fn code(&self) -> i64 {
        match self.fault {
            MessageFault::Json(_) => codes::PARSE_ERROR,
            _ => codes::INVALID_REQUEST,
        }
    }

    /// What the sender can do about it.
    pub fn hint(&self) -> &'static str {
        match &self.fault {
            MessageFault::Json(error) => error.hint(),
            MessageFault::BatchNotAllowed | MessageFault::EmptyBatch => {
                "send one message at a time"
            }
            _ => "send a message as JSON-RPC 2.0 describes it",
        }
    }

    /// The error object for an answer.
    pub fn to_error(&self) -> ErrorObject {
        ErrorObject::new(self.code(), &self.to_string())
    }

    /// The answer to send: with a null id where the id could not be read.
    pub fn to_response(&self) -> Message {
        Message::Response(Response {
            id: self.id.clone(),
            body: Err(self.to_error()),
        })
    }
}
