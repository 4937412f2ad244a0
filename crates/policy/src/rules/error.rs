//! Why a rule file was refused.

use thiserror::Error;

/// A rule file that is not in force. Every variant means that nothing of the
/// file is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RulesError {
    /// Not TOML, an unknown key, a missing key or a value of the wrong type.
    #[error("{source_name}:{line}:{column}: {message}")]
    Syntax {
        /// The file.
        source_name: Box<str>,
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in characters.
        column: usize,
        /// What the reader says.
        message: Box<str>,
    },
    /// `version` is not one this program knows.
    #[error(
        "{source_name}: version {found} of the rule file is not known, this program reads version 1"
    )]
    Version {
        /// The file.
        source_name: Box<str>,
        /// What it says.
        found: i64,
    },
    /// An id that is empty, too long or has characters outside
    /// `[A-Za-z0-9._-]`, or one that the program itself uses.
    #[error("{source_name}: `{id}` cannot be the id of a rule")]
    BadId {
        /// The file.
        source_name: Box<str>,
        /// The id.
        id: Box<str>,
    },
    /// Two rules with one id.
    #[error("{source_name}: two rules have the id `{id}`")]
    DuplicateId {
        /// The file.
        source_name: Box<str>,
        /// The id.
        id: Box<str>,
    },
    /// A value outside the words a key knows.
    #[error("{source_name}: rule `{rule}`: {key} does not know `{found}`")]
    UnknownWord {
        /// The file.
        source_name: Box<str>,
        /// The rule.
        rule: Box<str>,
        /// The key.
        key: &'static str,
        /// What it says.
        found: Box<str>,
        /// What it could say.
        known: Box<str>,
    },
    /// A list without entries, which could only mean "never" by accident.
    #[error("{source_name}: rule `{rule}`: {key} is empty, so the rule could never match")]
    EmptyList {
        /// The file.
        source_name: Box<str>,
        /// The rule.
        rule: Box<str>,
        /// The key.
        key: &'static str,
    },
    /// A pattern that is empty or longer than 512 bytes.
    #[error("{source_name}: rule `{rule}`: {key} has a pattern that is empty or too long")]
    BadPattern {
        /// The file.
        source_name: Box<str>,
        /// The rule.
        rule: Box<str>,
        /// The key.
        key: &'static str,
    },
    /// An example without a `/`.
    #[error("{source_name}: rule `{rule}`: the example `{example}` is not of the form server/item")]
    BadExample {
        /// The file.
        source_name: Box<str>,
        /// The rule.
        rule: Box<str>,
        /// The example.
        example: Box<str>,
    },
    /// An example of `match` that does not match, or one of `no_match` that
    /// does.
    #[error(
        "{source_name}: rule `{rule}`: the example `{example}` should {}match and does{}",
        if *.should_match { "" } else { "not " },
        if *.should_match { " not" } else { "" }
    )]
    ExampleFailed {
        /// The file.
        source_name: Box<str>,
        /// The rule.
        rule: Box<str>,
        /// The example.
        example: Box<str>,
        /// Whether it stands in `match`.
        should_match: bool,
    },
}

// === impl RulesError ===

impl RulesError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Syntax { .. } => {
                "Repair the line named above; until then everything is refused.".to_owned()
            }
            Self::Version { .. } => {
                "Set version = 1, or install a newer Legation if the file comes from one."
                    .to_owned()
            }
            Self::BadId { .. } => {
                "Use up to 64 letters, digits, dots, dashes and underscores; ids that start with \
                 `default.` or `governance.` belong to the program."
                    .to_owned()
            }
            Self::DuplicateId { .. } => "Give each rule an id of its own.".to_owned(),
            Self::UnknownWord { known, .. } => format!("Use one of: {known}."),
            Self::EmptyList { key, .. } => {
                format!("Write {key} = [\"*\"] for all of them, or remove the rule.")
            }
            Self::BadPattern { .. } => {
                "A pattern has 1 to 512 bytes; `*` stands for any text, `?` for one character."
                    .to_owned()
            }
            Self::BadExample { .. } => {
                "Write the server's name, a slash and the tool's own name, like files/read_file."
                    .to_owned()
            }
            Self::ExampleFailed { .. } => {
                "Change servers and items until the example holds, or correct the example."
                    .to_owned()
            }
        }
    }
}
