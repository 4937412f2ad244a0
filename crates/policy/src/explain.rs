//! Which rules spoke about a question, for people who ask why.

use crate::rule_id::RuleId;

/// What a rule does with what it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It may be done, unless a deny rule matches too.
    Allow,
    /// It may not be done, whatever else matches.
    Deny,
    /// It only reads. Allows nothing by itself.
    Reads,
}

/// One rule that matched, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The rule.
    pub rule: RuleId,
    /// What it does.
    pub effect: Effect,
    /// The `because` of the rule, where it has one.
    pub because: Option<Box<str>>,
}

// === impl Effect ===

impl Effect {
    /// The word a rule file uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Reads => "reads",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Allow, Self::Deny, Self::Reads]
            .into_iter()
            .find(|effect| effect.as_str() == text)
    }
}
