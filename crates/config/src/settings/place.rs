//! Where a value comes from.

use std::fmt;
use std::path::PathBuf;

/// Who set a value, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// The program itself.
    Default,
    /// `legation.toml`.
    File,
    /// A variable of the environment.
    Environment,
    /// A flag of the command.
    Flag,
}

/// Where exactly a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the embedded defaults.
    Default {
        /// Counted from 1.
        line: usize,
    },
    /// In a file.
    File {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// In this variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// In this flag.
    Flag {
        /// With its dashes.
        flag: String,
    },
}

// === impl Layer ===

impl Layer {
    /// The word people and programs see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Environment => "environment",
            Self::Flag => "flag",
        }
    }
}

// === impl Place ===

impl Place {
    /// The layer this place belongs to.
    pub fn layer(&self) -> Layer {
        match self {
            Self::Default { .. } => Layer::Default,
            Self::File { .. } => Layer::File,
            Self::Environment { .. } => Layer::Environment,
            Self::Flag { .. } => Layer::Flag,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default { line } => write!(f, "built-in defaults, line {line}"),
            Self::File { file, line } => write!(f, "{}:{line}", file.display()),
            Self::Environment { variable } => write!(f, "${variable}"),
            Self::Flag { flag } => f.write_str(flag),
        }
    }
}
