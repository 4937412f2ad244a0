//! Letters that are drafted for the owner.

mod compose;

use std::sync::Arc;

use legation_core::{EntityLabels, OpContext, ServerName};
use legation_desk::{SourceId, SourceKind, draft};
use legation_entra::Account;
use legation_entra::mail::{
    Draft, DraftBody, Folder, LIST_MAX, MailError, NewDraft, OpenedLetter, Wanted,
};
use legation_gate::Outcome;
use legation_gate::policy::governance::DraftStyle;
use legation_gate::policy::{
    Arguments, Decision, GrantIndex, Inquiry, Origin, PinState, Policy, Target, Verb,
};
use legation_wire::json::Object;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::mail::{Who, failure, ready};
use super::tools::DRAFTS;
use super::{NAME, Shared, arguments};
use crate::accounts::{Failure, outcome};

use compose::Composed;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EmailArguments {
    profile_id: String,
    to: Vec<String>,
    #[serde(default)]
    cc: Vec<String>,
    subject: String,
    body_html: String,
    #[serde(default)]
    reply_to_message_id: Option<String>,
    #[serde(default)]
    idempotency_key: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GenerateArguments {
    profile_id: String,
    #[serde(default)]
    message_ids: Option<Vec<String>>,
    #[serde(default)]
    max_drafts: Option<usize>,
}

#[derive(Serialize)]
struct Drafted {
    profile_id: String,
    entity: String,
    draft_created: bool,
    /// Nothing is ever sent by the desk.
    sent: bool,
    #[serde(flatten)]
    row: Row,
}

/// A draft, as agents see it.
#[derive(Serialize)]
struct Row {
    message_id: String,
    source: SourceId,
    subject: String,
    to: Vec<Who>,
    folder: &'static str,
    web_link: String,
}

#[derive(Serialize)]
struct Generated {
    profile_id: String,
    entity: String,
    candidates_evaluated: usize,
    drafts_created: usize,
    sent: bool,
    drafts: Vec<Answer>,
    skipped: Vec<Skipped>,
}

/// An answer that was drafted.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    row: Row,
    /// The letter it answers.
    answers: String,
    /// Whether it was there before.
    was_there: bool,
    /// `template` or `model`.
    written_by: &'static str,
    /// Why no model wrote it, where one was to.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A letter that was left alone.
#[derive(Serialize)]
struct Skipped {
    message_id: String,
    reason: String,
}

const DRAFTS_MAX: usize = 5;

/// `draft_email`.
pub(super) async fn email(shared: &Shared, context: &OpContext, arguments: &Object) -> Outcome {
    outcome(drafted(shared, context, arguments).await)
}

/// `draft_generate`.
pub(super) async fn generate(shared: &Shared, context: &OpContext, arguments: &Object) -> Outcome {
    outcome(generated(shared, context, arguments).await)
}

/// How drafts are to sound. Without it none is made: a file that broke denies what it governs.
fn style(rules: &Policy) -> Result<&DraftStyle, Failure> {
    rules.governance().draft_style.get().map_err(|_| {
        let message =
            "draft_style.json is missing or broken, so nothing is drafted; nothing was done";
        let hint = "have the owner mend it: `legation governance validate` says what is wrong";
        Failure::said(legation_entra::Class::Local, message.to_owned(), hint)
    })
}

async fn drafted(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
) -> Result<Drafted, Failure> {
    let wanted: EmailArguments = arguments::read(arguments)?;
    let rules = shared.rules()?;
    let style = style(&rules)?;
    let text = format!(
        "{}\n{}",
        wanted.subject,
        compose::text_of(&wanted.body_html)
    );
    draft::check(style, &text).map_err(|error| arguments::bad(&error.to_string()))?;
    let account = ready(shared, context, &wanted.profile_id).await?;
    let new = NewDraft {
        to: wanted.to,
        cc: wanted.cc,
        subject: wanted.subject,
        body: DraftBody::Html(compose::with_disclaimer(style, &wanted.body_html)),
        answers: wanted.reply_to_message_id,
        key: wanted.idempotency_key.map(|key| {
            let client = context.caller.principal.client.as_str();
            format!("email {client} {key}")
        }),
        ..NewDraft::default()
    };
    let made = account.drafts().make(context, &new).await;
    let made = made.map_err(|error| failure(&account, &error))?;
    Ok(Drafted {
        entity: account.entity().to_string(),
        draft_created: !made.was_found,
        sent: false,
        row: Row::of(&account, made),
        profile_id: wanted.profile_id,
    })
}

async fn generated(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
) -> Result<Generated, Failure> {
    let wanted: GenerateArguments = arguments::read(arguments)?;
    let rules = shared.rules()?;
    style(&rules)?;
    let account = ready(shared, context, &wanted.profile_id).await?;
    let own = account.mails().own_addresses(context).await;
    let own = own.map_err(|source| failure(&account, &MailError::Graph { source }))?;
    let most = wanted.max_drafts.unwrap_or(DRAFTS_MAX).clamp(1, 10);
    let ids = match wanted.message_ids {
        Some(ids) => ids,
        None => waiting(context, &account).await?,
    };
    let mut done = Generated {
        entity: account.entity().to_string(),
        candidates_evaluated: 0,
        drafts_created: 0,
        sent: false,
        drafts: Vec::new(),
        skipped: Vec::new(),
        profile_id: wanted.profile_id,
    };
    for id in ids {
        if done.drafts.len() >= most {
            break;
        }
        done.candidates_evaluated += 1;
        let letter = match account.mails().opened(context, &id).await {
            Ok(letter) => letter,
            Err(error @ MailError::NoLetter) => {
                done.skip(id, error.to_string());
                continue;
            }
            Err(error) => return Err(failure(&account, &error)),
        };
        if let Some(why) = unanswered(&letter, &own) {
            done.skip(id, why.to_owned());
            continue;
        }
        match answer(shared, (context, &rules), &account, &letter).await? {
            Ok(answer) => {
                done.drafts_created += usize::from(!answer.was_there);
                done.drafts.push(answer);
            }
            Err(why) => done.skip(id, why),
        }
    }
    Ok(done)
}

/// Unread letters that somebody wrote, those called important first, then in the order in which
/// they came.
async fn waiting(context: &OpContext, account: &Account) -> Result<Vec<String>, Failure> {
    let wanted = Wanted {
        folder: Folder::INBOX,
        is_unread: true,
        from: None,
        since: None,
        most: LIST_MAX,
        skip: 0,
    };
    let found = account.mails().listed(context, &wanted).await;
    let mut found = found.map_err(|error| failure(account, &error))?.letters;
    found.retain(|one| one.letter.noise.is_none());
    found.sort_by_key(|one| (!one.is_important, one.letter.received));
    Ok(found.into_iter().map(|one| one.letter.id).collect())
}

/// Why a letter is not one that is answered.
fn unanswered(
    letter: &OpenedLetter,
    own: &std::collections::BTreeSet<String>,
) -> Option<&'static str> {
    let letter = &letter.listed;
    if letter.is_draft {
        return Some("it is a draft itself");
    }
    if letter.letter.noise.is_some() {
        return Some("nobody wrote it to be answered");
    }
    if letter.letter.is_from(own) {
        return Some("its owner wrote it");
    }
    letter
        .answered_to()
        .is_empty()
        .then_some("it names nobody to answer")
}

