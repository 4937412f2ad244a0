//! Why a rule was refused.

use thiserror::Error;

/// What is wrong with one rule, or with the file around the rules. Nothing of
/// the file is in force then.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RuleError {
    /// Not TOML, an unknown key, a missing key or a value of the wrong type.
    #[error("{message}")]
    Syntax {
        /// What the reader says.
        message: Box<str>,
    },
    /// `version` is not one this program knows.
    #[error("version {found} of the rule file is not known, this program reads version 2")]
    Version {
        /// What it says.
        found: i64,
    },
    /// An id that is empty, too long or has characters outside
    /// `[A-Za-z0-9._-]`, or one that the program itself uses.
    #[error("{id:?} cannot be the id of a rule")]
    BadId {
        /// The id.
        id: Box<str>,
    },
    /// Two rules with one id.
    #[error("two rules have the id `{id}`")]
    DuplicateId {
        /// The id.
        id: Box<str>,
    },
    /// The line does not follow the grammar.
    #[error("rule `{rule}`: {message}")]
    Grammar {
        /// The rule.
        rule: Box<str>,
        /// What is wrong, as a sentence.
        message: Box<str>,
    },
    /// A rule of a folder that allows something or says that it only reads.
    #[error("rule `{rule}` would {effect}; the rules of a folder only deny and ask")]
    Lenient {
        /// The rule.
        rule: Box<str>,
        /// What it would do.
        effect: &'static str,
    },
    /// An example that is no call.
    #[error("rule `{rule}`: the example {example:?} is not of the form server/tool {{arguments}}")]
    BadExample {
        /// The rule.
        rule: Box<str>,
        /// The example.
        example: Box<str>,
    },
    /// An example of `match` that does not match, or one of `no_match` that
    /// does.
    #[error(
        "rule `{rule}`: the example {example:?} should {}match and does{}",
        if *.should_match { "" } else { "not " },
        if *.should_match { " not" } else { "" }
    )]
    ExampleFailed {
        /// The rule.
        rule: Box<str>,
        /// The example.
        example: Box<str>,
        /// Whether it stands in `match`.
        should_match: bool,
    },
    /// A server, tool or entity that was never there.
    #[error("rule `{rule}`: there never was a {kind} called {name:?}")]
    NeverSeen {
        /// The rule.
        rule: Box<str>,
        /// What kind of thing.
        kind: &'static str,
        /// Its name.
        name: Box<str>,
        /// One that is called nearly so.
        nearest: Option<Box<str>>,
    },
}

// === impl RuleError ===

impl RuleError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Syntax { .. } => "Repair the line; until then everything is refused.".to_owned(),
            Self::Version { .. } => {
                "Set version = 2, or install a newer Legation if the file comes from one."
                    .to_owned()
            }
            Self::BadId { .. } => {
                "Use up to 64 letters, digits, dots, dashes and underscores; ids that start like \
                 `default.` or `governance.` belong to the program."
                    .to_owned()
            }
            Self::DuplicateId { .. } => "Give each rule an id of its own.".to_owned(),
            Self::Grammar { .. } => {
                "Write: deny|ask|allow|reads server/tool [where /pointer op value] [entity X] \
                 [client Y] [rung R] [for …] [because \"…\"]."
                    .to_owned()
            }
            Self::Lenient { .. } => {
                "Put it into your own governance/permissions.toml, or remove it.".to_owned()
            }
            Self::BadExample { .. } => {
                "Write the server's name, a slash, the tool's own name, and its arguments as JSON \
                 where the rule reads them: files/write_file {\"path\": \"/tmp/a\"}."
                    .to_owned()
            }
            Self::ExampleFailed { .. } => {
                "Change the rule until the example holds, or correct the example.".to_owned()
            }
            Self::NeverSeen { nearest, kind, .. } => match nearest {
                Some(nearest) => format!("Did you mean {nearest:?}?"),
                None if *kind == "entity" => {
                    "Add it to governance/operator_profile.json first.".to_owned()
                }
                None => "See `legation mcp list` and `legation mcp tools` for what there is; add \
                         the server before the rule."
                    .to_owned(),
            },
        }
    }
}
