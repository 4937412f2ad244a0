//! `legation mcp enable` and `legation mcp disable`.

use clap::Args;
use legation_api::mcp::{Disable, Enable};
use legation_config::edit::{self, Change};
use legation_core::ServerName;
use serde::Serialize;

use crate::commands::{running_hub, workspace};
use crate::{CliError, Context};

/// Arguments of `legation mcp enable` and `disable`.
#[derive(Debug, Args)]
pub struct SwitchArgs {
    /// Which server.
    name: String,

    /// Only for this run of the hub; mcp.json stays as it is.
    #[arg(long)]
    session: bool,
}

#[derive(Debug, Serialize)]
struct Switched<'a> {
    name: &'a str,
    enabled: bool,
    persisted: bool,
}

pub(crate) fn cmd_switch(
    context: &Context,
    args: &SwitchArgs,
    enabled: bool,
) -> Result<(), CliError> {
    if !enabled {
        super::tell_calls(context, Some(&args.name));
    }
    if args.session {
        let mut client = running_hub(context)?;
        if enabled {
            client.call(&Enable {
                name: args.name.clone(),
                workspace: workspace(),
            })?;
        } else {
            client.call(&Disable {
                name: args.name.clone(),
                workspace: workspace(),
            })?;
        }
    } else {
        let name = ServerName::parse(&args.name).map_err(|error| CliError::usage(&error))?;
        edit::apply(
            &context.home,
            &Change::SetDisabled {
                name,
                disabled: !enabled,
            },
        )
        .map_err(|error| super::edit_failed(&error))?;
        super::settle(context, |list| {
            list.servers
                .iter()
                .filter(|server| server.name == args.name)
                .all(|server| (server.status == "disabled") != enabled)
        });
    }
    let switched = Switched {
        name: &args.name,
        enabled,
        persisted: !args.session,
    };
    context.output.result(&switched, |switched| {
        let state = if switched.enabled {
            "enabled"
        } else {
            "disabled"
        };
        let until = if switched.persisted {
            ""
        } else {
            " until the hub stops"
        };
        format!("{} is {state}{until}", switched.name)
    })
}
