//! `legation mcp tools`.

use clap::Args;
use legation_api::mcp::{Show, Tools, ToolsAnswer};
use serde::Deserialize;

use crate::commands::{running_hub, workspace};
use crate::table::Table;
use crate::{CliError, Context};

/// Arguments of `legation mcp tools`.
#[derive(Debug, Args)]
pub struct ToolsArgs {
    /// Only this server's.
    server: Option<String>,
}

/// As much of a definition as the table shows.
#[derive(Deserialize)]
struct Shown {
    #[serde(default)]
    description: String,
}

pub(crate) fn cmd_tools(context: &Context, args: ToolsArgs) -> Result<(), CliError> {
    let mut client = running_hub(context)?;
    let server = args.server.clone();
    let answer = client.call(&Tools {
        server: args.server,
        workspace: workspace(),
    })?;
    if let (Some(name), true) = (server, answer.tools.is_empty()) {
        // A server without tools is one thing, a name without a server another.
        client.call(&Show {
            name,
            workspace: workspace(),
        })?;
    }
    context.output.result(&answer, render)
}

fn render(answer: &ToolsAnswer) -> String {
    const WIDTH: usize = 72;
    let mut table = Table::new(&["NAME", "SERVER/TOOL", "DESCRIPTION"]);
    for tool in &answer.tools {
        let description = serde_json::from_str::<Shown>(tool.definition.get())
            .map(|shown| shown.description)
            .unwrap_or_default();
        let first = description.lines().next().unwrap_or_default();
        let mut short: String = first.chars().take(WIDTH).collect();
        if short.len() < first.len() {
            short.push('…');
        }
        table.row([
            tool.name.clone(),
            format!("{}/{}", tool.server, tool.tool),
            short,
        ]);
    }
    table.render()
}
