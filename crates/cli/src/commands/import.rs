//! `legation import`: the servers of another program, with their secrets in the keystore.

pub(super) mod note;
pub(super) mod undo;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use legation_config::edit::{self, Change};
use legation_config::foreign::{self, Foreign, Taken};
use legation_core::error::chain;
use legation_core::{Secret, ServerName};
use legation_keystore::SecretStore;
use serde::Serialize;
use serde_json::Value;

use super::{mcp, secret};
use crate::shell;
use crate::table::printable;
use crate::{CliError, Context, Exit};

use note::{Note, Server};

/// Arguments of `legation import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Which program's.
    program: ProgramArg,

    /// Its file [default: where it keeps the user's own].
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Only this server; may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,

    /// Replace entries of the same name.
    #[arg(long)]
    replace: bool,

    /// Do it without being asked. Without this and without a terminal it is only shown.
    #[arg(long)]
    yes: bool,

    /// Take the last import of this program back.
    #[arg(long, conflicts_with_all = ["file", "only", "replace"])]
    undo: bool,
}

/// A program whose servers can be taken over, and given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgramArg {
    /// Claude Code.
    Claude,
    /// Copilot CLI.
    Copilot,
    /// Visual Studio Code.
    Vscode,
    /// Cursor.
    Cursor,
    /// Codex.
    Codex,
    /// Goose.
    Goose,
    /// opencode.
    Opencode,
}

#[derive(Debug, Serialize)]
struct Answer {
    program: &'static str,
    file: String,
    servers: Vec<Planned>,
    /// Servers that stay where they are.
    left: Vec<Left>,
    changed: bool,
}

#[derive(Debug, Serialize)]
struct Planned {
    name: String,
    /// `add`, `replace` or `same`.
    change: &'static str,
    target: String,
    /// Secrets that move to the keystore, by name.
    secrets: Vec<String>,
    notes: Vec<String>,
    #[serde(skip)]
    entry: Value,
    #[serde(skip)]
    moved: Vec<(String, Secret)>,
}

#[derive(Debug, Serialize)]
struct Left {
    name: String,
    reason: String,
}

pub(crate) fn cmd_import(context: &Context, args: &ImportArgs) -> Result<(), CliError> {
    let program = args.program.foreign();
    if args.undo {
        return undo::undo(context, program.name(), program.title());
    }
    let file = place(context, program, args.file.clone())?;
    let text = read(&file)?;
    let folder = std::env::current_dir().ok();
    let taken = foreign::read(program, &text, folder.as_deref()).map_err(|error| {
        CliError::new(
            Exit::Usage,
            format!("{}: {}; nothing was changed", file.display(), chain(&error)),
        )
    })?;
    let mut answer = plan(context, args, taken)?;
    answer.file = file.display().to_string();
    if !answer.servers.iter().any(|server| server.change != "same") {
        return context.output.result(&answer, render);
    }
    if !args.yes {
        context.output.say(&render(&answer));
        match context.output.confirm("Take these servers over?") {
            Some(true) => {}
            Some(false) => {
                return Err(CliError::new(
                    Exit::Refused,
                    "not agreed; nothing was changed",
                ));
            }
            None => {
                context.output.say("nothing was changed; do it with --yes");
                return context.output.result(&answer, |_| String::new());
            }
        }
    }
    apply(context, program, &mut answer)?;
    super::nudge(context);
    context.output.result(&answer, render)
}

/// The file that is named, or the program's usual one.
pub(crate) fn place(
    context: &Context,
    program: Foreign,
    named: Option<PathBuf>,
) -> Result<PathBuf, CliError> {
    let file = named.or_else(|| program.file(&context.environment));
    file.ok_or_else(|| {
        CliError::new(
            Exit::Usage,
            "there is no home directory to look in; nothing was changed",
        )
        .with_hint("name the file with --file")
    })
}

fn read(file: &std::path::Path) -> Result<String, CliError> {
    std::fs::read_to_string(file).map_err(|error| {
        CliError::new(
            Exit::Failed,
            format!("{}: {error}; nothing was changed", file.display()),
        )
        .with_hint("name the file with --file")
    })
}

/// What would become of each server.
fn plan(context: &Context, args: &ImportArgs, taken: Taken) -> Result<Answer, CliError> {
    let program = args.program.foreign();
    let known = edit::written(&context.home).map_err(|error| mcp::edit_failed(&error))?;
    let mut answer = Answer {
        program: program.title(),
        file: String::new(),
        servers: Vec::new(),
        left: Vec::new(),
        changed: false,
    };
    let mut leave = |name: String, reason: String| answer.left.push(Left { name, reason });
    for (name, reason) in taken.left {
        leave(name, reason);
    }
    for mut found in taken.servers {
        let name = found.name.clone();
        if !args.only.is_empty() && !args.only.contains(&name) {
            continue;
        }
        // `legation connect` wrote it: the hub is no server of its own.
        if name == "legation" {
            leave(name, "it is the hub".to_owned());
            continue;
        }
        if let Err(error) = ServerName::parse(&name) {
            leave(name, error.to_string());
            continue;
        }
        let moved = foreign::separated(&name, &mut found.entry);
        let before = known.iter().find(|(known, _)| *known == name);
        let change = match before {
            None => "add",
            Some((_, entry)) if *entry == found.entry && are_kept(context, &moved)? => "same",
            Some(_) if args.replace => "replace",
            Some(_) => {
                leave(
                    name,
                    "you have a server of that name; see --replace".to_owned(),
                );
                continue;
            }
        };
        let edited = edit::preview(&context.home, &change_of(&name, &found.entry));
        let mut notes = found.notes;
        match edited {
            Ok(edited) => notes.extend(edited.warnings.into_iter().map(|one| one.message)),
            Err(error) => {
                leave(name, chain(&error));
                continue;
            }
        }
        let wanted = taken.inputs.iter();
        let wanted = wanted.filter(|input| found.entry.to_string().contains(&input.secret));
        notes.extend(wanted.map(|input| {
            format!(
                "it wants to be told {:?}: legation secret set {}",
                input.description, input.secret
            )
        }));
        answer.servers.push(Planned {
            change,
            target: target(&found.entry),
            secrets: moved.iter().map(|(name, _)| name.clone()).collect(),
            notes,
            entry: found.entry,
            moved,
            name,
        });
    }
    Ok(answer)
}

