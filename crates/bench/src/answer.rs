//! What the echo server answers, whatever carries it.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::journal::Journal;

/// The `_meta` key that marks a request of the modern era (2026-07-28, basic/versioning).
const VERSION_KEY: &[u8] = b"io.modelcontextprotocol/protocolVersion";
/// How a tool says that it only reads.
const READS: &str = r#","annotations":{"readOnlyHint":true}"#;
/// The length of a `kib` result's text in bytes.
const KIB: usize = 1024;

/// The protocol eras a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Era {
    /// `initialize` and sessions; 2025-11-25.
    Legacy,
    /// `server/discover` and `_meta` in every request; 2026-07-28.
    Modern,
    /// Whichever the client speaks.
    Both,
}

/// What came of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// The answer was written.
    Reply,
    /// The answer to `initialize` was written; over HTTP it opens a session.
    Opened,
    /// An error was written; over HTTP it has this status.
    Error(u16),
    /// There is nothing to answer.
    Silent,
}

/// The echo server's tools, and its answers.
#[derive(Debug)]
pub struct Server {
    era: Era,
    /// The members of `tools/list`'s `tools`, serialised once.
    tools: String,
    /// Where executed calls are written down, if anywhere.
    journal: Option<Journal>,
}

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow, default)]
    text: Cow<'a, str>,
}

// === impl Server ===

impl Server {
    /// A server with `echo`, `kib`, `change` and `extra` more tools. All but `change` say
    /// that they only read.
    #[must_use]
    pub fn new(era: Era, extra: usize) -> Self {
        let schema = r#"{"type":"object","properties":{"text":{"type":"string","description":"What to say"}},"required":["text"]}"#;
        let mut tools = format!(
            r#"{{"name":"echo","description":"Returns its text","inputSchema":{schema}{READS}}},{{"name":"kib","description":"Returns 1 KiB that begins with its text","inputSchema":{schema}{READS}}},{{"name":"change","description":"Returns its text, and does not say that it only reads","inputSchema":{schema}}}"#
        );
        for number in 0..extra {
            let more = format!(
                r#",{{"name":"tool_{number:05}","title":"Tool {number}","description":"Does the thing number {number}, and says so afterwards","inputSchema":{schema}{READS}}}"#
            );
            tools.push_str(&more);
        }
        Self {
            era,
            tools,
            journal: None,
        }
    }

    /// The same, but every call is written down before it is answered. That is a change, so its
    /// tools do not say that they only read.
    #[must_use]
    pub fn with_journal(self, journal: Journal) -> Self {
        Self {
            tools: self.tools.replace(READS, ""),
            journal: Some(journal),
            ..self
        }
    }

    /// Appends the answer to `message` to `out`.
    pub fn answer(&self, message: &[u8], out: &mut Vec<u8>) -> Answered {
        let Ok(incoming) = serde_json::from_slice::<Incoming<'_>>(message) else {
            out.extend_from_slice(
                br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"This is not JSON-RPC"}}"#,
            );
            return Answered::Error(400);
        };
        let (Some(id), Some(method)) = (incoming.id, incoming.method.as_deref()) else {
            return Answered::Silent;
        };
        let modern = memmem::find(message, VERSION_KEY).is_some();
        let spoken = if modern { Era::Modern } else { Era::Legacy };
        if self.era != Era::Both && self.era != spoken {
            error(out, id, -32601, "This revision is not spoken here");
            return Answered::Error(400);
        }
        match method {
            "tools/call" => {
                return call(id, incoming.params, modern, self.journal.as_ref(), out);
            }
            "initialize" if !modern => {
                let revision = r#""protocolVersion":"2025-11-25","#;
                result(
                    out,
                    id,
                    &format!(
                        r#"{{{revision}"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"bench-echo","version":"1"}}}}"#
                    ),
                );
                return Answered::Opened;
            }
            "server/discover" if modern => result(
                out,
                id,
                r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":60000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench-echo","version":"1"}}}"#,
            ),
            "tools/list" if modern => {
                let list = format!(
                    r#"{{"resultType":"complete","ttlMs":60000,"cacheScope":"public","tools":[{}]}}"#,
                    self.tools
                );
                result(out, id, &list);
            }
            "tools/list" => result(out, id, &format!(r#"{{"tools":[{}]}}"#, self.tools)),
            "ping" if !modern => result(out, id, "{}"),
            _ => {
                error(out, id, -32601, "There is no such method");
                // HTTP knows the unknown method in the modern era alone.
                return if modern {
                    Answered::Error(404)
                } else {
                    Answered::Reply
                };
            }
        }
        Answered::Reply
    }
}

/// One `tools/call`; every tool but `kib` returns its text.
fn call(
    id: &RawValue,
    params: Option<&RawValue>,
    modern: bool,
    journal: Option<&Journal>,
    out: &mut Vec<u8>,
) -> Answered {
    let Some(call) = params.and_then(|p| serde_json::from_str::<CallParams<'_>>(p.get()).ok())
    else {
        error(out, id, -32602, "A call needs a name");
        return if modern {
            Answered::Error(400)
        } else {
            Answered::Reply
        };
    };
    let mut text = call.arguments.map(|a| a.text).unwrap_or_default();
    if journal.is_some_and(|journal| journal.write(&call.name, &text).is_err()) {
        error(out, id, -32603, "The call could not be written down");
        return Answered::Reply;
    }
    if call.name == "kib" && text.len() < KIB {
        let padding = "x".repeat(KIB - text.len());
        text.to_mut().push_str(&padding);
    }
    open(out, id);
    out.extend_from_slice(if modern {
        br#""result":{"resultType":"complete","content":[{"type":"text","text":"#
    } else {
        br#""result":{"content":[{"type":"text","text":"#
    });
    string(out, &text);
    out.extend_from_slice(br#"}],"isError":false}}"#);
    Answered::Reply
}

fn open(out: &mut Vec<u8>, id: &RawValue) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.get().as_bytes());
    out.push(b',');
}

fn result(out: &mut Vec<u8>, id: &RawValue, result: &str) {
    open(out, id);
    out.extend_from_slice(br#""result":"#);
    out.extend_from_slice(result.as_bytes());
    out.push(b'}');
}

fn error(out: &mut Vec<u8>, id: &RawValue, code: i64, message: &str) {
    open(out, id);
    out.extend_from_slice(format!(r#""error":{{"code":{code},"message":"#).as_bytes());
    string(out, message);
    out.extend_from_slice(b"}}");
}

fn string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a string always serialises into memory");
}
