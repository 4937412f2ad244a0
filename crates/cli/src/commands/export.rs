//! `legation export`: the owner's servers in another program's own file, for whoever stops using the
//! hub or uses it beside.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use legation_config::edit;
use legation_config::foreign::{self, Foreign, VscodeInput};
use legation_core::home::{create_private_dir, write_private};
use legation_keystore::SecretStore;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::connect::file::toml;
use super::connect::jsonc;
use super::connect::undo::{mode_of, replace};
use super::import::{ProgramArg, place};
use super::secret;
use crate::table::printable;
use crate::{CliError, Context, Exit};

/// The member of Visual Studio Code's file that lists what it asks its user for.
const INPUTS: &str = "inputs";

/// Arguments of `legation export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Which program's file.
    pub(super) program: ProgramArg,

    /// The file [default: where it keeps the user's own].
    #[arg(long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,

    /// Only this server; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(super) only: Vec<String>,

    /// Replace entries of the same name.
    #[arg(long)]
    pub(super) replace: bool,

    /// Write secrets of the keystore into the file, as they are.
    #[arg(long)]
    pub(super) with_secrets: bool,

    /// Do it without being asked. Without this and without a terminal it is only shown.
    #[arg(long)]
    pub(super) yes: bool,

    /// Take the last export to this program back, unless its file was changed since.
    #[arg(long, conflicts_with_all = ["file", "only", "replace", "with_secrets"])]
    pub(super) undo: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    program: &'static str,
    file: String,
    /// Written, or to be.
    servers: Vec<String>,
    /// What the program will ask its user for, by its names.
    asks: Vec<String>,
    left: Vec<Left>,
    changed: bool,
}

#[derive(Debug, Serialize)]
struct Left {
    name: String,
    reason: String,
}

/// How it is taken back. It may hold secrets, as the file does.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    file: PathBuf,
    before: Option<String>,
    after: String,
    mode: Option<u32>,
}

