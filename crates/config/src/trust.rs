//! Which servers of which folders the owner agreed to run.
//!
//! Trust is given entry by entry, as the hash of everything that decides what
//! would run or be reached; an entry that changes asks again. Trust in a whole
//! folder was rejected: the next `git pull` would run what nobody saw.

mod facts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use legation_core::home::{HomeError, write_private};
use legation_core::{Home, Wall};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::file::{self, ReadError, Turn};
use crate::json::{self, JsonError};
use crate::servers::{
    Input, Problem, ProblemKind, Source, plugin_at, read_entry, read_workspace_file,
    workspace_files,
};

use facts::{hash, shown};

/// What the owner agreed to, as `trust.json` holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    folders: BTreeMap<PathBuf, BTreeMap<String, String>>,
    broken: bool,
}

/// What the owner said about one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Yes, to exactly this.
    Trusted,
    /// Nothing yet.
    New,
    /// Yes, to something else under the same name.
    Changed,
}

/// Everything the files of a folder would run, for the owner to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderStatus {
    /// The folder that was asked about, canonical.
    pub folder: PathBuf,
    /// Its servers, nearest file first.
    pub servers: Vec<TrustEntry>,
    /// Files and entries that cannot be read, and therefore not be trusted.
    pub problems: Vec<Problem>,
    /// What its entries want to be asked for.
    pub inputs: Vec<Input>,
}

/// One server of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustEntry {
    /// Its name.
    pub server: String,
    /// The folder trust is given to: the one that holds the file.
    pub folder: PathBuf,
    /// The file.
    pub file: PathBuf,
    /// What the owner said.
    pub state: State,
    /// What it would do, one fact per line, whole and as written: the command
    /// line or the address first, then directory, variables and headers. The
    /// values are the folder's, not the owner's, and may be the attack.
    pub shown: Vec<String>,
    hash: String,
}

