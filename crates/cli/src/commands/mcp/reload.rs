//! `legation mcp reload`.

use clap::Args;
use legation_api::mcp::ReloadServer;

use crate::commands::{running_hub, workspace};
use crate::{CliError, Context};

/// Arguments of `legation mcp reload`.
#[derive(Debug, Args)]
pub struct ReloadArgs {
    /// Which server; all when absent.
    name: Option<String>,
}

pub(crate) fn cmd_reload(context: &Context, args: ReloadArgs) -> Result<(), CliError> {
    super::tell_calls(context, args.name.as_deref());
    let answer = running_hub(context)?.call(&ReloadServer {
        name: args.name,
        workspace: workspace(),
    })?;
    context.output.result(&answer, |_| {
        "stopped and started again; `legation mcp list` shows how far it is".to_owned()
    })
}
