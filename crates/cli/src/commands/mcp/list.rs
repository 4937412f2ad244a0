//! `legation mcp list`.

use clap::Args;
use legation_api::mcp::{List, ListAnswer};

use crate::commands::{running_hub, workspace};
use crate::table::{Table, printable};
use crate::{CliError, Context};

/// Arguments of `legation mcp list`.
#[derive(Debug, Args)]
pub struct ListArgs {}

pub(crate) fn cmd_list(context: &Context, _args: &ListArgs) -> Result<(), CliError> {
    let answer = running_hub(context)?.call(&List {
        workspace: workspace(),
    })?;
    context.output.result(&answer, render)
}

fn render(answer: &ListAnswer) -> String {
    let mut table = Table::new(&[
        "NAME",
        "STATUS",
        "TOOLS",
        "RESOURCES",
        "PROMPTS",
        "REVISION",
        "SOURCE",
    ]);
    for server in &answer.servers {
        table.row([
            server.name.clone(),
            server.status.clone(),
            server.tools.to_string(),
            (server.resources + server.templates).to_string(),
            server.prompts.to_string(),
            server.revision.clone().unwrap_or_else(|| "-".to_owned()),
            server.source.clone(),
        ]);
    }
    let mut text = if answer.servers.is_empty() {
        "no servers; add one with `legation mcp add`\n".to_owned()
    } else {
        table.render()
    };
    for server in &answer.servers {
        if let Some(reason) = &server.reason {
            text.push_str(&format!("\n{}: {}\n", server.name, printable(reason)));
            if let Some(hint) = &server.hint {
                text.push_str(&format!("  hint: {hint}\n"));
            }
        }
    }
    for problem in &answer.problems {
        let server = problem.server.as_deref().unwrap_or("-");
        text.push_str(&format!(
            "\n{} ({server}): {}\n  hint: {}\n",
            problem.source,
            printable(&problem.message),
            problem.hint
        ));
    }
    text
}
