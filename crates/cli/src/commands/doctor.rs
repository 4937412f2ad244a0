//! `legation doctor`: what is wrong, each line with what to do about it.

mod accounts;
mod delegation;
mod models;
mod servers;
mod walls;

use clap::Args;
use legation_api::hub::Status;
use legation_api::mcp::List;
use legation_config::trust::Trust;
use legation_config::{clients, first_run, settings};
use legation_core::error::chain;
use legation_core::process::GuardPath;
use legation_policy::governance::{Severity, file};
use serde::Serialize;

use crate::commands::hub;
use crate::table::{counted, printable};
use crate::{CliError, Context, Exit};

/// Arguments of `legation doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    state: State,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Good,
    Warning,
    Bad,
}

/// The longest path of a Unix socket that every system takes, in bytes.
const SOCKET_PATH_MAX: usize = 103;

pub(crate) fn cmd_doctor(
    context: &Context,
    _args: &DoctorArgs,
    guard: Option<GuardPath>,
) -> Result<(), CliError> {
    let mut checks = vec![
        check_home(context),
        check_settings(context),
        check_rules(context),
        check_governance(context),
        check_credentials(context),
        check_trust(context),
        check_inbox(context),
    ];
    checks.extend(check_agents(context));
    checks.extend(accounts::check_accounts(context));
    checks.extend(models::check_models(context));
    checks.extend(servers::check_servers(context));
    checks.extend(delegation::check_delegation(context));
    checks.extend(walls::check_walls(context, guard));
    // The hub complains of the same files; once is enough.
    let known: Vec<String> = checks
        .iter()
        .filter(|check| check.state == State::Bad)
        .map(|check| check.detail.clone())
        .collect();
    let told = |check: &Check| known.iter().any(|known| check.detail.starts_with(known));
    checks.extend(check_hub(context).into_iter().filter(|check| !told(check)));
    let bad = checks
        .iter()
        .filter(|check| check.state == State::Bad)
        .count();
    context.output.result(&checks, |checks| {
        checks.iter().map(render).collect::<String>()
    })?;
    if bad > 0 {
        return Err(CliError::new(
            Exit::Failed,
            format!("{bad} of {} checks are bad", checks.len()),
        ));
    }
    Ok(())
}

fn render(check: &Check) -> String {
    let mark = match check.state {
        State::Good => "ok  ",
        State::Warning => "warn",
        State::Bad => "BAD ",
    };
    let mut text = format!("{mark}  {:<12} {}\n", check.what, printable(&check.detail));
    if let Some(hint) = &check.hint {
        text.push_str(&format!("      {:<12} hint: {}\n", "", printable(hint)));
    }
    text
}

fn good(what: &'static str, detail: impl Into<String>) -> Check {
    Check {
        what,
        state: State::Good,
        detail: detail.into(),
        hint: None,
    }
}

fn check_home(context: &Context) -> Check {
    use std::os::unix::fs::PermissionsExt as _;
    let root = context.home.root();
    if context.home.socket().as_os_str().len() > SOCKET_PATH_MAX {
        return Check {
            what: "home",
            state: State::Bad,
            detail: format!("{} is too long a path for a socket", root.display()),
            hint: Some("set LEGATION_HOME to a shorter one".to_owned()),
        };
    }
    match std::fs::metadata(root) {
        Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => Check {
            what: "home",
            state: State::Bad,
            detail: format!("{} is open to other users", root.display()),
            hint: Some(format!("chmod 700 {}", root.display())),
        },
        Ok(_) => match std::fs::read_dir(root) {
            Ok(_) => good("home", root.display().to_string()),
            Err(error) => unreadable_home(root, &error),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Check {
            what: "home",
            state: State::Warning,
            detail: format!("{} does not exist yet", root.display()),
            hint: Some("the first `legation serve` or `legation mcp add` makes it".to_owned()),
        },
        Err(error) => unreadable_home(root, &error),
    }
}

fn unreadable_home(root: &std::path::Path, error: &std::io::Error) -> Check {
    Check {
        what: "home",
        state: State::Bad,
        detail: format!("{} cannot be read: {error}", root.display()),
        hint: Some("check whose it is, or set LEGATION_HOME to another folder".to_owned()),
    }
}

fn check_settings(context: &Context) -> Check {
    match super::config::settings_to_connect(context) {
        Ok(settings) => {
            let misspelt = settings::misspelt_variables(&context.environment);
            match misspelt.first() {
                Some((name, near)) => Check {
                    what: "settings",
                    state: State::Warning,
                    detail: format!("the variable {name} sets nothing"),
                    hint: Some(format!("did you mean {near}?")),
                },
                None => good("settings", format!("HTTP on {}", settings.listen)),
            }
        }
        Err(error) => Check {
            what: "settings",
            state: State::Bad,
            detail: error.message,
            hint: error.hint,
        },
    }
}

fn check_rules(context: &Context) -> Check {
    let text = match first_run::permissions(&context.home) {
        Ok(text) => text,
        Err(_) if is_before_first_start(context) => {
            return good("rules", "written at the first start");
        }
        Err(error) => {
            return Check {
                what: "rules",
                state: State::Bad,
                detail: chain(&error),
                hint: Some(error.hint()),
            };
        }
    };
    let found = super::governance::find(context);
    let mut errors = found.problems().iter().filter(|problem| {
        &*problem.file == file::PERMISSIONS && problem.severity == Severity::Error
    });
    if let Some(error) = errors.next() {
        return Check {
            what: "rules",
            state: State::Bad,
            detail: format!("everything is refused: {error}"),
            hint: Some(error.hint.clone()),
        };
    }
    let lines = text.lines();
    let rules = lines.filter(|line| line.trim() == "[[rule]]").count();
    good("rules", counted(rules, "rule"))
}

fn check_governance(context: &Context) -> Check {
    if is_before_first_start(context) {
        return good("governance", "written at the first start");
    }
    let found = super::governance::find(context);
    // Those of the rules have a line of their own.
    let problems: Vec<_> = found
        .problems()
        .iter()
        .filter(|problem| &*problem.file != file::PERMISSIONS)
        .collect();
    let errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error);
    let worst = errors.clone().next().or(problems.first());
    let Some(worst) = worst else {
        return good("governance", "every file holds");
    };
    let state = match worst.severity {
        Severity::Error => State::Bad,
        Severity::Warning => State::Warning,
    };
    let more = match problems.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more: `legation governance check`)"),
    };
    Check {
        what: "governance",
        state,
        detail: format!("{worst}{more}"),
        hint: Some(worst.hint.clone()),
    }
}

