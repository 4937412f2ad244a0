//! `legation audit export`.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use legation_api::audit::Export;

use super::filter::FilterArgs;
use super::source::Source;
use crate::{CliError, Context};

/// Arguments of `legation audit export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The form of a line.
    #[arg(long, value_enum, default_value_t = FormatArg::Jsonl)]
    format: FormatArg,
    /// Write to this file, which must not exist, instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
}

/// Forms of an export.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatArg {
    /// The record as it is stored, with its hash.
    Jsonl,
    /// OCSF 1.8, API Activity (class 6003).
    Ocsf,
    /// OpenTelemetry log records, an OTLP/JSON request a line.
    Otel,
}

pub(super) fn cmd_export(context: &Context, args: &ExportArgs) -> Result<(), CliError> {
    let mut export = Export {
        filter: args.filter.to_filter(context)?,
        format: match args.format {
            FormatArg::Jsonl => "jsonl",
            FormatArg::Ocsf => "ocsf",
            FormatArg::Otel => "otel",
        }
        .to_owned(),
        after: 0,
    };
    let mut source = Source::open(context)?;
    let failed = |error: io::Error| CliError::failed(&error);
    let mut out: Box<dyn Write> = match &args.output {
        None => Box::new(io::stdout().lock()),
        Some(path) => {
            let file = OpenOptions::new()
                .create_new(true)
                .write(true)
                .mode(0o600)
                .open(path);
            Box::new(BufWriter::new(file.map_err(failed)?))
        }
    };
    loop {
        let answer = source.export(&export, context.version)?;
        for line in &answer.lines {
            match writeln!(out, "{line}") {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                written => written.map_err(failed)?,
            }
        }
        match answer.next {
            Some(next) => export.after = next,
            None => return out.flush().map_err(failed),
        }
    }
}
