//! Changing `llm_provider.json` without touching what is not meant.

use legation_config::governance;
use legation_core::home::write_private;
use legation_policy::Policy;
use legation_policy::governance::{FileText, Problem, Severity, Sources, file};
use serde_json::Value;

use crate::commands::connect::jsonc::{self, EditError};
use crate::{CliError, Context, Exit};

/// One change of the file.
#[derive(Clone)]
pub(super) struct Change<'a> {
    /// A member of the file.
    pub(super) member: &'static str,
    /// The entry of it; `None` for the member itself.
    pub(super) key: Option<&'a str>,
    /// What it shall be; `None` for nothing.
    pub(super) value: Option<Value>,
}

/// The file as it is.
fn read(context: &Context) -> Result<String, CliError> {
    let path = context.home.governance().join(file::LLM_PROVIDER);
    let fail = |what: String| {
        CliError::new(
            Exit::Failed,
            format!("{} {what}; nothing was changed", path.display()),
        )
    };
    match governance::read_one(&path) {
        governance::Found::Text(text) => Ok(text),
        governance::Found::Absent => Err(fail("does not exist".to_owned())
            .with_hint("`legation governance init` writes the files")),
        governance::Found::Unusable(why) => Err(fail(why)),
    }
}

/// Changes the file, if it means no less than before; what the owner should
/// know about it comes back.
pub(super) fn change(context: &Context, change: &Change<'_>) -> Result<Vec<String>, CliError> {
    change_as(context, |_| Ok(change.clone()))
}

/// The same for a change that depends on what the file says.
pub(super) fn change_as<'a>(
    context: &Context,
    wanted: impl FnOnce(&str) -> Result<Change<'a>, CliError>,
) -> Result<Vec<String>, CliError> {
    // Two at once would each write the file without the other's change.
    let _lock = context.home.edit_lock()?;
    let before = read(context)?;
    let after = edited(&before, &wanted(&before)?).map_err(|error| {
        let name = file::LLM_PROVIDER;
        let error = legation_core::error::chain(&error);
        CliError::new(Exit::Usage, format!("{name} was not changed: {error}"))
            .with_hint("`legation governance check` says where")
    })?;
    let known = problems(context, &before);
    let mut warnings = Vec::new();
    for problem in problems(context, &after) {
        if known.iter().any(|old| old.message == problem.message) {
            continue;
        }
        if problem.severity == Severity::Error {
            let message = format!("{}; nothing was changed", problem.message);
            return Err(CliError::new(Exit::Usage, message).with_hint(problem.hint.clone()));
        }
        warnings.push(problem.message);
    }
    if after != before {
        let path = context.home.governance().join(file::LLM_PROVIDER);
        write_private(&path, after.as_bytes())?;
        crate::commands::nudge(context);
    }
    Ok(warnings)
}

fn edited(text: &str, change: &Change<'_>) -> Result<String, EditError> {
    match (change.key, &change.value) {
        (Some(key), value) => jsonc::with_entry(text, change.member, key, value.as_ref()),
        (None, value) => jsonc::with_member(text, change.member, value.as_ref()),
    }
}

/// What is wrong with the file if it holds this text.
fn problems(context: &Context, text: &str) -> Vec<Problem> {
    let folders: Vec<_> = std::env::current_dir().into_iter().collect();
    let mut sources: Sources = crate::sources(&context.home, &context.environment, &folders);
    sources.llm_provider = FileText::Text(text.to_owned());
    let policy = Policy::load(&sources, &[]);
    let of_file = |problem: &&Problem| &*problem.file == file::LLM_PROVIDER;
    policy.problems().iter().filter(of_file).cloned().collect()
}
