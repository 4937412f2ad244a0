//! The question as a form in the client, and what counts as an answer to it.

use legation_core::unseen::is_written_out;
use legation_wire::json::{Object, Raw};

use super::{Answer, Approval};
use crate::Ask;

/// The member of the form that holds the answer.
const MEMBER: &str = "decision";
/// Most characters of arguments that a form shows: clients show it in a dialog.
const SHOWN_MAX: usize = 600;

/// The elicitation that puts an approval to the person at the client. It shows
/// the arguments as the client wrote them: what tokens stand for would go
/// back to a client that may not see it.
pub(crate) fn request(approval: &Approval, written: &str) -> Ask {
    let words: Vec<Raw> = approval
        .answers()
        .map(|answer| Raw::str(answer.as_str()))
        .collect();
    let choice = Object::new()
        .with("type", Raw::from_static(r#""string""#))
        .with("title", Raw::from_static(r#""Decision""#))
        .with("enum", Raw::array(&words));
    let schema = Object::new()
        .with("type", Raw::from_static(r#""object""#))
        .with(
            "properties",
            Object::new().with(MEMBER, choice.to_raw()).to_raw(),
        )
        .with("required", Raw::array(&[Raw::str(MEMBER)]));
    let params = Object::new()
        .with("mode", Raw::from_static(r#""form""#))
        .with("message", Raw::str(&message(approval, written)))
        .with("requestedSchema", schema.to_raw());
    Ask {
        method: "elicitation/create".into(),
        params: params.to_raw(),
    }
}

/// The answer in what the client sent back; `None` for everything that is none:
/// a dialog that was closed, a client that declines by itself, an `accept`
/// without one of the words that were offered.
pub(crate) fn read(approval: &Approval, response: &Raw) -> Option<Answer> {
    if response.get("action")?.to_str()? != "accept" {
        return None;
    }
    let content = response.get("content")?;
    let answer = Answer::parse(&content.get(MEMBER)?.to_str()?)?;
    approval.offers(answer).is_ok().then_some(answer)
}

fn message(approval: &Approval, written: &str) -> String {
    let bound = &approval.bound;
    let mut text = format!(
        "{} wants {} {}/{}",
        escaped(bound.client.as_str(), 80),
        bound.verb.in_words(),
        escaped(bound.server.as_str(), 80),
        escaped(&bound.item, 120),
    );
    if !written.is_empty() {
        text.push_str(" with ");
        text.push_str(&escaped(written, SHOWN_MAX));
    }
    text.push_str(&format!(
        ". {} (approval {})",
        escaped(&approval.reason, 240),
        approval.id
    ));
    text
}

/// Text that a model or a server wrote, without anything that could repaint a
/// dialog or hide a part of itself: control, format and bidi characters are
/// written out.
#[must_use]
pub fn escaped(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(most));
    for (index, character) in text.chars().enumerate() {
        if index == most {
            shown.push('…');
            break;
        }
        if is_written_out(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}
