//! Files and commands of the folders that clients work in.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use legation_config::{BashMode, Environment, Settings};
use legation_core::process::GuardPath;
use legation_core::{Home, SharedClock, TaskSet};
use legation_keystore::Keystore;
use legation_servers::workspace::undo::Undo;
use legation_servers::workspace::{BashSettings, LanguageServer, Shell, ShellMode, Workspace};

/// How long what a task changed can be taken back at least.
const UNDO_KEPT: Duration = Duration::from_hours(30 * 24);
/// How often what is older is looked for.
const SWEPT_EVERY: Duration = Duration::from_hours(24);

/// The server, and what takes back what it did for tasks.
pub(super) fn open(
    home: &Home,
    keystore: &Arc<Keystore>,
    clock: &SharedClock,
    (settings, environment): (&Settings, &Environment),
    guard: GuardPath,
) -> (Workspace, Arc<Undo>) {
    let undo = Undo::new(home.clone(), Arc::clone(keystore), clock.clone());
    let undo = Arc::new(undo);
    let shell = Shell::new(bash(settings, environment), guard);
    let languages = settings.workspace.language_servers.iter();
    let languages = languages
        .filter_map(|line| LanguageServer::parse(line))
        .collect();
    let workspace = Workspace::new(home.clone(), Some(Arc::clone(&undo)), shell, languages);
    (workspace, undo)
}

/// Forgets what nobody takes back any more.
pub(super) fn sweep(tasks: &TaskSet, undo: &Arc<Undo>) {
    let undo = Arc::clone(undo);
    tasks.spawn("copies of changed files", async move {
        loop {
            let undo = Arc::clone(&undo);
            drop(tokio::task::spawn_blocking(move || undo.sweep(UNDO_KEPT)).await);
            tokio::time::sleep(SWEPT_EVERY).await;
        }
    });
}

fn bash(settings: &Settings, environment: &Environment) -> BashSettings {
    let own = &settings.workspace;
    let variable = |name: &str| environment.get_os(name).map(OsString::from);
    let named = own.bash_env.iter().map(AsRef::as_ref);
    BashSettings {
        mode: match own.bash {
            BashMode::Confined => ShellMode::Confined,
            BashMode::Unconfined => ShellMode::Unconfined,
            BashMode::Off => ShellMode::Off,
        },
        network: own.bash_network,
        read: own.bash_read.clone(),
        write: own.bash_write.clone(),
        path: variable("PATH"),
        home: variable("HOME"),
        env: named
            .filter_map(|name: &str| Some((name.into(), variable(name)?)))
            .collect(),
        timeout_max: own.bash_timeout,
    }
}
