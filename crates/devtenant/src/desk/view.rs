//! What the desk looks like.

use serde_json::Value;

use crate::page::page;
use crate::server::Shared;
use crate::state::chat::{Chat, Message};
use crate::state::directory::User;
use crate::state::session::CodeState;
use crate::state::{Tenant, World};
use crate::web::{Answer, Pairs, html};

use super::PATH;

/// Messages shown of a chat.
const MESSAGES: usize = 30;

/// The faults there are, with what to fill in.
const FAULTS: [(&str, &str); 11] = [
    ("throttle", "429: wait"),
    ("status", "another status, such as 503"),
    ("cut", "connection ends before anything happens"),
    ("cut-after", "connection ends after it happened"),
    ("expired", "401: token expired"),
    ("challenge", "401: claims challenge"),
    ("gone", "410: delta link too old"),
    ("unlicensed", "403: no licence"),
    ("consent", "sign-in: consent is missing"),
    ("mfa", "sign-in: second factor needed"),
    ("aadsts", "sign-in: error by number"),
];

/// The whole desk of one person in one tenant.
pub(super) fn desk(shared: &Shared, world: &World, asked: &Pairs, error: &str) -> Answer {
    let wanted = asked.filled("tenant").unwrap_or("first");
    let Some(tenant) = world.tenant(wanted).or_else(|| world.tenants.first()) else {
        return page(404, "The human", "<p>There is no tenant.</p>");
    };
    let named = asked.filled("user").and_then(|user| tenant.user(user));
    let human = tenant.user(tenant.handed_out.human.as_str());
    let Some(person) = named.filter(|user| user.is_human()).or(human) else {
        return page(404, "The human", "<p>Nobody is in this tenant.</p>");
    };
    let said = match (error, asked.filled("done")) {
        ("", None) => String::new(),
        ("", Some(_)) => "<p role=\"status\">Done.</p>".to_owned(),
        (error, _) => format!("<p role=\"alert\">{}</p>", html(error)),
    };
    let hidden = format!(
        "<input type=\"hidden\" name=\"tenant\" value=\"{}\">\
         <input type=\"hidden\" name=\"user\" value=\"{}\">",
        html(&tenant.name),
        html(person.id.as_str())
    );
    let body = [
        said,
        people(world, tenant, person),
        codes(world, tenant),
        chats(tenant, person, &hidden),
        mail(tenant, person, &hidden),
        meeting(&hidden),
        faults(world, &hidden),
        unknown(shared),
    ]
    .concat();
    page(if error.is_empty() { 200 } else { 400 }, "The human", &body)
}

/// Who one is, and who else one could be.
fn people(world: &World, tenant: &Tenant, person: &User) -> String {
    let mut out = format!(
        "<p>You are <strong>{}</strong> of {}.</p><nav aria-label=\"People\"><ul class=\"row\">",
        html(&person.name),
        html(&tenant.domain)
    );
    for other in &world.tenants {
        for user in other.users.iter().filter(|user| user.is_human()) {
            let is_now = user.id == person.id && other.id == tenant.id;
            let current = if is_now { " aria-current=\"page\"" } else { "" };
            out.push_str(&format!(
                "<li><a href=\"{PATH}?tenant={}&amp;user={}\"{current}>{}</a></li>",
                html(&other.name),
                html(user.id.as_str()),
                html(&user.name)
            ));
        }
    }
    out.push_str("</ul></nav>");
    out
}

/// Codes that wait for somebody.
fn codes(world: &World, tenant: &Tenant) -> String {
    let waiting = world.device_codes.iter().filter(|code| {
        code.state == CodeState::Pending
            && world
                .tenant(&code.tenant)
                .is_none_or(|own| own.id == tenant.id)
    });
    let list: String = waiting
        .map(|code| {
            let code = html(&code.user_code);
            format!("<li><a href=\"/device?otc={code}\">{code}</a></li>")
        })
        .collect();
    let list = match list.as_str() {
        "" => "<p class=\"quiet\">No code waits.</p>".to_owned(),
        list => format!("<ul>{list}</ul>"),
    };
    format!("<section><h2>Sign-ins</h2>{list}</section>")
}

