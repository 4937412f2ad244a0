//! The human's desk: a page to write in chats, send mail, set meetings and
//! order faults, for whoever would rather click than type commands.
//!
//! It does what the control API does, by the same commands, and wants the same
//! token: once as a link that `ctl desk` prints, then as a cookie. There is no
//! script in it.

mod view;

use http::Method;
use serde_json::{Map, Value, json};

use crate::control::Command;
use crate::page::{from_here, page};
use crate::server::Shared;
use crate::state::World;
use crate::web::{Answer, Ask, Pairs, encoded, html};

pub(crate) const PATH: &str = "/human";

const COOKIE: &str = "desk";

/// Fields of forms that are numbers in commands.
const NUMBERS: [&str; 4] = ["retry_after", "status", "code", "left"];

/// What the page may order.
const COMMANDS: [&str; 5] = ["say", "mail", "meeting", "fault", "clear"];

/// `/human`.
pub(crate) fn answer(shared: &Shared, world: &mut World, ask: &Ask) -> Answer {
    let token = shared.control_token.reveal();
    match ask.method {
        Method::GET if ask.query.get("token").is_some() => enter(ask.query.get("token"), token),
        Method::POST if from_here(ask) && !may(ask, token) => {
            enter(ask.form().get("token").map(str::trim), token)
        }
        _ if !may(ask, token) => door(""),
        Method::GET => view::desk(shared, world, &ask.query, ""),
        Method::POST if from_here(ask) => post(shared, world, &ask.form()),
        _ => page(405, "Not possible", "<p>Open this page in a browser.</p>"),
    }
}

/// Whether the request shows the token.
fn may(ask: &Ask, token: &str) -> bool {
    let cookies = ask.header("cookie").unwrap_or_default().split(';');
    cookies
        .filter_map(|cookie| cookie.trim().split_once('='))
        .any(|(name, value)| name == COOKIE && value == encoded(token))
}

fn enter(shown: Option<&str>, token: &str) -> Answer {
    if shown != Some(token) {
        return door("That is not the token.");
    }
    let cookie = format!(
        "{COOKIE}={}; Path={PATH}; Secure; HttpOnly; SameSite=Strict",
        encoded(token)
    );
    Answer::empty(303)
        .with("location", PATH)
        .with("set-cookie", cookie)
        .with("cache-control", "no-store")
        .with("referrer-policy", "no-referrer")
}

fn door(error: &str) -> Answer {
    let alert = match error {
        "" => String::new(),
        error => format!("<p role=\"alert\">{}</p>", html(error)),
    };
    let body = format!(
        "{alert}<p>Open the link that <code>legation dev-tenant ctl desk</code> prints, or enter \
         the token that stands in <code>control.json</code>.</p>\
         <form method=\"post\" action=\"{PATH}\">\
         <label for=\"token\">Token</label>\
         <input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"off\" required>\
         <button type=\"submit\">Enter</button></form>"
    );
    page(if error.is_empty() { 200 } else { 401 }, "The human", &body)
}

/// Does what a form asks for, and shows the desk again.
fn post(shared: &Shared, world: &mut World, form: &Pairs) -> Answer {
    let name = form.get("do").unwrap_or_default();
    let wanted = form.get("tenant").unwrap_or("first");
    let done = match world.tenant(wanted).map(|tenant| tenant.id.clone()) {
        _ if !COMMANDS.contains(&name) => Err(format!("there is no command {name}")),
        None => Err(format!("there is no tenant {wanted}")),
        Some(tenant) => {
            let command = Command {
                shared,
                world,
                tenant,
                body: body(form),
            };
            command.run(name)
        }
    };
    if let Err(why) = done {
        return view::desk(shared, world, form, &why);
    }
    let user = form.get("user").unwrap_or_default();
    let (tenant, user) = (encoded(wanted), encoded(user));
    Answer::empty(303)
        .with(
            "location",
            format!("{PATH}?tenant={tenant}&user={user}&done={name}#{name}"),
        )
        .with("cache-control", "no-store")
}

/// A form as the body of a command. Empty fields are left out.
fn body(form: &Pairs) -> Value {
    let mut body = Map::new();
    for (name, value) in form.0.iter().filter(|(_, value)| !value.trim().is_empty()) {
        let number = value.trim().parse::<u64>().ok();
        let value = match (name.as_str(), number) {
            (name, Some(number)) if NUMBERS.contains(&name) || name == "id" => json!(number),
            ("left", None) => json!(true),
            // A browser's own control for times knows no zone; the page says that it is UTC.
            ("start" | "end", _) => json!(format!("{}:00Z", value.trim())),
            _ => json!(value.replace("\r\n", "\n")),
        };
        body.insert(name.clone(), value);
    }
    Value::Object(body)
}
