//! The interfaces: how a request is said and how an answer is read. Sans-IO.

mod anthropic;
mod check;
mod openai;

use std::collections::VecDeque;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use legation_core::Secret;
use legation_wire::sse::Event;
use serde_json::Value;

use crate::delta::{Delta, Finish};
use crate::error::ModelError;
use crate::limits::Limits;
use crate::refusal;
use crate::request::ChatRequest;
use crate::target::{Dialect, Target};

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct Decoder {
    inner: Inner,
    out: Out,
}

#[derive(Debug)]
enum Inner {
    OpenAi(openai::Decoder),
    Anthropic(anthropic::Decoder),
}

/// What was read, and how much of it there may be.
#[derive(Debug)]
struct Out {
    /// Not bounded by itself: one event of bounded size fills it, and it is
    /// emptied before the next is read.
    ready: VecDeque<Delta>,
    limits: Limits,
    content: usize,
    calls: usize,
    /// How the model ended, once it has.
    finish: Option<Finish>,
    /// The formal end came as well.
    is_over: bool,
}

/// The body of a request.
///
/// # Errors
/// [`ModelError::Unsayable`] and [`ModelError::TooLarge`].
pub(crate) fn body(
    target: &Target,
    request: &ChatRequest,
    limits: &Limits,
) -> Result<Bytes, ModelError> {
    check::request(target, request)?;
    let body = match &target.dialect {
        Dialect::Anthropic => anthropic::body(target, request)?,
        Dialect::OpenAi
        | Dialect::Compatible
        | Dialect::Copilot
        | Dialect::AzureV1
        | Dialect::AzureDated { .. } => openai::body(target, request),
    };
    let body = Bytes::from(body.to_string());
    if body.len() > limits.request {
        return Err(ModelError::TooLarge {
            what: "a request",
            most: limits.request,
        });
    }
    Ok(body)
}

/// The header fields that say who asks.
///
/// # Errors
/// [`ModelError::Key`].
pub(crate) fn credential(dialect: &Dialect, key: Option<&Secret>) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    if *dialect == Dialect::Anthropic {
        let version = HeaderValue::from_static("2023-06-01");
        headers.insert(HeaderName::from_static("anthropic-version"), version);
    }
    let Some(key) = key else {
        return Ok(headers);
    };
    let (name, text) = match dialect {
        Dialect::Anthropic => (HeaderName::from_static("x-api-key"), key.clone()),
        Dialect::AzureV1 | Dialect::AzureDated { .. } => {
            (HeaderName::from_static("api-key"), key.clone())
        }
        Dialect::OpenAi | Dialect::Compatible | Dialect::Copilot => (
            http::header::AUTHORIZATION,
            Secret::new(format!("Bearer {}", key.reveal())),
        ),
    };
    let mut value = HeaderValue::from_str(text.reveal()).map_err(|_| ModelError::Key)?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(headers)
}

// === impl Decoder ===

impl Decoder {
    pub(crate) fn new(dialect: &Dialect, limits: Limits) -> Self {
        Self {
            inner: match dialect {
                Dialect::Anthropic => Inner::Anthropic(anthropic::Decoder::default()),
                Dialect::OpenAi
                | Dialect::Compatible
                | Dialect::Copilot
                | Dialect::AzureV1
                | Dialect::AzureDated { .. } => Inner::OpenAi(openai::Decoder::default()),
            },
            out: Out {
                ready: VecDeque::new(),
                limits,
                content: 0,
                calls: 0,
                finish: None,
                is_over: false,
            },
        }
    }

    /// Reads one event. What it brought before it failed can still be taken.
    pub(crate) fn event(&mut self, event: &Event) -> Result<(), ModelError> {
        if self.out.is_over {
            return Ok(());
        }
        if &*event.data == b"[DONE]" {
            self.out.is_over = self.out.finish.is_some();
            return match self.out.is_over {
                true => Ok(()),
                false => Err(ModelError::CutOff),
            };
        }
        let text = std::str::from_utf8(&event.data).map_err(|_| ModelError::Malformed {
            what: "an event is not UTF-8",
        })?;
        let value: Value = serde_json::from_str(text).map_err(|_| ModelError::Malformed {
            what: "an event is not JSON",
        })?;
        if let Some(refused) = refusal::in_stream(&value, event.event.as_deref()) {
            return Err(refused);
        }
        match &mut self.inner {
            Inner::OpenAi(decoder) => decoder.event(&value, &mut self.out),
            Inner::Anthropic(decoder) => decoder.event(&value, &mut self.out),
        }
    }

    pub(crate) fn next(&mut self) -> Option<Delta> {
        self.out.ready.pop_front()
    }

    /// How the model ended, once it has; usage may still follow.
    pub(crate) fn finish(&self) -> Option<Finish> {
        self.out.finish
    }

    /// Whether nothing follows.
    pub(crate) fn is_over(&self) -> bool {
        self.out.is_over
    }
}

// === impl Out ===

impl Out {
    fn push(&mut self, delta: Delta) -> Result<(), ModelError> {
        let size = match &delta {
            Delta::Text(text)
            | Delta::Reasoning(text)
            | Delta::ReasoningSeal(text)
            | Delta::Arguments { text, .. } => text.len(),
            Delta::Call { id, name, .. } => id.len() + name.len(),
            Delta::Usage(_) | Delta::Done(_) => 0,
        };
        self.content += size;
        if self.content > self.limits.content {
            return Err(ModelError::TooLarge {
                what: "an answer",
                most: self.limits.content,
            });
        }
        if size > 0 || !delta.is_content() {
            self.ready.push_back(delta);
        }
        Ok(())
    }

    /// Begins a call; its number.
    fn call(&mut self, id: String, name: String) -> Result<usize, ModelError> {
        let index = self.calls;
        if index == self.limits.calls {
            return Err(ModelError::Malformed {
                what: "it calls more tools at once than anybody does",
            });
        }
        self.calls += 1;
        self.push(Delta::Call { index, id, name })?;
        Ok(index)
    }
}

#[cfg(test)]
mod tests;
