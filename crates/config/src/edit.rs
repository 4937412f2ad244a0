//! Changing the owner's `mcp.json`.
//!
//! The file is the owner's and other programs read it too, so a change
//! touches one entry and leaves the text of all others as it was: order,
//! spacing and fields this program does not know included.

mod document;
mod new_server;

use std::path::{Path, PathBuf};

use legation_core::home::{HomeError, write_private};
use legation_core::{Home, ServerName};
use serde_json::Value;
use thiserror::Error;

use crate::file::{self, ReadError, Turn};
use crate::json;
use crate::servers::{Problem, Source, read_entry};

pub use new_server::{NewServer, NewTransport};

use document::Document;

/// One change of one entry.
#[derive(Clone, Debug)]
pub enum Change {
    /// A new entry.
    Add {
        /// Its name.
        name: ServerName,
        /// Its content.
        entry: Box<NewServer>,
        /// Whether an entry of that name may be replaced.
        replace: bool,
    },
    /// A new entry as JSON text.
    AddJson {
        /// Its name.
        name: ServerName,
        /// Its content.
        json: String,
        /// Whether an entry of that name may be replaced.
        replace: bool,
    },
    /// No entry of this name any more.
    Remove {
        /// Its name.
        name: ServerName,
    },
    /// `disabled` set or taken away.
    SetDisabled {
        /// Its name.
        name: ServerName,
        /// Whether it shall be disabled.
        disabled: bool,
    },
}

/// A change that was made, or would be.
#[derive(Clone)]
pub struct Edited {
    /// The file.
    pub file: PathBuf,
    /// Its text before; empty when there was no file. May hold secrets.
    pub before: String,
    /// Its text afterwards. May hold secrets.
    pub after: String,
    /// What the owner should know about the new entry.
    pub warnings: Vec<Problem>,
}

