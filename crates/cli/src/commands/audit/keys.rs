//! `legation audit checkpoint`, `rotate-key` and `shred`: what only a running
//! hub does, because it writes to the ledger.

use clap::Args;
use legation_api::audit::{Checkpoint, RotateKey, Shred, ShredAnswer};

use crate::commands::running_hub;
use crate::{CliError, Context, Exit};

/// Arguments of `legation audit shred`.
#[derive(Debug, Args)]
pub struct ShredArgs {
    /// Whose commitments.
    #[arg(long)]
    entity: String,
    /// Those of every month before this one, like 2026-01; the present month's
    /// always stay.
    #[arg(long, value_name = "MONTH")]
    before: String,
    /// Only say which keys would be destroyed.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn cmd_checkpoint(context: &Context) -> Result<(), CliError> {
    let answer = running_hub(context)?.call(&Checkpoint {})?;
    context.output.result(&answer, |answer| {
        let note = answer.note.as_deref();
        format!(
            "{}public key {}\n",
            note.unwrap_or("the last checkpoint covers everything\n"),
            answer.public_key
        )
    })
}

pub(super) fn cmd_rotate_key(context: &Context) -> Result<(), CliError> {
    let answer = running_hub(context)?.call(&RotateKey {})?;
    context.output.result(&answer, |answer| {
        format!("public key {}\n", answer.public_key)
    })
}

pub(super) fn cmd_shred(context: &Context, args: &ShredArgs) -> Result<(), CliError> {
    let mut hub = running_hub(context)?;
    let mut shred = Shred {
        entity: args.entity.clone(),
        before: args.before.clone(),
        dry_run: true,
    };
    let found = hub.call(&shred)?;
    if args.dry_run || found.months.is_empty() {
        return context.output.result(&found, render);
    }
    if !args.yes {
        context.output.say(&render(&found));
        match context.output.confirm("Destroy these keys for good?") {
            Some(true) => {}
            Some(false) => {
                return Err(CliError::new(
                    Exit::Refused,
                    "not agreed; nothing was destroyed",
                ));
            }
            None => {
                return Err(CliError::new(
                    Exit::Usage,
                    "nobody can be asked here; nothing was destroyed",
                )
                .with_hint("look with --dry-run, then agree with --yes"));
            }
        }
    }
    shred.dry_run = false;
    let done = hub.call(&shred)?;
    context.output.result(&done, render)
}

fn render(answer: &ShredAnswer) -> String {
    if answer.months.is_empty() {
        return "there is no key to destroy\n".to_owned();
    }
    let months = answer.months.join(" ");
    if answer.destroyed {
        format!("the keys of these months are destroyed: {months}\n")
    } else {
        format!("the keys of these months would be destroyed: {months}\n")
    }
}
