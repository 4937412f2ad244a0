//! The step at the desk: deals, the day's meetings, letters, a draft, and the brief of it all.

use legation_cli::{CliError, Output};
use serde_json::{Value, json};

use super::client::DemoClient;
use super::people::{call_with, wrong};
use super::tenant::{ACCOUNT, text};

/// The deals that the letters of the development tenant are about.
const DEALS: [(&str, &str); 3] = [
    ("Mill Lane", "dd_active"),
    ("Orchard Row", "closing"),
    ("Lighthouse Point", "deal_identified"),
];
const SHOWN: usize = 4;

/// Works at the desk of the account's person.
pub(super) fn work(out: Output, client: &mut DemoClient) -> Result<Value, CliError> {
    out.say("\n8. It works at a desk: deals, letters, a calendar; nothing is ever sent");
    for (name, stage) in DEALS {
        let deal = json!({
            "entity": "personal", "deal_name": name, "stage": stage,
            "idempotency_key": format!("demo {name}"),
        });
        call_with(client, "desk-deal_create", deal)?;
        out.say(&format!("   desk-deal_create {name}: {stage}"));
    }
    let week = json!({"profile_id": ACCOUNT, "days": 7});
    let calendar = call_with(client, "desk-calendar_list", week)?;
    out.say("   desk-calendar_list");
    for event in list(&calendar["events"]).take(SHOWN) {
        let (start, subject) = (text(event, "start"), text(event, "subject"));
        out.say(&format!("     {start}  {subject}"));
    }
    let unread = json!({"profile_id": ACCOUNT, "unread": true});
    let letters = call_with(client, "desk-mail_list", unread)?;
    out.say("   desk-mail_list");
    for letter in list(&letters["messages"]).take(SHOWN) {
        let from = text(&letter["from"], "name");
        out.say(&format!("     {from}: {}", text(letter, "subject")));
    }
    let answered =
        list(&letters["messages"]).find(|one| text(one, "subject").contains("Lighthouse"));
    let answered = answered.ok_or_else(|| wrong("the letter is not there", &letters))?;
    let draft = json!({
        "profile_id": ACCOUNT,
        "to": [answered["from"]["address"]],
        "subject": format!("Re: {}", text(answered, "subject")),
        "body_html": "<p>I will look at the numbers tonight.</p>",
        "reply_to_message_id": answered["id"],
        "idempotency_key": "demo draft",
    });
    let draft = call_with(client, "desk-draft_email", draft)?;
    out.say(&format!(
        "   desk-draft_email\n     → {:?} waits in the folder {} for its author to send it",
        text(&draft, "subject"),
        text(&draft, "folder"),
    ));
    let brief = call_with(client, "desk-morning_brief", json!({}))?;
    out.say(
        "   desk-morning_brief\n     → a line for everything, each with the source it rests on",
    );
    Ok(json!({
        "deals": DEALS.len(),
        "events": list(&calendar["events"]).count(),
        "unread": list(&letters["messages"]).count(),
        "draft": draft["message_id"],
        "brief": brief,
    }))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
