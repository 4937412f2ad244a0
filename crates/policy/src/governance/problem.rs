//! What is wrong with a governance file, for people.

use std::fmt;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Something is not as it should be; nothing is denied because of it.
    Warning,
    /// Something that the file should govern is denied until this is repaired.
    Error,
}

/// Where in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// JSON pointer, where the file is JSON and the problem has one.
    pub pointer: Option<String>,
    /// Line, counted from 1.
    pub line: Option<usize>,
}

/// One problem. `Display` says where and what; [`Problem::hint`] what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file's name in the governance folder.
    pub file: Box<str>,
    /// Where in it.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// How bad it is.
    pub severity: Severity,
}

// === impl Severity ===

impl Severity {
    /// As a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

// === impl Place ===

impl Place {
    /// A line and no more.
    pub(crate) fn line(line: usize) -> Self {
        Self {
            pointer: None,
            line: Some(line),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}")?;
        }
        if let Some(pointer) = &self.pointer {
            let gap = if self.line.is_some() { ", at " } else { "at " };
            write!(f, "{gap}{pointer}")?;
        }
        Ok(())
    }
}

// === impl Problem ===

impl Problem {
    /// What to do next.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.place != Place::default() {
            write!(f, ", {}", self.place)?;
        }
        write!(f, ": {}", self.message)
    }
}
