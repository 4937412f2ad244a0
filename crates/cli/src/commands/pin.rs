//! `legation pin`: the PIN that certifies proposals.

use clap::Args;
use legation_api::Done;
use legation_keystore::{Keystore, Pin, PinError};

use crate::{CliError, Context, Exit, terminal};

/// Arguments of `legation pin`.
#[derive(Debug, Args)]
pub struct PinArgs {
    /// Read it from standard input, a line each: the old PIN where one is set,
    /// then the new one.
    #[arg(long)]
    stdin: bool,
}

pub(crate) fn cmd_pin(context: &Context, args: &PinArgs) -> Result<(), CliError> {
    let keystore = Keystore::open(&context.home.keys())
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    let pin = Pin::new(&keystore);
    let is_set = pin.is_set().map_err(|error| failed(&error))?;
    let (old, new) = if args.stdin {
        let old = is_set.then(|| read(terminal::piped)).transpose()?;
        (old, read(terminal::piped)?)
    } else {
        from_terminal(is_set)?
    };
    pin.set(old.as_deref(), &new, context.clock.wall())
        .map_err(|error| failed(&error))?;
    context
        .output
        .result(&Done {}, |_| "The PIN is set.\n".to_owned())
}

fn from_terminal(is_set: bool) -> Result<(Option<String>, String), CliError> {
    if !terminal::is_there() {
        return Err(CliError::new(
            Exit::Usage,
            "nobody is at a terminal; the PIN stays as it is",
        )
        .with_hint("run it at a terminal, or pipe the PIN in with --stdin"));
    }
    let old = is_set
        .then(|| read(|| terminal::ask_hidden("Old PIN:")))
        .transpose()?;
    let new = read(|| terminal::ask_hidden("New PIN:"))?;
    let again = read(|| terminal::ask_hidden("The same again:"))?;
    if new != again {
        return Err(CliError::new(
            Exit::Failed,
            "the two differ; the PIN stays as it is",
        ));
    }
    Ok((old, new))
}

fn read(from: impl FnOnce() -> std::io::Result<String>) -> Result<String, CliError> {
    from().map_err(|error| CliError::failed(&error))
}

fn failed(error: &PinError) -> CliError {
    CliError::failed(error).with_hint(error.hint())
}
