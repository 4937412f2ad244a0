//! `legation session export`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use legation_api::conversation::Export;
use serde_json::Value;

use crate::commands::running_hub;
use crate::{CliError, Context};

/// Arguments of `legation session export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Its id, or a beginning of it that no other has.
    id: String,
    /// Write to this file, which must not exist, instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn cmd_export(context: &Context, args: &ExportArgs) -> Result<(), CliError> {
    let session = running_hub(context)?.call(&Export {
        session: args.id.clone(),
    })?;
    write_json(context, &session, args.output.as_deref())
}

/// Writes JSON where it was asked for; a file is closed to others.
pub(crate) fn write_json(
    context: &Context,
    value: &Value,
    file: Option<&Path>,
) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| CliError::failed(&error))?;
    let Some(path) = file else {
        context.output.data(&text);
        return Ok(());
    };
    let opened = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(path);
    let written = opened.and_then(|mut file| writeln!(file, "{text}"));
    written.map_err(|error| {
        CliError::failed(&error).with_hint(format!("choose a file other than {}", path.display()))
    })?;
    context
        .output
        .say(&format!("written to {}", path.display()));
    Ok(())
}
