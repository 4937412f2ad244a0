//! `legation chat`: what the terminal needs.

use std::path::PathBuf;
use std::time::Duration;

use legation_api::AdminClient;
use legation_cli::{ChatArgs, CliError, Context, Exit, Program, run_within};
use legation_core::error::chain;
use legation_tui::{Options, Parts, Starter, run};

/// How long a hub that was started may take to answer.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Pause between two looks at its socket meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(crate) fn chat(
    program: &dyn Program,
    context: &Context,
    args: ChatArgs,
) -> Result<(), CliError> {
    if context.output.is_json() {
        let message = "a conversation is no JSON; nothing was begun";
        let hint =
            "`legation run --json` does one task, `legation session export` has a conversation";
        return Err(CliError::new(Exit::Usage, message).with_hint(hint));
    }
    let told = |name: &str| context.environment.get(name);
    let options = Options {
        is_full: args.fullscreen,
        // A terminal that cannot move its cursor is written on line by line.
        is_plain: args.plain || told("TERM").is_none_or(|term| term == "dumb"),
        has_colours: told("NO_COLOR").is_none_or(|value| value.is_empty()),
        session: args.session,
        workspace: workspace(args.workspace)?,
    };
    let outside = |line: Vec<String>| run_within(program, context, line);
    run(Parts {
        home: context.home.clone(),
        version: context.version,
        clock: context.clock.clone(),
        starter: Some(starter(context)),
        outside: &outside,
        options,
    })
    .map_err(|error| {
        let exit = match &error {
            legation_tui::TuiError::NoHub { .. } => Exit::NotReachable,
            legation_tui::TuiError::Terminal(_) | legation_tui::TuiError::Threads(_) => {
                Exit::Failed
            }
        };
        CliError::new(exit, chain(&error)).with_hint(error.hint())
    })
}

/// The folder by its real path: a conversation belongs to it and not to one of its names.
fn workspace(given: Option<PathBuf>) -> Result<Option<String>, CliError> {
    let folder = match given {
        Some(folder) => Some(folder.canonicalize().map_err(|error| {
            let message = format!(
                "{} is no folder that can be used: {error}",
                folder.display()
            );
            CliError::new(Exit::Usage, message)
        })?),
        None => std::env::current_dir().ok(),
    };
    Ok(folder.map(|folder| folder.display().to_string()))
}

/// Starts a hub where none runs, for a command that needs one.
pub(crate) fn start_hub(context: &Context) -> Result<(), CliError> {
    if AdminClient::connect(&context.home, context.version)?.is_some() {
        return Ok(());
    }
    context.output.say("no hub runs yet; one is started");
    starter(context)().map_err(|why| {
        let message = format!("no hub runs, and none could be started: {why}; nothing was done");
        CliError::new(Exit::NotReachable, message).with_hint("`legation serve` shows what is wrong")
    })
}

/// Starts a hub as the bridge does, and waits until it answers.
fn starter(context: &Context) -> Starter {
    let start = crate::bridge::starter(context);
    let (home, clock, version) = (context.home.clone(), context.clock.clone(), context.version);
    Box::new(move || {
        home.create().map_err(|error| chain(&error))?;
        let mut started = start().map_err(|error| chain(&error))?;
        let until = clock.now() + START_LIMIT;
        loop {
            match AdminClient::connect(&home, version) {
                Ok(Some(_)) => return Ok(()),
                // One that another started first keeps this one from running, and answers soon.
                Ok(None) if clock.now() < until => {}
                Ok(None) => return Err("the hub was started and does not answer".to_owned()),
                Err(error) => return Err(chain(&error)),
            }
            if let Some(words) = started()
                && !matches!(AdminClient::connect(&home, version), Ok(Some(_)))
            {
                return Err(format!("the hub was started but ended again: {words}"));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    })
}
