//! `legation governance init`.

use clap::Args;
use legation_config::first_run::{self, InitError};
use serde::Serialize;

use super::TemplateName;
use crate::{CliError, Context, Exit};

/// Arguments of `legation governance init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Which files.
    #[arg(long, value_enum, default_value = "personal")]
    pub(super) template: TemplateName,

    /// Replace files that are there; the old ones are kept as NAME.old.
    #[arg(long)]
    pub(super) force: bool,

    /// Only show what would be written.
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    template: &'static str,
    dry_run: bool,
    files: Vec<File>,
}

#[derive(Debug, Serialize)]
struct File {
    file: String,
    change: &'static str,
}

pub(super) fn cmd_init(context: &Context, args: &InitArgs) -> Result<(), CliError> {
    let template = args.template.template();
    let files = crate::template(template);
    let steps = first_run::plan(&context.home, &files)
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    if !args.dry_run {
        first_run::init(&context.home, &files, args.force).map_err(|error| failed(&error))?;
        crate::commands::nudge(context);
    }
    let answer = Answer {
        template: template.as_str(),
        dry_run: args.dry_run,
        files: steps
            .into_iter()
            .map(|step| File {
                file: step.file.display().to_string(),
                change: step.change.as_str(),
            })
            .collect(),
    };
    context.output.result(&answer, render)
}

fn render(answer: &Answer) -> String {
    let mut text = String::new();
    for file in &answer.files {
        text.push_str(&format!("{:<8} {}\n", file.change, file.file));
    }
    text.push_str(if answer.dry_run {
        "nothing was written\n"
    } else {
        "`legation governance check` says what is wrong with them\n"
    });
    text
}

fn failed(error: &InitError) -> CliError {
    let mut message = legation_core::error::chain(error);
    if let InitError::Exists { files } = error {
        for file in files {
            message.push_str(&format!("\n  {}", file.display()));
        }
    }
    CliError::new(Exit::Failed, message).with_hint(error.hint())
}
