//! What `gh` says, where the owner has it asked.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use legation_config::Environment;
use legation_config::servers::github::Gh;
use legation_config::settings::GithubSettings;
use legation_core::process::{OnceSpec, RunError, run_to_end};
use legation_core::{Secret, error::chain};

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// No token is longer.
const KEEP: usize = 4 << 10;

/// Where it keeps who is signed in, beside what every child is told: the session's keystore among it.
const MORE: [&str; 2] = ["GH_CONFIG_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// Its token for the host that the settings mean; it is not asked where it is not needed.
pub(super) async fn ask(settings: &GithubSettings, environment: &Environment) -> Gh {
    let Some(host) = legation_config::servers::github::gh_host(settings, environment) else {
        return Gh::NotAsked;
    };
    let more = MORE.iter().filter_map(|name| {
        let value = environment.get_os(name)?;
        Some((OsString::from(name), value.to_owned()))
    });
    let spec = OnceSpec {
        program: "gh".into(),
        args: ["auth", "token", "--hostname", &host]
            .map(OsString::from)
            .into(),
        env: environment.child(more),
        cwd: None,
        timeout: PATIENCE,
        keep: KEEP,
    };
    let ran = tokio::task::spawn_blocking(move || run_to_end(&spec)).await;
    match ran {
        Ok(Ok(output)) if output.exit.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Gh::Token(Secret::new(text.trim()))
        }
        Ok(Ok(_)) => Gh::Without(format!("`gh` is not signed in at {host}").into()),
        Ok(Err(RunError::Find { .. })) => Gh::Without("`gh` is not installed".into()),
        Ok(Err(error)) => Gh::Without(chain(&error).into()),
        Err(_) => Gh::Without("`gh` could not be asked".into()),
    }
}

/// The file of `gh` that changes with every sign-in.
pub(super) fn file(environment: &Environment) -> Option<PathBuf> {
    let set = |name: &str| {
        let value = environment.get_os(name)?;
        (!value.is_empty()).then(|| PathBuf::from(value))
    };
    let folder = set("GH_CONFIG_DIR")
        .or_else(|| set("XDG_CONFIG_HOME").map(|folder| folder.join("gh")))
        .or_else(|| Some(environment.user_home()?.join(".config/gh")))?;
    Some(folder.join("hosts.yml"))
}
