//! `legation man`.

use clap::{Args, CommandFactory as _};

use crate::{Cli, CliError, Context};

/// Arguments of `legation man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The page of one command, such as `mcp` or `mcp add`; the main page when absent.
    command: Vec<String>,
}

pub(crate) fn cmd_man(context: &Context, args: &ManArgs) -> Result<(), CliError> {
    let mut command = Cli::command();
    command.build();
    let mut found = &command;
    for name in &args.command {
        found = found.find_subcommand(name).ok_or_else(|| {
            CliError::new(crate::Exit::Usage, format!("there is no command `{name}`"))
                .with_hint("`legation help` lists the commands")
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(found.clone())
        .render(&mut page)
        .map_err(|error| CliError::failed(&error))?;
    context.output.data(&String::from_utf8_lossy(&page));
    Ok(())
}
