//! Where a server's entry stands, and which files of a workspace may hold one.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where an entry comes from, strongest last in a conflict: see
/// [`Source::rank`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// What comes with the program and is reached at an address.
    Builtin,
    /// What the organisation, or whoever installed the program, gives everybody.
    Default {
        /// The file.
        file: PathBuf,
    },
    /// The owner's `mcp.json`.
    User {
        /// The file.
        file: PathBuf,
    },
    /// A file that a folder brings along.
    Workspace {
        /// The folder that holds it; trust is given to this folder, and a
        /// server runs in it.
        folder: PathBuf,
        /// The file.
        file: PathBuf,
    },
    /// A plugin that the owner put into the data directory.
    Plugin {
        /// Its name.
        plugin: Box<str>,
        /// Its folder; trust is given to it, and its servers run in it.
        folder: PathBuf,
        /// The file of it that holds the entry.
        file: PathBuf,
    },
    /// `--additional-mcp-config`.
    Additional {
        /// The file behind `@file`, absent for JSON on the command line.
        file: Option<PathBuf>,
    },
    /// The file of a custom agent, whose servers run for its tasks alone.
    Agent {
        /// The file; a folder's is in its `.github/agents` or `.claude/agents`.
        file: PathBuf,
        /// Whether a folder brings it along, and not the owner.
        of_folder: bool,
    },
}

/// The names a workspace file may have, strongest first.
const WORKSPACE_FILES: [&str; 3] = [".mcp.json", ".github/mcp.json", VSCODE_FILE];

/// The one in the shape of Visual Studio Code.
pub(crate) const VSCODE_FILE: &str = ".vscode/mcp.json";

/// How many folders up from a client's own are looked at.
const MAX_LEVELS: usize = 64;

// === impl Source ===

impl Source {
    /// Which of two entries of one name counts: the one of higher rank.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Builtin => 0,
            Self::Default { .. } => 1,
            Self::User { .. } => 2,
            Self::Workspace { .. } => 3,
            Self::Plugin { .. } => 4,
            Self::Additional { .. } => 5,
            Self::Agent { .. } => 6,
        }
    }

    /// The file, where there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Default { file }
            | Self::User { file }
            | Self::Workspace { file, .. }
            | Self::Plugin { file, .. }
            | Self::Agent { file, .. } => Some(file),
            Self::Additional { file } => file.as_deref(),
            Self::Builtin => None,
        }
    }

    /// The folder that brings the entry along.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Workspace { folder, .. } => Some(folder),
            Self::Agent {
                file,
                of_folder: true,
            } => file.ancestors().nth(3),
            Self::Builtin
            | Self::Default { .. }
            | Self::User { .. }
            | Self::Plugin { .. }
            | Self::Additional { .. }
            | Self::Agent { .. } => None,
        }
    }

    /// The folder that trust is given to: what the owner did not write runs only as they agreed to it.
    pub fn trusted_folder(&self) -> Option<&Path> {
        match self {
            Self::Plugin { folder, .. } => Some(folder),
            Self::Builtin
            | Self::Default { .. }
            | Self::User { .. }
            | Self::Workspace { .. }
            | Self::Additional { .. }
            | Self::Agent { .. } => self.folder(),
        }
    }

    /// Whether the file has the shape of Visual Studio Code.
    pub(crate) fn is_vscode(&self) -> bool {
        matches!(self, Self::Workspace { file, .. } if file.ends_with(VSCODE_FILE))
    }

    /// The word for its kind.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Default { .. } => "default",
            Self::User { .. } => "user",
            Self::Workspace { .. } => "workspace",
            Self::Plugin { .. } => "plugin",
            Self::Additional { .. } => "additional",
            Self::Agent { .. } => "agent",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.file()) {
            (_, Some(file)) => write!(f, "{}", file.display()),
            (Self::Builtin, None) => f.write_str("built in"),
            (_, None) => f.write_str("--additional-mcp-config"),
        }
    }
}

/// `folder` and every folder above it up to the root of its repository.
/// Outside a repository only the folder itself counts, so that a file in a
/// shared parent such as `/tmp` reaches nobody.
///
/// `folder` should be canonical.
pub(crate) fn workspace_levels(folder: &Path) -> Vec<PathBuf> {
    let chain: Vec<&Path> = folder.ancestors().take(MAX_LEVELS).collect();
    let levels = chain
        .iter()
        .position(|level| level.join(".git").exists())
        .map_or(1, |root| root + 1);
    chain[..levels]
        .iter()
        .map(|level| level.to_path_buf())
        .collect()
}

/// The files that may configure servers for `folder`, strongest first: those
/// of each of its levels. They need not exist.
pub(crate) fn workspace_files(folder: &Path) -> Vec<Source> {
    workspace_levels(folder)
        .into_iter()
        .flat_map(|level| {
            WORKSPACE_FILES.iter().map(move |name| Source::Workspace {
                file: level.join(name),
                folder: level.clone(),
            })
        })
        .collect()
}
