//! `legation permissions add`.

use clap::Args;
use serde::Serialize;
use toml_edit::{Array, ArrayOfTables, Datetime, Item, Table, value};

use crate::{CliError, Context, Exit};

/// Arguments of `legation permissions add`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// The rule, such as: deny files/write_* because "agents only look".
    rule: String,

    /// Its name, which refusals and records show.
    #[arg(long)]
    id: String,

    /// A call that it must match, as server/tool {"argument": 1}.
    #[arg(long = "match", value_name = "CALL")]
    matches: Vec<String>,

    /// A call that it must not match.
    #[arg(long, value_name = "CALL")]
    no_match: Vec<String>,

    /// The folder of an allow for here.
    #[arg(long, value_name = "DIR")]
    folder: Option<String>,

    /// The moment from which an allow for a time counts.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Check the rule and the file, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct Added {
    id: String,
    dry_run: bool,
    /// What the owner should know about the rules.
    warnings: Vec<String>,
    undo: String,
}

pub(super) fn cmd_add(context: &Context, args: &AddArgs) -> Result<(), CliError> {
    // Two at once would each write the file without the other's change.
    let _lock = context.home.edit_lock()?;
    let (before, mut document) = super::document(context)?;
    let mut table = Table::new();
    table.insert("id", value(&args.id));
    table.insert("rule", value(&args.rule));
    if let Some(since) = &args.since {
        let since: Datetime = since.parse().map_err(|_| {
            CliError::new(Exit::Usage, format!("{since:?} is no time"))
                .with_hint("write 2026-11-21T10:00:00Z")
        })?;
        table.insert("since", value(since));
    }
    if let Some(folder) = &args.folder {
        table.insert("folder", value(folder));
    }
    for (key, examples) in [("match", &args.matches), ("no_match", &args.no_match)] {
        if !examples.is_empty() {
            table.insert(key, value(examples.iter().collect::<Array>()));
        }
    }
    let all = document
        .entry("rule")
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let Some(all) = all.as_array_of_tables_mut() else {
        return Err(CliError::new(
            Exit::Usage,
            "the rules are not written as [[rule]]; nothing was changed",
        ));
    };
    all.push(table);
    let after = document.to_string();
    let warnings = super::check(context, &after)?;
    if !args.dry_run {
        super::write(context, &before, &after)?;
    }
    let added = Added {
        id: args.id.clone(),
        dry_run: args.dry_run,
        warnings,
        undo: format!("legation permissions remove {}", args.id),
    };
    for warning in &added.warnings {
        context
            .output
            .say(&format!("warning: {}", crate::table::printable(warning)));
    }
    context.output.result(&added, |added| {
        if added.dry_run {
            format!("{} would be added", added.id)
        } else {
            format!("{} was added; `{}` takes it back", added.id, added.undo)
        }
    })
}
