//! `legation task answer` and `legation task steer`.

use clap::Args;
use legation_api::tasks::{Answer, Steer};

use super::words;
use crate::commands::running_hub;
use crate::table::printable;
use crate::{CliError, Context};

/// Arguments of `legation task answer`.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Its id, or a beginning of it that no other has.
    id: String,
    /// The answer.
    #[arg(required = true, value_name = "WORDS")]
    text: Vec<String>,
}

/// Arguments of `legation task steer`.
#[derive(Debug, Args)]
pub struct SteerArgs {
    /// Its id, or a beginning of it that no other has.
    id: String,
    /// What it should hear before its next step.
    #[arg(required = true, value_name = "WORDS")]
    text: Vec<String>,
}

pub(super) fn cmd_answer(context: &Context, args: AnswerArgs) -> Result<(), CliError> {
    let task = running_hub(context)?.call(&Answer {
        task_id: args.id,
        text: args.text.join(" "),
    })?;
    context.output.result(&task, |task| {
        let id = printable(&task.task_id);
        format!("{id} has the answer and is {}\n", words(task.status))
    })
}

pub(super) fn cmd_steer(context: &Context, args: SteerArgs) -> Result<(), CliError> {
    let task = running_hub(context)?.call(&Steer {
        task_id: args.id,
        text: args.text.join(" "),
    })?;
    context.output.result(&task, |task| {
        let id = printable(&task.task_id);
        format!("{id} hears it before its next step\n")
    })
}
