//! The secrets that a hub, or a command that signs in, was given in its
//! environment.
//!
//! Whoever may look at a process sees the environment it was started with. So
//! a program that finds secrets there starts itself again without them, in the
//! same process, and reads them from a pipe.

use std::ffi::OsString;

use legation_config::Environment;
use legation_core::error::chain;
use legation_core::process::{HANDED_OVER, HandOverError, hand_over, take_handed_over};

use crate::{CliError, Context, Exit};

/// The environment, with what was handed over. Does not return where there are
/// secrets to hand over: this program then starts anew, with the same arguments.
///
/// # Errors
/// When they cannot be handed over; nothing was done then.
pub fn private_environment(context: &Context) -> Result<Environment, CliError> {
    let (rest, secrets) = context.environment.split_secrets();
    if rest.get_os(HANDED_OVER).is_some() {
        let handed_over = take_handed_over().map_err(|error| refused(&error))?;
        return Ok(rest.without(HANDED_OVER).with(handed_over));
    }
    if secrets.is_empty() {
        return Ok(rest);
    }
    let rest: Vec<(OsString, OsString)> = rest
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Err(refused(&hand_over(&secrets, rest)))
}

fn refused(error: &HandOverError) -> CliError {
    let message = format!("{}; nothing was done", chain(error));
    CliError::new(Exit::Failed, message).with_hint(error.hint())
}
