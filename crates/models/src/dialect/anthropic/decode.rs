//! Reading the events of a message.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::Out;
use crate::delta::{Delta, Finish, Usage};
use crate::error::ModelError;

/// Where an answer stands.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The calls among its blocks, by the block's number. As many as calls
    /// may be.
    calls: BTreeMap<u64, Open>,
}

/// A call that is being written.
#[derive(Debug)]
struct Open {
    index: usize,
    /// Arguments given with its begin, for servers that send no more of them.
    whole: Option<String>,
}

// === impl Decoder ===

impl Decoder {
    pub(in super::super) fn event(
        &mut self,
        value: &Value,
        out: &mut Out,
    ) -> Result<(), ModelError> {
        let block = value.get("index").and_then(Value::as_u64).unwrap_or(0);
        match value.get("type").and_then(Value::as_str) {
            Some("message_start") => usage(value.pointer("/message/usage"), out),
            Some("content_block_start") => self.begin(block, value.get("content_block"), out),
            Some("content_block_delta") => self.delta(block, value.get("delta"), out),
            Some("content_block_stop") => self.end(block, out),
            Some("message_delta") => {
                usage(value.get("usage"), out)?;
                let reason = value.pointer("/delta/stop_reason").and_then(Value::as_str);
                if let Some(reason) = reason {
                    out.finish = Some(finish(reason, !self.calls.is_empty()));
                }
                Ok(())
            }
            Some("message_stop") => {
                out.is_over = out.finish.is_some();
                match out.is_over {
                    true => Ok(()),
                    false => Err(ModelError::CutOff),
                }
            }
            // Events may be added to the interface; a ping is one.
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        block: u64,
        content: Option<&Value>,
        out: &mut Out,
    ) -> Result<(), ModelError> {
        let text = |name: &str| content.and_then(|content| content.get(name)?.as_str());
        match text("type") {
            Some("text") => out.push(Delta::Text(text("text").unwrap_or_default().to_owned())),
            Some("thinking") => out.push(Delta::Reasoning(
                text("thinking").unwrap_or_default().to_owned(),
            )),
            Some("tool_use") => {
                let (Some(id), Some(name)) = (text("id"), text("name")) else {
                    return Err(ModelError::Malformed {
                        what: "it calls a tool without an id or a name",
                    });
                };
                let index = out.call(id.to_owned(), name.to_owned())?;
                let whole = content.and_then(|content| content.get("input")?.as_object());
                let whole = whole.filter(|input| !input.is_empty());
                let whole = whole.map(|input| Value::Object(input.clone()).to_string());
                self.calls.insert(block, Open { index, whole });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn delta(
        &mut self,
        block: u64,
        delta: Option<&Value>,
        out: &mut Out,
    ) -> Result<(), ModelError> {
        let text = |name: &str| {
            let text = delta.and_then(|delta| delta.get(name)?.as_str());
            text.unwrap_or_default().to_owned()
        };
        match text("type").as_str() {
            "text_delta" => out.push(Delta::Text(text("text"))),
            "thinking_delta" => out.push(Delta::Reasoning(text("thinking"))),
            "signature_delta" => out.push(Delta::ReasoningSeal(text("signature"))),
            "input_json_delta" => {
                let open = self.calls.get_mut(&block).ok_or(ModelError::Malformed {
                    what: "arguments belong to no call",
                })?;
                open.whole = None;
                out.push(Delta::Arguments {
                    index: open.index,
                    text: text("partial_json"),
                })
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, block: u64, out: &mut Out) -> Result<(), ModelError> {
        let Some(open) = self.calls.get_mut(&block) else {
            return Ok(());
        };
        match open.whole.take() {
            Some(text) => out.push(Delta::Arguments {
                index: open.index,
                text,
            }),
            None => Ok(()),
        }
    }
}

fn finish(reason: &str, has_calls: bool) -> Finish {
    match reason {
        "tool_use" => Finish::Calls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Filtered,
        _ if has_calls => Finish::Calls,
        _ => Finish::Stop,
    }
}

/// What was read is counted in three parts that do not overlap.
fn usage(usage: Option<&Value>, out: &mut Out) -> Result<(), ModelError> {
    let number = |name: &str| usage.and_then(|usage| usage.get(name)?.as_u64());
    let cached = number("cache_read_input_tokens");
    let parts = [
        number("input_tokens"),
        cached,
        number("cache_creation_input_tokens"),
    ];
    // The last word repeats no input where the first one told it.
    let input = parts[0].map(|_| parts.into_iter().flatten().fold(0, u64::saturating_add));
    out.push(Delta::Usage(Usage {
        input,
        cached,
        output: number("output_tokens"),
        reasoning: None,
    }))
}
