//! The desk: brief, deals, triage and calendar, through the desk's own tools, so that
//! everything that is shown was decided about and recorded like a call of an agent's.

use futures_util::future::join;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::act::said;
use super::ask::{Failure, call};
use super::fields::{Fields, encoded};
use super::filing;
use super::html::{Frame, Page, Section, badge, entity, moment, moment_ms, nothing};
use super::show::or_failure;
use super::{Done, Shared, Undone};

/// Where items of triage and suggestions stand.
pub(super) const TRIAGE: &str = "/desk/triage";
/// The stream of what changes at the desk. Not that of everything: what a page shows is asked of
/// tools, and a page that heard of its own calls would ask for ever.
const LIVE: &str = "/live?of=desk";
/// The server.
const DESK: &str = "desk";
/// How deep an answer is taken apart; below that it is shown as JSON.
const DEPTH: usize = 5;
/// Members that name what an object is about, the best first.
const NAMES: [&str; 8] = [
    "deal_name",
    "name",
    "title",
    "subject",
    "label",
    "text",
    "item",
    "id",
];
/// The parts of the desk: path, tool, title.
const PARTS: [(&str, &str, &str); 5] = [
    ("", "morning_brief", "Brief"),
    ("digest", "eod_digest", "End of the day"),
    ("deals", "deals_list", "Deals"),
    ("triage", "triage_list", "Triage"),
    ("calendar", "calendar_list", "Calendar"),
];

/// A page of the desk; `None` where there is none.
pub(super) async fn page(
    shared: &Shared,
    frame: &Frame,
    rest: &[&str],
    query: &Fields,
) -> Option<Page> {
    let (title, tool, arguments) = match rest {
        ["deals", id] => {
            return Some(deal(shared, id).await);
        }
        [] => part("", query)?,
        [name] => part(name, query)?,
        _ => return None,
    };
    let needs_account = tool == "calendar_list" && query.get("profile").is_none();
    let (status, found) = match needs_account {
        true => (call(&*shared.hub, DESK, "status", Map::new()).await, None),
        false => {
            let status = call(&*shared.hub, DESK, "status", Map::new());
            let found = call(&*shared.hub, DESK, tool, arguments);
            let (status, found) = join(status, found).await;
            (status, Some(found))
        }
    };
    let body = html! {
        (choices(rest.first().copied().unwrap_or_default()))
        @if tool == "calendar_list" { (accounts(status.as_ref().ok(), query)) }
        @else { (entities(query)) }
        @match found {
            None => {
                @match &status {
                    Ok(_) => { (nothing("Choose an account.")) }
                    Err(failure) => { (failure.shown()) }
                }
            }
            Some(Err(failure)) => { (failure.shown()) }
            Some(Ok(found)) => { (answer(frame, tool, &found)) }
        }
    };
    if tool != "triage_list" {
        return Some(Page::still(Section::Desk, title, body));
    }
    let body = html! {
        (body)
        (filing::section(shared, frame, query).await)
        p #live.quiet role="status" {}
    };
    Some(Page {
        live: Some(LIVE.to_owned()),
        ..Page::still(Section::Desk, title, body)
    })
}

/// The part of the desk at a path, and what its tool is asked.
fn part(name: &str, query: &Fields) -> Option<(&'static str, &'static str, Map<String, Value>)> {
    let (_, tool, title) = PARTS.into_iter().find(|(path, ..)| *path == name)?;
    let mut arguments = Map::new();
    if tool == "calendar_list" {
        let profile = query.get("profile").unwrap_or_default();
        arguments.insert("profile_id".to_owned(), profile.into());
    } else {
        let whose = query.get("entity").unwrap_or("all");
        arguments.insert("entity_context".to_owned(), whose.into());
    }
    if let Some(state) = query.get("state").filter(|_| tool == "triage_list") {
        arguments.insert("state".to_owned(), state.into());
    }
    let personal = query.get("personal").is_some();
    if personal && matches!(tool, "morning_brief" | "eod_digest") {
        arguments.insert("include_personal".to_owned(), true.into());
    }
    Some((title, tool, arguments))
}

