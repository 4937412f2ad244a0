//! `legation mcp`: the servers behind the hub.

mod add;
mod auth;
mod bundles;
mod call;
mod edit;
mod get;
mod install;
mod list;
mod logs;
mod reload;
mod remove;
mod review;
#[cfg(test)]
mod sample;
mod search;
mod show;
mod switch;
mod tools;

use std::time::Duration;

use clap::Subcommand;
use legation_api::hub::Reload;
use legation_api::mcp::{List, ListAnswer, Server};
use legation_config::edit::EditError;
use legation_config::servers::github::Gh;
use legation_config::servers::{self, Loaded};
use legation_config::switches;
use legation_policy::Policy;

use crate::commands::{hub, workspace};
use crate::table::printable;
use crate::{CliError, Context, Exit};

pub(crate) use bundles::tidy as tidy_bundles;

/// The commands of `legation mcp`.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List the servers and how they are.
    List(list::ListArgs),
    /// Show one server: status, warnings, and the end of its log.
    Show(show::ShowArgs),
    /// Print a server's entry in the configuration.
    Get(get::GetArgs),
    /// Add a server to mcp.json and connect it once; with a name alone you are asked for the rest.
    #[command(after_help = "\
Examples:
  legation mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  legation mcp add time -- uvx mcp-server-time
  legation mcp add issues --url https://example.com/mcp \\
    --header 'Authorization=Bearer ${ISSUES_TOKEN}'")]
    Add(Box<add::AddArgs>),
    /// Find servers in a registry.
    Search(search::SearchArgs),
    /// Install a server that a registry lists, or an MCP bundle: what would run is shown first.
    #[command(after_help = "\
Examples:
  legation mcp search weather
  legation mcp install io.github.owner/weather
  legation mcp install io.github.owner/weather@1.2.0 --from npm --set UNITS=metric
  legation mcp install ./weather.mcpb
  legation mcp install https://example.com/weather.mcpb --sha256 HASH")]
    Install(Box<install::InstallArgs>),
    /// Change members of a server's entry in mcp.json.
    Edit(edit::EditArgs),
    /// Remove a server from mcp.json.
    Remove(remove::RemoveArgs),
    /// Use a server that was disabled.
    Enable(switch::SwitchArgs),
    /// Stop using a server, keeping its entry.
    Disable(switch::SwitchArgs),
    /// Stop and start a server, or all.
    Reload(reload::ReloadArgs),
    /// Sign in at a server, or end a sign-in.
    Auth(auth::AuthArgs),
    /// Show definitions that are new or have changed, and decide about them.
    Review(review::ReviewArgs),
    /// Print the end of a server's log.
    Logs(logs::LogsArgs),
    /// List the tools clients see.
    Tools(tools::ToolsArgs),
    /// Call a tool as the owner of the hub.
    Call(call::CallArgs),
}

pub(crate) fn cmd_mcp(context: &Context, command: McpCommand) -> Result<(), CliError> {
    match command {
        McpCommand::List(args) => list::cmd_list(context, &args),
        McpCommand::Show(args) => show::cmd_show(context, &args),
        McpCommand::Get(args) => get::cmd_get(context, &args),
        McpCommand::Add(args) => add::cmd_add(context, *args),
        McpCommand::Search(args) => search::cmd_search(context, &args),
        McpCommand::Install(args) => install::cmd_install(context, &args),
        McpCommand::Edit(args) => edit::cmd_edit(context, &args),
        McpCommand::Remove(args) => remove::cmd_remove(context, &args),
        McpCommand::Enable(args) => switch::cmd_switch(context, &args, true),
        McpCommand::Disable(args) => switch::cmd_switch(context, &args, false),
        McpCommand::Reload(args) => reload::cmd_reload(context, args),
        McpCommand::Auth(args) => auth::cmd_auth(context, &args),
        McpCommand::Review(args) => review::cmd_review(context, &args),
        McpCommand::Logs(args) => logs::cmd_logs(context, args),
        McpCommand::Tools(args) => tools::cmd_tools(context, args),
        McpCommand::Call(args) => call::cmd_call(context, &args),
    }
}

