//! All cells of the matrix.

use legation_policy::governance::native_tools;
use legation_policy::{Origin, PinState, Verb};
use serde_json::{Value, json};

use super::ask::{Actor, Ask, Call, Cell};
use super::world::{FOLDER, LATER_MS, NOW_MS};

const fn actor(client: &'static str) -> Actor {
    Actor {
        client,
        for_whom: None,
    }
}

const OWNER: Actor = actor("owner");
const CLAUDE: Actor = actor("claude");
const CARE: Actor = actor("meadow-agent");
const TERMINAL: Actor = actor("admin-terminal");

/// Everybody, with a name for the table.
pub(crate) const ACTORS: [(&str, Actor); 9] = [
    ("owner", OWNER),
    ("claude", CLAUDE),
    ("codex", actor("codex")),
    ("copilot", actor("copilot")),
    ("meadow-agent", CARE),
    ("admin-terminal", TERMINAL),
    ("stranger", actor("stranger")),
    (
        "codex for claude",
        Actor {
            client: "codex",
            for_whom: Some("claude"),
        },
    ),
    (
        "claude for owner",
        Actor {
            client: "claude",
            for_whom: Some("owner"),
        },
    ),
];

/// What an argument may name.
pub(crate) const ENTITIES: [&str; 7] = [
    "harbor", "meadow", "quarry", "personal", "all", "nobody", "none",
];

fn of(entity: &str) -> String {
    match entity {
        "none" => "{}".to_owned(),
        name => json!({ "profile_id": name }).to_string(),
    }
}

/// Every cell, in the order of the table.
pub(crate) fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    native(&mut cells);
    certified(&mut cells);
    layers(&mut cells);
    super::desk::cells(&mut cells);
    mail(&mut cells);
    texts(&mut cells);
    words_of_entities(&mut cells);
    money(&mut cells);
    conversations(&mut cells);
    upstream(&mut cells);
    results(&mut cells);
    providers(&mut cells);
    people(&mut cells);
    cells
}

pub(crate) fn cell(cells: &mut Vec<Cell>, part: &'static str, line: &str, column: &str, ask: Ask) {
    cells.push(Cell {
        part,
        line: line.to_owned(),
        column: column.to_owned(),
        ask,
    });
}

fn native(cells: &mut Vec<Cell>) {
    for (name, actor) in ACTORS {
        for tool in native_tools() {
            let tool = format!("{}/{}", tool.server, tool.tool);
            for entity in ENTITIES {
                let call = Call::new(actor, &tool, of(entity));
                let line = format!("{name}: {tool}");
                cell(cells, "calls", &line, entity, Ask::Call(call));
            }
        }
    }
}

/// The rung that only a person's proof reaches, and the one that confidence
/// does.
fn certified(cells: &mut Vec<Cell>) {
    for (name, actor) in ACTORS {
        for tool in native_tools().filter(|tool| tool.native_change) {
            let tool = format!("{}/{}", tool.server, tool.tool);
            let call = |certified, confidence| Call {
                certified,
                confidence,
                ..Call::new(
                    actor,
                    &tool,
                    of(if actor == CARE { "meadow" } else { "harbor" }),
                )
            };
            let line = format!("{name}: {tool}");
            for (column, call) in [
                ("certified", call(true, None)),
                ("sure", call(false, Some(0.8))),
                ("unsure", call(false, Some(0.79))),
            ] {
                cell(cells, "rungs", &line, column, Ask::Call(call));
            }
        }
    }
}

/// What each layer would say by itself, also where an earlier one decides.
fn layers(cells: &mut Vec<Cell>) {
    for (name, actor) in ACTORS {
        for entity in ENTITIES {
            for tool in [
                "desk/mail_list",
                "desk/status",
                "desk/calendar_event_create",
                "hub/servers",
                "teams/send",
                "workspace/edit",
            ] {
                let call = Call::new(actor, tool, of(entity));
                let line = format!("{name}: {tool}");
                cell(cells, "layers", &line, entity, Ask::Explain(call));
            }
        }
    }
}

fn message(entity: &str, to: &str, body: &str) -> String {
    json!({ "profile_id": entity, "to": [to], "subject": "Figures", "body_html": body }).to_string()
}

