//! As much of a message as the bridge has to know.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The members of a JSON-RPC message, unread.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
}

/// What kind of message a line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Notification,
    Response,
}

// === impl Envelope ===

impl<'a> Envelope<'a> {
    /// Reads a line, or nothing when it is none of the bridge's business; the
    /// hub then says what is wrong with it.
    pub(crate) fn read(line: &'a str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    pub(crate) fn kind(&self) -> Kind {
        match (&self.method, self.id) {
            (Some(_), Some(_)) => Kind::Request,
            (Some(_), None) => Kind::Notification,
            (None, _) => Kind::Response,
        }
    }
}

/// The id in the one spelling by which ids are compared here.
pub(crate) fn id_key(id: &RawValue) -> String {
    match serde_json::from_str::<String>(id.get()) {
        Ok(text) => format!("s{text}"),
        Err(_) => format!("n{}", id.get()),
    }
}

/// One JSON-RPC error, without a line end.
pub(crate) fn error_line(id: &str, code: i64, message: &str, hint: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{},"data":{{"hint":{}}}}}}}"#,
        quoted(message),
        quoted(hint)
    )
}

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
