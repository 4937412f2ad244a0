//! `legation task wait`.

use std::time::Duration;

use clap::Args;
use legation_api::tasks::{TaskState, Wait};

use super::{describe, ended};
use crate::commands::running_hub;
use crate::{CliError, Context};

/// How long the hub is asked to wait at a time; a longer wait is asked again.
const STEP: Duration = Duration::from_secs(60);

/// Arguments of `legation task wait`.
#[derive(Debug, Args)]
pub struct WaitArgs {
    /// Its id, or a beginning of it that no other has.
    id: String,
    /// Give up after so many seconds; the task goes on.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

pub(super) fn cmd_wait(context: &Context, args: &WaitArgs) -> Result<(), CliError> {
    let mut hub = running_hub(context)?;
    let start = context.clock.now();
    let limit = args.timeout.map(Duration::from_secs);
    let task = loop {
        let waited = context.clock.now().duration_since(start);
        let left = limit.map(|limit| limit.saturating_sub(waited));
        let step = left.unwrap_or(STEP).min(STEP);
        let task = hub.call(&Wait {
            task_id: args.id.clone(),
            timeout_ms: u64::try_from(step.as_millis()).unwrap_or(u64::MAX),
        })?;
        let stands = task.status.is_final() || task.status == TaskState::InputRequired;
        if stands || left.is_some_and(|left| left <= step) {
            break task;
        }
        let progress = task.progress.as_deref().unwrap_or(task.status.as_str());
        context.output.progress(&crate::table::printable(progress));
    };
    context.output.progress_done();
    context
        .output
        .result(&task, |task| context.output.foreign(&describe(task)))?;
    ended(&task)
}