/// `trust.json` could not be read or written; nothing was changed.
#[derive(Debug, Error)]
pub enum TrustError {
    /// The folder is not there.
    #[error("the folder {} cannot be opened", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It cannot be read.
    #[error("the record of trusted folders cannot be used, nothing was changed")]
    Read(#[source] ReadError),
    /// It is not what this program writes.
    #[error("{} cannot be used, nothing was changed", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: JsonError,
    },
    /// It cannot be written.
    #[error("the record of trusted folders was not changed")]
    Write(#[source] HomeError),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireTrust {
    version: u32,
    folders: BTreeMap<PathBuf, WireFolder>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFolder {
    /// When the owner last agreed to something, for people.
    granted: String,
    servers: BTreeMap<String, String>,
}

/// The servers a folder brings along and what the owner said about each.
///
/// # Errors
///
/// [`TrustError::Folder`] when the folder cannot be opened.
pub fn status(home: &Home, folder: &Path) -> Result<FolderStatus, TrustError> {
    let folder = canonical(folder)?;
    let trust = Trust::load(home);
    let mut status = FolderStatus {
        folder: folder.clone(),
        servers: Vec::new(),
        problems: Vec::new(),
        inputs: Vec::new(),
    };
    if let Some(plugin) = plugin_at(home, &folder) {
        status.problems.extend(plugin.problems);
        for (source, name, entry) in plugin.entries {
            status.add(&trust, &source, name, &entry);
        }
        return Ok(status);
    }
    for source in workspace_files(&folder) {
        match read_workspace_file(&source) {
            Err(problem) => status.problems.push(*problem),
            Ok(found) => {
                for (name, entry) in found.entries {
                    status.add(&trust, &source, name, &entry);
                }
                status.inputs.extend(found.inputs);
            }
        }
    }
    add_agents(&trust, &mut status);
    Ok(status)
}

/// Adds what the folder's agents would run.
fn add_agents(trust: &Trust, status: &mut FolderStatus) {
    for found in crate::agents::of_folder(&status.folder) {
        let source = Source::Agent {
            file: found.file.clone(),
            of_folder: true,
        };
        let agent = match found.agent {
            Ok(agent) => agent,
            Err(error) => {
                status.problems.push(Problem {
                    source,
                    server: None,
                    kind: ProblemKind::File,
                    message: format!("it cannot be understood: {error}"),
                    hint: "Write its head as `key: value` lines between two lines of `---`."
                        .to_owned(),
                });
                continue;
            }
        };
        for (name, entry) in &agent.servers {
            let (spec, problems) = read_entry(name, entry, &source, false);
            status.problems.extend(problems);
            if spec.is_none() {
                continue;
            }
            let server = crate::agents::entry_name(&found.file, name);
            status.servers.push(TrustEntry {
                state: trust.state(&status.folder, &server, entry),
                folder: status.folder.clone(),
                file: found.file.clone(),
                shown: shown(entry),
                hash: hash(&status.folder, entry),
                server,
            });
        }
    }
}

/// Records that the owner agreed to what `shown` holds, and to nothing that
/// may have changed since.
///
/// # Errors
///
/// [`TrustError`] when the record cannot be read or written.
pub fn grant(home: &Home, shown: &FolderStatus, now: Wall) -> Result<(), TrustError> {
    change(home, |folders| {
        for entry in &shown.servers {
            let folder = folders.entry(entry.folder.clone()).or_default();
            folder.granted = now.to_string();
            folder
                .servers
                .insert(entry.server.clone(), entry.hash.clone());
        }
    })
}

/// Forgets everything the owner agreed to in `folder`; returns how many
/// entries that were. The folder itself may be gone.
///
/// # Errors
///
/// [`TrustError`] when the record cannot be read or written.
pub fn revoke(home: &Home, folder: &Path) -> Result<usize, TrustError> {
    let canonical = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    let holders: Vec<PathBuf> = workspace_files(&canonical)
        .iter()
        .filter_map(|source| source.folder().map(Path::to_path_buf))
        .chain([canonical])
        .collect();
    let mut forgotten = 0;
    change(home, |folders| {
        folders.retain(|folder, record| {
            let keep = !holders.contains(folder);
            if !keep {
                forgotten += record.servers.len();
            }
            keep
        });
    })?;
    Ok(forgotten)
}

fn canonical(folder: &Path) -> Result<PathBuf, TrustError> {
    folder.canonicalize().map_err(|source| TrustError::Folder {
        folder: folder.to_path_buf(),
        source,
    })
}

fn change(
    home: &Home,
    edit: impl FnOnce(&mut BTreeMap<PathBuf, WireFolder>),
) -> Result<(), TrustError> {
    let _turn = Turn::take(home).map_err(TrustError::Read)?;
    let mut wire = read(home)?;
    edit(&mut wire.folders);
    let mut text = serde_json::to_string_pretty(&wire).expect("maps of texts always serialise");
    text.push('\n');
    write_private(&home.trust(), text.as_bytes()).map_err(TrustError::Write)
}

fn read(home: &Home) -> Result<WireTrust, TrustError> {
    let Some(text) = file::read(&home.trust()).map_err(TrustError::Read)? else {
        return Ok(WireTrust {
            version: 1,
            folders: BTreeMap::new(),
        });
    };
    let malformed = |source| TrustError::Malformed {
        file: home.trust(),
        source,
    };
    json::parse(&text).map_err(malformed)?;
    let wire: WireTrust =
        serde_json::from_str(json::without_mark(&text)).map_err(|error| malformed(error.into()))?;
    if wire.version == 1 {
        return Ok(wire);
    }
    Err(malformed(JsonError {
        line: 1,
        column: 1,
        message: format!("version {} is not known", wire.version),
    }))
}

/// What the owner is told about an entry that does not run.
pub(crate) fn problem(source: &Source, server: &str, state: State, broken: bool) -> Problem {
    let folder = source.trusted_folder().unwrap_or(Path::new("."));
    let folder = crate::servers::quoted(&folder.to_string_lossy());
    let (kind, message) = match state {
        _ if broken => (
            ProblemKind::Untrusted,
            "trust.json cannot be read, so no folder is trusted and the server is not started",
        ),
        State::Changed => (
            ProblemKind::Changed,
            "it is not what you agreed to any more, so it is not started",
        ),
        State::New | State::Trusted => (
            ProblemKind::Untrusted,
            "you have not agreed to run it, so it is not started",
        ),
    };
    Problem {
        source: source.clone(),
        server: Some(server.into()),
        kind,
        message: message.to_owned(),
        hint: format!("See what it would run and decide: legation trust {folder}"),
    }
}

// === impl Trust ===

impl Trust {
    /// Reads `trust.json`. A file that cannot be read trusts nothing, see
    /// [`Trust::broken`].
    pub fn load(home: &Home) -> Self {
        match read(home) {
            Ok(wire) => Self {
                folders: wire
                    .folders
                    .into_iter()
                    .map(|(folder, record)| (folder, record.servers))
                    .collect(),
                broken: false,
            },
            Err(error) => {
                tracing::warn!(error = %legation_core::error::chain(&error), "no folder is trusted");
                Self {
                    folders: BTreeMap::new(),
                    broken: true,
                }
            }
        }
    }

    /// Whether the file is there and cannot be used.
    pub fn broken(&self) -> bool {
        self.broken
    }

    /// The folders in which something is trusted.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.keys().map(PathBuf::as_path)
    }

    pub(crate) fn state(&self, folder: &Path, server: &str, entry: &Value) -> State {
        let agreed = self
            .folders
            .get(folder)
            .and_then(|servers| servers.get(server));
        match agreed {
            None => State::New,
            Some(agreed) if *agreed == hash(folder, entry) => State::Trusted,
            Some(_) => State::Changed,
        }
    }
}

// === impl State ===

impl State {
    /// The word people and programs see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::New => "new",
            Self::Changed => "changed",
        }
    }
}

// === impl FolderStatus ===

impl FolderStatus {
    /// Adds an entry that can be used, unless a stronger file of its folder has one of the name:
    /// the weaker one never runs, so there is nothing to agree to.
    fn add(&mut self, trust: &Trust, source: &Source, name: String, entry: &Value) {
        let (Some(folder), Some(file)) = (source.trusted_folder(), source.file()) else {
            return;
        };
        let taken = |known: &TrustEntry| known.server == name && known.folder == *folder;
        if self.servers.iter().any(taken) {
            return;
        }
        let (spec, problems) = read_entry(&name, entry, source, false);
        self.problems.extend(problems);
        if spec.is_none() {
            return;
        }
        self.servers.push(TrustEntry {
            state: trust.state(folder, &name, entry),
            folder: folder.to_owned(),
            file: file.to_owned(),
            shown: shown(entry),
            hash: hash(folder, entry),
            server: name,
        });
    }

    /// Whether there is nothing left to ask.
    pub fn all_trusted(&self) -> bool {
        self.servers
            .iter()
            .all(|entry| entry.state == State::Trusted)
    }
}

// === impl TrustError ===

impl TrustError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Folder { .. } => "Check the path.".to_owned(),
            Self::Read(error) => format!("Check that you may read {}.", error.path.display()),
            Self::Malformed { file, .. } => format!(
                "Repair {0}, or remove it: every folder will then ask again.",
                file.display()
            ),
            Self::Write(error) => format!("Check that you may write {}.", error.path.display()),
        }
    }
}

#[cfg(test)]
mod tests;