fn chats(tenant: &Tenant, person: &User, hidden: &str) -> String {
    let own: Vec<&Chat> = tenant
        .chats
        .iter()
        .filter(|chat| chat.has(&person.id))
        .collect();
    let mut out = "<section id=\"say\"><h2>Chats</h2>".to_owned();
    if own.is_empty() {
        out.push_str("<p class=\"quiet\">Nobody has written yet.</p>");
    }
    for (index, chat) in own.iter().enumerate() {
        let others = chat
            .members
            .iter()
            .filter(|member| member.user != person.id);
        let names: Vec<String> = others
            .map(|member| name(tenant, member.user.as_str()))
            .collect();
        out.push_str(&format!(
            "<article><h3>{}</h3><ol class=\"chat\">",
            html(&names.join(", "))
        ));
        let skip = chat.messages.len().saturating_sub(MESSAGES);
        for message in chat.messages.iter().skip(skip) {
            out.push_str(&line(tenant, person, message));
        }
        out.push_str(&format!(
            "</ol><form method=\"post\" action=\"{PATH}\">{hidden}\
             <input type=\"hidden\" name=\"do\" value=\"say\">\
             <input type=\"hidden\" name=\"chat_id\" value=\"{}\">\
             <label for=\"text{index}\">Write</label>\
             <textarea id=\"text{index}\" name=\"text\" rows=\"2\" required></textarea>\
             <button type=\"submit\">Send</button></form></article>",
            html(&chat.id)
        ));
    }
    out.push_str("</section>");
    out
}

fn line(tenant: &Tenant, person: &User, message: &Message) -> String {
    let mine = if message.from == person.id {
        " class=\"mine\""
    } else {
        ""
    };
    let text = match message.deleted_ms {
        Some(_) => "(removed)".to_owned(),
        None => {
            let content = message.body["content"].as_str().unwrap_or_default();
            let mut text = match message.body["contentType"].as_str() {
                Some("html") => plain(content),
                _ => content.to_owned(),
            };
            for attachment in &message.attachments {
                card(attachment, &mut text);
            }
            text
        }
    };
    let edited = if message.edited_ms.is_some() {
        " (edited)"
    } else {
        ""
    };
    format!(
        "<li{mine}><span class=\"who\">{}{edited}</span><pre>{}</pre></li>",
        html(&name(tenant, message.from.as_str())),
        html(text.trim())
    )
}

/// The texts of an Adaptive Card, a line each.
fn card(attachment: &Value, text: &mut String) {
    let content = attachment["content"].as_str().unwrap_or_default();
    let Ok(card) = serde_json::from_str::<Value>(content) else {
        return;
    };
    texts(&card, text);
}

fn texts(value: &Value, into: &mut String) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(words) if matches!(name.as_str(), "text" | "title" | "value") => {
                        into.push('\n');
                        into.push_str(words);
                    }
                    _ => texts(value, into),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| texts(value, into)),
        _ => {}
    }
}

/// HTML without its markup. It is shown escaped, so nothing depends on what this misses.
fn plain(markup: &str) -> String {
    let mut out = String::new();
    let mut rest = markup;
    while let Some((before, tag)) = rest.split_once('<') {
        out.push_str(before);
        let (tag, after) = tag.split_once('>').unwrap_or((tag, ""));
        let name = tag.trim_start_matches('/').to_ascii_lowercase();
        if ["br", "p", "div", "li", "tr"]
            .iter()
            .any(|block| name.starts_with(block))
            && !out.is_empty()
            && !out.ends_with('\n')
        {
            out.push('\n');
        }
        rest = after;
    }
    out.push_str(rest);
    let entities = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    entities
        .iter()
        .fold(out, |text, (entity, plain)| text.replace(entity, plain))
}

fn name(tenant: &Tenant, user: &str) -> String {
    tenant
        .user(user)
        .map_or_else(|| "somebody".to_owned(), |user| user.name.clone())
}

