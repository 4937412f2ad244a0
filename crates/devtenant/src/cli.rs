//! The command line: the tenant itself, and commands that act as the human.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use legation_core::SharedClock;
use tokio::signal::unix::{SignalKind, signal};

use crate::ctl::{self, CtlArgs};
use crate::say::say;
use crate::server::{Options, Server};

#[derive(Debug, Clone, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
struct Args {
    /// Where Entra ID and Graph answer, over https; loopback only
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:48443")]
    listen: SocketAddr,
    /// Where the proxy for unmodified clients answers, over http; loopback only
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    proxy_listen: SocketAddr,
    /// Keys, certificates, state and the token of the control API
    #[arg(long, value_name = "DIR", default_value = ".legation-devtenant")]
    dir: PathBuf,
    /// Write what clients need to know, one file a tenant: FILE, FILE.second
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// What a new state is filled with
    #[arg(long, value_name = "WHAT")]
    seed: Option<ctl::Seed>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Clone, Subcommand)]
enum Command {
    /// Act as the human of a running tenant, order faults, read reports
    Ctl(CtlArgs),
}

/// Stand in for Entra ID and Microsoft Graph on loopback
///
/// Microsoft's own client libraries work against it; nothing reaches Microsoft. See `ctl --help`
/// for acting as the human and ordering faults.
#[derive(Debug, Parser)]
#[command(name = "legation-devtenant", version)]
struct Program {
    #[command(flatten)]
    args: Args,
}

/// Runs the tenant until a signal, or one command against a running one. `arguments` begin with
/// the program's name.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>, clock: SharedClock) -> ExitCode {
    let program = Program::parse_from(arguments);
    match attempt(&program.args, &[], clock) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The same as a command of another program: `within` is how that command is called, the
/// program's name first. Asking for help ends the process, as clap has it.
///
/// # Errors
/// What went wrong, in words.
pub fn run_within(
    within: &[&str],
    arguments: Vec<OsString>,
    clock: SharedClock,
) -> Result<(), String> {
    let name = within.join(" ");
    let matches = Program::command()
        .bin_name(name)
        .get_matches_from(std::iter::once(OsString::new()).chain(arguments));
    let program = Program::from_arg_matches(&matches).map_err(|error| error.to_string())?;
    let after = within.get(1..).unwrap_or_default();
    attempt(&program.args, after, clock).map_err(|error| format!("{error:#}"))
}

fn attempt(args: &Args, within: &[&str], clock: SharedClock) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime")?;
    runtime.block_on(async {
        match &args.command {
            None => serve(args, within, clock).await,
            Some(Command::Ctl(ctl)) => ctl::run(ctl).await,
        }
    })
}

async fn serve(args: &Args, within: &[&str], clock: SharedClock) -> Result<()> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut control_command = vec![program.display().to_string()];
    control_command.extend(within.iter().map(|word| (*word).to_owned()));
    let dir = std::path::absolute(&args.dir)?;
    let env_file = args.env_file.as_deref().map(std::path::absolute);
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let server = Server::start(
        Options {
            listen: args.listen,
            proxy: args.proxy_listen,
            dir,
            env_file: env_file.transpose()?,
            control_command,
            with_desk: args.seed.is_some(),
        },
        clock,
    )
    .await?;
    say(&format!("listening on https://{}", server.address()));
    say(&format!("proxy on http://{}", server.proxy()));
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    server.stop().await
}
