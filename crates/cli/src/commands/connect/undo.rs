//! How `connect` is taken back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use legation_core::Home;
use legation_core::home::{HomeError, create_private_dir, write_private};
use serde::{Deserialize, Serialize};

/// What a file was and what it was made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Undo {
    /// The agent's file.
    pub(crate) path: PathBuf,
    /// Its text before; `None` when it did not exist.
    pub(crate) before: Option<String>,
    /// Its text after.
    pub(crate) after: String,
    /// The hub's entry that stood there before, if there was one.
    pub(crate) old_entry: Option<serde_json::Value>,
}

/// An undo record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UndoError {
    #[error("what was changed cannot be noted, so nothing was changed")]
    Write(#[source] HomeError),
    #[error("what was changed cannot be noted, so nothing was changed")]
    Encode(#[source] serde_json::Error),
    #[error("the note of what was changed, {}, cannot be read", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the note of what was changed, {}, is damaged", path.display())]
    Decode {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
}

// === impl Undo ===

impl Undo {
    fn file(home: &Home, client: &str) -> PathBuf {
        home.root()
            .join("undo")
            .join(format!("connect-{client}.json"))
    }

    pub(crate) fn save(&self, home: &Home, client: &str) -> Result<(), UndoError> {
        let path = Self::file(home, client);
        if let Some(folder) = path.parent() {
            create_private_dir(folder).map_err(UndoError::Write)?;
        }
        let text = serde_json::to_vec_pretty(self).map_err(UndoError::Encode)?;
        write_private(&path, &text).map_err(UndoError::Write)
    }

    pub(crate) fn load(home: &Home, client: &str) -> Result<Option<Self>, UndoError> {
        let path = Self::file(home, client);
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|source| UndoError::Decode { path, source }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(UndoError::Read { path, source }),
        }
    }

    pub(crate) fn forget(home: &Home, client: &str) -> io::Result<()> {
        fs::remove_file(Self::file(home, client))
    }
}

/// Writes an agent's file in place of the old one, through a symbolic link if
/// it is one. It keeps its permissions unless what is written is `secret`.
pub(crate) fn replace(path: &Path, text: &str, secret: bool) -> Result<(), HomeError> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = real.parent() {
        fs::create_dir_all(folder).map_err(|source| HomeError {
            what: "creating",
            path: folder.to_owned(),
            source,
        })?;
    }
    let mode = fs::metadata(&real)
        .ok()
        .map(|metadata| metadata.permissions());
    write_private(&real, text.as_bytes())?;
    if let Some(mode) = mode.filter(|_| !secret) {
        fs::set_permissions(&real, mode).map_err(|source| HomeError {
            what: "restoring the permissions of",
            path: real,
            source,
        })?;
    }
    Ok(())
}
