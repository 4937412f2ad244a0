//! The servers' entries: what a hub would stumble over.

use std::ffi::OsStr;
use std::path::Path;

use legation_config::environment::Environment;
use legation_config::servers::{EnvMode, Resolved, ServerSpec, Severity};
use legation_core::error::chain;

use super::{Check, State, good};
use crate::Context;
use crate::table::counted;

pub(super) fn check_servers(context: &Context) -> Vec<Check> {
    let loaded = crate::commands::mcp::configured(context);
    // One that waits for a token nobody needs to give is no configured one.
    let counts = loaded
        .servers
        .iter()
        .filter(|spec| spec.waits_for_token().is_none());
    let mut checks = vec![good("servers", counted(counts.count(), "server"))];
    checks.extend(loaded.problems.iter().map(|problem| Check {
        what: "servers",
        state: match problem.severity() {
            Severity::Warning => State::Warning,
            Severity::Error => State::Bad,
        },
        detail: match &problem.server {
            Some(server) => format!("{server} ({}): {}", problem.source, problem.message),
            None => format!("{}: {}", problem.source, problem.message),
        },
        hint: Some(problem.hint.clone()),
    }));
    checks.extend(loaded.servers.iter().filter_map(|spec| {
        let reason = spec.filtered.as_deref()?;
        Some(Check {
            what: "servers",
            state: State::Warning,
            detail: format!("{} is not started: {reason}", spec.label()),
            hint: Some("only the organisation can change its policy".to_owned()),
        })
    }));
    let settings = crate::commands::config::settings(context);
    let mode = settings.map_or_else(|_| EnvMode::default(), |settings| settings.env_value_mode);
    checks.extend(
        loaded
            .servers
            .iter()
            .filter(|spec| !spec.disabled && spec.filtered.is_none())
            .filter_map(|spec| check_start(&context.environment, mode, spec)),
    );
    checks
}

/// Whether the server could be started from here. The hub's own environment
/// may differ, so what is missing is a warning only.
fn check_start(environment: &Environment, mode: EnvMode, spec: &ServerSpec) -> Option<Check> {
    let warning = |detail: String, hint: String| Check {
        what: "servers",
        state: State::Warning,
        detail,
        hint: Some(hint),
    };
    let resolved = match spec.resolve(environment, mode) {
        Ok(Resolved::Stdio(resolved)) => resolved,
        Ok(Resolved::Http(_) | Resolved::Memory) => return None,
        Err(error) => return Some(warning(chain(&error), error.hint())),
    };
    let path = resolved
        .env
        .iter()
        .find(|(name, _)| name == "PATH")
        .map(|(_, value)| value.as_os_str());
    if is_found(&resolved.command, path.unwrap_or_default()) {
        return None;
    }
    // The command may hold what a variable says, so it is shown as written.
    Some(warning(
        format!(
            "{}: the program of `{}` is not found",
            spec.name,
            spec.transport.shown()
        ),
        "install it, or write its whole path".to_owned(),
    ))
}

fn is_found(command: &OsStr, path: &OsStr) -> bool {
    if command.as_encoded_bytes().contains(&b'/') {
        // A relative one starts at the server's folder.
        return Path::new(command).is_relative() || Path::new(command).is_file();
    }
    std::env::split_paths(path).any(|folder| folder.join(command).is_file())
}
