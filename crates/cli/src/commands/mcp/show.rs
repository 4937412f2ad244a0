//! `legation mcp show`.

use clap::Args;
use legation_api::mcp::{Show, ShowAnswer};

use crate::commands::{running_hub, workspace};
use crate::table::{counted, printable};
use crate::{CliError, Context};

/// Arguments of `legation mcp show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Which server.
    name: String,
}

pub(crate) fn cmd_show(context: &Context, args: &ShowArgs) -> Result<(), CliError> {
    let request = Show {
        name: args.name.clone(),
        workspace: workspace(),
    };
    let answer = running_hub(context)?.call(&request)?;
    context.output.result(&answer, render)
}

fn render(answer: &ShowAnswer) -> String {
    let server = &answer.server;
    let mut lines = vec![
        ("name", server.label.clone()),
        ("status", server.status.clone()),
    ];
    lines.extend(server.reason.clone().map(|reason| ("reason", reason)));
    lines.extend([
        (
            "transport",
            format!("{} {}", server.transport, server.target),
        ),
        (
            "instance",
            format!("{} ({} running)", server.instance, server.instances),
        ),
        ("source", super::source(server)),
        (
            "offers",
            [
                counted(server.tools, "tool"),
                counted(server.resources, "resource"),
                counted(server.templates, "template"),
                counted(server.prompts, "prompt"),
                counted(server.skills, "skill"),
            ]
            .join(", "),
        ),
        ("calls", format!("{} under way", server.calls)),
        ("restarts", server.restarts.to_string()),
    ]);
    let optional = [
        ("title", server.display_name.clone()),
        // The usual hint is to use this very command.
        (
            "hint",
            server
                .hint
                .clone()
                .filter(|hint| !hint.contains("mcp show")),
        ),
        ("headers by", server.headers_helper.clone()),
        ("revision", server.revision.clone()),
        ("process", server.pid.map(|pid| pid.to_string())),
        ("sandbox", server.sandbox.as_ref().map(crate::walls::line)),
        (
            "says it is",
            server.server_info.as_ref().map(ToString::to_string),
        ),
    ];
    lines.extend(
        optional
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    lines.extend(
        server
            .hides
            .iter()
            .map(|hidden| ("hides", format!("the entry in {hidden}"))),
    );
    lines.extend(
        server
            .warnings
            .iter()
            .map(|warning| ("warning", warning.clone())),
    );
    let mut text = String::new();
    for (name, value) in lines {
        text.push_str(&format!("{name:<11} {}\n", printable(&value)));
    }
    if !answer.log.is_empty() {
        text.push_str("\nend of its log:\n");
        for line in &answer.log {
            text.push_str(&format!("  {}\n", printable(line)));
        }
    }
    text
}

#[cfg(test)]
mod tests;
