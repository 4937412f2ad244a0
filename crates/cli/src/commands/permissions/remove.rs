//! `legation permissions remove`.

use clap::Args;
use serde::Serialize;
use toml_edit::Table;

use crate::{CliError, Context, Exit};

/// Arguments of `legation permissions remove`.
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// Which rule.
    id: String,

    /// Show what would be removed, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct Removed {
    id: String,
    rule: String,
    dry_run: bool,
    undo: String,
}

pub(super) fn cmd_remove(context: &Context, args: &RemoveArgs) -> Result<(), CliError> {
    // Two at once would each write the file without the other's change.
    let _lock = context.home.edit_lock()?;
    let (before, mut document) = super::document(context)?;
    let unknown = || {
        CliError::new(
            Exit::Failed,
            format!("there is no rule {:?}, nothing was changed", args.id),
        )
        .with_hint("`legation permissions list` shows the rules")
    };
    let all = super::rules(&mut document).ok_or_else(unknown)?;
    let at = all
        .iter()
        .position(|table| text(table, "id") == args.id)
        .ok_or_else(unknown)?;
    let (rule, undo) = all
        .get(at)
        .map(|table| (text(table, "rule").to_owned(), undo(table)))
        .ok_or_else(unknown)?;
    all.remove(at);
    let after = document.to_string();
    super::check(context, &after)?;
    if !args.dry_run {
        super::write(context, &before, &after)?;
    }
    let removed = Removed {
        id: args.id.clone(),
        rule,
        dry_run: args.dry_run,
        undo,
    };
    context.output.result(&removed, |removed| {
        let done = if removed.dry_run { "would be" } else { "was" };
        format!(
            "{} {done} removed: {}\nto bring it back: {}",
            removed.id,
            crate::table::printable(&removed.rule),
            crate::table::printable(&removed.undo)
        )
    })
}

fn text<'t>(table: &'t Table, key: &str) -> &'t str {
    table.get(key).and_then(|item| item.as_str()).unwrap_or("")
}

/// The command that writes the rule again.
fn undo(table: &Table) -> String {
    let mut command = format!(
        "legation permissions add --id {} {}",
        text(table, "id"),
        quoted(text(table, "rule"))
    );
    for (key, option) in [("match", "--match"), ("no_match", "--no-match")] {
        let examples = table.get(key).and_then(|item| item.as_array());
        for example in examples
            .into_iter()
            .flatten()
            .filter_map(|one| one.as_str())
        {
            command.push_str(&format!(" {option} {}", quoted(example)));
        }
    }
    let folder = text(table, "folder");
    if !folder.is_empty() {
        command.push_str(&format!(" --folder {}", quoted(folder)));
    }
    if let Some(since) = table.get("since").and_then(|item| item.as_datetime()) {
        command.push_str(&format!(" --since {since}"));
    }
    command
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
