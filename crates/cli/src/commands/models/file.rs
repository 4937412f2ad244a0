//! Changing `llm_provider.json` without touching what is not meant.

use std::path::PathBuf;

use legation_config::{Environment, governance};
use legation_core::Home;
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

/// Where the file is, and what else is read to judge it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) home: &'a Home,
    pub(super) environment: &'a Environment,
    pub(super) folders: &'a [PathBuf],
}

/// What a change comes to.
pub(super) struct Edited {
    /// Whether the text is another than before.
    pub(super) changes: bool,
    /// What the owner should know about it.
    pub(super) warnings: Vec<String>,
    /// The text then.
    pub(super) text: String,
}

/// The file as it is.
fn read(home: &Home) -> Result<String, CliError> {
    let path = home.governance().join(file::LLM_PROVIDER);
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
    let folders: Vec<_> = std::env::current_dir().into_iter().collect();
    let place = Place {
        home: &context.home,
        environment: &context.environment,
        folders: &folders,
    };
    let edited = edit(place, false, |text| Ok(vec![wanted(text)?]))?;
    if edited.changes {
        crate::commands::nudge(context);
    }
    Ok(edited.warnings)
}

/// Makes several changes at once, or none; in a dry run none either.
pub(super) fn edit<'a>(
    place: Place<'_>,
    dry_run: bool,
    wanted: impl FnOnce(&str) -> Result<Vec<Change<'a>>, CliError>,
) -> Result<Edited, CliError> {
    // Two at once would each write the file without the other's change.
    let _lock = place.home.edit_lock()?;
    let before = read(place.home)?;
    let mut after = before.clone();
    for change in wanted(&before)? {
        after = edited(&after, &change).map_err(|error| {
            let name = file::LLM_PROVIDER;
            let error = legation_core::error::chain(&error);
            CliError::new(Exit::Usage, format!("{name} was not changed: {error}"))
                .with_hint("`legation governance check` says where")
        })?;
    }
    let known = problems(place, &before);
    let mut warnings = Vec::new();
    for problem in problems(place, &after) {
        if known.iter().any(|old| old.message == problem.message) {
            continue;
        }
        if problem.severity == Severity::Error {
            let message = format!("{}; nothing was changed", problem.message);
            return Err(CliError::new(Exit::Usage, message).with_hint(problem.hint.clone()));
        }
        warnings.push(problem.message);
    }
    let changes = after != before;
    if changes && !dry_run {
        let path = place.home.governance().join(file::LLM_PROVIDER);
        write_private(&path, after.as_bytes())?;
    }
    Ok(Edited {
        changes,
        warnings,
        text: after,
    })
}

fn edited(text: &str, change: &Change<'_>) -> Result<String, EditError> {
    match (change.key, &change.value) {
        (Some(key), value) => jsonc::with_entry(text, change.member, key, value.as_ref()),
        (None, value) => jsonc::with_member(text, change.member, value.as_ref()),
    }
}

/// What is wrong with the file if it holds this text.
fn problems(place: Place<'_>, text: &str) -> Vec<Problem> {
    let policy = policy(place, text);
    let of_file = |problem: &&Problem| &*problem.file == file::LLM_PROVIDER;
    policy.problems().iter().filter(of_file).cloned().collect()
}

/// The policy if the file holds this text.
pub(super) fn policy(place: Place<'_>, text: &str) -> Policy {
    let mut sources: Sources = crate::sources(place.home, place.environment, place.folders);
    sources.llm_provider = FileText::Text(text.to_owned());
    Policy::load(&sources, &[])
}
