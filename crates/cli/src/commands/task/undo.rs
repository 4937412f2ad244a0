//! `legation task undo`.

use clap::Args;
use legation_api::tasks::{Undo, UndoAnswer};

use crate::commands::running_hub;
use crate::table::printable;
use crate::{CliError, Context};

/// Arguments of `legation task undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// Its id, or a beginning of it that no other has.
    id: String,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn cmd_undo(context: &Context, args: &UndoArgs) -> Result<(), CliError> {
    let answer = running_hub(context)?.call(&Undo {
        task_id: args.id.clone(),
        dry_run: args.dry_run,
    })?;
    context
        .output
        .result(&answer, |answer| render(answer, args.dry_run))
}

pub(super) fn render(answer: &UndoAnswer, dry_run: bool) -> String {
    let (restored, removed) = match dry_run {
        true => ("would be put back", "would be removed"),
        false => ("was put back", "was removed"),
    };
    let mut text = String::new();
    for (files, what) in [(&answer.restored, restored), (&answer.removed, removed)] {
        for file in files {
            text.push_str(&format!("{} {what}\n", printable(file)));
        }
    }
    for (file, why) in &answer.kept {
        text.push_str(&format!("{} stays: {}\n", printable(file), printable(why)));
    }
    if text.is_empty() {
        text.push_str("The task changed no file.\n");
    }
    text
}
