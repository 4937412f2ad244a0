//! `legation task list`.

use clap::Args;
use legation_api::tasks::{List, ListAnswer};

use crate::commands::running_hub;
use crate::table::Table;
use crate::{CliError, Context};

/// Arguments of `legation task list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Those that are over too.
    #[arg(long, short)]
    all: bool,
    /// Only this session's.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// How many at most.
    #[arg(long, short = 'n', default_value_t = 100)]
    limit: usize,
}

pub(super) fn cmd_list(context: &Context, args: &ListArgs) -> Result<(), CliError> {
    let answer = running_hub(context)?.call(&List {
        open: !args.all,
        session: args.session.clone(),
        limit: Some(args.limit),
    })?;
    context
        .output
        .result(&answer, |answer| render(answer, args.all))
}

pub(super) fn render(answer: &ListAnswer, all: bool) -> String {
    const TITLE: usize = 50;
    if answer.tasks.is_empty() {
        return match all {
            true => "There are no tasks.\n".to_owned(),
            false => "No task is open; --all shows those that are over.\n".to_owned(),
        };
    }
    let mut table = Table::new(&["ID", "FROM", "STATUS", "PLACE", "WORKED", "TITLE"]);
    for task in &answer.tasks {
        let place = task.queue_position;
        table.row([
            task.task_id.clone(),
            task.source.clone(),
            task.status.as_str().to_owned(),
            place.map_or("-".to_owned(), |place| place.to_string()),
            format!("{} s", task.elapsed_seconds),
            task.title.chars().take(TITLE).collect(),
        ]);
    }
    table.render()
}
