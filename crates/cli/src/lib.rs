//! The command line: one file per command.
//!
//! Data goes to standard output (`--json` for programs), talk to standard
//! error. A command asks a running hub through its socket; without one it
//! reads files, and says so where the difference matters.

pub mod accounts;
mod args;
mod commands;
mod error;
mod governance;
mod output;
mod private;
mod seen;
mod shell;
mod table;
mod terminal;
mod walls;

pub use args::{BridgeArgs, ChatArgs, Cli, Command, DemoArgs, DevTenantArgs, ServeArgs};
pub use commands::audit::{export_answer, of_ledger, query_answer, records, verify_answer};
/// Answers about an inbox that is open.
pub mod inbox {
    pub use crate::commands::inbox::{export, list, post_answer, prune_answer, pull, show};
}

/// What a hub answers about models.
pub mod models {
    pub use crate::commands::models::{
        keys_of, preferences, savings_answer, savings_bounds, set_preferences,
    };
}

/// What a hub answers about the rules.
pub mod rules {
    pub use crate::commands::governance::explain::provider::answered as provider;
    pub use crate::commands::governance::explain::states as files;
    pub use crate::commands::governance::explain::subject::{client, tool};
    pub use crate::commands::permissions::explain::decided;
    pub use crate::commands::permissions::replay::replayed;
}

pub use error::{CliError, Exit};
pub use governance::{sources, template, withhold};
pub use output::Output;
pub use private::private_environment;
pub use walls::walls;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use args::BridgeLine;
use clap::Parser as _;
use legation_config::environment::Environment;
use legation_core::process::GuardPath;
use legation_core::{Home, SharedClock};

/// What the composition root does for commands that need the hub's own parts.
pub trait Program {
    /// `legation serve`: runs the hub in the foreground.
    ///
    /// # Errors
    /// When it could not start or had to stop.
    fn serve(&self, context: &Context, args: ServeArgs) -> Result<(), CliError>;

    /// `legation bridge`: pipes one agent to the hub.
    ///
    /// # Errors
    /// When its own standard input cannot be read.
    fn bridge(&self, context: &Context, args: BridgeArgs) -> Result<(), CliError>;

    /// `legation chat`: the conversation with the local model.
    ///
    /// # Errors
    /// When the terminal cannot be used, or no hub can be reached.
    fn chat(&self, context: &Context, args: ChatArgs) -> Result<(), CliError>;

    /// Starts a hub in the background where none runs, and waits until it answers.
    ///
    /// # Errors
    /// When it does not come up.
    fn start_hub(&self, context: &Context) -> Result<(), CliError>;

    /// How this program guards commands, where it does.
    fn guard(&self) -> Option<GuardPath> {
        None
    }

    /// `legation demo`: shows what the hub does.
    ///
    /// # Errors
    /// When a step of it failed.
    fn demo(&self, context: &Context, args: DemoArgs) -> Result<(), CliError>;

    /// `legation dev-tenant`: stands in for Entra ID and Microsoft Graph.
    ///
    /// # Errors
    /// When it could not start, or a command against a running one failed.
    fn dev_tenant(&self, context: &Context, args: DevTenantArgs) -> Result<(), CliError>;

    /// `legation example-server`: the built-in example server on stdio.
    ///
    /// # Errors
    /// When its own standard input cannot be read.
    fn example_server(&self) -> Result<(), CliError>;
}

/// What every command gets.
#[derive(Debug, Clone)]
pub struct Context {
    /// The data directory.
    pub home: Home,
    /// The process environment.
    pub environment: Environment,
    /// The time.
    pub clock: SharedClock,
    /// This program's version.
    pub version: &'static str,
    /// Where results and talk go.
    pub output: Output,
}

/// The data directory. A relative one starts at the current folder, and is
/// made absolute here because agents' files and services will hold it.
fn home(given: Option<PathBuf>, environment: &Environment) -> Result<Home, CliError> {
    match given {
        Some(path) => std::path::absolute(path)
            .map(Home::at)
            .map_err(|error| CliError::usage(&error)),
        None => environment
            .legation_home()
            .map_err(|error| CliError::usage(&error).with_hint(error.hint())),
    }
}

/// Whether `--json` was given in arguments that could not be read.
fn wants_json(arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| argument == "--json")
}

/// What the arguments say. Nobody who types the program's name alone at a terminal wants to read its
/// help.
fn parsed(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    // Agents wait for a bridge, and so not for the arguments of a hundred commands. What is wrong with its own, and its
    // help, is said below.
    if arguments.get(1).is_some_and(|word| word == "bridge")
        && let Ok(line) = BridgeLine::try_parse_from(&arguments[1..])
    {
        return Ok(line.into());
    }
    Cli::try_parse_from(arguments).or_else(|error| {
        let is_person = io::stdin().is_terminal() && io::stdout().is_terminal();
        let chat = arguments.iter().cloned().chain(["chat".into()]);
        match Cli::try_parse_from(chat) {
            Ok(cli)
                if is_person && error.use_stderr() && matches!(cli.command, Command::Chat(_)) =>
            {
                Ok(cli)
            }
            _ => Err(error),
        }
    })
}

/// Runs another command line, given without the program's name, in place of a command that runs
/// already. What goes wrong is said.
pub fn run_within(program: &dyn Program, context: &Context, line: Vec<String>) {
    let words = std::iter::once("legation".to_owned()).chain(line);
    match Cli::try_parse_from(words) {
        Ok(cli) => {
            if let Err(error) = commands::run(program, context, cli.command) {
                context.output.error(&error);
            }
        }
        Err(error) => drop(error.print()),
    }
}

/// Reads the arguments, runs the command, and turns the end into an exit code.
pub fn run(
    program: &dyn Program,
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment,
    clock: SharedClock,
    version: &'static str,
) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match parsed(&arguments) {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error, wants_json(&arguments)),
    };
    let output = Output::new(cli.json);
    let end = match home(cli.home, &environment) {
        Ok(home) => {
            let keyring = accounts::HomeKeyring::of(&home);
            let context = Context {
                home,
                environment: environment.with_keyring(Arc::new(keyring)),
                clock,
                version,
                output,
            };
            let end = commands::run(program, &context, cli.command);
            if let Err(error) = &end {
                context.output.error(error);
            }
            end
        }
        Err(error) => {
            output.error(&error);
            Err(error)
        }
    };
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ExitCode::from(error.exit.code()),
    }
}
