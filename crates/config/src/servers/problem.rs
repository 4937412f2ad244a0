//! What is wrong with a configuration, and what to do about it.

use std::fmt;

use super::Source;

/// Something the owner should know. It never stops the other servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands.
    pub source: Source,
    /// The entry, or `None` when it is about the whole file.
    pub server: Option<Box<str>>,
    /// What it is, for programs.
    pub kind: ProblemKind,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

/// The kinds of problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The file cannot be read or is not the JSON it should be; none of its
    /// servers is known.
    File,
    /// The entry is wrong; its server is not available.
    Entry,
    /// A workspace entry the owner has not been asked about.
    Untrusted,
    /// A workspace entry that is no longer what the owner agreed to.
    Changed,
    /// The organisation's policy does not let the server run.
    Filtered,
    /// The server is available; a part of its entry has no effect.
    Ignored,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Everything works; something is probably not meant as written.
    Warning,
    /// A server, or a file of servers, is not available.
    Error,
}

// === impl Problem ===

impl Problem {
    /// How bad it is.
    pub fn severity(&self) -> Severity {
        match self.kind {
            ProblemKind::Ignored => Severity::Warning,
            ProblemKind::File
            | ProblemKind::Entry
            | ProblemKind::Untrusted
            | ProblemKind::Changed
            | ProblemKind::Filtered => Severity::Error,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.source)?;
        if let Some(server) = &self.server {
            write!(f, "server {server:?}: ")?;
        }
        f.write_str(&self.message)
    }
}

// === impl ProblemKind ===

impl ProblemKind {
    /// Whether the owner's word is all that is missing.
    pub fn is_about_trust(self) -> bool {
        matches!(self, Self::Untrusted | Self::Changed)
    }

    /// The word programs see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Entry => "entry",
            Self::Untrusted => "untrusted",
            Self::Changed => "changed",
            Self::Filtered => "filtered",
            Self::Ignored => "ignored",
        }
    }
}