async fn deal(shared: &Shared, id: &str) -> Page {
    let arguments = || Map::from_iter([("deal_id".to_owned(), Value::from(id))]);
    let detail = call(&*shared.hub, DESK, "deal_detail", arguments());
    let timeline = call(&*shared.hub, DESK, "deal_timeline", arguments());
    let (detail, timeline) = join(detail, timeline).await;
    let title = match &detail {
        Ok(Value::Object(found)) => name_of(found).map_or("Deal", |(_, name)| name).to_owned(),
        _ => "Deal".to_owned(),
    };
    let shown = |found: Result<Value, Failure>| or_failure(found.map(|found| value(&found, DEPTH)));
    let body = html! {
        section.card aria-label="The deal" { (shown(detail)) }
        h2 { "What happened" }
        (shown(timeline))
        p { a href="/desk/deals" { "All deals" } }
    };
    Page::still(Section::Desk, title, body)
}

/// What somebody does with an item of triage.
pub(super) async fn done(shared: &Shared, rest: &[&str], form: &Fields) -> Result<Done, Undone> {
    let id = match rest {
        ["triage", id] => id,
        ["filings", id, verb] => {
            let decided = filing::decided(shared, id, verb).await;
            return decided.map_err(|failure| (TRIAGE.to_owned(), failure));
        }
        _ => return Ok(Done::Nothing),
    };
    let state = form.get("state").unwrap_or_default();
    let arguments = Map::from_iter([
        ("item_id".to_owned(), Value::from(*id)),
        ("state".to_owned(), Value::from(state)),
    ]);
    call(&*shared.hub, DESK, "triage_classify", arguments)
        .await
        .map_err(|failure| (TRIAGE.to_owned(), failure))?;
    Ok(said(TRIAGE, format!("The item is {state} now.")))
}

fn choices(current: &str) -> Markup {
    html! {
        nav aria-label="Desk" {
            p.actions {
                @for (path, _, title) in PARTS {
                    a href={ "/desk" @if !path.is_empty() { "/" (path) } }
                        aria-current=[(path == current).then_some("page")] { (title) }
                }
            }
        }
    }
}