pub(crate) fn cmd_export(context: &Context, args: &ExportArgs) -> Result<(), CliError> {
    let program = args.program.foreign();
    if args.undo {
        return undo(context, program);
    }
    let file = place(context, program, args.file.clone())?;
    let before = match fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(unreadable(&file, &error.to_string())),
    };
    let mut answer = Answer {
        program: program.title(),
        file: file.display().to_string(),
        servers: Vec::new(),
        asks: Vec::new(),
        left: Vec::new(),
        changed: false,
    };
    let after = changed(
        context,
        args,
        before.as_deref().unwrap_or_default(),
        &mut answer,
    )
    .map_err(|why| unreadable(&file, &why))?;
    if answer.servers.is_empty() {
        return context.output.result(&answer, render);
    }
    if !args.yes {
        context.output.say(&render(&answer));
        match context.output.confirm("Write these servers into its file?") {
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
    let note = Note {
        mode: mode_of(&file),
        file,
        before,
        after,
    };
    context.home.create()?;
    create_private_dir(&context.home.undo())?;
    let text = serde_json::to_vec_pretty(&note).map_err(|error| CliError::failed(&error))?;
    write_private(&note_file(context, program), &text)?;
    replace(&note.file, &note.after, note.mode)?;
    answer.changed = true;
    context.output.result(&answer, render)
}

fn unreadable(file: &Path, why: &str) -> CliError {
    CliError::new(
        Exit::Failed,
        format!("{}: {why}; nothing was changed", file.display()),
    )
}

fn note_file(context: &Context, program: Foreign) -> PathBuf {
    context
        .home
        .undo()
        .join(format!("export-{}.json", program.name()))
}

/// The program's text with the owner's servers in it.
fn changed(
    context: &Context,
    args: &ExportArgs,
    before: &str,
    answer: &mut Answer,
) -> Result<String, String> {
    let program = args.program.foreign();
    let known =
        edit::written(&context.home).map_err(|error| legation_core::error::chain(&error))?;
    let there = foreign::read(program, before, None).or_else(|error| {
        if before.trim().is_empty() {
            Ok(foreign::Taken::default())
        } else {
            Err(error)
        }
    });
    let there = there.map_err(|error| error.to_string())?;
    let store = if args.with_secrets && context.home.secrets().exists() {
        Some(secret::open(context).map_err(|error| error.message)?)
    } else {
        None
    };
    let mut text = before.to_owned();
    for (name, entry) in known {
        if !args.only.is_empty() && !args.only.contains(&name) {
            continue;
        }
        let mut leave = |reason: String| {
            answer.left.push(Left {
                name: name.clone(),
                reason,
            });
        };
        let is_there = there.servers.iter().any(|one| one.name == name)
            || there.left.iter().any(|(one, _)| *one == name);
        if is_there && !args.replace {
            leave("it is there already; see --replace".to_owned());
            continue;
        }
        let asks = RefCell::new(Vec::new());
        let secret = |name: &str, default: Option<&str>| match program {
            Foreign::Vscode if !args.with_secrets => {
                let input = VscodeInput::of_secret(name, default);
                let reference = input.reference();
                asks.borrow_mut().push(input);
                Some(reference)
            }
            _ => reveal(store.as_ref(), name, default),
        };
        match foreign::written(program, &name, &entry, &secret) {
            Ok(theirs) => {
                text = put(program, &text, &name, &theirs)?;
                for input in asks.into_inner() {
                    text = with_input(&text, &input)?;
                    if !answer.asks.contains(&input.id) {
                        answer.asks.push(input.id);
                    }
                }
                answer.servers.push(name);
            }
            Err(why) => leave(why),
        }
    }
    Ok(text)
}

fn reveal(store: Option<&SecretStore>, name: &str, default: Option<&str>) -> Option<String> {
    let found = secret::get(store?, name).ok()?;
    let found = found.as_ref().map(|found| found.reveal());
    found.or(default).map(str::to_owned)
}

fn with_input(text: &str, input: &VscodeInput) -> Result<String, String> {
    let said = |error: jsonc::EditError| legation_core::error::chain(&error);
    let before = jsonc::member(text, INPUTS).map_err(said)?;
    let after = input.among(before.clone())?;
    match before.as_ref() == Some(&after) {
        true => Ok(text.to_owned()),
        false => jsonc::with_member(text, INPUTS, Some(&after)).map_err(said),
    }
}

fn put(program: Foreign, text: &str, name: &str, entry: &Value) -> Result<String, String> {
    let member = program.member();
    match program {
        Foreign::Goose => foreign::with_goose_extension(text, name, Some(entry)),
        Foreign::Codex => toml::with_entry(text, member, name, Some(entry))
            .map_err(|error| legation_core::error::chain(&error)),
        Foreign::Claude
        | Foreign::Copilot
        | Foreign::Vscode
        | Foreign::Cursor
        | Foreign::Opencode => jsonc::with_entry(text, member, name, Some(entry))
            .map_err(|error| legation_core::error::chain(&error)),
    }
}

fn undo(context: &Context, program: Foreign) -> Result<(), CliError> {
    let place = note_file(context, program);
    let text = fs::read(&place).map_err(|_| {
        CliError::new(
            Exit::Failed,
            format!(
                "nothing was exported to {}; nothing was changed",
                program.title()
            ),
        )
    })?;
    let note: Note = serde_json::from_slice(&text).map_err(|error| CliError::failed(&error))?;
    let now = fs::read_to_string(&note.file)
        .map_err(|error| unreadable(&note.file, &error.to_string()))?;
    if now != note.after {
        return Err(unreadable(&note.file, "it was changed since")
            .with_hint("take the servers out of it by hand"));
    }
    match &note.before {
        Some(before) => replace(&note.file, before, note.mode)?,
        None => fs::remove_file(&note.file)
            .map_err(|error| unreadable(&note.file, &error.to_string()))?,
    }
    // The file is as it was; a note that stays is refused the next time.
    drop(fs::remove_file(&place));
    let undone = note.file.display().to_string();
    context
        .output
        .result(&undone, |file| format!("{file} is as it was\n"))
}

fn render(answer: &Answer) -> String {
    let verb = if answer.changed {
        "written"
    } else {
        "to be written"
    };
    let mut text = format!(
        "{verb} to {} of {}:\n",
        printable(&answer.file),
        answer.program
    );
    for name in &answer.servers {
        text.push_str(&format!("  {}\n", printable(name)));
    }
    if answer.servers.is_empty() {
        text.push_str("  nothing\n");
    }
    if !answer.asks.is_empty() {
        let asks: Vec<String> = answer.asks.iter().map(|name| printable(name)).collect();
        text.push_str(&format!(
            "  {} will ask its user for {}\n",
            answer.program,
            asks.join(", ")
        ));
    }
    for left in &answer.left {
        text.push_str(&format!(
            "  {} (left): {}\n",
            printable(&left.name),
            printable(&left.reason)
        ));
    }
    text
}
