//! Files that changed take effect while the hub runs.
//!
//! Every change leads to the same full reading, so that the order of changes
//! and a change missed while another was read make no difference.

use std::path::PathBuf;
use std::sync::Arc;

use legation_config::{first_run, governance, servers, watch};
use legation_core::Home;
use legation_core::error::chain;
use legation_policy::Rules;

use super::hub::Inner;

/// Reads every file again and puts it in force.
pub(crate) async fn everything(hub: &Arc<Inner>) {
    let mut problems = Vec::new();
    let (rules, problem) = rules(&hub.home);
    problems.extend(problem);
    hub.gate.set_rules(rules);
    problems.extend(hub.keys.reload(&hub.home));
    hub.gate.set_clients(hub.keys.known(hub.no_auth));
    match hub.settings() {
        Ok(settings) => hub.host.set_views(settings.views),
        Err(problem) => problems.push(problem),
    }
    for problem in &problems {
        tracing::error!(problem, "a file cannot be used");
    }
    hub.set_problems(problems);
    let mut user = servers::user(&hub.home);
    hub.keep_known(&mut user);
    let mut loaded = servers::additional(&hub.additional, &hub.folder).over(user);
    for folder in hub.host.folders().borrow().iter() {
        let workspace = servers::workspace(&hub.home, folder);
        loaded.servers.extend(workspace.servers);
        loaded.problems.extend(workspace.problems);
    }
    hub.host.apply(loaded.servers, loaded.problems).await;
}

/// The files whose change matters now.
pub(crate) fn files(hub: &Inner) -> Vec<PathBuf> {
    let mut files = watch::home_files(&hub.home);
    let folders = hub.host.folders();
    let folders: Vec<PathBuf> = folders
        .borrow()
        .iter()
        .map(|one| one.to_path_buf())
        .collect();
    files.extend(governance::watched(&hub.home, &hub.environment, &folders));
    for folder in &folders {
        files.extend(watch::workspace_files(folder));
    }
    files
}

/// The rules in force, and what is wrong when they refuse everything.
pub(crate) fn rules(home: &Home) -> (Rules, Option<String>) {
    let refuse = |reason: String, hint: String| {
        let problem = format!("everything is refused: {reason} ({hint})");
        (Rules::unavailable(reason), Some(problem))
    };
    match first_run::permissions(home) {
        Ok(text) => match Rules::parse(&text, "governance/permissions.toml") {
            Ok(rules) => (rules, None),
            Err(error) => refuse(chain(&error), error.hint()),
        },
        Err(error) => refuse(chain(&error), error.hint()),
    }
}
