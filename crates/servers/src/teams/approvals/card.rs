//! The cards of a question: without IO.
//!
//! What a model or a server wrote stands in text runs, which know no markup, and
//! only escaped: what a person agrees to must not be able to hide a part of
//! itself, or to look like a part of the card.

use legation_core::Wall;
use legation_gate::approval::escaped;
use legation_gate::desk::{Posting, Question, QuestionKind, Stage};
use serde_json::{Value, json};

/// Most characters of arguments, and of the other texts.
const ARGUMENTS_MAX: usize = 1_500;
const TEXT_MAX: usize = 300;

/// What stands above a card: nothing of what is asked.
pub(super) fn title(posting: &Posting) -> String {
    let what = match posting.kind {
        QuestionKind::Approval => "Approval",
        QuestionKind::Proposal => "Proposal",
        QuestionKind::Permission => "Client permission",
    };
    format!("**{what} {}**", posting.id)
}

/// The card that asks.
pub(super) fn asking(
    question: &Question,
    posting: &Posting,
    code: &str,
    shows_arguments: bool,
) -> Value {
    if !posting.is_shown {
        return card(&[
            text(
                "Something waits for you that may not be shown here: it concerns data of another business.",
            ),
            code_line(&format!("legation approvals show {}", posting.id)),
            fact("Until", &Wall(posting.until_ms).to_string()),
        ]);
    }
    let client = escaped(question.client.as_str(), TEXT_MAX);
    let who = match &question.on_behalf_of {
        Some(by) => format!("{client} for {}", escaped(by.as_str(), TEXT_MAX)),
        None => client,
    };
    let arguments = match shows_arguments {
        true => escaped(&question.preview, ARGUMENTS_MAX),
        false => {
            "not shown here: they may hold health information; `legation approvals show` has them"
                .to_owned()
        }
    };
    let asks = match question.kind {
        QuestionKind::Approval => "asks to make a call",
        QuestionKind::Proposal => "proposes a change that you have to certify",
        QuestionKind::Permission => "asks to use a tool of its own",
    };
    // Of its own tools a client says why in words of its own.
    let hides_reason = !shows_arguments && question.kind == QuestionKind::Permission;
    let reason = match hides_reason {
        true => "not shown here either".to_owned(),
        false => escaped(&question.reason, TEXT_MAX),
    };
    let mut body = vec![
        fact(&who, asks),
        fact("What", &escaped(&question.call, TEXT_MAX)),
        fact("With", ""),
        code_line(&arguments),
        fact("Because", &reason),
    ];
    if let [one] = question.entities.as_slice() {
        body.push(fact("For", one.as_str()));
    }
    body.extend([
        fact("Digest", &question.short_digest()),
        fact("Until", &Wall(posting.until_ms).to_string()),
        text("To answer, write one of these as a message of its own:"),
        code_line(&format!("approve {code}")),
        code_line(&format!("deny {code}")),
    ]);
    card(&body)
}

/// The card in its place when it has ended.
pub(super) fn ended(posting: &Posting, stage: &Stage) -> Value {
    let how = match stage {
        Stage::Answered { approve: true, .. } => "You approved it here.",
        Stage::Answered { approve: false, .. } => "You denied it here.",
        Stage::Elsewhere => "It was answered elsewhere. A code on this card counts no more.",
        Stage::Expired => "Its time is over. A code on this card counts no more.",
        Stage::Void | Stage::Posting | Stage::Open => {
            "It can be answered no more: it was answered elsewhere, other rules are in force, or its session has ended."
        }
    };
    let mut body = Vec::new();
    if posting.is_shown {
        body.push(fact("What", &escaped(&posting.call, TEXT_MAX)));
    }
    body.push(text(how));
    card(&body)
}

fn card(body: &[Value]) -> Value {
    json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    })
}

/// Words of the hub's own.
fn text(text: &str) -> Value {
    json!({ "type": "TextBlock", "text": text, "wrap": true })
}

fn fact(name: &str, value: &str) -> Value {
    json!({ "type": "RichTextBlock", "inlines": [
        { "type": "TextRun", "text": name, "weight": "Bolder" },
        { "type": "TextRun", "text": format!(" {value}") },
    ] })
}

fn code_line(line: &str) -> Value {
    json!({ "type": "RichTextBlock", "inlines": [
        { "type": "TextRun", "text": line, "fontType": "Monospace" },
    ] })
}