/// A change that was not made.
#[derive(Debug, Error)]
pub enum EditError {
    /// The file cannot be read.
    #[error("the servers were not changed")]
    Read(#[source] ReadError),
    /// The file is not one this program can change without loss.
    #[error("{}: {message}; nothing was changed", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// There is an entry of that name.
    #[error("there is a server {name} already, nothing was changed")]
    Exists {
        /// The name.
        name: ServerName,
    },
    /// There is no entry of that name.
    #[error("there is no server {name}, nothing was changed")]
    Unknown {
        /// The name.
        name: ServerName,
    },
    /// The new entry would not load.
    #[error("the new entry cannot be used, nothing was changed: {message}")]
    Invalid {
        /// What is wrong with it.
        message: String,
        /// What to write instead.
        advice: String,
    },
    /// The file cannot be written.
    #[error("the servers were not changed")]
    Write(#[source] HomeError),
    /// There is nothing to undo.
    #[error("there is no earlier version of {}, nothing was changed", file.display())]
    NothingToUndo {
        /// The file.
        file: PathBuf,
    },
}

/// What `change` would do, without doing it.
///
/// # Errors
///
/// [`EditError`], as [`apply`] would.
pub fn preview(home: &Home, change: &Change) -> Result<Edited, EditError> {
    preview_all(home, std::slice::from_ref(change))
}

/// The owner's entries as written, in their order.
///
/// # Errors
///
/// [`EditError`] when the file cannot be read as one of entries.
pub fn written(home: &Home) -> Result<Vec<(String, Value)>, EditError> {
    let file = home.servers();
    let text = file::read(&file).map_err(EditError::Read)?;
    let text = text.unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let source = Source::User { file: file.clone() };
    crate::servers::entries(&text, &source).map_err(|problem| EditError::Malformed {
        file,
        message: problem.message,
    })
}

/// What several changes would do, one after the other.
///
/// # Errors
///
/// [`EditError`] of the first that cannot be made.
pub fn preview_all(home: &Home, changes: &[Change]) -> Result<Edited, EditError> {
    let file = home.servers();
    let before = file::read(&file)
        .map_err(EditError::Read)?
        .unwrap_or_default();
    let mut document = Document::parse(&before).map_err(|message| EditError::Malformed {
        file: file.clone(),
        message,
    })?;
    let source = Source::User { file: file.clone() };
    let mut warnings = Vec::new();
    for change in changes {
        warnings.extend(make(&mut document, change, &source, &file)?);
    }
    Ok(Edited {
        file,
        after: document.to_text(),
        before,
        warnings,
    })
}

fn make(
    document: &mut Document,
    change: &Change,
    source: &Source,
    file: &Path,
) -> Result<Vec<Problem>, EditError> {
    match change {
        Change::Add {
            name,
            entry,
            replace,
        } => {
            let entry = entry.to_wire();
            return insert(document, name, &entry, *replace, source);
        }
        Change::AddJson {
            name,
            json,
            replace,
        } => {
            let entry = json::parse(json).map_err(|error| EditError::Invalid {
                message: error.to_string(),
                advice: error.hint().to_owned(),
            })?;
            return insert(document, name, &entry, *replace, source);
        }
        Change::Remove { name } => {
            if !document.remove(name.as_str()) {
                return Err(EditError::Unknown { name: name.clone() });
            }
        }
        Change::SetDisabled { name, disabled } => {
            let done = document.set_disabled(name.as_str(), *disabled);
            match done {
                None => return Err(EditError::Unknown { name: name.clone() }),
                Some(Err(message)) => {
                    return Err(EditError::Malformed {
                        file: file.to_owned(),
                        message,
                    });
                }
                Some(Ok(())) => {}
            }
        }
    }
    Ok(Vec::new())
}

/// Makes `change` and keeps the text before it for [`undo`]. A change that
/// changes nothing writes nothing.
///
/// # Errors
///
/// [`EditError`]; then the file is as it was.
pub fn apply(home: &Home, change: &Change) -> Result<Edited, EditError> {
    apply_all(home, std::slice::from_ref(change))
}

/// Makes several changes at once: all of them or none.
///
/// # Errors
///
/// [`EditError`]; then the file is as it was.
pub fn apply_all(home: &Home, changes: &[Change]) -> Result<Edited, EditError> {
    let _turn = Turn::take(home).map_err(EditError::Read)?;
    let edited = preview_all(home, changes)?;
    if edited.is_change() {
        write_private(&undo_path(home), edited.before.as_bytes()).map_err(EditError::Write)?;
        write_private(&followed(&edited.file), edited.after.as_bytes())
            .map_err(EditError::Write)?;
    }
    Ok(edited)
}

/// Puts the text before the last [`apply`] back; a second undo undoes the
/// first.
///
/// # Errors
///
/// [`EditError::NothingToUndo`] when nothing was ever changed.
pub fn undo(home: &Home) -> Result<Edited, EditError> {
    let _turn = Turn::take(home).map_err(EditError::Read)?;
    let file = home.servers();
    let Some(after) = file::read(&undo_path(home)).map_err(EditError::Read)? else {
        return Err(EditError::NothingToUndo { file });
    };
    let before = file::read(&file)
        .map_err(EditError::Read)?
        .unwrap_or_default();
    write_private(&undo_path(home), before.as_bytes()).map_err(EditError::Write)?;
    write_private(&followed(&file), after.as_bytes()).map_err(EditError::Write)?;
    Ok(Edited {
        file,
        before,
        after,
        warnings: Vec::new(),
    })
}

/// Where the text before the last change is kept.
pub fn undo_path(home: &Home) -> PathBuf {
    home.root().join("mcp.json.undo")
}

/// The file behind a link: people keep this one among their dotfiles, and
/// renaming over the link would take it away from there.
fn followed(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_path_buf())
}

fn insert(
    document: &mut Document,
    name: &ServerName,
    entry: &Value,
    replace: bool,
    source: &Source,
) -> Result<Vec<Problem>, EditError> {
    if document.contains(name.as_str()) && !replace {
        return Err(EditError::Exists { name: name.clone() });
    }
    let (spec, problems) = read_entry(name.as_str(), entry, source, true);
    if spec.is_none() {
        let first = problems.into_iter().next();
        let (message, advice) =
            first.map_or_else(Default::default, |problem| (problem.message, problem.hint));
        return Err(EditError::Invalid { message, advice });
    }
    document.set(name.as_str(), entry);
    Ok(problems)
}

// === impl Edited ===

impl Edited {
    /// Whether the text is another.
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }
}

impl std::fmt::Debug for Edited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Edited")
            .field("file", &self.file)
            .field("is_change", &self.is_change())
            .finish_non_exhaustive()
    }
}

// === impl EditError ===

impl EditError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Read(error) => format!("Check that you may read {}.", error.path.display()),
            Self::Malformed { file, .. } => {
                format!("Correct {} by hand first.", file.display())
            }
            Self::Exists { name } => {
                format!("Choose another name, or remove it first: legation mcp remove {name}")
            }
            Self::Unknown { .. } => "`legation mcp list` names the servers".to_owned(),
            Self::Invalid { advice, .. } => advice.clone(),
            Self::Write(error) => format!("Check that you may write {}.", error.path.display()),
            Self::NothingToUndo { .. } => {
                "Only changes made by `legation mcp` can be undone.".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
