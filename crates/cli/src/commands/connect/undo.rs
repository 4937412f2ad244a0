//! How `connect` is taken back: a note of every file it changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use legation_core::Home;
use legation_core::home::{HomeError, create_private_dir, write_private};
use serde::{Deserialize, Serialize};

use super::part::Part;

/// What one file was and what it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The agent's file.
    pub(super) path: PathBuf,
    /// Its text before; `None` when it did not exist.
    pub(super) before: Option<String>,
    /// Its text after.
    pub(super) after: String,
    /// The hub's entry that stood there before, if there was one.
    pub(super) old_entry: Option<serde_json::Value>,
    /// Its permission bits before; `None` when it did not exist.
    pub(super) mode: Option<u32>,
    /// What of the file is the hub's.
    #[serde(default)]
    pub(super) part: Part,
}

/// The notes of one client, oldest first; one a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Notes {
    pub(super) files: Vec<Note>,
}

/// The notes could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotesError {
    #[error("what was changed cannot be noted, so nothing was changed")]
    Write(#[source] HomeError),
    #[error("what was changed cannot be noted, so nothing was changed")]
    Encode(#[source] serde_json::Error),
    #[error("the note of what was changed, {}, cannot be read; nothing was changed", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the note of what was changed, {}, is damaged; nothing was changed", path.display())]
    Decode {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
}

// === impl Notes ===

impl Notes {
    fn file(home: &Home, client: &str) -> PathBuf {
        home.root()
            .join("undo")
            .join(format!("connect-{client}.json"))
    }

    pub(super) fn load(home: &Home, client: &str) -> Result<Self, NotesError> {
        let path = Self::file(home, client);
        match fs::read(&path) {
            Ok(text) => {
                serde_json::from_slice(&text).map_err(|source| NotesError::Decode { path, source })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(NotesError::Read { path, source }),
        }
    }

    pub(super) fn of(&self, path: &Path) -> Option<&Note> {
        self.files.iter().find(|note| note.path == path)
    }

    /// The note of its file is now this one.
    pub(super) fn set(&mut self, note: Note) {
        match self.files.iter_mut().find(|old| old.path == note.path) {
            Some(old) => *old = note,
            None => self.files.push(note),
        }
    }

    pub(super) fn forget(&mut self, path: &Path) {
        self.files.retain(|note| note.path != path);
    }

    /// Notes may hold tokens: the files they are about do.
    pub(super) fn save(&self, home: &Home, client: &str) -> Result<(), NotesError> {
        let path = Self::file(home, client);
        if let Some(folder) = path.parent() {
            create_private_dir(folder).map_err(NotesError::Write)?;
        }
        if self.files.is_empty() {
            return match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    Err(NotesError::Write(HomeError {
                        what: "removing",
                        path,
                        source,
                    }))
                }
                _ => Ok(()),
            };
        }
        let text = serde_json::to_vec_pretty(self).map_err(NotesError::Encode)?;
        write_private(&path, &text).map_err(NotesError::Write)
    }
}

/// The permission bits of a file; `None` when there is none.
pub(crate) fn mode_of(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = fs::metadata(path).ok()?;
    Some(metadata.permissions().mode() & 0o7777)
}

/// Writes an agent's file in place of the old one, through a symbolic link if
/// it is one: people keep such files among their dotfiles. A new file is its
/// owner's alone; `mode` says what else it shall be.
pub(crate) fn replace(path: &Path, text: &str, mode: Option<u32>) -> Result<(), HomeError> {
    use std::os::unix::fs::PermissionsExt as _;
    let real = followed(path);
    if let Some(folder) = real.parent() {
        fs::create_dir_all(folder).map_err(|source| HomeError {
            what: "creating",
            path: folder.to_owned(),
            source,
        })?;
    }
    write_private(&real, text.as_bytes())?;
    let Some(mode) = mode.filter(|mode| *mode != 0o600) else {
        return Ok(());
    };
    fs::set_permissions(&real, fs::Permissions::from_mode(mode)).map_err(|source| HomeError {
        what: "restoring the permissions of",
        path: real,
        source,
    })
}

/// The file behind links, also when it does not exist yet.
fn followed(path: &Path) -> PathBuf {
    const LINKS_MAX: usize = 40;
    let mut at = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&at) else {
            break;
        };
        at = match at.parent() {
            Some(folder) => folder.join(target),
            None => target,
        };
    }
    at.canonicalize().unwrap_or(at)
}
