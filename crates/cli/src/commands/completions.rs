//! `legation completions`.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::{Cli, CliError, Context};

/// Arguments of `legation completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Which shell.
    shell: Shell,
}

#[expect(clippy::unnecessary_wraps, reason = "every command has the same shape")]
pub(crate) fn cmd_completions(context: &Context, args: &CompletionsArgs) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "legation", &mut script);
    context.output.data(&String::from_utf8_lossy(&script));
    Ok(())
}
