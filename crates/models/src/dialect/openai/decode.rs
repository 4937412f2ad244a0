//! Reading the chunks of a chat completion.
//!
//! Servers agree on the shape and on little else: a call's number may be
//! missing or always zero, its id may come twice or never, its arguments may be
//! an object, and a model that calls may say that it just stopped. All of that
//! is read; what cannot be told apart is not guessed.

use serde_json::Value;

use super::super::Out;
use crate::delta::{Delta, Finish, Usage};
use crate::error::ModelError;

/// Where an answer stands.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    calls: Vec<Open>,
}

/// A call that is being written.
#[derive(Debug)]
struct Open {
    /// The server's number of it, if it gives numbers.
    number: Option<u64>,
    /// The server's id of it; may be empty.
    id: String,
    /// Ours, once its name is known.
    index: Option<usize>,
    /// Arguments that came before the name.
    early: String,
}

// === impl Decoder ===

impl Decoder {
    pub(in super::super) fn event(
        &mut self,
        value: &Value,
        out: &mut Out,
    ) -> Result<(), ModelError> {
        let choices = value.get("choices").and_then(Value::as_array);
        let first = choices.and_then(|choices| {
            let is_first =
                |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
            choices.iter().find(is_first)
        });
        if let Some(choice) = first {
            if let Some(delta) = choice.get("delta") {
                self.delta(delta, out)?;
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
                self.finished(reason, out)?;
            }
        }
        if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
            out.push(Delta::Usage(read_usage(usage)))?;
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, out: &mut Out) -> Result<(), ModelError> {
        let text = |name: &str| delta.get(name).and_then(Value::as_str);
        if let Some(thought) = text("reasoning_content").or_else(|| text("reasoning")) {
            out.push(Delta::Reasoning(thought.to_owned()))?;
        }
        if let Some(text) = text("content").or_else(|| text("refusal")) {
            out.push(Delta::Text(text.to_owned()))?;
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for piece in calls.into_iter().flatten() {
            self.call(piece, out)?;
        }
        Ok(())
    }

    fn call(&mut self, piece: &Value, out: &mut Out) -> Result<(), ModelError> {
        let at = self.place(piece, out)?;
        let open = &mut self.calls[at];
        let function = piece.get("function");
        let name = function.and_then(|function| function.get("name")?.as_str());
        let arguments = match function.and_then(|function| function.get("arguments")) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        if let (None, Some(name)) = (open.index, name.filter(|name| !name.is_empty())) {
            let id = match open.id.as_str() {
                "" => format!("call_{}", out.calls),
                id => id.to_owned(),
            };
            let index = out.call(id, name.to_owned())?;
            open.index = Some(index);
            let text = std::mem::take(&mut open.early);
            out.push(Delta::Arguments { index, text })?;
        }
        match open.index {
            Some(index) => out.push(Delta::Arguments {
                index,
                text: arguments,
            }),
            None if open.early.len() + arguments.len() > out.limits.content => {
                Err(ModelError::TooLarge {
                    what: "the arguments of a call",
                    most: out.limits.content,
                })
            }
            None => {
                open.early.push_str(&arguments);
                Ok(())
            }
        }
    }

    /// Which call a piece belongs to.
    fn place(&mut self, piece: &Value, out: &Out) -> Result<usize, ModelError> {
        let number = piece.get("index").and_then(Value::as_u64);
        let id = piece.get("id").and_then(Value::as_str).unwrap_or_default();
        // The latest of a number counts: where all are zero, an id begins the next.
        let same = self.calls.iter().rposition(|open| match number {
            Some(_) => open.number == number,
            None => id.is_empty() || open.id == id,
        });
        if let Some(at) = same {
            let open = &mut self.calls[at];
            if id.is_empty() || open.id == id {
                return Ok(at);
            }
            if open.id.is_empty() && open.index.is_none() {
                id.clone_into(&mut open.id);
                return Ok(at);
            }
        }
        if self.calls.len() == out.limits.calls {
            return Err(ModelError::Malformed {
                what: "it calls more tools at once than anybody does",
            });
        }
        // Two calls of one id could not be answered apart.
        let is_taken = self.calls.iter().any(|open| open.id == id);
        self.calls.push(Open {
            number,
            id: if is_taken {
                String::new()
            } else {
                id.to_owned()
            },
            index: None,
            early: String::new(),
        });
        Ok(self.calls.len() - 1)
    }

    fn finished(&mut self, reason: &str, out: &mut Out) -> Result<(), ModelError> {
        if self.calls.iter().any(|open| open.index.is_none()) {
            return Err(ModelError::Malformed {
                what: "it calls a tool without a name",
            });
        }
        out.finish = Some(match reason {
            "length" | "max_tokens" => Finish::Length,
            "content_filter" => Finish::Filtered,
            _ if self.calls.is_empty() => Finish::Stop,
            _ => Finish::Calls,
        });
        Ok(())
    }
}

fn read_usage(usage: &Value) -> Usage {
    let number = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    Usage {
        input: number("/prompt_tokens"),
        cached: number("/prompt_tokens_details/cached_tokens"),
        output: number("/completion_tokens"),
        reasoning: number("/completion_tokens_details/reasoning_tokens"),
    }
}
