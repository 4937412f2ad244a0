//! Delegated tasks: those that wait for a person, and the socket of their own.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use legation_api::tasks::{List, TaskState};

use super::{Check, State};
use crate::Context;
use crate::commands::hub;

const WHAT: &str = "delegation";

pub(super) fn check_delegation(context: &Context) -> Vec<Check> {
    let mut checks = Vec::new();
    // Settings that cannot be read have a line of their own.
    if let Ok(settings) = crate::commands::config::settings(context) {
        let external = &settings.external;
        let socket = external.socket_path.as_deref();
        checks.extend(socket.filter(|_| external.enabled).and_then(check_folder));
    }
    checks.extend(check_waiting(context));
    checks
}

/// The hub does not start where others could reach its second socket.
fn check_folder(socket: &Path) -> Option<Check> {
    let folder = socket.parent()?;
    let (detail, hint) = match std::fs::metadata(folder) {
        Ok(found) if found.permissions().mode() & 0o077 == 0 => return None,
        Ok(_) => (
            format!("{} is open to other users", folder.display()),
            format!("chmod 700 {}", folder.display()),
        ),
        Err(error) => (
            format!("{} cannot be used: {error}", folder.display()),
            format!("mkdir -m 700 {}", folder.display()),
        ),
    };
    Some(Check {
        what: WHAT,
        state: State::Bad,
        detail: format!("external.socket_path: {detail}"),
        hint: Some(hint),
    })
}

fn check_waiting(context: &Context) -> Option<Check> {
    let mut hub = hub(context).ok()??;
    let open = hub.call(&List {
        open: true,
        ..List::default()
    });
    let tasks = open.ok()?.tasks;
    let mut waiting = tasks.iter();
    let first = waiting.find(|task| task.status == TaskState::InputRequired)?;
    let question = first.question.as_deref().unwrap_or("something");
    Some(Check {
        what: WHAT,
        state: State::Warning,
        detail: format!("{} waits for an answer: {question}", first.task_id),
        hint: Some(format!("legation task answer {} WORDS", first.task_id)),
    })
}
