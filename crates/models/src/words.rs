//! The words of a request, without what identifies a person.
//!
//! Everything that somebody said or that came from somewhere is redacted: what
//! people and models say, what a model thought, what it calls with which
//! arguments, and what tools answered. They are redacted in one piece, because
//! what stands in one message tells what a word of another is. What defines
//! tools is not: it is pinned, and the same for every conversation.

use legation_core::EntityLabels;
use legation_gate::Gate;
use legation_gate::redaction::RedactionError;
use legation_wire::json::{Limits, Raw};

use crate::request::{ChatRequest, Message};

/// The request with tokens in the place of what identifies a person in the data
/// of these entities.
pub(crate) fn redacted(
    gate: &Gate,
    entities: &EntityLabels,
    conversation: &str,
    mut request: ChatRequest,
) -> Result<ChatRequest, RedactionError> {
    let mut texts = texts(&mut request);
    let words: Vec<Raw> = texts.iter().map(|text| word(text)).collect();
    let redacted = gate.redact_for_model(entities, conversation, &Raw::array(&words))?;
    let redacted = redacted.to_array().unwrap_or_default();
    if redacted.len() != words.len() {
        return Err(RedactionError::Broken);
    }
    for ((text, before), after) in texts.iter_mut().zip(&words).zip(redacted) {
        **text = match (before.to_str(), after.to_str()) {
            (Some(_), Some(after)) => after.into_owned(),
            (None, None) => after.as_text().to_owned(),
            // A text that was one number, or a number that became a text.
            (Some(_), None) | (None, Some(_)) => return Err(RedactionError::Broken),
        };
    }
    drop(texts);
    without_seals(&mut request);
    let is_clean = |schema: &serde_json::Value| {
        gate.is_clean_for_model(entities, &Raw::from_serialize(schema))
    };
    if let Some(answer) = &request.answer
        && !is_clean(&answer.schema)
    {
        // Whoever asked checks the answer anyway.
        request.answer = None;
    }
    Ok(request)
}

/// A text as it is redacted: as JSON where it is some, because keys tell what
/// values are.
fn word(text: &str) -> Raw {
    let is_json = matches!(text.trim_start().bytes().next(), Some(b'{' | b'['));
    is_json
        .then(|| Raw::parse(text.to_owned().into(), &Limits::UPSTREAM).ok())
        .flatten()
        .unwrap_or_else(|| Raw::str(text))
}

/// Every text of a request that somebody said.
fn texts(request: &mut ChatRequest) -> Vec<&mut String> {
    let mut texts = Vec::new();
    for message in &mut request.messages {
        match message {
            Message::System(text) | Message::User(text) => texts.push(text),
            Message::Assistant(turn) => {
                texts.push(&mut turn.text);
                texts.push(&mut turn.reasoning);
                for call in &mut turn.calls {
                    if !request.tools.iter().any(|tool| tool.name == call.name) {
                        // It called what there is not, by whatever name.
                        texts.push(&mut call.name);
                    }
                    texts.push(&mut call.arguments);
                }
            }
            Message::Result(result) => texts.push(&mut result.text),
        }
    }
    texts
}

/// A mark is good for the thoughts as they were, so they are left out with it.
fn without_seals(request: &mut ChatRequest) {
    for message in &mut request.messages {
        if let Message::Assistant(turn) = message
            && turn.reasoning_seal.take().is_some()
        {
            turn.reasoning.clear();
        }
    }
}
