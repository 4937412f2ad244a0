//! `legation mcp add`.

mod ask;

use std::time::Duration;

use clap::{Args, ValueEnum};
use legation_api::AdminClient;
use legation_api::hub::Reload;
use legation_api::mcp::{Server, Show};
use legation_config::edit::{self, Change, Edited, NewServer, NewTransport};
use legation_config::servers::{EraChoice, Instance};
use legation_core::ServerName;
use serde::Serialize;

use crate::commands::hub;
use crate::table::{counted, printable};
use crate::{CliError, Context, Exit};

/// Arguments of `legation mcp add`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// What to call the server.
    name: String,

    /// The program and its arguments, behind `--`.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["url", "json_entry"])]
    command: Vec<String>,

    /// The endpoint of a remote server.
    #[arg(long)]
    url: Option<String>,

    /// The whole entry as JSON.
    #[arg(
        long,
        value_name = "JSON",
        conflicts_with_all = [
            "url", "env", "header", "cwd", "tool", "timeout", "display_name", "era", "instance", "prefix",
        ]
    )]
    json_entry: Option<String>,

    /// A variable of the server's environment; the value may be ${NAME}.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,

    /// A header for a remote server; the value may be ${NAME}.
    #[arg(long, value_name = "NAME=VALUE")]
    header: Vec<String>,

    /// The folder the server runs in.
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,

    /// Offer only these tools.
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,

    /// How long a call may take.
    #[arg(long, value_name = "MS")]
    timeout: Option<u64>,

    /// What people read instead of the name.
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,

    /// Which protocol era to speak, where the server shall not be asked.
    #[arg(long)]
    era: Option<EraArg>,

    /// Who shares a running instance.
    #[arg(long)]
    instance: Option<InstanceArg>,

    /// What its flat tool names begin with; "" for nothing.
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,

    /// Replace an entry of the same name.
    #[arg(long)]
    replace: bool,

    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum EraArg {
    Auto,
    Legacy,
    Modern,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum InstanceArg {
    Shared,
    Client,
    Workspace,
}

#[derive(Debug, Serialize)]
struct Added {
    name: String,
    file: String,
    dry_run: bool,
    warnings: Vec<String>,
    /// How the running hub found it; absent when none runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<Server>,
}

/// How long a new server may take to connect before the command leaves it to the hub.
const CONNECT_LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn cmd_add(context: &Context, args: AddArgs) -> Result<(), CliError> {
    let name = ServerName::parse(&args.name).map_err(|error| CliError::usage(&error))?;
    let (replace, dry_run) = (args.replace, args.dry_run);
    let change = match args.json_entry.clone() {
        Some(json) => Change::AddJson {
            name: name.clone(),
            json,
            replace,
        },
        None => Change::Add {
            name: name.clone(),
            entry: Box::new(if is_asked(&args) {
                ask::server(context, &args.name)?
            } else {
                new_server(args)?
            }),
            replace,
        },
    };
    if !dry_run {
        legation_config::first_run::first_run(
            &context.home,
            &crate::template(legation_policy::governance::Template::Personal),
        )
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    }
    let edited = if dry_run {
        edit::preview(&context.home, &change)
    } else {
        edit::apply(&context.home, &change)
    }
    .map_err(|error| super::edit_failed(&error))?;
    let server = match hub(context)? {
        Some(client) if !dry_run => wait(context, client, &name)?,
        _ => None,
    };
    let added = Added {
        name: name.to_string(),
        file: edited.file.display().to_string(),
        dry_run,
        warnings: warnings(&edited),
        server,
    };
    context.output.result(&added, render)?;
    match &added.server {
        Some(server) if server.status == "failed" => Err(CliError::new(
            Exit::NotReachable,
            format!("{name} was added but does not connect"),
        )
        .with_hint(format!("`legation mcp show {name}` says more"))),
        _ => Ok(()),
    }
}

/// Whether nothing but a name was given, by somebody who can be asked for the rest.
fn is_asked(args: &AddArgs) -> bool {
    args.url.is_none() && args.command.is_empty() && crate::terminal::is_there()
}

fn new_server(args: AddArgs) -> Result<NewServer, CliError> {
    let transport = match (args.url, args.command.split_first()) {
        (Some(url), _) => {
            if !args.env.is_empty() || args.cwd.is_some() {
                return Err(CliError::new(
                    Exit::Usage,
                    "--env and --cwd are for a server that is a program; nothing was added",
                ));
            }
            NewTransport::Http {
                url,
                headers: pairs("--header", &args.header)?,
            }
        }
        (None, Some((command, rest))) => {
            if !args.header.is_empty() {
                return Err(CliError::new(
                    Exit::Usage,
                    "--header is for a remote server; nothing was added",
                ));
            }
            NewTransport::Stdio {
                command: command.clone(),
                args: rest.to_vec(),
                cwd: args.cwd,
                env: pairs("--env", &args.env)?,
            }
        }
        (None, None) => {
            return Err(CliError::new(
                Exit::Usage,
                "neither a program nor a URL was given; nothing was added",
            )
            .with_hint(
                "`legation mcp add NAME -- COMMAND ARGS` or `legation mcp add NAME --url URL`",
            ));
        }
    };
    Ok(NewServer {
        transport,
        tools: args.tool,
        timeout_ms: args.timeout,
        display_name: args.display_name,
        era: args.era.map(|era| match era {
            EraArg::Auto => EraChoice::Auto,
            EraArg::Legacy => EraChoice::Legacy,
            EraArg::Modern => EraChoice::Modern,
        }),
        instance: args.instance.map(|instance| match instance {
            InstanceArg::Shared => Instance::Shared,
            InstanceArg::Client => Instance::Client,
            InstanceArg::Workspace => Instance::Workspace,
        }),
        prefix: args.prefix,
        env_mode: None,
    })
}

fn pairs(flag: &str, texts: &[String]) -> Result<Vec<(String, String)>, CliError> {
    texts
        .iter()
        .map(|text| match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(CliError::new(
                Exit::Usage,
                format!("{flag} takes NAME=VALUE; nothing was added"),
            )),
        })
        .collect()
}