const WRITERS: [&str; 4] = [
    "desk/draft_email",
    "desk/draft_generate",
    "desk/calendar_event_create",
    "audit/log",
];

/// Each recipient, account, keyword and text that the files speak of, with
/// near misses.
fn mail(cells: &mut Vec<Cell>) {
    for (entity, to) in [
        ("harbor", "jordan@harbor.example.com"),
        ("harbor", "anybody@harbor.example.com"),
        ("harbor", "jordan@meadow.example.com"),
        ("harbor", "intake@meadow.example.com"),
        ("harbor", "jordan@personal.example.com"),
        ("harbor", "partner@counsel.example.net"),
        ("harbor", "reviewer@auditor.example.net"),
        ("harbor", "reviewer@auditor.example.org"),
        ("quarry", "partner@counsel.example.net"),
        ("quarry", "jordan@harbor.example.com"),
        ("meadow", "jordan@meadow.example.com"),
        ("meadow", "intake@meadow.example.com"),
        ("meadow", "reviewer@auditor.example.net"),
        ("meadow", "partner@counsel.example.net"),
        ("personal", "jordan@personal.example.com"),
        ("personal", "anybody@personal.example.com"),
        ("harbor-m365", "jordan@harbor.example.com"),
        ("meadow-m365", "intake@meadow.example.com"),
        ("personal-m365", "jordan@personal.example.com"),
        ("quarry-m365", "jordan@harbor.example.com"),
        ("harbor", "harbor@shared.example.org"),
        ("meadow", "meadow@shared.example.org"),
        ("personal", "personal@shared.example.org"),
    ] {
        for tool in WRITERS {
            let call = Call::new(OWNER, tool, message(entity, to, "Attached."));
            let line = format!("{entity} to {to}");
            cell(cells, "recipients", &line, tool, Ask::Explain(call));
        }
    }
}

/// Each text and keyword, with near misses.
fn texts(cells: &mut Vec<Cell>) {
    for (to, body) in [
        (
            "jordan@personal.example.com",
            "Attorney-client privileged: attached.",
        ),
        (
            "jordan@harbor.example.com",
            "ATTORNEY-CLIENT  PRIVILEGED: attached.",
        ),
        (
            "partner@counsel.example.net",
            "Attorney-client privileged: attached.",
        ),
        (
            "anybody@harbor.example.com",
            "Attorney-client privileged: attached.",
        ),
        ("anybody@harbor.example.com", "Attorney and client met."),
        ("jordan@harbor.example.com", "Harbor Partners wrote."),
        ("jordan@harbor.example.com", "The data room is open."),
        (
            "jordan@harbor.example.com",
            "The letter of intent is signed.",
        ),
        ("jordan@harbor.example.com", "Quarry Holdings wrote."),
        ("jordan@harbor.example.com", "Meadow Care wrote."),
        ("jordan@harbor.example.com", "The resident wrote."),
        ("jordan@harbor.example.com", "The care plan came."),
        (
            "jordan@harbor.example.com",
            "See meadow.example.com for it.",
        ),
        (
            "jordan@harbor.example.com",
            "See personal.example.com for it.",
        ),
        (
            "jordan@harbor.example.com",
            "The residential market is slow.",
        ),
        ("jordan@harbor.example.com", "Avery Placeholder, room 204"),
        ("jordan@harbor.example.com", "The room is free."),
    ] {
        for tool in WRITERS {
            let call = Call::new(OWNER, tool, message("harbor", to, body));
            cell(
                cells,
                "texts",
                &format!("to {to}: {body}"),
                tool,
                Ask::Explain(call),
            );
        }
    }
}