/// How long a changed file may take to reach the running hub.
const SETTLE_LIMIT: Duration = Duration::from_secs(2);

/// How long a hub lets the calls of a server that is to end go on, in seconds.
const DRAIN_S: u64 = 5;

/// Says whose calls are waited for, before a command that ends a server, or every server.
fn tell_calls(context: &Context, name: Option<&str>) {
    let Ok(Some(mut client)) = hub(context) else {
        return;
    };
    let Ok(list) = client.call(&List {
        workspace: workspace(),
    }) else {
        return;
    };
    let meant = |server: &&Server| {
        name.is_none_or(|name| server.name == name || server.label == name) && server.calls > 0
    };
    for server in list.servers.iter().filter(meant) {
        let (label, calls) = (printable(&server.label), server.calls);
        context.output.say(&format!(
            "calls of {label} under way: {calls}; they get {DRAIN_S} s to end"
        ));
    }
}

/// Has the running hub read its files, and waits a moment until it is as
/// `wanted`, so that the next command finds what this one did. The change
/// itself is in the file whatever the hub does.
fn settle(context: &Context, wanted: impl Fn(&ListAnswer) -> bool) {
    let Ok(Some(mut client)) = hub(context) else {
        return;
    };
    let until = context.clock.now() + SETTLE_LIMIT;
    if client.call(&Reload {}).is_err() {
        return;
    }
    while let Ok(list) = client.call(&List::default()) {
        if wanted(&list) || context.clock.now() > until {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What kind of source a server has, and which.
fn source(server: &Server) -> String {
    match &server.plugin {
        Some(plugin) => format!("{} {plugin} ({})", server.source_kind, server.source),
        // An older hub says only which.
        None if server.source_kind.is_empty() => server.source.clone(),
        None => format!("{} ({})", server.source_kind, server.source),
    }
}

/// A change of mcp.json that could not be made.
pub(crate) fn edit_failed(error: &EditError) -> CliError {
    let exit = match error {
        EditError::Malformed { .. } | EditError::Invalid { .. } => Exit::Usage,
        EditError::Read(_)
        | EditError::Exists { .. }
        | EditError::Unknown { .. }
        | EditError::Write(_)
        | EditError::NothingToUndo { .. } => Exit::Failed,
    };
    let hint = match error {
        EditError::Exists { .. } => "choose another name, or replace it with --replace".to_owned(),
        other => other.hint(),
    };
    CliError::new(exit, legation_core::error::chain(error)).with_hint(hint)
}

/// The servers for the current folder as the files have them, and as the organisation's policy and
/// the owner's switches leave them.
pub(crate) fn configured(context: &Context) -> Loaded {
    let user = servers::user(&context.home);
    let folder = std::env::current_dir().ok();
    let workspace = folder
        .as_deref()
        .map(|folder| servers::workspace(&context.home, folder));
    let mut loaded = servers::plugins(&context.home)
        .over(workspace.unwrap_or_default())
        .over(user)
        .over(servers::defaults(&context.environment));
    let folders: Vec<_> = folder.into_iter().collect();
    // What is wrong with the settings is told by whoever goes by them.
    if let Ok(settings) = super::config::settings(context) {
        let around = servers::github::Around {
            settings: &settings.github,
            environment: &context.environment,
            folders: &folders,
            gh: &match settings.github.gh {
                true => Gh::Without("a hub asks `gh` for one".into()),
                false => Gh::NotAsked,
            },
        };
        servers::github::add(&mut loaded, &around);
    }
    switches::apply(&context.home, &mut loaded.servers, &mut loaded.problems);
    let sources = crate::sources(&context.home, &context.environment, &folders);
    crate::withhold(&Policy::load(&sources, &[]), &mut loaded.servers);
    loaded
}