/// Whether the rules were never written: `connect` may have made the data
/// directory before any hub started.
pub(super) fn is_before_first_start(context: &Context) -> bool {
    let marker = legation_config::governance::marker(&context.home);
    matches!(marker.try_exists(), Ok(false))
}

fn check_credentials(context: &Context) -> Check {
    match clients::list(&context.home) {
        Ok(clients) => {
            let good_ones = clients
                .iter()
                .filter(|client| client.revoked.is_none())
                .count();
            good("clients", format!("{good_ones} have a credential"))
        }
        Err(error) => Check {
            what: "clients",
            state: State::Bad,
            detail: chain(&error),
            hint: Some(error.hint()),
        },
    }
}

fn check_agents(context: &Context) -> Vec<Check> {
    let (connected, problems) = super::connect::problems(context);
    let mut checks = vec![good(
        "agents",
        format!("{connected} connected, see `legation connect`"),
    )];
    checks.extend(problems.into_iter().map(|(client, problem)| Check {
        what: "agents",
        state: State::Warning,
        detail: format!("{client}: {problem}"),
        hint: Some(format!("legation connect {client}")),
    }));
    checks
}

fn check_trust(context: &Context) -> Check {
    let trust = Trust::load(&context.home);
    if trust.broken() {
        return Check {
            what: "trust",
            state: State::Bad,
            detail: format!(
                "{} cannot be used; no folder is trusted",
                context.home.trust().display()
            ),
            hint: Some("repair or delete it, then trust the folders again".to_owned()),
        };
    }
    good("trust", counted(trust.folders().count(), "trusted folder"))
}

fn check_inbox(context: &Context) -> Check {
    match super::inbox::standing(context) {
        Ok(standing) => good("inbox", standing.words()),
        Err(error) => Check {
            what: "inbox",
            state: State::Bad,
            detail: error.message,
            hint: error.hint,
        },
    }
}

fn check_hub(context: &Context) -> Vec<Check> {
    let bad = |error: &CliError| Check {
        what: "hub",
        state: State::Bad,
        detail: error.message.clone(),
        hint: error.hint.clone(),
    };
    let mut client = match hub(context) {
        Ok(Some(client)) => client,
        Ok(None) => {
            return vec![good(
                "hub",
                "not running; a bridge starts it when it is needed",
            )];
        }
        Err(error) => return vec![bad(&error)],
    };
    let asked = client
        .call(&Status {})
        .and_then(|status| Ok((status, client.call(&List::default())?)));
    let (status, list) = match asked {
        Ok(answers) => answers,
        Err(error) => return vec![bad(&error.into())],
    };
    let mut checks = vec![good(
        "hub",
        format!(
            "version {}, {} of {} servers connected",
            status.version, status.connected, status.servers
        ),
    )];
    if status.version != context.version {
        checks.push(Check {
            what: "hub",
            state: State::Warning,
            detail: format!(
                "the hub is {}, this command is {}",
                status.version, context.version
            ),
            hint: Some("`legation stop`; the next bridge starts the new one".to_owned()),
        });
    }
    checks.extend(status.problems.into_iter().map(|problem| Check {
        what: "hub",
        state: State::Bad,
        detail: problem,
        hint: None,
    }));
    // What stands in the files was looked at above.
    let arguments = list
        .problems
        .into_iter()
        .filter(|problem| problem.source.starts_with("--"));
    checks.extend(arguments.map(|problem| Check {
        what: "hub",
        state: State::Bad,
        detail: format!(
            "{} {}: {}",
            problem.source,
            problem.server.unwrap_or_default(),
            problem.message
        ),
        hint: Some(problem.hint),
    }));
    checks.extend(
        list.servers
            .into_iter()
            .filter(|server| server.reason.is_some())
            .map(|server| Check {
                what: "server",
                state: State::Bad,
                detail: format!(
                    "{} {}: {}",
                    server.name,
                    server.status,
                    server.reason.unwrap_or_default()
                ),
                hint: server.hint,
            }),
    );
    checks
}

#[cfg(test)]
mod tests;
