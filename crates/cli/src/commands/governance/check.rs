//! `legation governance check`.

use clap::Args;
use legation_policy::governance::{Problem, Severity};
use serde::Serialize;

use crate::table::{counted, printable};
use crate::{CliError, Context, Exit};

/// Arguments of `legation governance check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Fail on warnings too.
    #[arg(long)]
    pub(super) strict: bool,
}

#[derive(Debug, Serialize)]
struct Shown {
    file: String,
    line: Option<usize>,
    pointer: Option<String>,
    severity: &'static str,
    message: String,
    hint: String,
}

pub(super) fn cmd_check(context: &Context, args: &CheckArgs) -> Result<(), CliError> {
    let found = super::find(context);
    let wrong = found.problems();
    let problems: Vec<Shown> = wrong.iter().map(shown).collect();
    context.output.result(&problems, |problems| {
        if problems.is_empty() {
            return "nothing is wrong with the governance files\n".to_owned();
        }
        problems.iter().map(render).collect()
    })?;
    let severities = wrong.iter().map(|problem| problem.severity);
    let errors = severities.filter(|one| *one == Severity::Error).count();
    let counts = if args.strict { problems.len() } else { errors };
    if counts == 0 {
        return Ok(());
    }
    let what = if args.strict { "problem" } else { "error" };
    Err(CliError::new(
        Exit::Failed,
        format!("the governance files have {}", counted(counts, what)),
    )
    .with_hint("what a broken file governs is refused until it is repaired"))
}

fn shown(problem: &Problem) -> Shown {
    Shown {
        file: problem.file.to_string(),
        line: problem.place.line,
        pointer: problem.place.pointer.clone(),
        severity: problem.severity.as_str(),
        message: problem.message.clone(),
        hint: problem.hint.clone(),
    }
}

fn render(problem: &Shown) -> String {
    let mut place = problem.file.clone();
    if let Some(line) = problem.line {
        place.push_str(&format!(":{line}"));
    }
    if let Some(pointer) = &problem.pointer {
        place.push_str(&format!(" {pointer}"));
    }
    format!(
        "{:<7}  {}\n         {}\n         hint: {}\n",
        problem.severity,
        printable(&place),
        printable(&problem.message),
        printable(&problem.hint)
    )
}
