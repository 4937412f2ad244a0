//! `legation serve`: the hub in the foreground.

mod accounts;
mod admin;
mod approvals;
mod checkpoints;
mod console;
mod copilot;
mod counts;
mod credentials;
mod delegate;
mod desk;
mod engine;
mod events;
mod feeds;
mod github;
mod hub;
mod identities;
mod inbox;
mod issuer;
mod log;
mod meaning;
mod models;
mod moves;
mod mute;
mod natives;
mod oauth;
mod reload;
mod telemetry;
mod told;
mod workspace;

use legation_cli::{CliError, Context, Exit, ServeArgs};
use legation_config::Settings;
use legation_config::settings::{GithubAdded, is_github_name};
use legation_core::process;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) use hub::{Hub, HubOptions};

pub(crate) fn serve(context: &Context, args: &ServeArgs) -> Result<(), CliError> {
    if args.detached {
        process::become_daemon().map_err(|error| CliError::failed(&error))?;
    }
    let environment = legation_cli::private_environment(context)?;
    let flags: Vec<(&str, String)> = args
        .listen
        .iter()
        .map(|listen| ("listen", listen.clone()))
        .collect();
    let settings = Settings::load(&context.home, &environment, &flags)
        .map_err(|error| CliError::usage(&error).with_hint(error.hint()))?;
    check_additional(&args.additional_mcp_config)?;
    prepare(context)?;
    log::start(&context.home, &settings, &context.clock);
    let github = GithubAdded {
        all_tools: args.enable_all_github_mcp_tools,
        toolsets: names(&args.add_github_mcp_toolset)?,
        tools: names(&args.add_github_mcp_tool)?,
    };
    let options = HubOptions {
        home: context.home.clone(),
        environment,
        clock: context.clock.clone(),
        settings,
        flags: flags
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.clone()))
            .collect(),
        no_auth: args.no_auth,
        allow_all: args.allow_all,
        additional: args.additional_mcp_config.clone(),
        off: args.disable_mcp_server.clone(),
        no_builtins: args.disable_builtin_mcps,
        github,
        detached: args.detached,
    };
    runtime()?.block_on(async {
        // Whoever reads the line below may send a signal at once.
        let mut signals = Signals::register()?;
        let hub = Hub::start(options).await?;
        if args.no_auth {
            context.output.say(
                "WARNING: --no-auth: every program on this machine can use your servers over HTTP",
            );
        }
        if args.allow_all {
            context.output.say(hub.warning_of_allow_all());
        }
        // Scripts wait for this line, so it is printed under --json too.
        if let Some(address) = hub.address() {
            legation_cli::Output::new(false).say(&format!("listening on http://{address}"));
        }
        let reason = tokio::select! {
            reason = signals.next() => reason,
            reason = hub.ended() => reason,
        };
        context.output.say(&format!("stopping: {reason}"));
        hub.stop().await;
        Ok(())
    })
}

/// Names of tools and toolsets of GitHub's, each of which stands in a header.
fn names(arguments: &[String]) -> Result<Vec<Box<str>>, CliError> {
    let name = |argument: &String| {
        if is_github_name(argument) {
            return Ok(argument.as_str().into());
        }
        let message = format!("{argument:?} is no name of a tool or toolset of GitHub's server");
        Err(CliError::new(Exit::Usage, message)
            .with_hint("Names have letters, digits, _ and -; give the flag once for each."))
    };
    arguments.iter().map(name).collect()
}

/// An argument that is no configuration is refused: nothing else can correct it.
fn check_additional(arguments: &[String]) -> Result<(), CliError> {
    let folder = std::env::current_dir().map_err(|error| CliError::failed(&error))?;
    let loaded = legation_config::servers::additional(arguments, &folder);
    if loaded.files_are_whole() {
        return Ok(());
    }
    let problem = loaded
        .problems
        .into_iter()
        .find(|problem| problem.server.is_none());
    Err(problem.map_or_else(
        || {
            CliError::new(
                Exit::Usage,
                "--additional-mcp-config cannot be read; the hub did not start",
            )
        },
        |problem| {
            let message = format!(
                "{}: {}; the hub did not start",
                problem.source, problem.message
            );
            CliError::new(Exit::Usage, message).with_hint(problem.hint)
        },
    ))
}

/// The folders and the first files.
pub(crate) fn prepare(context: &Context) -> Result<(), CliError> {
    let first = legation_config::first_run::first_run(
        &context.home,
        &legation_cli::template(legation_policy::governance::Template::Personal),
    )
    .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    let folder = context.home.governance();
    let (rules, others): (Vec<_>, Vec<_>) = first
        .created
        .iter()
        .partition(|path| path.starts_with(&folder));
    if !rules.is_empty() {
        let count = rules.len();
        let say = format!("wrote {} ({count} files)", folder.display());
        context.output.say(&say);
    }
    for path in others {
        context.output.say(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// The main runtime: one thread, this one.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::new(Exit::Failed, format!("no runtime could be made: {error}")))
}

/// The signals that end a hub.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

// === impl Signals ===

impl Signals {
    /// Takes the signals over; to be called on a runtime.
    pub(crate) fn register() -> Result<Self, CliError> {
        let failed = |error: std::io::Error| CliError::failed(&error);
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            hangup: signal(SignalKind::hangup()).map_err(failed)?,
        })
    }

    /// Waits for one; returns it in words.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "interrupted",
            _ = self.terminate.recv() => "told to terminate",
            _ = self.hangup.recv() => "its terminal is gone",
        }
    }
}
