//! The files beside the one with the hub's entry: what changes in them, before
//! anything does.

use std::path::PathBuf;

use serde::Serialize;

use super::client::Client;
use super::part::{OWN, Part};
use super::undo::{Note, mode_of, replace};
use super::wake::{Extra, Program, extras, rule};
use super::{ConnectArgs, not_understood, program_words, read, remember};
use crate::{CliError, Context, Exit};

/// One file's change.
#[derive(Debug)]
pub(super) struct Plan {
    extra: Extra,
    before: Option<String>,
    after: String,
}

/// What is said of it.
#[derive(Debug, Serialize)]
pub(super) struct Also {
    pub(super) file: PathBuf,
    pub(super) changed: bool,
    /// It is somebody else's, and stays as it is.
    pub(super) left: bool,
    pub(super) diff: String,
}

/// What is to be changed. An entry in a file of another place, or one that shows
/// a part of the hub only, is no session that people's messages are for.
pub(super) fn plans(
    context: &Context,
    client: Client,
    args: &ConnectArgs,
) -> Result<Vec<Plan>, CliError> {
    let environment = &context.environment;
    let mut wanted = Vec::new();
    if !args.no_wake && args.file.is_none() && args.server.is_none() && args.view.is_none() {
        let words = program_words(context)?;
        wanted = extras(client, environment, &Program { words });
    }
    if let Some(file) = &args.rules {
        let file = file.as_deref().map(std::path::absolute).transpose();
        let file = file.map_err(|error| CliError::usage(&error))?;
        let rule = rule(client, environment, file).ok_or_else(|| {
            let why = format!(
                "it is not known where {} reads rules in every folder; nothing was changed",
                client.title()
            );
            CliError::new(Exit::Usage, why).with_hint("name a file: --rules ./AGENTS.md")
        })?;
        wanted.push(rule);
    }
    let plans = wanted.into_iter().map(|extra| {
        let before = read(&extra.path)?;
        let text = before.as_deref().unwrap_or_default();
        let after = if is_left(&extra, before.as_deref()) {
            text.to_owned()
        } else {
            let after = extra.applied(text);
            after.map_err(|error| not_understood(&extra.path, client, None, &error))?
        };
        Ok(Plan {
            extra,
            before,
            after,
        })
    });
    plans.collect()
}

/// Whether a file under the name of one of the hub's is somebody else's.
fn is_left(extra: &Extra, text: Option<&str>) -> bool {
    extra.part == Part::Own && text.is_some_and(|text| !text.contains(OWN))
}

// === impl Plan ===

impl Plan {
    pub(super) fn also(&self, client: Client) -> Also {
        let before = self.before.as_deref();
        Also {
            file: self.extra.path.clone(),
            changed: self.changes(),
            left: is_left(&self.extra, before),
            diff: self
                .extra
                .part
                .diff(client, before.unwrap_or_default(), &self.after),
        }
    }

    fn changes(&self) -> bool {
        !is_left(&self.extra, self.before.as_deref())
            && self.before.as_deref() != Some(self.after.as_str())
    }

    /// Does it, once it is noted how it is taken back.
    pub(super) fn apply(self, context: &Context, client: Client) -> Result<(), CliError> {
        if !self.changes() {
            return Ok(());
        }
        let mode = mode_of(&self.extra.path);
        let old_entry = self.extra.old(self.before.as_deref().unwrap_or_default());
        let note = Note {
            path: self.extra.path.clone(),
            before: self.before,
            after: self.after.clone(),
            old_entry,
            mode,
            part: self.extra.part,
        };
        remember(context, client, note)?;
        Ok(replace(&self.extra.path, &self.after, mode)?)
    }
}