/// A word adds its entity: what an agent without it may not do shows which.
fn words_of_entities(cells: &mut Vec<Cell>) {
    let words = [
        "Harbor Partners",
        "data room",
        "letter of intent",
        "harbor.example.com",
        "Meadow Care",
        "resident",
        "care plan",
        "meadow.example.com",
        "Quarry Holdings",
        "personal.example.com",
    ];
    for word in words {
        for entity in ["harbor", "meadow", "quarry", "personal"] {
            let text = json!({ "profile_id": entity, "note": word }).to_string();
            let call = Call::new(OWNER, "audit/log", text);
            cell(cells, "words", word, entity, Ask::Call(call));
        }
    }
    for (line, phi) in [("found", Some(true)), ("not found", Some(false))] {
        for entity in ["harbor", "meadow"] {
            let mail = message(entity, "jordan@harbor.example.com", "Avery, room 204");
            let call = Call {
                unredacted_phi: phi,
                ..Call::new(OWNER, "audit/log", mail)
            };
            cell(cells, "health", line, entity, Ask::Explain(call));
        }
    }
}

fn money(cells: &mut Vec<Cell>) {
    let pay = |amount: Value| json!({ "profile_id": "harbor", "amount": amount }).to_string();
    for (name, actor) in [("owner", OWNER), ("claude", CLAUDE)] {
        for (tool, arguments) in [
            ("books/pay_invoice", pay(json!(950))),
            ("books/pay_invoice", pay(json!(1000))),
            ("books/pay_invoice", pay(json!(1001))),
            ("books/pay_invoice", pay(json!("2,500.00"))),
            ("books/pay_invoice", pay(json!(9001))),
            ("broker/execute_trade", "{}".to_owned()),
            ("broker/place_order", "{}".to_owned()),
            ("broker/wire_funds", "{}".to_owned()),
            ("broker/quote", "{}".to_owned()),
        ] {
            let call = Call::new(actor, tool, arguments.clone());
            let line = format!("{tool} {arguments}");
            cell(cells, "money", &line, name, Ask::Explain(call));
        }
    }
}

const PAIRS: [&[&str]; 10] = [
    &["harbor"],
    &["meadow"],
    &["quarry"],
    &["personal"],
    &["harbor", "meadow"],
    &["harbor", "quarry"],
    &["harbor", "personal"],
    &["meadow", "quarry"],
    &["meadow", "personal"],
    &["quarry", "personal"],
];

/// What a conversation holds already, and what is added to it.
fn conversations(cells: &mut Vec<Cell>) {
    for holds in PAIRS {
        for entity in ["harbor", "meadow", "quarry", "personal", "none"] {
            let call = Call {
                holds,
                ..Call::new(OWNER, "audit/log", of(entity))
            };
            let line = format!("holds {}", holds.join("+"));
            cell(cells, "meets", &line, entity, Ask::Explain(call));
        }
        for (name, actor) in ACTORS {
            let line = format!("holds {}", holds.join("+"));
            for (part, tool) in [("delegates", "hub/servers"), ("asks", "teams/send")] {
                let call = Call {
                    holds,
                    ..Call::new(actor, tool, "{}")
                };
                cell(cells, part, &line, name, Ask::Call(call));
            }
        }
    }
}

fn upstream(cells: &mut Vec<Cell>) {
    let shapes = [
        ("reviewed", true, PinState::Approved, Origin::User),
        ("reviewed, new", true, PinState::New, Origin::User),
        ("not reviewed, new", false, PinState::New, Origin::User),
        ("changed", true, PinState::Changed, Origin::User),
        ("set aside", true, PinState::Quarantined, Origin::User),
        (
            "of a folder",
            false,
            PinState::Approved,
            Origin::Workspace(FOLDER.into()),
        ),
    ];
    for (name, actor) in ACTORS {
        for tool in [
            "files/read_file",
            "files/write_file",
            "broker/quote",
            "other/tool",
        ] {
            for (column, trusted, pin, origin) in shapes.clone() {
                let mut call = Call::new(actor, tool, "{}");
                call.target.trusted = trusted;
                call.target.pin = pin;
                call.target.origin = origin;
                let line = format!("{name}: {tool}");
                cell(cells, "upstream", &line, column, Ask::Call(call));
            }
            let call = Call {
                workspace: Some(FOLDER),
                ..Call::new(actor, tool, "{}")
            };
            let line = format!("{name}: {tool}");
            cell(cells, "upstream", &line, "in the folder", Ask::Call(call));
        }
    }
    for tool in [
        "files/read_file",
        "broker/quote",
        "desk/mail_list",
        "hub/servers",
        "audit/query",
    ] {
        for verb in Verb::ALL {
            let mut call = Call::new(OWNER, tool, of("harbor"));
            call.target.verb = verb;
            cell(cells, "verbs", tool, verb.as_str(), Ask::Explain(call));
        }
    }
    for entity in ENTITIES {
        let mut call = Call::new(OWNER, "teams/send", of(entity));
        call.target.verb = Verb::TaskUpdate;
        cell(cells, "tasks", "teams/send", entity, Ask::Call(call));
    }
}

