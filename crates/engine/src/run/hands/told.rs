//! What a model reads of what became of a call.

use legation_core::error::chain;
use legation_gate::{Outcome, Refusal};
use legation_wire::json::Raw;
use serde_json::Value;

use super::CALL_MAX;
use crate::run::entry::{CallStatus, Told};
use crate::run::toolset::{PlannedCall, WORKSPACE};

/// What a model reads of an outcome.
pub(super) fn told(call: &PlannedCall, outcome: Outcome) -> Told {
    match outcome {
        Outcome::Complete(raw) if spilled(call).is_some() => {
            let text = texts(&raw, "contents");
            Told::new(CallStatus::Success, text)
        }
        Outcome::Complete(raw) => complete(&raw),
        Outcome::Error(error) => Told::new(CallStatus::Error, error.message.to_string()),
        Outcome::Failed(failure) => {
            use legation_gate::CallFailure::{Lost, TimedOut};
            let status = match failure {
                Lost { .. } | TimedOut { .. } => CallStatus::Unknown,
                _ => CallStatus::Error,
            };
            Told::new(status, format!("{failure}\n{}", failure.hint()))
        }
        Outcome::InputRequired(_) => Told::new(
            CallStatus::Error,
            "The tool asks a person something, and a delegated task cannot pass that on.",
        ),
        Outcome::Task(_) => unread(),
    }
}

/// What is told of a task that nobody can follow.
pub(super) fn unread() -> Told {
    Told::new(
        CallStatus::Unknown,
        "The tool began a task of its own instead of answering; what came of it is not known.",
    )
}

pub(super) fn complete(raw: &Raw) -> Told {
    let is_error = raw.get("isError").and_then(|flag| flag.to_bool());
    let status = match is_error {
        Some(true) => CallStatus::Error,
        _ => CallStatus::Success,
    };
    let structure = raw.get("structuredContent");
    let mut text = texts(raw, "content");
    if text.is_empty()
        && let Some(structure) = &structure
    {
        structure.as_text().clone_into(&mut text);
    }
    if text.is_empty() {
        text.push_str("(The tool said nothing.)");
    }
    let number = |member: &str| structure.as_ref()?.get(member)?.to_i64();
    Told {
        exit_code: number("exit_code"),
        lines: number("lines").and_then(|lines| u64::try_from(lines).ok()),
        result_uri: link(raw),
        ..Told::new(status, text)
    }
}

/// All text of a result's blocks.
fn texts(raw: &Raw, member: &str) -> String {
    let blocks = raw.get(member).and_then(|blocks| blocks.to_array());
    let mut text = String::new();
    for block in blocks.unwrap_or_default() {
        let kind = block.get("type");
        let kind = kind
            .as_ref()
            .and_then(|kind| kind.to_str())
            .unwrap_or_default()
            .into_owned();
        let more = match block.get("text").as_ref().and_then(Raw::to_str) {
            Some(more) => more.into_owned(),
            None if kind == "resource_link" => continue,
            None if kind == "resource" => attached(&block),
            None => format!("({kind} that cannot be shown here)"),
        };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&more);
    }
    text
}

/// A file that comes with a result: where it is from, and what it holds.
fn attached(block: &Raw) -> String {
    let resource = block.get("resource");
    let member = |name: &str| {
        let value = resource.as_ref()?.get(name)?;
        Some(value.to_str()?.into_owned())
    };
    let uri = member("uri").unwrap_or_default();
    match member("text") {
        Some(text) => format!("[attached: {uri}]\n{text}"),
        None => {
            let kind = member("mimeType").unwrap_or_else(|| "binary content".to_owned());
            format!("[attached: {uri}]\n({kind} that cannot be shown here)")
        }
    }
}

/// Where the whole of a result is that was put aside.
fn link(raw: &Raw) -> Option<String> {
    let blocks = raw.get("content")?.to_array()?;
    blocks.iter().find_map(|block| {
        let uri = block.get("uri")?;
        let uri = uri.to_str()?;
        uri.starts_with("legation://spill/")
            .then(|| uri.into_owned())
    })
}

/// The rest of a result that was put aside is read like a file.
pub(super) fn spilled(call: &PlannedCall) -> Option<&str> {
    let path = call.arguments.get("path").and_then(Value::as_str)?;
    let reads = &*call.server == WORKSPACE && call.reads;
    (reads && path.starts_with("legation://spill/")).then_some(path)
}

pub(super) fn too_long() -> Told {
    Told::new(
        CallStatus::Unknown,
        format!(
            "The call did not return within {} minutes and was called off; whether it took effect is not known.",
            CALL_MAX.as_secs() / 60
        ),
    )
}

pub(super) fn denied(refusal: &Refusal) -> Told {
    Told::new(
        CallStatus::Denied,
        format!("{}\n{}", chain(refusal), refusal.hint()),
    )
}
