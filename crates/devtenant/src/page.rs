//! The page where a person types a device code and decides.

use http::Method;

use crate::entra;
use crate::server::Shared;
use crate::state::World;
use crate::state::session::{CodeState, DeviceCode};
use crate::web::{Answer, Ask, Pairs, html};

/// Readable at any width, in light and dark.
const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem;\
overflow-wrap:anywhere}\
h1{font-size:1.6rem}h2{font-size:1.2rem;margin:0 0 .5rem}h3{font-size:1rem;margin:.5rem 0}\
section{border:1px solid #8886;border-radius:.5rem;padding:1rem;margin:1rem 0}\
label{display:block;margin-top:.5rem}\
input,select,textarea,button{font:inherit;display:block;margin:.25rem 0;padding:.4rem;\
max-width:100%;box-sizing:border-box}\
input,select,textarea{width:100%}\
button{padding:.4rem 1rem;margin:.5rem .5rem 0 0;display:inline-block;cursor:pointer}\
.row{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;padding:0}\
[aria-current]{font-weight:bold;color:inherit;text-decoration:none}\
.chat{list-style:none;padding:0;max-height:24rem;overflow:auto}\
.chat li{background:#8882;border-radius:.5rem;padding:.4rem .7rem;margin:.4rem 20% .4rem 0}\
.chat .mine{background:#06c3;margin:.4rem 0 .4rem 20%}\
.who{font-size:.8rem;opacity:.75}\
pre{font:inherit;white-space:pre-wrap;overflow-wrap:anywhere;margin:0}\
.quiet{opacity:.75}table{border-collapse:collapse;width:100%;margin-top:1rem}\
th,td{text-align:left;padding:.25rem .5rem .25rem 0;vertical-align:middle}td form{margin:0}\
[role=alert]{border-left:.3rem solid #c33;padding-left:.7rem}\
[role=status]{border-left:.3rem solid #393;padding-left:.7rem}";

const KIND: &str = "text/html; charset=utf-8";

/// `/device`.
pub(crate) fn answer(shared: &Shared, world: &mut World, ask: &Ask) -> Answer {
    match ask.method {
        Method::GET => {
            let typed = ask.query.get("otc").or_else(|| ask.query.get("code"));
            match typed.filter(|code| !code.is_empty()) {
                Some(code) => question(world, code),
                None => form(""),
            }
        }
        Method::POST if from_here(ask) => post(shared, world, &ask.form()),
        _ => page(405, "Not possible", "<p>Open this page in a browser.</p>"),
    }
}

/// `/`: what this is.
pub(crate) fn welcome(world: &World) -> Answer {
    let tenants: String = world
        .tenants
        .iter()
        .map(|tenant| format!("<li>{} ({})</li>", html(&tenant.domain), html(&tenant.id)))
        .collect();
    let body = format!(
        "<p>This stands in for Entra ID and Microsoft Graph. Nothing here reaches Microsoft.</p>\
         <ul>{tenants}</ul><p><a href=\"/device\">Enter a code</a></p>\
         <p><a href=\"/human\">Be the human</a>: write in chats, send mail, order faults</p>"
    );
    page(200, "Development tenant", &body)
}

/// A form of another site must not decide for the person.
pub(crate) fn from_here(ask: &Ask) -> bool {
    ask.header("origin")
        .is_none_or(|origin| origin == ask.origin || origin == "null")
        && ask
            .header("sec-fetch-site")
            .is_none_or(|site| site == "same-origin" || site == "none")
}

fn post(shared: &Shared, world: &mut World, form_data: &Pairs) -> Answer {
    let code = form_data.get("user_code").unwrap_or_default().trim();
    let decision = form_data.get("decision");
    if decision.is_none() {
        return question(world, code);
    }
    let account = form_data.get("account").unwrap_or_default();
    let who = match decision {
        Some("approve") => match account.split_once('/') {
            Some(who) => Some(who),
            None => return form("Choose an account."),
        },
        _ => None,
    };
    match entra::decide(world, shared.now(), code, who) {
        Ok(()) if who.is_some() => page(
            200,
            "Signed in",
            "<p role=\"status\">You have signed in. You can close this window.</p>",
        ),
        Ok(()) => page(
            200,
            "Declined",
            "<p role=\"status\">You have declined. The application was not signed in.</p>",
        ),
        Err(why) => form(why),
    }
}

fn form(error: &str) -> Answer {
    let alert = if error.is_empty() {
        String::new()
    } else {
        format!("<p role=\"alert\">{}</p>", html(error))
    };
    let body = format!(
        "{alert}<form method=\"post\" action=\"/device\">\
         <label for=\"user_code\">Code shown by the application</label>\
         <input id=\"user_code\" name=\"user_code\" autocomplete=\"off\" autofocus required>\
         <button type=\"submit\">Next</button></form>"
    );
    page(
        if error.is_empty() { 200 } else { 400 },
        "Enter code",
        &body,
    )
}

/// Who asks for what, and as whom to allow it.
fn question(world: &World, typed: &str) -> Answer {
    let typed: String = typed
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_uppercase();
    let code = world
        .device_codes
        .iter()
        .find(|code| code.user_code == typed && code.state == CodeState::Pending);
    let Some(code) = code else {
        return form("That code did not work. Check the code and try again.");
    };
    let name = world
        .tenants
        .iter()
        .find_map(|tenant| tenant.app(code.client.as_str()))
        .map_or("An application", |app| app.name.as_str());
    let scopes: String = code
        .scope
        .split_whitespace()
        .map(|scope| format!("<li>{}</li>", html(scope)))
        .collect();
    let body = format!(
        "<p><strong>{}</strong> asks to sign in and to be allowed:</p><ul>{scopes}</ul>\
         <form method=\"post\" action=\"/device\">\
         <input type=\"hidden\" name=\"user_code\" value=\"{}\">\
         <label for=\"account\">Account</label>\
         <select id=\"account\" name=\"account\">{}</select>\
         <button type=\"submit\" name=\"decision\" value=\"approve\">Approve</button>\
         <button type=\"submit\" name=\"decision\" value=\"decline\">Decline</button></form>",
        html(name),
        html(&code.user_code),
        accounts(world, code),
    );
    page(200, "Sign in", &body)
}

fn accounts(world: &World, code: &DeviceCode) -> String {
    let named = world.tenant(&code.tenant).map(|tenant| &tenant.id);
    let mut out = String::new();
    for tenant in world
        .tenants
        .iter()
        .filter(|tenant| named.is_none_or(|id| *id == tenant.id))
    {
        for user in tenant.users.iter().filter(|user| user.is_human()) {
            out.push_str(&format!(
                "<option value=\"{}/{}\">{} ({})</option>",
                html(&tenant.id),
                html(user.id.as_str()),
                html(&user.name),
                html(&user.upn)
            ));
        }
    }
    out
}

pub(crate) fn page(status: u16, title: &str, body: &str) -> Answer {
    let text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} - development tenant</title>\
         <style>{STYLE}</style></head><body><main><h1>{title}</h1>{body}</main></body></html>"
    );
    Answer::text(status, KIND, text)
        .with("cache-control", "no-store")
        .with("x-frame-options", "DENY")
        .with(
            "content-security-policy",
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
        )
}