/// What becomes of results.
fn results(cells: &mut Vec<Cell>) {
    let long = "a brief ".repeat(2_600);
    let readers = [
        ("owner", OWNER, "harbor"),
        ("claude", CLAUDE, "harbor"),
        ("codex", actor("codex"), "harbor"),
        ("copilot", actor("copilot"), "harbor"),
        ("meadow-agent", CARE, "meadow"),
        ("admin-terminal", TERMINAL, "none"),
        ("visitor", actor("visitor"), "none"),
    ];
    let texts: [(&str, &str, &'static [&'static str], Option<bool>); 11] = [
        ("plain", "Two meetings.", &[], None),
        ("of harbor", "Two meetings.", &["harbor"], None),
        ("of meadow", "Two meetings.", &["meadow"], None),
        ("health signs", "Born on 1941-03-05, MRN 100001", &[], None),
        ("health found", "Two meetings.", &[], Some(true)),
        (
            "OPENSSH key",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            &[],
            None,
        ),
        ("RSA key", "-----BEGIN RSA PRIVATE KEY-----", &[], None),
        ("private key", "-----BEGIN PRIVATE KEY-----", &[], None),
        ("public key", "-----BEGIN PUBLIC KEY-----", &[], None),
        ("filler", "LOREM IPSUM dolor", &[], None),
        ("long", &long, &[], None),
    ];
    for (name, actor, entity) in readers {
        for tool in [
            "desk/morning_brief",
            "desk/eod_digest",
            "desk/mail_list",
            "audit/query",
        ] {
            for (column, text, holds, phi) in texts {
                let call = Call::new(actor, tool, of(entity));
                let ask = Ask::Result(call, text.to_owned(), holds, phi);
                cell(cells, "results", &format!("{name}: {tool}"), column, ask);
            }
        }
    }
}

fn providers(cells: &mut Vec<Cell>) {
    let whose: [(&str, Option<&'static [&'static str]>); 9] = [
        ("nobody's", Some(&[])),
        ("harbor", Some(&["harbor"])),
        ("meadow", Some(&["meadow"])),
        ("quarry", Some(&["quarry"])),
        ("personal", Some(&["personal"])),
        ("harbor+quarry", Some(&["harbor", "quarry"])),
        ("meadow+quarry", Some(&["meadow", "quarry"])),
        ("unknown", Some(&["nobody"])),
        ("all", None),
    ];
    for (line, labels) in whose {
        for (column, job, copilot, now_ms) in [
            ("any job", None, false, NOW_MS),
            ("after the agreement", None, false, LATER_MS),
            ("digest", Some("digest"), false, NOW_MS),
            ("hook without token", Some("hook"), false, NOW_MS),
            ("hook with token", Some("hook"), true, NOW_MS),
        ] {
            let ask = Ask::Provider {
                labels,
                job,
                copilot,
                now_ms,
            };
            cell(cells, "providers", line, column, ask);
        }
    }
}

/// Who may see what, and whose names are taken out of it.
fn people(cells: &mut Vec<Cell>) {
    for (name, actor) in ACTORS
        .into_iter()
        .filter(|(_, actor)| actor.for_whom.is_none())
    {
        for labels in PAIRS {
            let ask = Ask::Clearance(actor.client, labels);
            cell(cells, "clearances", name, &labels.join("+"), ask);
        }
    }
    for entity in ["harbor", "meadow", "quarry", "personal"] {
        cell(cells, "redaction", entity, "", Ask::Redaction(entity));
    }
    cell(cells, "checklist", "all", "", Ask::Checklist);
    for login in ["jordan-example", "Jordan-Example", "somebody"] {
        cell(cells, "logins", login, "", Ask::Login(login));
    }
}
