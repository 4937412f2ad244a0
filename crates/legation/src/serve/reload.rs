//! Files that changed take effect while the hub runs.
//!
//! Every change leads to the same full reading, so that the order of changes
//! and a change missed while another was read make no difference.

use std::path::PathBuf;
use std::sync::Arc;

use legation_config::servers::EnvMode;
use legation_config::{ServerSpec, clients, governance, servers, switches, watch};
use legation_filter::{FilterMapping, SecretMasker};
use legation_gate::stage::Cleaning;
use legation_policy::governance::Severity;
use legation_policy::{KnownTool, Policy};

use legation_wire::json::Raw;

use super::hub::Inner;
use super::{copilot, engine, events, github};

/// What is said of a mode that the organisation forbids.
pub(super) const ALLOW_ALL_OFF: &str =
    "--allow-all is off: the organisation's policy forbids modes that ask less";

/// Reads every file again and puts it in force.
pub(crate) async fn everything(hub: &Arc<Inner>) {
    let mut problems = Vec::new();
    problems.extend(hub.keys.reload(&hub.home));
    set_clients(hub);
    let mut env_mode = EnvMode::Direct;
    match hub.settings() {
        Ok(settings) => {
            env_mode = settings.env_value_mode;
            if let Some(engine) = hub.engine.get() {
                engine.set_settings(engine::settings_of(&settings));
            }
            hub.aside.set_github(&settings.github);
            hub.host.set_views(settings.views);
        }
        Err(problem) => problems.push(problem),
    }
    let mut user = servers::user(&hub.home);
    hub.keep_known(&mut user);
    let mut loaded = servers::additional(&hub.aside.additional, &hub.folder)
        .over(servers::plugins(&hub.home))
        .over(user)
        .over(servers::defaults(&hub.environment));
    let folders: Vec<PathBuf> = {
        let folders = hub.host.folders();
        let folders = folders.borrow();
        folders.iter().map(|one| one.to_path_buf()).collect()
    };
    let wanted = hub.aside.github();
    let around = servers::github::Around {
        settings: &wanted,
        environment: &hub.environment,
        folders: &folders,
        gh: &github::ask(&wanted, &hub.environment).await,
    };
    servers::github::add(&mut loaded, &around);
    for folder in &folders {
        let workspace = servers::workspace(&hub.home, folder);
        loaded.servers.extend(workspace.servers);
        loaded.problems.extend(workspace.problems);
        loaded.hidden.extend(workspace.hidden);
    }
    switches::apply(&hub.home, &mut loaded.servers, &mut loaded.problems);
    for server in &mut loaded.servers {
        server.disabled |= hub.aside.is_off(server);
    }
    let known = known_tools(hub, &loaded.servers);
    let rules = rules(hub, &folders, &known);
    if hub.allow_all && !rules.allows_bypass() {
        problems.push(ALLOW_ALL_OFF.to_owned());
    }
    problems.extend(wrong_with(&rules));
    hub.set_defined(&loaded.servers, known);
    legation_cli::withhold(&rules, &mut loaded.servers);
    set_clients(hub);
    if let Some(events) = hub.events.get() {
        events.rules_changed();
    }
    let running = [loaded.servers.clone(), hub.host.lent()].concat();
    let (cleaning, wrong) = cleaning(hub, &running, env_mode);
    hub.gate.set_cleaning(cleaning);
    problems.extend(wrong);
    for problem in &problems {
        tracing::error!(problem, "a file cannot be used");
    }
    hub.set_problems(problems);
    hub.aside.set_hidden(loaded.hidden);
    hub.host.apply(loaded.servers, loaded.problems).await;
}

/// Who may call: those with a credential, and whom the rules let write to the webhook.
fn set_clients(hub: &Inner) {
    let logins = copilot::logins(&hub.gate.rules());
    let known = hub.keys.known(hub.no_auth);
    let logins = logins.iter().map(String::as_str);
    hub.gate.set_clients(known.with_copilot(logins));
}

/// What results may carry, and which servers' filters make no sense.
fn cleaning(hub: &Inner, servers: &[ServerSpec], env_mode: EnvMode) -> (Cleaning, Vec<String>) {
    let mut wrong = Vec::new();
    let mut mappings = Vec::new();
    for server in servers {
        let Some(mapping) = &server.filter_mapping else {
            continue;
        };
        let read = FilterMapping::read(&Raw::from_serialize(mapping));
        mappings.push((
            server.name.clone(),
            read.unwrap_or_else(|error| {
                wrong.push(format!("{}: {error} ({})", server.name, error.hint()));
                FilterMapping::strictest()
            }),
        ));
    }
    // Of its clients' tokens the hub knows only hashes. That the owner's cannot
    // be read is told with the other credentials.
    let mut own: Vec<_> = clients::owner_token(&hub.home).into_iter().collect();
    // Each server is given its own, and prints them where another's may be read.
    for server in servers {
        own.extend(server.secrets(&hub.environment, env_mode));
    }
    let masker = SecretMasker::new(&own);
    (Cleaning::new(masker, mappings), wrong)
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
    files.push(watch::defaults_file(&hub.environment));
    files.extend(governance::watched(&hub.home, &hub.environment, &folders));
    for folder in &folders {
        files.extend(watch::workspace_files(folder));
        files.extend(servers::github::config_file(folder));
    }
    if hub.aside.github().gh {
        files.extend(github::file(&hub.environment));
    }
    files
}

/// Whether the rules in force were read for other definitions than there are now.
pub(crate) fn is_due(hub: &Inner) -> bool {
    let (servers, known) = hub.defined();
    known != known_tools(hub, &servers)
}

/// What rules may speak of: tools of the hub's own, and all that were ever
/// pinned of `servers` and of others.
fn known_tools(hub: &Inner, servers: &[ServerSpec]) -> Vec<KnownTool> {
    let mut known = legation_servers::known_tools();
    known.extend(hub.host.known_tools(servers));
    known
}

/// The rules as the files say now, in force. Understanding them takes milliseconds in which this
/// thread answers nobody, and few of the folders that clients come to work in have rules of their
/// own: where the texts and definitions are those of the rules in force, these stay.
fn rules(hub: &Inner, folders: &[PathBuf], known: &[KnownTool]) -> Arc<Policy> {
    let sources = legation_cli::sources(&hub.home, &hub.environment, folders);
    let in_force = hub.gate.rules();
    if in_force.is_of(&sources) && hub.is_defined(known) {
        return in_force;
    }
    let mut rules = Policy::load(&sources, known);
    if hub.allow_all {
        rules = rules.without_asking();
    }
    events::governed(hub, &rules);
    hub.host.set_lends_models(rules.lends_models());
    hub.gate.set_rules(rules);
    hub.gate.rules()
}

/// What is wrong with the files of rules.
fn wrong_with(rules: &Policy) -> impl Iterator<Item = String> {
    rules
        .problems()
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| format!("{problem} ({})", problem.hint))
}
