//! Where a server's entry stands, and which files of a workspace may hold one.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where an entry comes from, strongest last in a conflict: see
/// [`Source::rank`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
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
    /// `--additional-mcp-config`.
    Additional {
        /// The file behind `@file`, absent for JSON on the command line.
        file: Option<PathBuf>,
    },
}

/// The two names a workspace file may have, strongest first.
const WORKSPACE_FILES: [&str; 2] = [".mcp.json", ".github/mcp.json"];

/// How many folders up from a client's own are looked at.
const MAX_LEVELS: usize = 64;

// === impl Source ===

impl Source {
    /// Which of two entries of one name counts: the one of higher rank.
    pub fn rank(&self) -> u8 {
        match self {
            Self::User { .. } => 0,
            Self::Workspace { .. } => 1,
            Self::Additional { .. } => 2,
        }
    }

    /// The file, where there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::User { file } | Self::Workspace { file, .. } => Some(file),
            Self::Additional { file } => file.as_deref(),
        }
    }

    /// The folder a workspace entry belongs to.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Workspace { folder, .. } => Some(folder),
            Self::User { .. } | Self::Additional { .. } => None,
        }
    }

    /// The word for its kind.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Workspace { .. } => "workspace",
            Self::Additional { .. } => "additional",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file() {
            Some(file) => write!(f, "{}", file.display()),
            None => f.write_str("--additional-mcp-config"),
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
