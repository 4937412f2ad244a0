//! `legation console`.

use clap::Args;
use legation_api::console::Link;

use crate::commands::{browser, running_hub};
use crate::{CliError, Context};

/// Arguments of `legation console`.
#[derive(Debug, Args)]
pub struct ConsoleArgs {
    /// Only print the link.
    #[arg(long)]
    no_open: bool,
}

pub(crate) fn cmd_console(context: &Context, args: &ConsoleArgs) -> Result<(), CliError> {
    let link = running_hub(context)?.call(&Link {})?;
    context
        .output
        .result(&link, |link| format!("{}\n", link.url))?;
    context
        .output
        .say("the link lets one browser in, once, and works for five minutes");
    if !args.no_open {
        browser::open(context, "console.html", &link.url);
    }
    Ok(())
}
