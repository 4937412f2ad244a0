//! `legation mcp list`.

use clap::Args;
use legation_api::mcp::{List, ListAnswer, Problem, Server};
use legation_config::SandboxPolicy;
use legation_config::servers::{Loaded, ServerSpec, Source};
use legation_core::net::Destinations;

use crate::commands::{hub, workspace};
use crate::table::{Table, printable};
use crate::{CliError, Context};

/// Arguments of `legation mcp list`.
#[derive(Debug, Args)]
pub struct ListArgs {}

pub(crate) fn cmd_list(context: &Context, _args: &ListArgs) -> Result<(), CliError> {
    let answer = match hub(context)? {
        Some(mut client) => client.call(&List {
            workspace: workspace(),
        })?,
        None => {
            context
                .output
                .say("no hub runs; these are the servers one would start\n");
            offline(context)
        }
    };
    context.output.result(&answer, render)
}

/// What the files say, for when no hub knows better.
fn offline(context: &Context) -> ListAnswer {
    let loaded = super::configured(context);
    ListAnswer {
        servers: loaded
            .servers
            .iter()
            .map(|spec| entry(&loaded, spec))
            .collect(),
        problems: loaded
            .problems
            .iter()
            .map(|problem| Problem {
                source: problem.source.to_string(),
                server: problem.server.as_deref().map(str::to_owned),
                message: problem.message.clone(),
                hint: problem.hint.clone(),
            })
            .collect(),
    }
}

fn entry(loaded: &Loaded, spec: &ServerSpec) -> Server {
    Server {
        name: spec.name.to_string(),
        label: spec.label().into(),
        display_name: spec.display_name.as_deref().map(str::to_owned),
        status: match &spec.filtered {
            Some(_) => "filtered",
            None if spec.disabled => "disabled",
            None if spec.waits_for_token().is_some() => "needs-auth",
            None => "no-hub",
        }
        .to_owned(),
        reason: why_not(spec).map(str::to_owned),
        hint: None,
        source: spec.source.to_string(),
        source_kind: spec.source.as_str().to_owned(),
        plugin: match &spec.source {
            Source::Plugin { plugin, .. } => Some(plugin.to_string()),
            _ => None,
        },
        hides: loaded
            .hidden
            .iter()
            .filter(|one| *one.name == *spec.name.as_str() && one.by == spec.source)
            .map(|one| one.source.to_string())
            .collect(),
        transport: spec.transport.as_str().to_owned(),
        target: spec.transport.shown(),
        headers_helper: spec.transport.headers_helper().map(str::to_owned),
        instance: spec.instance.as_str().to_owned(),
        revision: None,
        server_info: None,
        pid: None,
        instances: 0,
        calls: 0,
        restarts: 0,
        tools: 0,
        resources: 0,
        templates: 0,
        prompts: 0,
        skills: 0,
        sandbox: spec
            .sandbox(SandboxPolicy::Asked, &Destinations::default())
            .map(|entry| crate::walls(&entry)),
        warnings: Vec::new(),
    }
}

/// Why it would not be started, where its entry does not say so.
fn why_not(spec: &ServerSpec) -> Option<&str> {
    let off = spec.off_because.as_deref().filter(|_| spec.disabled);
    let waits = spec.waits_for_token().filter(|_| !spec.disabled);
    spec.filtered.as_deref().or(off).or(waits)
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
            server.label.clone(),
            server.status.clone(),
            server.tools.to_string(),
            (server.resources + server.templates).to_string(),
            server.prompts.to_string(),
            server.revision.clone().unwrap_or_else(|| "-".to_owned()),
            crate::commands::mcp::source(server),
        ]);
    }
    let mut text = if answer.servers.is_empty() {
        "no servers; add one with `legation mcp add`\n".to_owned()
    } else {
        table.render()
    };
    for server in &answer.servers {
        if let Some(reason) = &server.reason {
            let name = printable(&server.label);
            text.push_str(&format!("\n{name}: {}\n", printable(reason)));
            if let Some(hint) = &server.hint {
                text.push_str(&format!("  hint: {}\n", printable(hint)));
            }
        }
    }
    for server in &answer.servers {
        for hidden in &server.hides {
            text.push_str(&format!(
                "\n{}: its entry in {} counts, not the one in {}\n",
                printable(&server.label),
                printable(&server.source),
                printable(hidden)
            ));
        }
    }
    for problem in &answer.problems {
        let server = problem.server.as_deref().unwrap_or("-");
        text.push_str(&format!(
            "\n{} ({}): {}\n  hint: {}\n",
            printable(&problem.source),
            printable(server),
            printable(&problem.message),
            printable(&problem.hint)
        ));
    }
    text
}

#[cfg(test)]
mod tests;
