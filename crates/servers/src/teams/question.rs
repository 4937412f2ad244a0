//! A question in a chat and the reply that answers it: without IO.
//!
//! A card that a user posts cannot call back, so the answer is a reply: the
//! question's code and the number of a choice. The code is random, which is
//! why a reply that has it was written by somebody who read the question; who
//! that is, is told by the id of the sender and by nothing he can write.

use legation_core::Wall;
use legation_entra::chat::{Kind, Message};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Letters and digits that are not taken for one another.
const SYMBOLS: &[u8] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ";
/// How many a code has.
const CODE: usize = 4;

/// A question that was asked, as it is kept: nothing of its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) client: String,
    pub(super) account: String,
    pub(super) chat: String,
    /// Who may answer.
    pub(super) human: String,
    pub(super) code: String,
    /// How many choices it has; any words are an answer where there is none.
    pub(super) choices: usize,
    /// Digest of the words, by which the same question is known again.
    pub(super) content: String,
    /// The message with the card, and when Teams took it.
    pub(super) message: Option<(String, i64)>,
    /// An answer that was written later is none, by the services' clock.
    pub(super) expires_ms: i64,
    pub(super) answer: Option<Answer>,
    /// Whether its asker was given the answer.
    pub(super) told: bool,
}

/// Where the answer is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) message: String,
    pub(super) at_ms: i64,
    /// From one; `None` for words.
    pub(super) choice: Option<usize>,
}

/// What a text says to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    Choice(usize),
    Words(String),
}

/// A code, made of random hexadecimal digits.
pub(super) fn code(random: &str) -> Option<String> {
    let symbol = |at: usize| {
        let number = random.get(4 * at..4 * at + 4)?;
        let number = usize::from_str_radix(number, 16).ok()?;
        SYMBOLS.get(number % SYMBOLS.len()).copied().map(char::from)
    };
    (0..CODE).map(symbol).collect()
}

/// The card of a question.
pub(super) fn card(question: &str, choices: &[String], code: &str, link: Option<&str>) -> Value {
    let block = |text: &str| json!({ "type": "TextBlock", "text": text, "wrap": true });
    let mut body = vec![block(question)];
    if choices.is_empty() {
        body.push(block(&format!("Reply **{code}** and your answer.")));
    } else {
        let facts = choices.iter().zip(1..).map(
            |(choice, number)| json!({ "title": format!("{code} {number}"), "value": choice }),
        );
        let facts: Vec<Value> = facts.collect();
        body.push(json!({ "type": "FactSet", "facts": facts }));
        body.push(block(
            "Reply with the code and the number beside your answer.",
        ));
    }
    let mut card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    });
    if let Some(link) = link {
        card["actions"] = json!([{ "type": "Action.OpenUrl", "title": "Open", "url": link }]);
    }
    card
}

/// What a text says to the question with this code. A text that says two
/// things says nothing.
pub(super) fn reply(text: &str, code: &str, choices: usize) -> Option<Reply> {
    let mut found: Option<Reply> = None;
    let mut rest = text;
    while let Some((line, after)) = next_line(rest) {
        rest = after;
        // What is quoted is not said.
        if line.trim_start().starts_with('>') {
            continue;
        }
        let Some(said) = after_code(line, code) else {
            continue;
        };
        let this = if choices == 0 {
            let words = format!("{said}\n{rest}");
            let words = words.trim();
            return (!words.is_empty()).then(|| Reply::Words(words.to_owned()));
        } else {
            Reply::Choice(number(said)?)
        };
        if !matches!(this, Reply::Choice(number) if (1..=choices).contains(&number)) {
            return None;
        }
        match &found {
            Some(before) if *before != this => return None,
            _ => found = Some(this),
        }
    }
    found
}

fn next_line(text: &str) -> Option<(&str, &str)> {
    if text.is_empty() {
        return None;
    }
    Some(text.split_once('\n').unwrap_or((text, "")))
}

/// What stands in a line after the code it begins with.
fn after_code<'a>(line: &'a str, code: &str) -> Option<&'a str> {
    let line = line.trim().trim_start_matches('#');
    let begins = line.get(..code.len())?;
    if !begins.eq_ignore_ascii_case(code) {
        return None;
    }
    let rest = &line[code.len()..];
    let marks = |c: char| c.is_whitespace() || matches!(c, '-' | ':' | '.' | ',' | '=');
    let said = rest.trim_matches(marks);
    // A longer word only begins like the code.
    let is_word = rest.starts_with(|c: char| c.is_alphabetic());
    (!is_word).then_some(said)
}

/// The number a text begins with; what is said besides is for whoever asked.
fn number(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    let stands_alone = !rest.starts_with(char::is_alphanumeric);
    digits.parse().ok().filter(|_| stands_alone)
}

// === impl Question ===

impl Question {
    /// The first message that answers, of messages in the order in which they
    /// were written: the human's, after the question and in time.
    pub(super) fn find(&self, messages: &[Message]) -> Option<Answer> {
        let mut valid: Vec<(&Message, Reply)> = messages
            .iter()
            .filter_map(|message| Some((message, self.reply_in(message)?)))
            .collect();
        valid.sort_by_key(|(message, _)| message.created);
        let (message, reply) = valid.into_iter().next()?;
        Some(Answer {
            message: message.id.clone(),
            at_ms: message.created.0,
            choice: match reply {
                Reply::Choice(number) => Some(number),
                Reply::Words(_) => None,
            },
        })
    }

    /// What a message says to this question, if its sender may answer it.
    pub(super) fn reply_in(&self, message: &Message) -> Option<Reply> {
        let (question, asked_ms) = self.message.as_ref()?;
        let in_time = message.created.0 > *asked_ms && message.modified.0 <= self.expires_ms;
        let by_human = message.kind == Kind::Message && message.is_from(&self.human);
        if message.is_deleted || message.id == *question || !in_time || !by_human {
            return None;
        }
        reply(&message.text, &self.code, self.choices)
    }

    /// Whether its time is over.
    pub(super) fn is_over(&self, now: Wall) -> bool {
        now.0 > self.expires_ms
    }
}
