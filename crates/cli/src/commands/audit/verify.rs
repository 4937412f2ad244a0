//! `legation audit verify`.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use legation_api::audit::{Verify, VerifyAnswer};

use super::source::Source;
use crate::table::printable;
use crate::{CliError, Context, Exit};

/// Arguments of `legation audit verify`.
#[derive(Debug, Default, Args)]
pub struct VerifyArgs {
    /// Compare with the checkpoints exported to this folder.
    #[arg(long, value_name = "FOLDER")]
    checkpoints: Option<PathBuf>,
    /// Trust checkpoints signed with this key only, and keys it has vouched for.
    /// Can be given more than once.
    #[arg(long = "public-key", value_name = "KEY")]
    public_keys: Vec<String>,
}

/// Faults that are printed.
const SHOWN: usize = 50;

pub(super) fn cmd_verify(context: &Context, args: &VerifyArgs) -> Result<(), CliError> {
    let folder = args
        .checkpoints
        .as_ref()
        .map(std::path::absolute)
        .transpose();
    let folder = folder.map_err(|error| CliError::failed(&error))?;
    let answer = Source::open(context)?.verify(&Verify {
        checkpoints: folder.map(|folder| folder.to_string_lossy().into_owned()),
        public_keys: args.public_keys.clone(),
    })?;
    context.output.result(&answer, render)?;
    if answer.intact {
        return Ok(());
    }
    Err(CliError::new(
        Exit::Failed,
        "the ledger was changed after it was written, or is damaged",
    )
    .with_hint(
        "keep state.db and state.db-ledger as they are and compare them with copies; new calls go on in the same chain",
    ))
}

pub(super) fn render(answer: &VerifyAnswer) -> String {
    let mut text = String::new();
    if answer.intact {
        _ = writeln!(
            text,
            "intact: {} records ({} intents, {} outcomes, {} refused, {} notes), {} calls under way",
            answer.records,
            answer.intents,
            answer.outcomes,
            answer.refused,
            answer.notes,
            answer.open
        );
    } else {
        _ = writeln!(
            text,
            "BROKEN: {} faults in {} records",
            answer.fault_count, answer.records
        );
        for fault in answer.faults.iter().take(SHOWN) {
            _ = writeln!(text, "  {}", printable(&fault.what));
        }
    }
    for chain in &answer.chains {
        _ = writeln!(
            text,
            "chain {}: {} records, ends in {}",
            printable(&chain.entity),
            chain.seq,
            chain.hash
        );
    }
    _ = writeln!(
        text,
        "{} checkpoints compared; {} records are signed for",
        answer.checkpoints, answer.covered
    );
    for key in &answer.public_keys {
        _ = writeln!(text, "trusted key {}", printable(key));
    }
    text
}