/// Drafts an answer as far as the rules let the caller draft that very letter by itself; else why
/// it was left alone.
async fn answer(
    shared: &Shared,
    (context, rules): (&OpContext, &Arc<Policy>),
    account: &Account,
    letter: &OpenedLetter,
) -> Result<Result<Answer, String>, Failure> {
    let style = style(rules)?;
    let Composed {
        html,
        by_model,
        note,
    } = compose::answer(shared, context, style, account, letter).await;
    let listed = &letter.listed;
    let to: Vec<String> = listed
        .answered_to()
        .into_iter()
        .map(|one| one.address)
        .collect();
    let subject = draft::reply_subject(&listed.letter.subject);
    if let Err(why) = permitted(rules, context, account, (&to, &subject, &html)) {
        return Ok(Err(why));
    }
    let new = NewDraft {
        to,
        subject,
        body: DraftBody::Html(html),
        answers: Some(listed.letter.id.clone()),
        // One answer to a letter, whoever asks for it and however often.
        key: Some(format!("answer {}", listed.letter.id)),
        ..NewDraft::default()
    };
    match account.drafts().make(context, &new).await {
        Ok(made) => Ok(Ok(Answer {
            answers: listed.letter.id.clone(),
            was_there: made.was_found,
            written_by: if by_model { "model" } else { "template" },
            note,
            row: Row::of(account, made),
        })),
        Err(error @ MailError::BadAddress { .. }) => Ok(Err(error.to_string())),
        Err(error) => Err(failure(account, &error)),
    }
}

/// Asks the rules as if the caller had called `draft_email` with this letter.
fn permitted(
    rules: &Policy,
    context: &OpContext,
    account: &Account,
    (to, subject, html): (&[String], &str, &str),
) -> Result<(), String> {
    let text = json!({
        "profile_id": account.name(),
        "to": to,
        "subject": subject,
        "body_html": html,
    });
    let text = text.to_string();
    let arguments = Arguments::new(&text);
    let caller = &context.caller;
    let own = EntityLabels::of(account.entity().clone());
    let labels = match &context.task {
        Some(task) => own.join(&task.labels),
        None => own,
    };
    let grants = GrantIndex::none();
    let inquiry = Inquiry {
        principal: &caller.principal,
        on_behalf_of: context.on_behalf_of.as_ref(),
        seat: &caller.seat,
        workspace: caller.workspace.as_deref(),
        labels: &labels,
        arguments: Some(&arguments),
        sent_to: None,
        unredacted_phi: None,
        confidence: None,
        certified: false,
        grants: &grants,
        now_ms: account.now().0,
    };
    let Ok(server) = ServerName::parse(NAME) else {
        return Err("the desk has no name that rules can speak of".to_owned());
    };
    let target = Target {
        server,
        verb: Verb::CallTool,
        item: "draft_email".into(),
        definition: None,
        read_only_hint: false,
        trusted: true,
        origin: Origin::Builtin,
        entity: Some(account.entity().clone()),
        pin: PinState::Approved,
        native: Some(DRAFTS),
        fingerprint: None,
    };
    match rules.decide(&inquiry, target) {
        Decision::Permitted(_) => Ok(()),
        Decision::Ask(asked) => Err(format!(
            "the rule {} has a person asked first; draft it by itself with draft_email",
            asked.rule
        )),
        Decision::Denied(denied) => Err(format!("the rules refuse it: {denied}")),
    }
}

// === impl Generated ===

impl Generated {
    fn skip(&mut self, message_id: String, reason: String) {
        self.skipped.push(Skipped { message_id, reason });
    }
}

// === impl Row ===

impl Row {
    fn of(account: &Account, made: Draft) -> Self {
        let letter = made.letter;
        Self {
            source: SourceId::in_account(SourceKind::Mail, account.name(), &letter.letter.id),
            subject: letter.letter.subject,
            to: letter.letter.to.iter().map(Who::of).collect(),
            folder: "drafts",
            web_link: letter.web_link,
            message_id: letter.letter.id,
        }
    }
}

#[cfg(test)]
mod tests;
