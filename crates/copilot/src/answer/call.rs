//! Which tool an intent is, and what a confirmation carries of a call.
//!
//! A confirmation goes to GitHub and comes back with the answer, so it says all that the call needs
//! and nothing is kept here. It is a suggestion and no authority: the approval it names is bound to
//! the very arguments, and what comes back is looked at as if a stranger had written it.

use legation_core::EntityId;
use serde_json::{Map, Value, json};

use super::{WHICH_ACCOUNT, object, text_of};
use crate::hub::{Business, ToolCall};
use crate::intent::Intent;
use crate::whose::NamedDeal;

/// The server of every tool that is called from here.
const SERVER: &str = "desk";
/// Most bytes of arguments that come back with a confirmation.
const ARGUMENTS_MAX: usize = 32 * 1024;
/// Most characters of a subject.
const SUBJECT_MAX: usize = 200;

/// The call that an intent is, or what has to be asked first.
pub(super) fn of(
    intent: Intent,
    text: &str,
    business: Option<&Business>,
    deal: Option<&NamedDeal<'_>>,
) -> Result<ToolCall, String> {
    let mut arguments = Map::new();
    let tool = tool(intent);
    if let (Some(business), true) = (business, takes_entity(intent)) {
        arguments.insert("entity_context".to_owned(), text_of(business.id.as_str()));
    }
    match intent {
        Intent::MailList | Intent::CalendarList | Intent::DraftEmail => {
            let account = account(text, business)?;
            arguments.insert("profile_id".to_owned(), text_of(account));
        }
        Intent::DealDetail | Intent::DealTimeline => {
            let deal = deal.ok_or("Which deal? Say its name.")?;
            arguments.insert("deal_id".to_owned(), text_of(&deal.id));
        }
        Intent::Deadlines => {
            let about = text.split_once(':').map_or("", |(_, about)| about.trim());
            if about.is_empty() {
                let how = "Write the text to look through behind a colon, such as: deadlines in: …";
                return Err(how.to_owned());
            }
            arguments.insert("text".to_owned(), text_of(about));
            if let Some(business) = business {
                arguments.insert("entity".to_owned(), text_of(business.id.as_str()));
            }
            // They are looked for, not kept: what a chat says is no source of the desk's.
            arguments.insert("keep".to_owned(), Value::Bool(false));
        }
        Intent::MorningBrief
        | Intent::EodDigest
        | Intent::TriageList
        | Intent::DealsList
        | Intent::Status
        | Intent::General => {}
    }
    if intent == Intent::DraftEmail {
        draft(text, &mut arguments)?;
    }
    Ok(ToolCall {
        server: SERVER.to_owned(),
        tool: tool.to_owned(),
        arguments,
        entity: business.map(|business| business.id.clone()),
    })
}

/// The letter of a draft: to the addresses that the text holds, about what stands behind "about",
/// saying what stands behind the colon. Nothing is made up.
fn draft(text: &str, arguments: &mut Map<String, Value>) -> Result<(), String> {
    let (head, body) = text.split_once(':').unwrap_or((text, ""));
    let to = addresses(head);
    if to.is_empty() {
        let how = "To which address? Write: draft an email to name@example.com about …: what it \
                   says";
        return Err(how.to_owned());
    }
    if body.trim().is_empty() {
        return Err("What should it say? Write it behind a colon.".to_owned());
    }
    let about = head.split_once(" about ").map_or("", |(_, about)| about);
    let subject: String = about.trim().chars().take(SUBJECT_MAX).collect();
    let subject = match subject.is_empty() {
        true => "(no subject)".to_owned(),
        false => subject,
    };
    let escaped = body.trim().replace('&', "&amp;").replace('<', "&lt;");
    let lines: Vec<&str> = escaped.lines().collect();
    arguments.insert("to".to_owned(), json!(to));
    arguments.insert("subject".to_owned(), Value::String(subject));
    let html = format!("<p>{}</p>", lines.join("<br>"));
    arguments.insert("body_html".to_owned(), Value::String(html));
    Ok(())
}

