//! `legation mcp logs`.

use clap::Args;
use legation_api::mcp::Logs;

use crate::commands::{running_hub, workspace};
use crate::table::printable;
use crate::{CliError, Context};

/// Arguments of `legation mcp logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Which server.
    name: String,
    /// How many lines at most.
    #[arg(long, short = 'n', default_value_t = 100)]
    lines: usize,
}

pub(crate) fn cmd_logs(context: &Context, args: LogsArgs) -> Result<(), CliError> {
    let answer = running_hub(context)?.call(&Logs {
        name: args.name,
        lines: args.lines,
        workspace: workspace(),
    })?;
    context.output.result(&answer, |answer| {
        answer
            .lines
            .iter()
            .map(|line| printable(line) + "\n")
            .collect()
    })
}
