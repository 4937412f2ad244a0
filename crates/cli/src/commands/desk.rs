//! `legation desk`: what the owner does at the desk. What tools do is called through the gate like
//! any call; what only the owner does is a method of the administration.

mod act;
mod init;

use clap::{Args, Subcommand, ValueEnum};
use legation_api::desk::{File, FileAnswer, FilingState, Filings, FilingsAnswer, Reject, Unfile};
use legation_api::mcp::Call;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::commands::running_hub;
use crate::table::{Table, printable, printable_lines};
use crate::{CliError, Context, Exit};

/// The commands of `legation desk`.
#[derive(Debug, Subcommand)]
pub enum DeskCommand {
    /// Write the files that govern the desk, where they are missing.
    Init(init::InitArgs),
    /// Show how the desk stands.
    Status,
    /// Show the day's brief.
    Brief(Whose),
    /// Show what was done today and what is open.
    Digest(Whose),
    /// List deals.
    Deals {
        #[command(flatten)]
        whose: Whose,
        /// Only those in this stage.
        #[arg(long)]
        stage: Option<String>,
    },
    /// Show a deal and what happened to it.
    Deal {
        /// Which one, as `deals` shows it.
        id: String,
    },
    /// Do something to a deal.
    Act(act::ActArgs),
    /// List suggestions where to file.
    Filings {
        /// Only of this entity.
        #[arg(long)]
        entity: Option<String>,
        /// Only those that stand so.
        #[arg(long)]
        state: Option<State>,
    },
    /// File a letter as suggested.
    File(Which),
    /// Move a letter back to where it was before it was filed.
    Unfile(Which),
    /// Refuse a suggestion.
    Reject {
        /// Which one, as `filings` shows it.
        id: String,
    },
    /// List what waits to be sorted, with what you are asked.
    Triage {
        #[command(flatten)]
        whose: Whose,
        /// `open`, `classified`, `linked`, `done` or `dismissed`.
        #[arg(long, default_value = "open")]
        state: String,
    },
    /// Sort an item: answer what you are asked about it.
    Sort(Sort),
}

/// Whose.
#[derive(Debug, Args)]
pub struct Whose {
    /// Only of this entity.
    #[arg(long, default_value = "all")]
    entity: String,
}

/// A suggestion.
#[derive(Debug, Args)]
pub struct Which {
    /// Which one, as `filings` shows it.
    id: String,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
}

/// How an item is sorted.
#[derive(Debug, Args)]
pub struct Sort {
    /// Which one, as `triage` shows it.
    id: String,
    /// What it is about, as `urgency_rules.json` names it.
    #[arg(long)]
    category: Option<String>,
    /// `low`, `normal`, `high` or `critical`.
    #[arg(long)]
    urgency: Option<String>,
    /// The deal it belongs to.
    #[arg(long)]
    deal: Option<String>,
    /// Whose it is, where nobody said yet.
    #[arg(long)]
    entity: Option<String>,
    /// `open`, `classified`, `done` or `dismissed`.
    #[arg(long)]
    state: Option<String>,
    /// Why.
    #[arg(long)]
    reason: Option<String>,
}

/// How a suggestion stands.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum State {
    /// Nobody decided.
    Proposed,
    /// The letter lies there.
    Filed,
    /// It was taken back.
    Undone,
    /// It is not wanted.
    Rejected,
}

/// What is read of a tool's answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Called {
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    content: Vec<Said>,
    #[serde(default)]
    structured_content: Option<Value>,
}

#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    text: String,
}

pub(crate) fn cmd_desk(context: &Context, command: DeskCommand) -> Result<(), CliError> {
    let whole = |tool: &str, arguments: Value| {
        let answer = call(context, tool, &arguments)?;
        context.output.result(&answer, whole)
    };
    match command {
        DeskCommand::Init(args) => init::cmd_init(context, &args),
        DeskCommand::Status => whole("status", json!({})),
        DeskCommand::Brief(whose) => {
            whole("morning_brief", json!({ "entity_context": whose.entity }))
        }
        DeskCommand::Digest(whose) => {
            whole("eod_digest", json!({ "entity_context": whose.entity }))
        }
        DeskCommand::Deals { whose, stage } => {
            let wanted = json!({ "entity_context": whose.entity, "stage": stage, "limit": 200 });
            let answer = call(context, "deals_list", &wanted)?;
            let columns = ["deal_id", "entity", "deal_name", "stage", "status"];
            let shown =
                |answer: &Value| listed(&answer["deals"], &columns, "There are no deals.\n");
            context.output.result(&answer, shown)
        }
        DeskCommand::Deal { id } => {
            let wanted = json!({ "deal_id": id });
            let deal = call(context, "deal_detail", &wanted)?;
            let happened = call(context, "deal_timeline", &wanted)?;
            let answer = json!({ "deal": deal, "timeline": happened["timeline"] });
            context.output.result(&answer, self::whole)
        }
        DeskCommand::Act(args) => act::cmd_act(context, args),
        DeskCommand::Filings { entity, state } => {
            let state = state.map(State::wire);
            let answer = running_hub(context)?.call(&Filings { entity, state })?;
            context.output.result(&answer, filings)
        }
        DeskCommand::File(Which { id, dry_run }) => {
            let suggestion_id = id;
            let asked = File {
                suggestion_id,
                dry_run,
            };
            let answer = running_hub(context)?.call(&asked)?;
            context.output.result(&answer, filed)
        }
        DeskCommand::Unfile(Which { id, dry_run }) => {
            let suggestion_id = id;
            let asked = Unfile {
                suggestion_id,
                dry_run,
            };
            let answer = running_hub(context)?.call(&asked)?;
            context.output.result(&answer, filed)
        }
        DeskCommand::Reject { id } => {
            let asked = Reject { suggestion_id: id };
            let answer = running_hub(context)?.call(&asked)?;
            let text = format!("{} is refused.\n", printable(&asked.suggestion_id));
            context.output.result(&answer, |_| text)
        }
        DeskCommand::Triage { whose, state } => {
            let wanted = json!({ "entity_context": whose.entity, "state": state, "limit": 200 });
            let answer = call(context, "triage_list", &wanted)?;
            let columns = [
                "item_id", "entity", "urgency", "category", "subject", "question",
            ];
            let shown = |answer: &Value| {
                listed(&answer["items"], &columns, "Nothing waits to be sorted.\n")
            };
            context.output.result(&answer, shown)
        }
        DeskCommand::Sort(sort) => whole("triage_classify", sort.arguments()),
    }
}

