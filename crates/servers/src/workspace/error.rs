//! What the workspace's tools refuse, in words that a small model can act on.

use std::io;
use std::path::PathBuf;

/// A tool of the workspace did nothing.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The caller's bridge sent no folder.
    #[error("this client works in no folder, so there are no files here; nothing was done")]
    NoFolder,
    /// The folder cannot be worked in.
    #[error("the folder {} cannot be worked in: {why}; nothing was done", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The arguments are not what the tool takes.
    #[error("{why}; nothing was done")]
    Arguments {
        /// What is wrong.
        why: String,
    },
    /// A path leads out of the folder.
    #[error("`{path}` leads out of the folder you work in; nothing was done")]
    Outside {
        /// As it was given.
        path: String,
    },
    /// It belongs to the hub.
    #[error("`{path}` belongs to the hub itself and is not yours to use; nothing was done")]
    Hubs {
        /// As it was given.
        path: String,
    },
    /// There is nothing of that name.
    #[error("there is no `{path}`; nothing was done")]
    Missing {
        /// As it was given.
        path: String,
    },
    /// It is something else than the tool works on.
    #[error("`{path}` is {found}, not {wanted}; nothing was done")]
    Kind {
        /// As it was given.
        path: String,
        /// What it is.
        found: &'static str,
        /// What was wanted.
        wanted: &'static str,
    },
    /// It is not text.
    #[error("`{path}` holds no text ({bytes} bytes); nothing was done")]
    Binary {
        /// As it was given.
        path: String,
        /// How long it is.
        bytes: u64,
    },
    /// It is too long to be worked on whole.
    #[error("`{path}` is {bytes} bytes long; at most {max} can be worked on, and nothing was done")]
    TooLong {
        /// As it was given.
        path: String,
        /// How long it is.
        bytes: u64,
        /// How long it may be.
        max: u64,
    },
    /// The text has letters that the file's encoding has not.
    #[error(
        "`{path}` is not in UTF-8, and its encoding has no letter for some of the new text; nothing was done"
    )]
    Encoding {
        /// As it was given.
        path: String,
    },
    /// Somebody else changed the file meanwhile.
    #[error("`{path}` was changed by somebody else meanwhile; nothing was done")]
    Changed {
        /// As it was given.
        path: String,
    },
    /// An edit does not fit the file.
    #[error("{why}; nothing was changed")]
    Edit {
        /// Why.
        why: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// What could be taken back later could not be kept.
    #[error(
        "what `{path}` held could not be kept for taking the task back: {why}; nothing was done"
    )]
    Undo {
        /// As it was given.
        path: String,
        /// Why.
        why: String,
    },
    /// Commands cannot be run.
    #[error("commands are not run here: {why}; nothing was done")]
    Bash {
        /// Why.
        why: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// No language server says anything about the file.
    #[error("{why}; nothing was checked")]
    Language {
        /// Why.
        why: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// The call was called off.
    #[error("the call was called off before it was done")]
    Cancelled,
    /// The system refused.
    #[error("{what} `{path}` failed; nothing was changed")]
    System {
        /// What was tried.
        what: &'static str,
        /// As it was given.
        path: String,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
}

// === impl WorkspaceError ===

impl WorkspaceError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoFolder => {
                "Connect with `legation bridge` from the folder, which tells the hub where you work."
            }
            Self::Folder { .. } => "Work in a folder of a project.",
            Self::Arguments { .. } => "Correct the arguments and call again.",
            Self::Outside { .. } => {
                "Use paths relative to the folder, without `..` and without links that leave it."
            }
            Self::Hubs { .. } => "Use the hub's tools and commands instead.",
            Self::Missing { .. } => "Use glob to see which files there are.",
            Self::Kind { .. } => "Use glob to see what is there.",
            Self::Binary { .. } => "Use a command that understands the file.",
            Self::TooLong { .. } => "Use grep to find what matters, or a command for the rest.",
            Self::Encoding { .. } => "Keep to letters that the file has already.",
            Self::Changed { .. } => "Read it again, then edit what it holds now.",
            Self::Edit { hint, .. } | Self::Bash { hint, .. } | Self::Language { hint, .. } => hint,
            Self::Undo { .. } => "Make room on the disk of the hub's data directory.",
            Self::Cancelled => "Call again if it is still wanted.",
            Self::System { .. } => "Check the permissions of the file and its folder.",
        }
    }

    pub(super) fn system(what: &'static str, path: &str, source: impl Into<io::Error>) -> Self {
        Self::System {
            what,
            path: path.to_owned(),
            source: source.into(),
        }
    }

    pub(super) fn arguments(why: impl Into<String>) -> Self {
        Self::Arguments { why: why.into() }
    }
}
