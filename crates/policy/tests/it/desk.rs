//! Cells of the desk: every tool as it is called, with whose data the server says that it is about.

use legation_core::EntityId;
use legation_policy::NativeTool;
use legation_policy::governance::native_tools;
use serde_json::{Value, json};

use super::ask::{Ask, Call, Cell};
use super::cells::{ACTORS, cell};

/// How a tool is told whose data it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// By an account: the server knows whose it is.
    Account,
    /// By a row of the desk's: the server knows whose it is.
    Row,
    /// By a word, which the rules read themselves; without it, of all.
    Context,
    /// By a word, and no other way.
    Named,
    /// It is about nobody's in particular.
    Nothing,
}

/// Every tool, how it is told, and what else it is called with.
fn tools() -> Vec<(&'static str, Told, Value)> {
    use Told::{Account, Context, Named, Nothing, Row};
    let letter =
        json!({"to": ["jordan@harbor.example.com"], "subject": "Notes", "body_html": "See below."});
    let hold =
        json!({"subject": "Visit", "start": "2026-11-25T10:00:00", "end": "2026-11-25T11:00:00"});
    vec![
        ("status", Nothing, json!({})),
        ("doctor", Nothing, json!({})),
        ("deals_list", Context, json!({})),
        ("deal_detail", Row, json!({"deal_id": "deal-1"})),
        ("deal_timeline", Row, json!({"deal_id": "deal-1"})),
        ("deal_create", Named, json!({"deal_name": "Pier 9"})),
        ("morning_brief", Context, json!({})),
        ("eod_digest", Context, json!({})),
        ("mail_list", Account, json!({})),
        ("mail_read", Account, json!({"message_id": "m-1"})),
        (
            "mail_move",
            Account,
            json!({"message_id": "m-1", "destination_folder": "archive"}),
        ),
        ("calendar_list", Account, json!({})),
        ("calendar_event_create", Account, hold),
        ("draft_email", Account, letter),
        ("draft_generate", Account, json!({})),
        ("triage_list", Context, json!({})),
        (
            "triage_classify",
            Row,
            json!({"item_id": "item-1", "state": "done"}),
        ),
        ("filing_suggestion", Row, json!({"item_id": "item-1"})),
        (
            "extraction_deadlines",
            Named,
            json!({"text": "Due on Friday."}),
        ),
        (
            "extraction_deadlines",
            Row,
            json!({"text": "Due on Friday.", "deal_id": "deal-1"}),
        ),
    ]
}

/// What a conversation holds already.
const HOLDS: [(&str, &[&str]); 3] = [
    ("nothing", &[]),
    ("harbor", &["harbor"]),
    ("meadow", &["meadow"]),
];

const WHOSE: [&str; 5] = ["harbor", "meadow", "quarry", "personal", "all"];

/// Everybody calls every tool for everybody, in conversations of nobody's and of each company's.
pub(crate) fn cells(cells: &mut Vec<Cell>) {
    for (name, actor) in ACTORS {
        for (tool, told, arguments) in tools() {
            for (holding, holds) in HOLDS {
                for whose in WHOSE {
                    if !is_asked(told, whose) {
                        continue;
                    }
                    let mut call = Call {
                        holds,
                        ..Call::new(actor, &format!("desk/{tool}"), "{}")
                    };
                    call.target.entity = of_server(told, whose).map(EntityId::new);
                    call.arguments = with(told, whose, &arguments).to_string();
                    call.target.native = Some(facts(tool));
                    let by = match (tool, told) {
                        ("extraction_deadlines", Told::Row) => " of a deal",
                        _ => "",
                    };
                    let line = format!("{name}: {tool}{by}, holding {holding}");
                    cell(cells, "desk", &line, whose, Ask::Call(call));
                }
            }
        }
    }
}

/// Whether there is such a call.
fn is_asked(told: Told, whose: &str) -> bool {
    match told {
        Told::Context | Told::Row => true,
        // No account is everybody's.
        Told::Account | Told::Named => whose != "all",
        Told::Nothing => whose == "harbor",
    }
}

/// What the server says of whose data a call is: a row of nobody's is everybody's, and so is what
/// names nobody.
fn of_server(told: Told, whose: &str) -> Option<&str> {
    match told {
        Told::Account | Told::Row => Some(whose),
        Told::Context => (whose == "all").then_some(whose),
        Told::Named | Told::Nothing => None,
    }
}

fn with(told: Told, whose: &str, arguments: &Value) -> Value {
    let name = match told {
        Told::Account => "profile_id",
        Told::Context if whose != "all" => "entity_context",
        Told::Named => "entity",
        Told::Context | Told::Row | Told::Nothing => return arguments.clone(),
    };
    let mut arguments = arguments.clone();
    arguments[name] = whose.into();
    arguments
}

/// What the server says of a tool: some leave nothing but drafts and suggestions.
fn facts(tool: &str) -> NativeTool {
    let own = native_tools().find(|own| own.server == "desk" && own.tool == tool);
    NativeTool {
        changes: own.expect("a tool of the desk").native_change,
        drafts: matches!(
            tool,
            "draft_email"
                | "draft_generate"
                | "calendar_event_create"
                | "extraction_deadlines"
                | "filing_suggestion"
        ),
    }
}

#[test]
fn every_tool_of_the_desk_is_asked_about() {
    let asked: Vec<&str> = tools().iter().map(|(tool, ..)| *tool).collect();
    let there = native_tools().filter(|own| own.server == "desk");
    let missing: Vec<&str> = there
        .map(|own| own.tool)
        .filter(|tool| !asked.contains(tool))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}
