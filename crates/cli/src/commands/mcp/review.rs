//! `legation mcp review`.

use clap::Args;
use legation_api::mcp::{Decide, Looked, Review, ReviewAnswer, Waiting};
use serde::Serialize;

use crate::commands::running_hub;
use crate::table::printable;
use crate::{CliError, Context, Exit};

/// Arguments of `legation mcp review`.
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// Only this server's definitions.
    server: Option<String>,
    /// Agree to what is shown, so that it may be used.
    #[arg(long, conflicts_with = "reject")]
    accept: bool,
    /// Refuse what is shown; what was agreed to before stays agreed to.
    #[arg(long)]
    reject: bool,
    /// Only these tools, prompts or templates.
    #[arg(long = "item", value_name = "NAME")]
    items: Vec<String>,
    /// Say what would be decided, and decide nothing.
    #[arg(long)]
    dry_run: bool,
}

/// What was shown, and whether it was decided.
#[derive(Debug, Serialize)]
struct Reviewed {
    waiting: Vec<Waiting>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided: Option<&'static str>,
}

pub(crate) fn cmd_review(context: &Context, args: &ReviewArgs) -> Result<(), CliError> {
    let mut client = running_hub(context)?;
    let ReviewAnswer { mut waiting } = client.call(&Review {
        server: args.server.clone(),
    })?;
    if let Some(missing) = args
        .items
        .iter()
        .find(|item| !waiting.iter().any(|one| one.item == **item))
    {
        let message = format!("nothing named {missing:?} waits; nothing was changed");
        return Err(CliError::new(Exit::Failed, message)
            .with_hint("`legation mcp review` shows what waits"));
    }
    if !args.items.is_empty() {
        waiting.retain(|one| args.items.contains(&one.item));
    }
    let decides = (args.accept || args.reject) && !args.dry_run && !waiting.is_empty();
    if decides {
        let looked = waiting.iter().map(|one| Looked {
            server: one.server.clone(),
            kind: one.kind.clone(),
            item: one.item.clone(),
            now: one.now.clone(),
        });
        client.call(&Decide {
            definitions: looked.collect(),
            accept: args.accept,
        })?;
    }
    let decided = decides.then_some(if args.accept { "accepted" } else { "rejected" });
    let reviewed = Reviewed { waiting, decided };
    context.output.result(&reviewed, render)
}

fn render(reviewed: &Reviewed) -> String {
    let Reviewed { waiting, decided } = reviewed;
    if waiting.is_empty() {
        return "nothing waits: every definition is what was agreed to".to_owned();
    }
    if let Some(decided) = decided {
        let names: Vec<String> = waiting.iter().map(title).collect();
        return format!("{decided}: {}", names.join(", "));
    }
    let mut text = String::new();
    for one in waiting {
        text.push_str(&format!(
            "{} is {}, first seen {}\n",
            title(one),
            one.state,
            one.first_seen
        ));
        for finding in &one.findings {
            text.push_str(&indented("! ", finding));
        }
        text.push_str(&difference(one));
        text.push('\n');
    }
    text.push_str("`--accept` agrees to all of this, `--reject` refuses it; `--item NAME` picks.");
    text
}

/// `server/item (tool)`, with nothing in it that could repaint a terminal.
fn title(one: &Waiting) -> String {
    let name = if one.item.is_empty() {
        one.server.clone()
    } else {
        format!("{}/{}", one.server, one.item)
    };
    printable(&format!("{name} ({})", one.kind))
}

fn difference(one: &Waiting) -> String {
    let now = pretty(&one.now);
    let Some(before) = &one.before else {
        return indented("  ", &now);
    };
    let before = pretty(before);
    let mut text = String::new();
    for change in similar::TextDiff::from_lines(&before, &now).iter_all_changes() {
        let sign = match change.tag() {
            similar::ChangeTag::Delete => "- ",
            similar::ChangeTag::Insert => "+ ",
            similar::ChangeTag::Equal => "  ",
        };
        text.push_str(&indented(sign, change.value()));
    }
    text
}

/// JSON over several lines, so that a difference shows its member; other text
/// as it is.
fn pretty(text: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let mut pretty = value
        .and_then(|value| serde_json::to_string_pretty(&value).ok())
        .unwrap_or_else(|| text.to_owned());
    if !pretty.ends_with('\n') {
        pretty.push('\n');
    }
    pretty
}

fn indented(sign: &str, text: &str) -> String {
    text.lines()
        .map(|line| format!("{sign}{}\n", printable(line)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(before: Option<&str>, now: &str) -> Waiting {
        Waiting {
            server: "files".to_owned(),
            kind: "tool".to_owned(),
            item: "read".to_owned(),
            state: "changed".to_owned(),
            before: before.map(str::to_owned),
            now: now.to_owned(),
            findings: Vec::new(),
            first_seen: "2026-01-01T00:00:00.000Z".to_owned(),
        }
    }

    #[test]
    fn a_change_is_shown_by_its_member_and_repaints_nothing() {
        let before = r#"{"name":"read","description":"Reads a file"}"#;
        let now = "{\"name\":\"read\",\"description\":\"Reads a file\\u001b[2J\u{202e}\"}";
        let text = difference(&one(Some(before), now));
        expect_test::expect![[r#"
              {
                "name": "read",
            -   "description": "Reads a file"
            +   "description": "Reads a file\u001b[2J\u{202e}"
              }
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn what_waits_is_listed_and_what_was_decided_is_named() {
        let reviewed = |waiting, decided| render(&Reviewed { waiting, decided });
        assert!(reviewed(Vec::new(), None).starts_with("nothing waits"));
        let text = reviewed(vec![one(None, "\"plain\"")], None);
        assert!(text.starts_with("files/read (tool) is changed"), "{text}");
        let mut odd = one(None, "\"plain\"");
        odd.findings = vec!["orders to the model: \u{1b}[2J".to_owned()];
        let text = reviewed(vec![odd], None);
        assert!(
            text.contains("! orders to the model: \\u{1b}[2J\n"),
            "{text}"
        );
        let text = reviewed(vec![one(None, "{}")], Some("accepted"));
        assert_eq!(text, "accepted: files/read (tool)");
    }
}