/// Whether these secrets are kept as they are.
fn are_kept(context: &Context, moved: &[(String, Secret)]) -> Result<bool, CliError> {
    if moved.is_empty() || !context.home.secrets().exists() {
        return Ok(moved.is_empty());
    }
    let store = secret::open(context)?;
    for (name, value) in moved {
        let kept = secret::get(&store, name)?;
        if kept.is_none_or(|kept| kept.reveal() != value.reveal()) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn change_of(name: &str, entry: &Value) -> Change {
    Change::AddJson {
        name: ServerName::parse(name).expect("the name was parsed before"),
        json: entry.to_string(),
        replace: true,
    }
}

/// The command line or the address, where secrets are references by now.
fn target(entry: &Value) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let args = entry.get("args").and_then(Value::as_array);
    let args = args.into_iter().flatten().filter_map(Value::as_str);
    let (command, url) = (text("command"), text("url"));
    if command.is_empty() {
        return url.to_owned();
    }
    shell::line([command].into_iter().chain(args))
}

fn apply(context: &Context, program: Foreign, answer: &mut Answer) -> Result<(), CliError> {
    legation_config::first_run::first_run(
        &context.home,
        &crate::template(legation_policy::governance::Template::Personal),
    )
    .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    let known = edit::written(&context.home).map_err(|error| mcp::edit_failed(&error))?;
    let mut note = Note::default();
    if answer.servers.iter().any(|server| !server.moved.is_empty()) {
        let store = secret::open(context)?;
        for server in answer
            .servers
            .iter_mut()
            .filter(|server| server.change != "same")
        {
            note.secrets.extend(keep(&store, server)?);
        }
    }
    let wanted = answer
        .servers
        .iter()
        .filter(|server| server.change != "same");
    let changes: Vec<Change> = wanted
        .clone()
        .map(|server| change_of(&server.name, &server.entry))
        .collect();
    note.servers = wanted
        .map(|server| Server {
            name: server.name.clone(),
            before: known
                .iter()
                .find(|(name, _)| *name == server.name)
                .map(|(_, entry)| entry.clone()),
            after: server.entry.clone(),
        })
        .collect();
    // Before it is done, so that it can be taken back whatever happens.
    note.save(&context.home, program.name())?;
    edit::apply_all(&context.home, &changes).map_err(|error| mcp::edit_failed(&error))?;
    answer.changed = true;
    Ok(())
}

/// Keeps the secrets of a server, under other names where those are taken by other values; returns
/// the names that were not there before.
fn keep(store: &SecretStore, server: &mut Planned) -> Result<Vec<String>, CliError> {
    let mut new = Vec::new();
    for (name, value) in &server.moved {
        let mut free = name.clone();
        for number in 2.. {
            match secret::get(store, &free)? {
                None => {
                    secret::keep(store, &free, value)?;
                    new.push(free.clone());
                    break;
                }
                Some(kept) if kept.reveal() == value.reveal() => break,
                Some(_) => free = format!("{name}-{number}"),
            }
        }
        if free != *name {
            let text = server.entry.to_string();
            let renamed = text.replace(
                &format!("${{keyring:{name}}}"),
                &format!("${{keyring:{free}}}"),
            );
            server.entry =
                serde_json::from_str(&renamed).map_err(|error| CliError::failed(&error))?;
            server
                .secrets
                .iter_mut()
                .filter(|one| *one == name)
                .for_each(|one| one.clone_from(&free));
        }
    }
    Ok(new)
}

fn render(answer: &Answer) -> String {
    let verb = if answer.changed { "imported" } else { "found" };
    let mut text = format!(
        "{verb} in {} of {}:\n",
        printable(&answer.file),
        answer.program
    );
    if answer.servers.is_empty() && answer.left.is_empty() {
        text.push_str("  no servers\n");
    }
    for server in &answer.servers {
        text.push_str(&format!(
            "  {} ({}): {}\n",
            printable(&server.name),
            server.change,
            printable(&server.target)
        ));
        for secret in &server.secrets {
            text.push_str(&format!("    a secret goes to the keystore as {secret}\n"));
        }
        for note in &server.notes {
            text.push_str(&format!("    note: {}\n", printable(note)));
        }
    }
    for left in &answer.left {
        text.push_str(&format!(
            "  {} (left): {}\n",
            printable(&left.name),
            printable(&left.reason)
        ));
    }
    if answer.changed {
        text.push_str("its own file was not changed; `legation connect` makes the program use the hub, --undo takes this back\n");
    }
    text
}

// === impl ProgramArg ===

impl ProgramArg {
    pub(crate) fn foreign(self) -> Foreign {
        match self {
            Self::Claude => Foreign::Claude,
            Self::Copilot => Foreign::Copilot,
            Self::Vscode => Foreign::Vscode,
            Self::Cursor => Foreign::Cursor,
            Self::Codex => Foreign::Codex,
            Self::Goose => Foreign::Goose,
            Self::Opencode => Foreign::Opencode,
        }
    }
}

#[cfg(test)]
mod tests;