/// Waits until the running hub has connected the server, so that its tools are
/// remembered and its mistakes are seen now. `None` when the hub has not taken
/// the entry up in all that time.
pub(super) fn wait(
    context: &Context,
    mut client: AdminClient,
    name: &ServerName,
) -> Result<Option<Server>, CliError> {
    // The hub sees changed files by itself, but a moment later.
    client.call(&Reload {})?;
    let loaded = legation_config::servers::user(&context.home);
    let spec = loaded.servers.iter().find(|spec| spec.name == *name);
    let target = spec.map(|spec| spec.transport.shown());
    let until = context.clock.now() + CONNECT_LIMIT;
    let request = Show {
        name: name.to_string(),
        workspace: None,
    };
    loop {
        let found = client.call(&request);
        let late = context.clock.now() > until;
        match found {
            Ok(answer) => {
                // What it still shows may be the entry that was replaced.
                let is_new = target
                    .as_ref()
                    .is_none_or(|new| *new == answer.server.target);
                if late || (is_new && answer.server.status != "starting") {
                    context.output.progress_done();
                    return Ok(is_new.then_some(answer.server));
                }
            }
            Err(legation_api::AdminError::Remote(_)) if late => {
                context.output.progress_done();
                return Ok(None);
            }
            // The hub may not have read the file yet.
            Err(legation_api::AdminError::Remote(_)) => {}
            Err(error) => return Err(error.into()),
        }
        context.output.progress(&format!("connecting {name} …"));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn warnings(edited: &Edited) -> Vec<String> {
    edited
        .warnings
        .iter()
        .map(|problem| problem.message.clone())
        .collect()
}

fn render(added: &Added) -> String {
    let verb = if added.dry_run {
        "would be added"
    } else {
        "was added"
    };
    let mut text = format!("{} {verb} to {}\n", added.name, added.file);
    for warning in &added.warnings {
        text.push_str(&format!("warning: {}\n", printable(warning)));
    }
    match &added.server {
        Some(Server {
            reason: Some(reason),
            status,
            ..
        }) => text.push_str(&format!("{status}: {}\n", printable(reason))),
        Some(server) => text.push_str(&format!(
            "{}: {}, {}, {}\n",
            server.status,
            counted(server.tools, "tool"),
            counted(server.resources + server.templates, "resource"),
            counted(server.prompts, "prompt")
        )),
        None if !added.dry_run => {
            text.push_str("not connected yet: it is when a hub runs, see `legation mcp list`\n");
        }
        None => {}
    }
    text
}

#[cfg(test)]
mod tests;
