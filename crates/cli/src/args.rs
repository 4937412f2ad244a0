//! The arguments; a doc comment is the help text.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands;

/// One hub for every MCP server and every coding agent.
#[derive(Debug, Parser)]
#[command(
    name = "legation",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "At a terminal `legation` alone is `legation chat`. Start with `legation demo`; then `legation connect claude` and \
`legation mcp add NAME -- COMMAND`."
)]
pub struct Cli {
    /// Print results as JSON.
    #[arg(long, global = true)]
    pub json: bool,

    /// The data directory [default: $LEGATION_HOME, else ~/.legation].
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,

    #[command(subcommand)]
    pub command: Command,
}

/// The arguments behind `legation bridge`, for whoever reads them without those of all other commands.
#[derive(Debug, Parser)]
pub(crate) struct BridgeLine {
    #[arg(long)]
    json: bool,

    #[arg(long)]
    home: Option<PathBuf>,

    #[command(flatten)]
    bridge: BridgeArgs,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the hub in the foreground.
    Serve(ServeArgs),
    /// Connect an agent to the hub over standard input and output.
    Bridge(BridgeArgs),
    /// Talk with the local model, and see what agents have it do.
    Chat(ChatArgs),
    /// Start an agent of the Agent Client Protocol for an editor, and wake its idle sessions.
    Acp(commands::acp::AcpArgs),
    /// Show what the hub does, with servers of its own, and leave it running.
    Demo(DemoArgs),
    /// Stand in for Entra ID and Microsoft Graph on loopback, for development.
    #[command(disable_help_flag = true)]
    DevTenant(DevTenantArgs),
    /// Look at the installation and say what is wrong.
    Doctor(commands::doctor::DoctorArgs),
    /// Show whether a hub runs, and how it is.
    Status(commands::hub::StatusArgs),
    /// Stop the running hub.
    Stop(commands::hub::StopArgs),
    /// Run the hub at login.
    #[command(subcommand)]
    Service(commands::service::ServiceCommand),
    /// The MCP servers behind the hub.
    #[command(subcommand)]
    Mcp(commands::mcp::McpCommand),
    /// Give an agent a credential and write its configuration.
    Connect(commands::connect::ConnectArgs),
    /// Take over the MCP servers of another program.
    Import(commands::import::ImportArgs),
    /// Write your MCP servers into another program's own file.
    Export(commands::export::ExportArgs),
    /// Secrets that entries of servers refer to as ${keyring:NAME}.
    #[command(subcommand)]
    Secret(commands::secret::SecretCommand),
    /// Open the hub's pages in a browser.
    Console(commands::console::ConsoleArgs),
    /// Trust the MCP servers a folder brings along.
    Trust(commands::trust::TrustArgs),
    /// Show the calls that wait for you, and what you have granted.
    Approvals(commands::approvals::ApprovalsArgs),
    /// Let a waiting call go on, or certify a proposal.
    Approve(commands::approvals::ApproveArgs),
    /// Refuse a waiting call or a proposal.
    Deny(commands::approvals::DenyArgs),
    /// Set or change the PIN that certifies proposals.
    Pin(commands::pin::PinArgs),
    /// What people wrote to agents.
    #[command(subcommand)]
    Inbox(commands::inbox::InboxCommand),
    /// Deals, letters and what waits to be sorted, of each company.
    #[command(subcommand)]
    Desk(commands::desk::DeskCommand),
    /// Where clients have events sent to.
    #[command(subcommand)]
    Events(commands::events::EventsCommand),
    /// Show messages as they come in, in the terminal and on the desktop.
    Watch(commands::watch::WatchArgs),
    /// Have a model do one task, and follow it to its end.
    Run(Box<commands::run::RunArgs>),
    /// What was handed to models.
    #[command(subcommand)]
    Task(commands::task::TaskCommand),
    /// The conversations that people, agents and models share.
    #[command(subcommand)]
    Session(commands::session::SessionCommand),
    /// What agents said of poor results.
    #[command(subcommand)]
    Report(commands::report::ReportCommand),
    /// The record of every call.
    #[command(subcommand)]
    Audit(Box<commands::audit::AuditCommand>),
    /// The rule files: entities, roles, bans, rungs, models, contracts.
    #[command(subcommand)]
    Governance(commands::governance::GovernanceCommand),
    /// The rules about servers and tools.
    #[command(subcommand)]
    Permissions(commands::permissions::PermissionsCommand),
    /// The models that may be asked.
    #[command(subcommand)]
    Models(commands::models::ModelsCommand),
    /// Take personal data out of files or a pipe.
    Redact(commands::redact::RedactArgs),
    /// The agent's own identity: sign in, see who it is, make one.
    #[command(subcommand)]
    Identity(commands::identity::IdentityCommand),
    /// The hub's settings.
    #[command(subcommand)]
    Config(commands::config::ConfigCommand),
    /// Print a completion script for a shell.
    Completions(commands::completions::CompletionsArgs),
    /// Print the manual page.
    Man(commands::man::ManArgs),
    /// A small MCP server on standard input and output, to try the hub with.
    #[command(hide = true)]
    ExampleServer,
}

