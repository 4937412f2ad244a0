//! The names of rules.

use std::fmt;

use smol_str::SmolStr;

/// The name of one rule; it goes into refusals and the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(SmolStr);

/// Beginnings of ids that belong to the program: nobody's rule may look like
/// one of its own answers.
pub(crate) const RESERVED: [&str; 12] = [
    "default.",
    "governance.",
    "enterprise.",
    "boundary.",
    "clearance.",
    "role.",
    "ban.",
    "ladder.",
    "cedar.",
    "contract.",
    "pin.",
    "workspace.",
];

// === impl RuleId ===

impl RuleId {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub(crate) fn default_deny() -> Self {
        Self::new("default.deny")
    }

    /// A file that denies what it governs.
    pub(crate) fn unavailable() -> Self {
        Self::new("governance.unavailable")
    }

    /// The id as written in the file it stands in.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
