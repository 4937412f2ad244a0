//! `legation mcp remove`.

use clap::Args;
use legation_config::edit::{self, Change};
use legation_core::ServerName;
use serde::Serialize;

use crate::{CliError, Context};

/// Arguments of `legation mcp remove`.
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// Which server.
    #[arg(required_unless_present = "undo")]
    name: Option<String>,

    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,

    /// Take back the last change of mcp.json instead.
    #[arg(long, conflicts_with_all = ["name", "dry_run"])]
    undo: bool,
}

#[derive(Debug, Serialize)]
struct Removed {
    file: String,
    dry_run: bool,
    undone: bool,
}

pub(crate) fn cmd_remove(context: &Context, args: &RemoveArgs) -> Result<(), CliError> {
    let edited = match &args.name {
        None => edit::undo(&context.home),
        Some(name) => {
            let name = ServerName::parse(name).map_err(|error| CliError::usage(&error))?;
            let change = Change::Remove { name: name.clone() };
            if args.dry_run {
                edit::preview(&context.home, &change)
            } else {
                super::tell_calls(context, Some(name.as_str()));
                edit::apply(&context.home, &change)
            }
        }
    }
    .map_err(|error| super::edit_failed(&error))?;
    if !args.dry_run {
        let gone = args.name.as_deref();
        super::settle(context, |list| {
            list.servers
                .iter()
                .all(|server| Some(server.name.as_str()) != gone)
        });
        super::tidy_bundles(context);
    }
    let removed = Removed {
        file: edited.file.display().to_string(),
        dry_run: args.dry_run,
        undone: args.undo,
    };
    context.output.result(&removed, |removed| {
        match (removed.undone, removed.dry_run) {
            (true, _) => format!("{} is as it was before the last change", removed.file),
            (false, true) => format!("would be removed from {}", removed.file),
            (false, false) => format!(
                "removed from {}; `legation mcp remove --undo` brings it back",
                removed.file
            ),
        }
    })
}

#[cfg(test)]
impl RemoveArgs {
    /// To remove this server, or to take the last change back.
    pub(super) fn of(name: Option<&str>) -> Self {
        Self {
            name: name.map(str::to_owned),
            dry_run: false,
            undo: name.is_none(),
        }
    }
}
