//! `legation mcp enable` and `legation mcp disable`.

use clap::Args;
use legation_api::mcp::{Disable, Enable};
use legation_config::edit::{self, Change};
use legation_config::servers::Source;
use legation_config::switches;
use legation_core::ServerName;
use serde::Serialize;

use crate::commands::{running_hub, workspace};
use crate::{CliError, Context};

/// Arguments of `legation mcp enable` and `disable`.
#[derive(Debug, Args)]
pub struct SwitchArgs {
    /// Which server.
    name: String,

    /// Only for this run of the hub; no file is changed.
    #[arg(long)]
    session: bool,
}

#[derive(Debug, Serialize)]
struct Switched<'a> {
    name: &'a str,
    enabled: bool,
    persisted: bool,
}

/// In its entry where that is the owner's, and beside it where it is not.
fn persist(context: &Context, args: &SwitchArgs, enabled: bool) -> Result<(), CliError> {
    let loaded = super::configured(context);
    let mut others = loaded.servers.iter().filter(|spec| {
        !matches!(spec.source, Source::User { .. })
            && (spec.name.as_str() == args.name || *spec.label() == *args.name)
    });
    if let Some(other) = others.next() {
        return switches::set(&context.home, &other.label(), enabled)
            .map_err(|error| CliError::failed(&error).with_hint(error.hint()));
    }
    let name = ServerName::parse(&args.name).map_err(|error| CliError::usage(&error))?;
    let change = Change::SetDisabled {
        name,
        disabled: !enabled,
    };
    edit::apply(&context.home, &change).map_err(|error| super::edit_failed(&error))?;
    Ok(())
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
        persist(context, args, enabled)?;
        super::settle(context, |list| {
            list.servers
                .iter()
                .filter(|server| server.name == args.name || server.label == args.name)
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
