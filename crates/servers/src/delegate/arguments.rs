//! What the tools of `delegate` are called with.

use legation_api::tasks::{Check, ContextFile, NewTask};
use legation_core::EntityId;
use legation_engine::NewReport;
use legation_wire::json::{Object, Raw};

/// Most files handed over with a task.
const FILES_MAX: usize = 64;
/// What can be wrong with a result.
const ISSUES: [&str; 6] = [
    "incorrect",
    "incomplete",
    "hallucination",
    "off_topic",
    "slow",
    "other",
];
/// What kinds of work there are.
const HINTS: [&str; 6] = [
    "code_generation",
    "code_review",
    "refactoring",
    "testing",
    "documentation",
    "general",
];

/// Whether a person could mean these words.
pub(super) fn text(arguments: &Object, member: &str) -> Result<String, String> {
    let given = arguments.get(member).and_then(Raw::to_str);
    let given = given.filter(|text| !text.trim().is_empty());
    given
        .map(|text| text.into_owned())
        .ok_or_else(|| format!("`{member}` must be a text; nothing was done"))
}

/// The task that `chat` hands in, and whether its caller waits for the end.
pub(super) fn task(arguments: &Object) -> Result<(NewTask, bool), String> {
    let flag = |member: &str| match arguments.get(member) {
        None => Ok(false),
        Some(raw) => raw
            .to_bool()
            .ok_or_else(|| format!("`{member}` must be true or false; nothing was handed in")),
    };
    let optional = |member: &str| match arguments.contains(member) {
        true => text(arguments, member).map(Some),
        false => Ok(None),
    };
    let check = match (optional("check")?, arguments.get("answer_schema")) {
        (Some(_), Some(_)) => {
            return Err(
                "`check` and `answer_schema` exclude each other; nothing was handed in".to_owned(),
            );
        }
        (Some(command), None) => Some(Check::Command { command }),
        (None, Some(schema)) => Some(Check::JsonSchema {
            schema: schema.deserialize().map_err(|_| {
                "`answer_schema` must be an object; nothing was handed in".to_owned()
            })?,
        }),
        (None, None) => None,
    };
    let hint = optional("hint")?;
    if let Some(unknown) = hint.as_deref().filter(|hint| !HINTS.contains(hint)) {
        return Err(format!(
            "`hint` {unknown:?} is none of {}; nothing was handed in",
            HINTS.join(", ")
        ));
    }
    let new = NewTask {
        message: text(arguments, "message")?,
        context: files(arguments)?,
        hint,
        check,
        agent: optional("agent")?,
        may_cost: flag("may_cost")?,
        ..NewTask::default()
    };
    Ok((new, flag("wait")?))
}

/// The entity that a call names.
pub(super) fn named(arguments: &Object) -> Option<EntityId> {
    let entity = arguments.get("entity").and_then(Raw::to_str);
    entity
        .filter(|entity| !entity.is_empty())
        .map(|entity| EntityId::new(&*entity))
}

/// What `report_issue` reports.
pub(super) fn report(arguments: &Object) -> Result<NewReport, String> {
    let optional = |member: &str| match arguments.contains(member) {
        true => text(arguments, member).map(Some),
        false => Ok(None),
    };
    let issue_type = text(arguments, "issue_type")?;
    if !ISSUES.contains(&issue_type.as_str()) {
        return Err(format!(
            "`issue_type` must be one of {}; nothing was reported",
            ISSUES.join(", ")
        ));
    }
    Ok(NewReport {
        task: optional("task_id")?,
        issue_type,
        description: text(arguments, "description")?,
        expected: optional("expected")?,
    })
}

fn files(arguments: &Object) -> Result<Vec<ContextFile>, String> {
    let Some(raw) = arguments.get("context") else {
        return Ok(Vec::new());
    };
    let files: Result<Vec<ContextFile>, _> = raw.deserialize();
    match files {
        Ok(files) if files.len() <= FILES_MAX => Ok(files),
        Ok(_) => Err(format!(
            "`context` has more than {FILES_MAX} files; nothing was handed in"
        )),
        Err(_) => Err(
            "`context` must be a list of `path` and `content`; nothing was handed in".to_owned(),
        ),
    }
}
