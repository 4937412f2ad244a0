//! What an answer says: by the owner's template, or in the words of a model that may have the
//! letter, where they say nothing that the letter does not.

use legation_core::{EntityLabels, OpContext};
use legation_desk::{Letter, Person, draft};
use legation_entra::Account;
use legation_entra::html::Html;
use legation_entra::mail::OpenedLetter;
use legation_gate::policy::governance::DraftStyle;
use serde::Deserialize;

use crate::desk::sync::letter_of;
use crate::desk::{Asked, Shared};

/// An answer as it is to be drafted.
pub(super) struct Composed {
    pub(super) html: String,
    pub(super) by_model: bool,
    /// Why no model wrote it, where one was to.
    pub(super) note: Option<String>,
}

/// What a model answers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    body: String,
}

const JOB: &str = "desk.draft";
/// So much of a letter a model reads.
const LETTER_MAX: usize = 8_000;

/// Composes an answer to a letter.
pub(super) async fn answer(
    shared: &Shared,
    context: &OpContext,
    style: &DraftStyle,
    account: &Account,
    opened: &OpenedLetter,
) -> Composed {
    let entity = account.entity();
    let mut letter = letter_of(account, opened.listed.clone());
    // Whom an answer goes to is whom it greets.
    let to = opened.listed.answered_to().into_iter().next();
    letter.from = to.map_or_else(Person::default, |to| Person {
        name: to.name,
        address: to.address,
    });
    let (text, by_model, note) = match style.model {
        false => (draft::reply(style, entity, &letter), false, None),
        true => match by_model(shared, context, style, account, (&letter, opened)).await {
            Ok(body) => (
                draft::around(style, entity, &letter.from, &body),
                true,
                None,
            ),
            Err(why) => {
                let note = format!("{why}; the owner's template stands in its place");
                (draft::reply(style, entity, &letter), false, Some(note))
            }
        },
    };
    Composed {
        html: Html::from_text(&text).to_html(),
        by_model,
        note,
    }
}

/// What a model writes; else why it is not taken.
async fn by_model(
    shared: &Shared,
    context: &OpContext,
    style: &DraftStyle,
    account: &Account,
    (letter, opened): (&Letter, &OpenedLetter),
) -> Result<String, String> {
    let end = opened.text.char_indices().nth(LETTER_MAX).map(|(at, _)| at);
    let data = format!(
        "From: {}\nSubject: {}\n\n{}",
        letter.from.called(),
        letter.subject,
        &opened.text[..end.unwrap_or(opened.text.len())],
    );
    let (system, schema) = draft::question(style);
    let asked = Asked {
        job: JOB,
        labels: EntityLabels::of(account.entity().clone()),
        system,
        data: data.clone(),
        answer: ("draft", schema),
    };
    let said = shared.view.model(context, asked).await;
    let said = said.map_err(|error| error.to_string())?;
    let written: Written = serde_json::from_str(&said)
        .map_err(|_| "the model's answer breaks its contract".to_owned())?;
    draft::check_answer(style, &data, &written.body).map_err(|error| error.to_string())?;
    Ok(written.body)
}

/// What HTML says to who reads it.
pub(super) fn text_of(html: &str) -> String {
    Html::parse(html).to_text(&|_| None)
}

/// A body with the owner's disclaimer below it, once.
pub(super) fn with_disclaimer(style: &DraftStyle, html: &str) -> String {
    let Some(disclaimer) = style.draft_disclaimer.as_deref() else {
        return html.to_owned();
    };
    if text_of(html).contains(disclaimer.trim()) {
        return html.to_owned();
    }
    // What was left open in the body ends before it.
    let body = Html::parse(html).to_html();
    format!("{body}<p>{}</p>", Html::from_text(disclaimer).to_html())
}
