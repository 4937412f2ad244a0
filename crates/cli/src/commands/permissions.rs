//! `legation permissions`: the rules about servers and tools.

mod add;
pub(crate) mod explain;
mod list;
mod remove;
pub(crate) mod replay;
mod target;

use clap::Subcommand;
use legation_config::governance;
use legation_core::home::write_private;
use legation_policy::Policy;
use legation_policy::governance::{FileText, Severity, Sources, file};
use toml_edit::DocumentMut;

use crate::seen::Seen;
use crate::{CliError, Context, Exit};

/// The commands of `legation permissions`.
#[derive(Debug, Subcommand)]
pub enum PermissionsCommand {
    /// Print every rule and the file it stands in.
    List,
    /// Add a rule, if the whole file holds with it.
    Add(add::AddArgs),
    /// Remove a rule.
    Remove(remove::RemoveArgs),
    /// Say what every layer would decide about a call.
    Explain(explain::ExplainArgs),
    /// Decide recorded calls again, and say which answers would differ.
    Replay(replay::ReplayArgs),
}

pub(crate) fn cmd_permissions(
    context: &Context,
    command: &PermissionsCommand,
) -> Result<(), CliError> {
    match command {
        PermissionsCommand::List => list::cmd_list(context),
        PermissionsCommand::Add(args) => add::cmd_add(context, args),
        PermissionsCommand::Remove(args) => remove::cmd_remove(context, args),
        PermissionsCommand::Explain(args) => explain::cmd_explain(context, args),
        PermissionsCommand::Replay(args) => replay::cmd_replay(context, args),
    }
}

/// Everything that governs here.
fn sources(context: &Context) -> Sources {
    let folders: Vec<_> = std::env::current_dir().into_iter().collect();
    crate::sources(&context.home, &context.environment, &folders)
}

/// The policy as a hub would load it.
fn policy(context: &Context, sources: &Sources) -> Policy {
    Policy::load(sources, &Seen::read(context).known(context))
}

/// The owner's rule file, to be changed without losing its comments.
fn document(context: &Context) -> Result<(String, DocumentMut), CliError> {
    let path = context.home.governance().join(file::PERMISSIONS);
    let text = match governance::read_one(&path) {
        governance::Found::Text(text) => text,
        governance::Found::Absent => {
            return Err(CliError::new(
                Exit::Failed,
                format!("{} does not exist; nothing was changed", path.display()),
            )
            .with_hint("`legation governance init` writes the files"));
        }
        governance::Found::Unusable(why) => {
            return Err(CliError::new(
                Exit::Failed,
                format!("{} {why}; nothing was changed", path.display()),
            ));
        }
    };
    let document = text.parse().map_err(|error: toml_edit::TomlError| {
        CliError::new(
            Exit::Usage,
            format!(
                "{} is no TOML: {}; nothing was changed",
                path.display(),
                error.message()
            ),
        )
    })?;
    Ok((text, document))
}

/// Checks the whole file with its new text; what is only doubtful comes back.
fn check(context: &Context, text: &str) -> Result<Vec<String>, CliError> {
    let mut sources = sources(context);
    sources.permissions = FileText::Text(text.to_owned());
    let policy = policy(context, &sources);
    let of_rules = policy
        .problems()
        .iter()
        .filter(|problem| &*problem.file == file::PERMISSIONS);
    let mut warnings = Vec::new();
    for problem in of_rules {
        if problem.severity == Severity::Error {
            let message = format!("{}; nothing was changed", problem.message);
            return Err(CliError::new(Exit::Usage, message).with_hint(problem.hint.clone()));
        }
        warnings.push(problem.message.clone());
    }
    Ok(warnings)
}

/// Writes the file, unless somebody else changed it meanwhile.
fn write(context: &Context, before: &str, after: &str) -> Result<(), CliError> {
    let (now, _) = document(context)?;
    if now != before {
        return Err(CliError::new(
            Exit::Failed,
            "the rules were changed by somebody else meanwhile; nothing was changed",
        )
        .with_hint("try again"));
    }
    let path = context.home.governance().join(file::PERMISSIONS);
    write_private(&path, after.as_bytes())?;
    super::nudge(context);
    Ok(())
}

/// The rules of the file, `None` where it has none.
fn rules(document: &mut DocumentMut) -> Option<&mut toml_edit::ArrayOfTables> {
    document.get_mut("rule")?.as_array_of_tables_mut()
}

#[cfg(test)]
mod tests;
