//! `legation trust`: the servers a folder brings along.

use std::path::PathBuf;

use clap::Args;
use legation_config::servers::Input;
use legation_config::trust::{self, FolderStatus, State, Trust};
use legation_core::Secret;
use serde::Serialize;

use super::secret;
use crate::table::printable;
use crate::{CliError, Context, Exit, terminal};

/// Arguments of `legation trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The folder [default: the one you are in].
    folder: Option<PathBuf>,

    /// Agree without being asked.
    #[arg(long)]
    yes: bool,

    /// Take the trust back.
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,

    /// Only show what the folder brings along.
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    dry_run: bool,

    /// List the folders in which something is trusted.
    #[arg(long, conflicts_with_all = ["yes", "revoke", "dry_run", "folder"])]
    list: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    folder: String,
    servers: Vec<Server>,
    problems: Vec<String>,
    /// Secrets that the entries want and that are not kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    changed: bool,
}

#[derive(Debug, Serialize)]
struct Revoked {
    folder: String,
    revoked: usize,
}

#[derive(Debug, Serialize)]
struct Server {
    name: String,
    file: String,
    state: &'static str,
    shown: Vec<String>,
}

pub(crate) fn cmd_trust(context: &Context, args: &TrustArgs) -> Result<(), CliError> {
    if args.list {
        return list(context);
    }
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => std::env::current_dir().map_err(|error| CliError::failed(&error))?,
    };
    if args.revoke {
        let count = trust::revoke(&context.home, &folder).map_err(|error| failed(&error))?;
        super::nudge(context);
        let revoked = Revoked {
            folder: folder.display().to_string(),
            revoked: count,
        };
        return context.output.result(&revoked, |revoked| {
            format!(
                "{}: {} no longer trusted",
                revoked.folder,
                crate::table::counted(revoked.revoked, "server")
            )
        });
    }
    let status = trust::status(&context.home, &folder).map_err(|error| failed(&error))?;
    let shown = answer(&status, false);
    if args.dry_run || status.servers.is_empty() || status.all_trusted() {
        context.output.result(&shown, render)?;
        if status.servers.is_empty() && !status.problems.is_empty() {
            return Err(CliError::new(
                Exit::Failed,
                "nothing in the folder can be read as a server; nothing was changed",
            ));
        }
        return Ok(());
    }
    if !args.yes {
        context.output.say(&render(&shown));
        match context
            .output
            .confirm("Run these servers whenever an agent works in this folder?")
        {
            Some(true) => {}
            Some(false) => {
                return Err(CliError::new(
                    Exit::Refused,
                    "not agreed; nothing was changed",
                ));
            }
            None => {
                return Err(CliError::new(
                    Exit::Usage,
                    "nobody can be asked here; nothing was changed",
                )
                .with_hint("look with --dry-run, then agree with --yes"));
            }
        }
    }
    trust::grant(&context.home, &status, context.clock.wall()).map_err(|error| failed(&error))?;
    let missing = ask_inputs(context, &status.inputs)?;
    super::nudge(context);
    let status = trust::status(&context.home, &folder).map_err(|error| failed(&error))?;
    let mut answer = answer(&status, true);
    answer.missing = missing;
    context.output.result(&answer, render)
}

/// Asks for what the folder's entries want to be asked for, once, and keeps it. Returns the names of
/// the secrets that are still missing, which is no failure: an input may have a default.
fn ask_inputs(context: &Context, inputs: &[Input]) -> Result<Vec<String>, CliError> {
    if inputs.is_empty() {
        return Ok(Vec::new());
    }
    let store = secret::open(context)?;
    let kept = secret::names(&store)?;
    let mut missing = Vec::new();
    for input in inputs.iter().filter(|input| !kept.contains(&input.secret)) {
        if context.output.is_json() || !terminal::is_there() {
            missing.push(input.secret.clone());
            continue;
        }
        let mut question = printable(&input.description);
        if !input.options.is_empty() {
            let options: Vec<String> = input.options.iter().map(|one| printable(one)).collect();
            question.push_str(&format!(" ({})", options.join(", ")));
        }
        let answer = if input.hidden {
            terminal::ask_hidden(&format!("{question}:"))
        } else {
            terminal::ask(&format!("{question}:"))
        };
        let answer = answer.map_err(|error| CliError::failed(&error))?;
        if answer.is_empty() {
            missing.push(input.secret.clone());
        } else {
            secret::keep(&store, &input.secret, &Secret::new(answer))?;
        }
    }
    Ok(missing)
}

fn list(context: &Context) -> Result<(), CliError> {
    let trusted = Trust::load(&context.home);
    if trusted.broken() {
        return Err(CliError::new(
            Exit::Failed,
            format!(
                "{} cannot be used, so no folder is trusted",
                context.home.trust().display()
            ),
        )
        .with_hint("repair or delete it, then trust the folders again"));
    }
    let folders: Vec<String> = trusted
        .folders()
        .map(|path| path.display().to_string())
        .collect();
    context
        .output
        .result(&folders, |folders| folders.join("\n"))
}

fn answer(status: &FolderStatus, changed: bool) -> Answer {
    Answer {
        folder: status.folder.display().to_string(),
        servers: status
            .servers
            .iter()
            .map(|entry| Server {
                name: entry.server.clone(),
                file: entry.file.display().to_string(),
                state: match entry.state {
                    State::Trusted => "trusted",
                    State::New => "new",
                    State::Changed => "changed",
                },
                shown: entry.shown.clone(),
            })
            .collect(),
        problems: status
            .problems
            .iter()
            .map(|problem| match &problem.server {
                Some(server) => format!("{} ({}): {}", server, problem.source, problem.message),
                None => format!("{}: {}", problem.source, problem.message),
            })
            .collect(),
        missing: Vec::new(),
        changed,
    }
}

fn render(answer: &Answer) -> String {
    let mut text = format!("{}\n", answer.folder);
    if answer.servers.is_empty() {
        text.push_str("  brings no servers along\n");
    }
    for server in &answer.servers {
        text.push_str(&format!(
            "  {} ({}, {})\n",
            printable(&server.name),
            server.state,
            server.file
        ));
        for line in &server.shown {
            text.push_str(&format!("    {}\n", printable(line)));
        }
    }
    for problem in &answer.problems {
        text.push_str(&format!("  problem: {}\n", printable(problem)));
    }
    for name in &answer.missing {
        text.push_str(&format!(
            "  it wants to be told more: legation secret set {name}\n"
        ));
    }
    if answer.changed {
        text.push_str("trusted; take it back with `legation trust --revoke`\n");
    }
    text
}

fn failed(error: &trust::TrustError) -> CliError {
    CliError::failed(error).with_hint(error.hint())
}

#[cfg(test)]
mod tests;
