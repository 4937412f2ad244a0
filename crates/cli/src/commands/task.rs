//! `legation task`: what was handed to a model.

mod answer;
mod list;
mod show;
#[cfg(test)]
mod tests;
mod undo;
mod wait;

use clap::{Args, Subcommand};
use legation_api::tasks::{Cancel, Failure, TaskState, TaskView};

use crate::commands::running_hub;
use crate::table::{printable, printable_lines};
use crate::{CliError, Context, Exit};

pub(crate) use show::{called, describe};

/// The commands of `legation task`.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// List the tasks, newest first.
    List(list::ListArgs),
    /// Show one task with what it did and answered.
    Show {
        /// Its id, or a beginning of it that no other has.
        id: String,
    },
    /// Wait until a task is over or asks something; the exit code says how it ended.
    Wait(wait::WaitArgs),
    /// Call a task off.
    Cancel(CancelArgs),
    /// Answer what a task asks.
    Answer(answer::AnswerArgs),
    /// Say something to a task between its steps.
    Steer(answer::SteerArgs),
    /// Take back what a task did to files.
    Undo(undo::UndoArgs),
}

/// Arguments of `legation task cancel`.
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// Its id, or a beginning of it that no other has.
    id: String,
    /// Why; it is kept with the task.
    #[arg(long, value_name = "WORDS")]
    reason: Option<String>,
}

pub(crate) fn cmd_task(context: &Context, command: TaskCommand) -> Result<(), CliError> {
    match command {
        TaskCommand::List(args) => list::cmd_list(context, &args),
        TaskCommand::Show { id } => show::cmd_show(context, id),
        TaskCommand::Wait(args) => wait::cmd_wait(context, &args),
        TaskCommand::Cancel(args) => cmd_cancel(context, args),
        TaskCommand::Answer(args) => answer::cmd_answer(context, args),
        TaskCommand::Steer(args) => answer::cmd_steer(context, args),
        TaskCommand::Undo(args) => undo::cmd_undo(context, &args),
    }
}

fn cmd_cancel(context: &Context, args: CancelArgs) -> Result<(), CliError> {
    let task = running_hub(context)?.call(&Cancel {
        task_id: args.id,
        reason: args.reason,
    })?;
    context.output.result(&task, |task| match task.status {
        TaskState::Cancelled => format!("{} is called off\n", printable(&task.task_id)),
        // It was over before.
        other => format!("{} is {}\n", printable(&task.task_id), words(other)),
    })
}

/// How a task ended, as the end of a command.
///
/// # Errors
/// When it is anything but completed.
pub(crate) fn ended(task: &TaskView) -> Result<(), CliError> {
    let id = printable(&task.task_id);
    let why = |otherwise: &str| {
        let why = task.error.as_deref().map(printable_lines);
        why.unwrap_or_else(|| otherwise.to_owned())
    };
    let error = match task.status {
        TaskState::Completed => return Ok(()),
        TaskState::Cancelled => CliError::new(
            Exit::Failed,
            format!("{id} was called off: {}", why("nobody said why")),
        ),
        TaskState::Failed => {
            let exit = match task.failure {
                Some(Failure::Refused) => Exit::Refused,
                Some(Failure::NoModel) => Exit::NotReachable,
                Some(Failure::Check | Failure::Limit | Failure::Other) | None => Exit::Failed,
            };
            CliError::new(exit, format!("{id} failed: {}", why("it is not known why")))
        }
        TaskState::InputRequired => CliError::new(
            Exit::Failed,
            format!(
                "{id} waits for an answer: {}",
                task.question.as_deref().map(printable).unwrap_or_default()
            ),
        )
        .with_hint(format!("legation task answer {id} WORDS")),
        TaskState::Queued | TaskState::InProgress | TaskState::Preempted => CliError::new(
            Exit::Failed,
            format!("{id} is not over: it is {}", words(task.status)),
        )
        .with_hint(format!("legation task wait {id}")),
    };
    Err(match &task.hint {
        Some(hint) if error.hint.is_none() => error.with_hint(printable(hint)),
        _ => error,
    })
}

/// A state, as people say it.
pub(crate) fn words(state: TaskState) -> &'static str {
    match state {
        TaskState::Queued => "queued",
        TaskState::InProgress => "in progress",
        TaskState::Preempted => "paused for somebody who comes first",
        TaskState::InputRequired => "waiting for an answer",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Cancelled => "cancelled",
    }
}
