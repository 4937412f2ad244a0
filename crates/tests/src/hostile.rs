//! A server that misbehaves on request, one way at a time, so that each way
//! has a test with a name.
//!
//! Apart from its one fault it is an honest legacy server with one tool,
//! `act`, so that a test can tell a contained fault from a broken hub.

pub mod http;
pub mod stdio;

use std::collections::HashMap;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::harness::process::command;

/// The one fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Fault {
    /// None: proof that the rest is honest.
    None,
    /// Lines that are no JSON, and bytes that are no UTF-8, around each answer.
    Garbage,
    /// Half of the answer to a call, then nothing more.
    HalfLine,
    /// A hundred megabytes without a line end instead of an answer to a call.
    EndlessLine,
    /// Every page of tools names a next one.
    EndlessCursors,
    /// A million tools on one page.
    MillionTools,
    /// Two tools of one name, and a member twice in one object.
    Duplicates,
    /// Answers to ids that nobody used, and every answer twice.
    UnknownIds,
    /// The answer to a call comes only after its cancellation.
    AfterCancel,
    /// A result that grows for ever.
    EndlessResult,
    /// A result that comes byte by byte, with a pause before each.
    Trickle,
    /// A result of as many bytes as the call's arguments ask for.
    Large,
    /// Neither SIGTERM nor the end of input stops it.
    IgnoreTerm,
    /// Children of its own, one of them in a session of its own.
    Fork,
    /// Standard error without end.
    FloodStderr,
    /// Progress and log messages without number before the answer to a call.
    FloodProgress,
    /// A thousand questions before the answer to a call, some for a password and in
    /// the name of another.
    FloodQuestions,
    /// No answer to anything.
    Silent,
    /// Ends at once with code 3 after a complaint.
    ExitEarly,
    /// Ten thousand lines on standard error, then the end with code 3.
    Drown,
    /// Ends with a complaint as soon as the handshake is over.
    DieReady,
    /// Answers the handshake with a revision that nobody knows.
    OtherProtocol,
    /// Answers are no JSON (HTTP).
    NotJson,
    /// Answers have the content type of a web page (HTTP).
    WrongType,
    /// Every POST is answered with status 500 (HTTP).
    Status500,
    /// Every POST is redirected to another host (HTTP).
    Redirect,
    /// The connection ends in the middle of each body (HTTP).
    CutBody,
    /// A stream with an event that never ends (HTTP).
    EndlessEvent,
    /// A small compressed body that expands without end (HTTP).
    Bomb,
}

/// How long a trickle pauses before each byte.
pub const DROP: Duration = Duration::from_millis(200);

/// How much an endless answer writes before it merely hangs: more than any
/// limit the hub could have, and little enough for a test machine.
pub const ENDLESS: usize = 100 * 1024 * 1024;

/// What is answered to a request; `None` for a notification or by silence.
#[must_use]
pub fn answer(fault: Fault, message: &Value) -> Option<String> {
    let id = message.get("id")?;
    if fault == Fault::Silent {
        return None;
    }
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": if fault == Fault::OtherProtocol { "1999-01-01" } else { "2025-11-25" },
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "hostile", "version": "0.1.0"},
        }),
        "ping" => json!({}),
        "tools/list" => return Some(tools(fault, id)),
        "tools/call" => json!({"content": [{"type": "text", "text": "acted"}]}),
        method => {
            let error = json!({"code": -32601, "message": format!("Method not found: {method}")});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
}

fn tools(fault: Fault, id: &Value) -> String {
    let tool = |name: &str| json!({"name": name, "description": "Acts", "inputSchema": {"type": "object"}});
    let result = match fault {
        Fault::EndlessCursors => json!({"tools": [tool("act")], "nextCursor": "again"}),
        Fault::MillionTools => {
            let many = (0..1_000_000).map(|number| tool(&format!("act{number}")));
            json!({"tools": std::iter::once(tool("act")).chain(many).collect::<Vec<_>>()})
        }
        Fault::Duplicates => {
            let double = r#"{"name":"act","name":"other","inputSchema":{"type":"object"}}"#;
            let honest = tool("act");
            return format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{honest},{honest},{double}]}}}}"#
            );
        }
        _ => json!({"tools": [tool("act")]}),
    };
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// Children that outlive an ordinary kill: one plain, one in its own session.
pub fn fork() -> anyhow::Result<Vec<Child>> {
    let environment = own_environment();
    let start = |program: &str, arguments: &[&str]| -> anyhow::Result<Child> {
        let mut child: Command = command(program, &environment);
        child
            .kill_on_drop(false)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        child
            .spawn()
            .with_context(|| format!("cannot start {program}"))
    };
    Ok(vec![
        start("sleep", &["600"])?,
        start("setsid", &["sleep", "600"])?,
    ])
}

#[expect(
    clippy::disallowed_methods,
    reason = "the children must carry the mark their parent was given"
)]
fn own_environment() -> HashMap<String, String> {
    std::env::vars().collect()
}