fn entities(query: &Fields) -> Markup {
    html! {
        form method="get" role="search" aria-label="Whose" {
            div.row {
                label for="entity" { "Entity " span.quiet { "an id, or all" }
                    input #entity name="entity" value=(query.get("entity").unwrap_or("all")); }
                button type="submit" { "Show" }
            }
        }
    }
}

/// The accounts that the desk's status names, to choose from.
fn accounts(status: Option<&Value>, query: &Fields) -> Markup {
    let named = status.and_then(|status| status.get("accounts").or(status.get("profiles")));
    let named = named.and_then(Value::as_array).into_iter().flatten();
    let names: Vec<&str> = named
        .filter_map(|one| {
            let account = ["profile_id", "account", "name"].map(|name| one.get(name));
            one.as_str()
                .or(account.into_iter().flatten().next()?.as_str())
        })
        .collect();
    html! {
        form method="get" role="search" aria-label="Account" {
            div.row {
                label for="profile" { "Account"
                    input #profile name="profile" list="profiles" required value=[query.get("profile")]; }
                button type="submit" { "Show" }
            }
            datalist #profiles { @for name in &names { option value=(name) {} } }
        }
        @if !names.is_empty() {
            p.actions { @for name in &names { a href={ "/desk/calendar?profile=" (encoded(name)) } { (name) } } }
        }
    }
}

/// The answer of a tool; of triage with what can be done with each item.
fn answer(frame: &Frame, tool: &str, found: &Value) -> Markup {
    let items = found.get("items").and_then(Value::as_array);
    match items.filter(|_| tool == "triage_list") {
        None => value(found, DEPTH),
        Some(items) => html! { section #items data-part="told" aria-label="To be sorted" {
            @if items.is_empty() { (nothing("Nothing waits to be sorted.")) }
            @for item in items {
                article.card {
                    (value(item, DEPTH))
                    @if let Some(id) = ["item_id", "id"].into_iter().find_map(|name| item.get(name)?.as_str()) {
                        @let path = format!("/desk/triage/{}", encoded(id));
                        div.actions {
                            (frame.button(&path, &[("state", "done")], &html! { "Done" span.quiet-text { " " (id) } }))
                            (frame.button(&path, &[("state", "dismissed")], &html! { "Dismiss" span.quiet-text { " " (id) } }))
                        }
                    }
                }
            }
        } },
    }
}

// === values ===

/// What a tool answers, whatever it is: the desk's tools have schemas of their own, and
/// a member that this page has never heard of is shown too.
fn value(found: &Value, depth: usize) -> Markup {
    match found {
        Value::Null => html! { span.quiet { "none" } },
        Value::Bool(true) => html! { "yes" },
        Value::Bool(false) => html! { "no" },
        Value::Number(number) => html! { (number) },
        Value::String(text) => html! { span.prose { (text) } },
        Value::Array(items) if items.is_empty() => html! { span.quiet { "none" } },
        _ if depth == 0 => {
            html! { pre tabindex="0" { (serde_json::to_string_pretty(found).unwrap_or_default()) } }
        }
        Value::Array(items) => html! {
            ul.list { @for item in items { li { (value(item, depth - 1)) } } }
        },
        Value::Object(members) => object(members, depth),
    }
}

fn object(members: &Map<String, Value>, depth: usize) -> Markup {
    let name = name_of(members);
    let (short, long): (Vec<_>, Vec<_>) = members
        .iter()
        .filter(|(key, _)| name.is_none_or(|(named, _)| *key != named) && *key != "entity")
        .partition(|(_, value)| !value.is_array() && !value.is_object());
    let deal = members.get("deal_id").and_then(Value::as_str);
    html! {
        @if name.is_some() || members.contains_key("entity") {
            p {
                @if let Some((_, text)) = name {
                    strong.prose {
                        @match deal {
                            Some(id) => { a href={ "/desk/deals/" (encoded(id)) } { (text) } }
                            None => { (text) }
                        }
                    }
                }
                @if let Some(whose) = members.get("entity").and_then(Value::as_str) { " " (entity(whose)) }
            }
        }
        @if !short.is_empty() {
            dl { @for (key, one) in short { div { dt { (words(key)) } dd { (member(key, one)) } } } }
        }
        @for (key, one) in long.into_iter().filter(|(_, one)| !is_empty(one)) {
            p { strong.quiet { (words(key)) } }
            (value(one, depth - 1))
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// A member by what its name says of it.
fn member(key: &str, one: &Value) -> Markup {
    match one {
        Value::String(text) if key == "source" || key.ends_with("source_ref") => source(text),
        Value::String(text) if matches!(key, "state" | "status" | "stage" | "urgency") => {
            badge(text)
        }
        Value::String(text) if key == "at" || key.ends_with("_at") => moment(text),
        Value::Number(number) if key.ends_with("_ms") => number
            .as_i64()
            .map_or_else(|| html! { (number) }, moment_ms),
        other => value(other, 0),
    }
}

/// Where something can be read again, as a link where the console has it.
pub(super) fn source(text: &str) -> Markup {
    let path = match text.split_once('/') {
        Some(("deal", id)) => Some(format!("/desk/deals/{}", encoded(id))),
        Some(("audit", call)) => Some(format!("/ledger/calls/{}", encoded(call))),
        Some(("inbox", seq)) => seq
            .parse::<u64>()
            .ok()
            .map(|seq| format!("/inbox?before={}#m-{seq}", seq.saturating_add(1))),
        Some(("triage" | "filing", _)) => Some(TRIAGE.to_owned()),
        Some(("event", rest)) => rest
            .split_once('/')
            .map(|(account, _)| format!("/desk/calendar?profile={}", encoded(account))),
        Some(("config", _)) => Some("/governance".to_owned()),
        _ => None,
    };
    html! {
        @match path {
            Some(path) => { a href=(path) { (text) } }
            None => { code { (text) } }
        }
    }
}

fn name_of(members: &Map<String, Value>) -> Option<(&'static str, &str)> {
    NAMES
        .into_iter()
        .find_map(|name| Some((name, members.get(name)?.as_str()?)))
}

/// A member's name as people read it.
fn words(key: &str) -> String {
    key.trim_end_matches("_ms").replace('_', " ")
}