/// Arguments of `legation serve`.
#[derive(Debug, Clone, Default, Args)]
pub struct ServeArgs {
    /// Where to answer HTTP [default: 127.0.0.1:48080].
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,

    /// Ask no credential over HTTP. For tests on loopback only.
    #[arg(long)]
    pub no_auth: bool,

    /// Do what permission rules want asked without asking. Lifts no refusal, and
    /// the organisation's policy can forbid it.
    #[arg(long)]
    pub allow_all: bool,

    /// More MCP servers for this run: JSON, or @FILE.
    #[arg(long, value_name = "JSON|@FILE")]
    pub additional_mcp_config: Vec<String>,

    /// Leave this server out of this run; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub disable_mcp_server: Vec<String>,

    /// Leave the hub's own servers out of this run, but for those that show what it is and did.
    #[arg(long)]
    pub disable_builtin_mcps: bool,

    /// Offer all tools of GitHub's server for this run, not only those that read.
    #[arg(long)]
    pub enable_all_github_mcp_tools: bool,

    /// One more toolset of GitHub's server for this run; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub add_github_mcp_toolset: Vec<String>,

    /// One more tool of GitHub's server for this run; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub add_github_mcp_tool: Vec<String>,

    /// Detach from the terminal; for the bridge, which starts a hub this way.
    #[arg(long, hide = true)]
    pub detached: bool,
}

/// Arguments of `legation bridge`.
#[derive(Debug, Clone, Default, Args)]
pub struct BridgeArgs {
    /// Only this server, with its own tool names.
    #[arg(long, value_name = "NAME", conflicts_with = "view")]
    pub server: Option<String>,

    /// Only this view of legation.toml.
    #[arg(long, value_name = "NAME")]
    pub view: Option<String>,

    /// The client whose credential to show, as `legation connect` named it.
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,

    /// Keep the client in the handshake era, which its channels need.
    #[arg(long)]
    pub channel: bool,

    /// Do not start a hub when none runs.
    #[arg(long)]
    pub no_start: bool,
}

/// Arguments of `legation chat`.
#[derive(Debug, Clone, Default, Args)]
pub struct ChatArgs {
    /// Use the whole screen instead of the terminal's scrollback.
    #[arg(long, conflicts_with = "plain")]
    pub fullscreen: bool,

    /// Lines without drawing, for screen readers and pipes.
    #[arg(long)]
    pub plain: bool,

    /// The conversation [default: the folder's current one].
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// The folder [default: the one it is run in].
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// Arguments of `legation demo`.
#[derive(Debug, Clone, Default, Args)]
pub struct DemoArgs {
    /// Where the demo's hub answers HTTP [default: a free port on loopback].
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,

    /// A model server to hand work to, instead of one that is found where such servers usually
    /// listen on this machine.
    #[arg(long, value_name = "URL")]
    pub model_server: Option<String>,

    /// End after the last step instead of leaving the hub running.
    #[arg(long)]
    pub once: bool,
}

/// Arguments of `legation dev-tenant`; the tenant reads them itself.
#[derive(Debug, Clone, Default, Args)]
pub struct DevTenantArgs {
    /// Options of the tenant, or one of its commands; see `legation dev-tenant --help`.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    pub arguments: Vec<OsString>,
}

// === impl BridgeLine ===

impl From<BridgeLine> for Cli {
    fn from(line: BridgeLine) -> Self {
        Self {
            json: line.json,
            home: line.home,
            command: Command::Bridge(line.bridge),
        }
    }
}

#[cfg(test)]
mod tests;