/// The call that lists the deals of a business, for finding one by its name.
pub(super) fn deals(business: &Business) -> ToolCall {
    let mut arguments = Map::new();
    arguments.insert("entity_context".to_owned(), text_of(business.id.as_str()));
    ToolCall {
        server: SERVER.to_owned(),
        tool: tool(Intent::DealsList).to_owned(),
        arguments,
        entity: Some(business.id.clone()),
    }
}

/// What goes along with the question about a call.
pub(super) fn confirmation(approval: &str, call: &ToolCall) -> Map<String, Value> {
    object(json!({
        "id": approval,
        "tool": call.tool,
        "arguments": call.arguments,
        "entity": call.entity.as_ref().map(EntityId::as_str),
    }))
}

/// The approval and the call of a confirmation that came back, if it can be one of ours.
pub(super) fn back(
    confirmation: &Map<String, Value>,
    businesses: &[Business],
) -> Option<(String, ToolCall)> {
    let approval = confirmation.get("id")?.as_str()?;
    let named = confirmation.get("tool")?.as_str()?;
    let intent = Intent::ALL
        .iter()
        .copied()
        .find(|intent| *intent != Intent::General && tool(*intent) == named)?;
    let arguments = confirmation.get("arguments")?.as_object()?;
    let size = serde_json::to_vec(arguments).ok()?.len();
    if size > ARGUMENTS_MAX {
        return None;
    }
    let entity = match confirmation.get("entity")? {
        Value::Null => None,
        Value::String(id) => {
            let business = businesses
                .iter()
                .find(|business| business.id.as_str() == id && business.is_allowed)?;
            if business.is_hipaa && !intent.reads_only() {
                return None;
            }
            Some(business.id.clone())
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    if entity.is_none() && intent.needs_entity() {
        return None;
    }
    let call = ToolCall {
        server: SERVER.to_owned(),
        tool: named.to_owned(),
        arguments: arguments.clone(),
        entity,
    };
    Some((approval.to_owned(), call))
}

fn tool(intent: Intent) -> &'static str {
    match intent {
        Intent::DraftEmail => "draft_email",
        Intent::MorningBrief => "morning_brief",
        Intent::EodDigest => "eod_digest",
        Intent::Deadlines => "extraction_deadlines",
        Intent::TriageList => "triage_list",
        Intent::CalendarList => "calendar_list",
        Intent::DealsList => "deals_list",
        Intent::DealTimeline => "deal_timeline",
        Intent::DealDetail => "deal_detail",
        Intent::MailList => "mail_list",
        Intent::Status | Intent::General => "status",
    }
}

fn takes_entity(intent: Intent) -> bool {
    matches!(
        intent,
        Intent::MorningBrief | Intent::EodDigest | Intent::TriageList | Intent::DealsList
    )
}

/// The account: the only one there is, or the one that is named.
fn account<'b>(text: &str, business: Option<&'b Business>) -> Result<&'b str, String> {
    let accounts = business.map_or(&[][..], |business| &business.accounts);
    let lower = text.to_lowercase();
    let mut named = accounts
        .iter()
        .filter(|name| lower.contains(&name.to_lowercase()));
    match (accounts, named.next(), named.next()) {
        ([only], _, _) => Ok(only),
        (_, Some(named), None) => Ok(named),
        ([], _, _) => Err("This business has no account that letters could be read of.".to_owned()),
        _ => {
            let list: String = accounts.iter().map(|name| format!("- {name}\n")).collect();
            Err(format!("{WHICH_ACCOUNT}\n\n{list}"))
        }
    }
}

/// The addresses that a text holds.
fn addresses(text: &str) -> Vec<String> {
    const MOST: usize = 20;
    let words =
        text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '<' | '>' | '(' | ')'));
    words
        .map(|word| word.trim_matches(|c: char| matches!(c, '.' | '"' | '\'' | ':')))
        .filter(|word| {
            let parts = word.split_once('@');
            parts.is_some_and(|(local, domain)| {
                !local.is_empty() && domain.contains('.') && !domain.contains('@')
            })
        })
        .map(str::to_owned)
        .take(MOST)
        .collect()
}