/// Calls a tool of the desk as the owner, through the gate.
fn call(context: &Context, tool: &str, arguments: &Value) -> Result<Value, CliError> {
    // What is not given is not said.
    let given: Map<String, Value> = arguments
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let arguments: Box<RawValue> =
        to_raw_value(&given).map_err(|error| CliError::failed(&error))?;
    let asked = Call {
        name: format!("desk/{tool}"),
        arguments,
        workspace: None,
    };
    let answer = running_hub(context)?.call(&asked)?;
    let called: Called =
        serde_json::from_str(answer.result.get()).map_err(|error| CliError::failed(&error))?;
    let texts: Vec<&str> = called.content.iter().map(|part| &*part.text).collect();
    match called.structured_content.filter(|_| !called.is_error) {
        Some(answer) => Ok(answer),
        None => Err(CliError::new(
            Exit::Failed,
            printable_lines(&texts.join("\n")),
        )),
    }
}

/// Rows of what a tool lists.
fn listed(rows: &Value, columns: &[&str], none: &str) -> String {
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.is_empty() {
        return none.to_owned();
    }
    let mut table = Table::new(columns);
    for row in rows {
        let cells = columns.iter().map(|column| match &row[*column] {
            Value::Null => String::new(),
            Value::String(text) => printable(text),
            other => other.to_string(),
        });
        table.row(cells);
    }
    table.render()
}

/// An answer with everything in it, as indented lines.
fn whole(answer: &Value) -> String {
    let mut text = String::new();
    lines(answer, 0, &mut text);
    text
}

fn lines(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let word = |value: &Value| match value {
        Value::Null => Some("none".to_owned()),
        Value::String(text) => Some(printable(text)),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    };
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let key = key.replace('_', " ");
                match word(member) {
                    Some(word) => text.push_str(&format!("{indent}{key}: {word}\n")),
                    None => {
                        text.push_str(&format!("{indent}{key}:\n"));
                        lines(member, depth + 1, text);
                    }
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                match word(item) {
                    Some(word) => text.push_str(&format!("{indent}- {word}\n")),
                    None => {
                        text.push_str(&format!("{indent}-\n"));
                        lines(item, depth + 1, text);
                    }
                }
            }
        }
        other => text.push_str(&format!("{indent}{}\n", word(other).unwrap_or_default())),
    }
}

fn filings(answer: &FilingsAnswer) -> String {
    if answer.filings.is_empty() {
        return "Nothing is suggested.\n".to_owned();
    }
    let mut table = Table::new(&["id", "entity", "state", "folder", "suggested by", "why"]);
    for one in &answer.filings {
        table.row([
            printable(&one.suggestion_id),
            printable(&one.entity),
            printable(&one.state),
            printable(&one.path),
            printable(&one.suggested_by),
            printable(&one.rationale),
        ]);
    }
    table.render()
}

fn filed(answer: &FileAnswer) -> String {
    let folder = printable(&answer.folder);
    match answer.done {
        true => format!("The letter is in {folder}.\n"),
        false => format!("The letter would be moved to {folder}. Nothing was done.\n"),
    }
}

// === impl Sort ===

impl Sort {
    fn arguments(self) -> Value {
        json!({
            "item_id": self.id,
            "category": self.category,
            "urgency": self.urgency,
            "deal_id": self.deal,
            "entity": self.entity,
            "state": self.state,
            "reason": self.reason,
        })
    }
}

// === impl State ===

impl State {
    fn wire(self) -> FilingState {
        match self {
            Self::Proposed => FilingState::Proposed,
            Self::Filed => FilingState::Filed,
            Self::Undone => FilingState::Undone,
            Self::Rejected => FilingState::Rejected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_lines_and_hide_nothing() {
        let answer = json!({ "deal_name": "Ada\u{1b}[2J", "notes": ["one", { "by": "owner" }], "kind": null });
        let shown = whole(&answer);
        assert!(shown.contains("deal name: Ada\\u{1b}[2J\n"), "{shown}");
        assert!(
            shown.contains("notes:\n  - one\n  -\n    by: owner\n"),
            "{shown}"
        );
        assert!(shown.contains("kind: none\n"), "{shown}");
        let rows = json!([{ "id": "a", "count": 2 }]);
        assert!(listed(&rows, &["id", "count", "gone"], "none").contains('2'));
        assert_eq!(listed(&json!([]), &["id"], "none"), "none");
    }
}
