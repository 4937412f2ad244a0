//! `legation desk init`.

use std::borrow::Cow;

use clap::Args;
use legation_config::first_run::{self, Change, Template};
use legation_policy::governance::{DeskDefaults, schemas};
use serde::Serialize;

use crate::{CliError, Context, Exit};

/// Arguments of `legation desk init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Only show what would be written.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    dry_run: bool,
    /// The files that were not there.
    written: Vec<String>,
}

/// Writes what governs the desk without these files, for the owner to change.
pub(super) fn cmd_init(context: &Context, args: &InitArgs) -> Result<(), CliError> {
    let found = crate::commands::governance::find(context);
    let profile = found.governance().profile.get().map_err(|broken| {
        let message = format!("{broken}; nothing was written");
        CliError::new(Exit::Failed, message)
            .with_hint("`legation governance check` says what is wrong with it")
    })?;
    let defaults = DeskDefaults::beside(profile);
    let files = files(&defaults);
    let written = match args.dry_run {
        false => first_run::add(&context.home, &files).map_err(|error| CliError::failed(&error))?,
        true => {
            let files = Template { name: "", files };
            let plan = first_run::plan(&context.home, &files);
            let plan = plan.map_err(|error| CliError::failed(&error))?.into_iter();
            plan.filter(|step| step.change == Change::Create)
                .map(|step| step.file)
                .collect()
        }
    };
    if !args.dry_run && !written.is_empty() {
        crate::commands::nudge(context);
    }
    let answer = Answer {
        dry_run: args.dry_run,
        written: written
            .iter()
            .map(|file| file.display().to_string())
            .collect(),
    };
    context.output.result(&answer, render)
}

/// The four files, and the schemas that they name for editors.
fn files(defaults: &DeskDefaults) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    let mut files: Vec<(Cow<'_, str>, Cow<'_, str>)> = defaults
        .files()
        .map(|(name, text)| (Cow::Borrowed(name), Cow::Borrowed(text)))
        .into();
    let known = schemas().into_iter();
    let named = known.filter(|(name, _)| files.iter().any(|(file, _)| *file == **name));
    let named: Vec<_> = named
        .map(|(name, text)| (format!("schemas/{name}").into(), Cow::Owned(text)))
        .collect();
    files.extend(named);
    files
}

fn render(answer: &Answer) -> String {
    if answer.written.is_empty() {
        return "Every file is there; nothing was written.\n".to_owned();
    }
    let mut text = String::new();
    for file in &answer.written {
        text.push_str(&format!("create   {file}\n"));
    }
    if answer.dry_run {
        text.push_str("Nothing was written.\n");
    }
    text
}

#[cfg(test)]
mod tests;
