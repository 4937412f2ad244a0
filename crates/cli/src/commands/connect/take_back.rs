//! `legation connect --undo`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::client::Client;
use super::part::Part;
use super::undo::{Note, Notes, replace};
use super::{ConnectArgs, credential, read};
use crate::{CliError, Context, Exit};

#[derive(Debug, Serialize)]
struct TakenBack {
    client: &'static str,
    files: Vec<Restored>,
    revoked: bool,
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct Restored {
    file: PathBuf,
    /// Whether somebody changed it since, so that only the hub's entry was taken out.
    changed_since: bool,
    diff: String,
    #[serde(skip)]
    text: Option<String>,
    #[serde(skip)]
    mode: Option<u32>,
    #[serde(skip)]
    existed: bool,
}

/// Restores the files that were changed for `client`, and ends its credential
/// once none is left that would show it.
pub(super) fn cmd_undo(
    context: &Context,
    client: Client,
    args: &ConnectArgs,
) -> Result<(), CliError> {
    let failed = |error: &dyn std::error::Error| CliError::failed(error);
    let mut notes = Notes::load(&context.home, client.name()).map_err(|error| failed(&error))?;
    let given = args.file.as_deref().map(std::path::absolute).transpose();
    let given = given.map_err(|error| CliError::usage(&error))?;
    let is_given = |note: &Note| given.as_deref().is_none_or(|given| note.path == *given);
    if !notes.files.iter().any(is_given) {
        return Err(nothing_to_undo(client, &notes, given.as_deref()));
    }
    let is_entry = |note: &Note| note.part == Part::Entry;
    // With the last entry goes all that is of no use without one.
    let revoked = !notes
        .files
        .iter()
        .any(|note| is_entry(note) && !is_given(note));
    let wanted = notes.files.iter();
    let wanted: Vec<Note> = wanted
        .filter(|note| revoked || is_given(note))
        .cloned()
        .collect();
    let files = wanted
        .iter()
        .map(|note| restored(client, note))
        .collect::<Result<Vec<_>, _>>()?;
    if !args.dry_run {
        // First, so that a failure further on leaves no credential behind.
        if revoked {
            credential::revoke(context, client)?;
            crate::commands::nudge(context);
        }
        for file in &files {
            write(file)?;
            notes.forget(&file.file);
            notes
                .save(&context.home, client.name())
                .map_err(|error| failed(&error))?;
        }
    }
    let answer = TakenBack {
        client: client.name(),
        files,
        revoked,
        dry_run: args.dry_run,
    };
    context
        .output
        .result(&answer, |answer| describe(client, answer))
}

fn nothing_to_undo(client: Client, notes: &Notes, given: Option<&Path>) -> CliError {
    let error = CliError::new(
        Exit::Failed,
        match given {
            Some(path) => format!(
                "{} was not connected through {}; nothing was changed",
                client.title(),
                path.display()
            ),
            None => format!(
                "{} was not connected from here; nothing was changed",
                client.title()
            ),
        },
    );
    match notes.files.first() {
        Some(note) => error.with_hint(format!("it was through {}", note.path.display())),
        None => error.with_hint("`legation connect` lists what is connected"),
    }
}

fn restored(client: Client, note: &Note) -> Result<Restored, CliError> {
    let now = read(&note.path)?;
    let changed_since = now.as_ref() != Some(&note.after);
    let text = match &now {
        Some(now) if changed_since => {
            let text = note.part.taken_out(client, now, note.old_entry.as_ref());
            text.map_err(|error| super::not_understood(&note.path, client, None, &error))?
        }
        Some(_) => note.before.clone(),
        // Whoever deleted the file took the entry out as well.
        None => None,
    };
    let shown = |text: &Option<String>| text.clone().unwrap_or_default();
    Ok(Restored {
        file: note.path.clone(),
        changed_since,
        diff: note.part.diff(client, &shown(&now), &shown(&text)),
        text,
        mode: note.mode,
        existed: now.is_some(),
    })
}

fn write(file: &Restored) -> Result<(), CliError> {
    match &file.text {
        Some(text) => Ok(replace(&file.file, text, file.mode)?),
        None if file.existed => {
            std::fs::remove_file(&file.file).map_err(|error| CliError::failed(&error))
        }
        None => Ok(()),
    }
}

fn describe(client: Client, answer: &TakenBack) -> String {
    let mut text = String::new();
    for file in &answer.files {
        text.push_str(&format!("{}\n{}", file.file.display(), file.diff));
        if file.changed_since && file.existed {
            text.push_str("it was changed since, so only what is the hub's goes\n");
        }
    }
    text.push_str(&match (answer.dry_run, answer.revoked) {
        (true, _) => "nothing was changed (--dry-run)\n".to_owned(),
        (false, true) => format!(
            "{} is no longer connected and its credential is revoked\n",
            client.title()
        ),
        (false, false) => format!(
            "{} keeps its credential: it is connected through other files\n",
            client.title()
        ),
    });
    text
}
