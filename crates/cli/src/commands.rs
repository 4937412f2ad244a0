//! One file per command.

pub(crate) mod acp;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod browser;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod console;
pub(crate) mod desk;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod governance;
pub(crate) mod hub;
pub(crate) mod identity;
pub(crate) mod import;
pub(crate) mod inbox;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod permissions;
pub(crate) mod pin;
pub(crate) mod redact;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod secret;
pub(crate) mod service;
pub(crate) mod session;
pub(crate) mod task;
pub(crate) mod trust;
pub(crate) mod watch;

use legation_api::AdminClient;
use legation_api::hub::Reload;

use crate::{CliError, Command, Context, Program};

/// Runs one command.
pub(crate) fn run(
    program: &dyn Program,
    context: &Context,
    command: Command,
) -> Result<(), CliError> {
    match command {
        Command::Serve(args) => program.serve(context, args),
        Command::Bridge(args) => program.bridge(context, args),
        Command::Chat(args) => program.chat(context, args),
        Command::Acp(args) => acp::cmd_acp(context, args),
        Command::Demo(args) => program.demo(context, args),
        Command::DevTenant(args) => program.dev_tenant(context, args),
        Command::ExampleServer => program.example_server(),
        Command::Doctor(args) => doctor::cmd_doctor(context, &args, program.guard()),
        Command::Status(args) => hub::cmd_status(context, &args),
        Command::Stop(args) => hub::cmd_stop(context, &args),
        Command::Service(command) => service::cmd_service(context, &command),
        Command::Mcp(command) => mcp::cmd_mcp(context, command),
        Command::Console(args) => console::cmd_console(context, &args),
        Command::Connect(args) => connect::cmd_connect(context, &args),
        Command::Import(args) => import::cmd_import(context, &args),
        Command::Export(args) => export::cmd_export(context, &args),
        Command::Secret(command) => secret::cmd_secret(context, &command),
        Command::Trust(args) => trust::cmd_trust(context, &args),
        Command::Approvals(args) => approvals::cmd_approvals(context, &args),
        Command::Approve(args) => approvals::cmd_approve(context, &args),
        Command::Deny(args) => approvals::cmd_deny(context, &args),
        Command::Pin(args) => pin::cmd_pin(context, &args),
        Command::Inbox(command) => inbox::cmd_inbox(context, command),
        Command::Desk(command) => desk::cmd_desk(context, command),
        Command::Events(command) => events::cmd_events(context, command),
        Command::Watch(args) => watch::cmd_watch(context, &args),
        Command::Run(args) => run::cmd_run(program, context, *args),
        Command::Task(command) => task::cmd_task(context, command),
        Command::Session(command) => session::cmd_session(context, command),
        Command::Report(command) => report::cmd_report(context, &command),
        Command::Audit(command) => audit::cmd_audit(context, &command),
        Command::Governance(command) => governance::cmd_governance(context, &command),
        Command::Models(command) => models::cmd_models(context, &command),
        Command::Permissions(command) => permissions::cmd_permissions(context, &command),
        Command::Redact(args) => redact::cmd_redact(context, &args),
        Command::Identity(command) => identity::cmd_identity(context, command),
        Command::Config(command) => config::cmd_config(context, &command),
        Command::Completions(args) => completions::cmd_completions(context, &args),
        Command::Man(args) => man::cmd_man(context, &args),
    }
}

/// The running hub, or `None`.
pub(crate) fn hub(context: &Context) -> Result<Option<AdminClient>, CliError> {
    Ok(AdminClient::connect(&context.home, context.version)?)
}

/// The running hub, or a failure that says how to start one.
pub(crate) fn running_hub(context: &Context) -> Result<AdminClient, CliError> {
    hub(context)?.ok_or_else(|| CliError::no_hub(&context.home))
}

/// Has a running hub read its files now rather than in a moment. What was
/// changed is in the files whatever the hub does, so nothing fails here.
pub(crate) fn nudge(context: &Context) {
    if let Ok(Some(mut client)) = hub(context) {
        drop(client.call(&Reload {}));
    }
}

/// The folder the command was run in, for workspace servers.
pub(crate) fn workspace() -> Option<String> {
    let folder = std::env::current_dir().ok()?;
    folder.to_str().map(str::to_owned)
}
