//! What the chat is shown: events of a stream, in the very bytes that GitHub's own library writes.
//!
//! Members stand in the order in which that library puts them, which is why these are types and no
//! maps.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

/// The last two lines of every stream.
const DONE: &str = "data: {\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"delta\":{\"content\":null}}]}\n\ndata: [DONE]\n\n";

/// What can be looked up, shown below an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ShownReference {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) is_implicit: bool,
    pub(crate) metadata: Metadata,
}

/// How a reference is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Metadata {
    pub(crate) display_name: String,
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ShownError {
    #[serde(rename = "type")]
    pub(crate) kind: ErrorKind,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) identifier: String,
}

/// What it went wrong with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorKind {
    /// A tool, or a rule about it.
    Function,
    /// This very agent.
    Agent,
}

#[derive(Serialize)]
struct Chunk<'a> {
    choices: [Choice<'a>; 1],
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u8,
    delta: Delta<'a>,
}

#[derive(Serialize)]
struct Delta<'a> {
    content: &'a str,
    role: &'static str,
}

#[derive(Serialize)]
struct Question<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'a str,
    message: &'a str,
    confirmation: &'a Map<String, Value>,
}

/// The first event: the request has arrived.
pub(crate) fn ack() -> Bytes {
    text("")
}

/// Words of the answer, in Markdown.
pub(crate) fn text(message: &str) -> Bytes {
    let delta = Delta {
        content: message,
        role: "assistant",
    };
    let chunk = Chunk {
        choices: [Choice { index: 0, delta }],
    };
    data(None, &chunk)
}

/// A question with two buttons; `confirmation` comes back with the answer.
pub(crate) fn confirmation(title: &str, message: &str, confirmation: &Map<String, Value>) -> Bytes {
    let question = Question {
        kind: "action",
        title,
        message,
        confirmation,
    };
    data(Some("copilot_confirmation"), &question)
}

/// What the answer is about.
pub(crate) fn references(references: &[ShownReference]) -> Bytes {
    data(Some("copilot_references"), &references)
}

/// What went wrong.
pub(crate) fn errors(errors: &[ShownError]) -> Bytes {
    data(Some("copilot_errors"), &errors)
}

/// The last event.
pub(crate) fn done() -> Bytes {
    Bytes::from_static(DONE.as_bytes())
}

fn data(event: Option<&str>, data: &impl Serialize) -> Bytes {
    let mut out = Vec::new();
    if let Some(event) = event {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(event.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    serde_json::to_writer(&mut out, data).expect("texts, numbers and maps of texts are JSON");
    out.extend_from_slice(b"\n\n");
    out.into()
}