fn mail(tenant: &Tenant, person: &User, hidden: &str) -> String {
    let to: String = tenant
        .users
        .iter()
        .filter(|user| user.id != person.id)
        .map(|user| {
            format!(
                "<option value=\"{}\">{}</option>",
                html(user.id.as_str()),
                html(&user.name)
            )
        })
        .collect();
    format!(
        "<section id=\"mail\"><h2>Mail</h2><form method=\"post\" action=\"{PATH}\">{hidden}\
         <input type=\"hidden\" name=\"do\" value=\"mail\">\
         <input type=\"hidden\" name=\"from\" value=\"{}\">\
         <label for=\"to\">To</label><select id=\"to\" name=\"to\">{to}</select>\
         <label for=\"subject\">Subject</label><input id=\"subject\" name=\"subject\" required>\
         <label for=\"body\">Text</label><textarea id=\"body\" name=\"body\" rows=\"3\" required></textarea>\
         <button type=\"submit\">Send</button></form></section>",
        html(person.id.as_str())
    )
}

fn meeting(hidden: &str) -> String {
    format!(
        "<section id=\"meeting\"><h2>Meeting</h2><form method=\"post\" action=\"{PATH}\">{hidden}\
         <input type=\"hidden\" name=\"do\" value=\"meeting\">\
         <label for=\"what\">Subject</label><input id=\"what\" name=\"subject\" required>\
         <label for=\"start\">From (UTC)</label>\
         <input id=\"start\" name=\"start\" type=\"datetime-local\" required>\
         <label for=\"end\">To (UTC)</label>\
         <input id=\"end\" name=\"end\" type=\"datetime-local\" required>\
         <button type=\"submit\">Set</button></form></section>"
    )
}

fn faults(world: &World, hidden: &str) -> String {
    let kinds: String = FAULTS
        .iter()
        .map(|(kind, about)| format!("<option value=\"{kind}\">{kind} — {about}</option>"))
        .collect();
    let mut out = format!(
        "<section id=\"fault\"><h2 id=\"clear\">Faults</h2><form method=\"post\" action=\"{PATH}\">{hidden}\
         <input type=\"hidden\" name=\"do\" value=\"fault\">\
         <label for=\"kind\">What goes wrong</label><select id=\"kind\" name=\"fault\">{kinds}</select>\
         <label for=\"matching\">Where: part of METHOD /path, or nothing for all of Graph</label>\
         <input id=\"matching\" name=\"matching\">\
         <label for=\"left\">How often: a number, or always; once if empty</label>\
         <input id=\"left\" name=\"left\">\
         <label for=\"retry_after\">Seconds to wait (throttle)</label>\
         <input id=\"retry_after\" name=\"retry_after\" inputmode=\"numeric\">\
         <label for=\"status\">Status (status)</label>\
         <input id=\"status\" name=\"status\" inputmode=\"numeric\">\
         <label for=\"code\">Number (aadsts)</label>\
         <input id=\"code\" name=\"code\" inputmode=\"numeric\">\
         <button type=\"submit\">Order</button></form>"
    );
    if !world.faults.is_empty() {
        out.push_str("<table><thead><tr><th>Fault</th><th>Where</th><th>Left</th><th></th></tr></thead><tbody>");
    }
    for fault in &world.faults {
        let kind = serde_json::to_value(&fault.kind).unwrap_or_default();
        let left = fault
            .left
            .map_or_else(|| "always".to_owned(), |left| left.to_string());
        let matching = if fault.matching.is_empty() {
            "everywhere"
        } else {
            fault.matching.as_str()
        };
        out.push_str(&format!(
            "<tr><td>{}</td><td>{}</td><td>{left}</td><td><form method=\"post\" action=\"{PATH}\">{hidden}\
             <input type=\"hidden\" name=\"do\" value=\"clear\">\
             <input type=\"hidden\" name=\"id\" value=\"{}\">\
             <button type=\"submit\">Withdraw</button></form></td></tr>",
            html(kind["fault"].as_str().unwrap_or("?")),
            html(matching),
            fault.id
        ));
    }
    if !world.faults.is_empty() {
        out.push_str("</tbody></table>");
    }
    out.push_str("</section>");
    out
}

/// Requests the tenant did not know: the first thing to look at when something does not work.
fn unknown(shared: &Shared) -> String {
    let report = shared.report().unknown_json();
    let list: String = report["unknown"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(what, count)| format!("<li>{} ({})</li>", html(what), html(&count.to_string())))
        .collect();
    match list.as_str() {
        "" => String::new(),
        list => {
            format!("<section><h2>Requests that are not known here</h2><ul>{list}</ul></section>")
        }
    }
}
