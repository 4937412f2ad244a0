//! Why something may not be done, in words an agent can pass on.

use std::fmt;

use legation_core::EntityLabels;

use crate::decision::Asked;
use crate::registry::ReasonCode;
use crate::rule_id::RuleId;
use crate::target::Target;

/// The longest stretch of a client's own text that a refusal repeats, in
/// characters.
const QUOTED_CHARS: usize = 120;

/// A refusal. `Display` is one sentence for the agent's human; [`Denied::hint`]
/// says what the owner can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The deciding rule; `default.deny` when no rule allows the target,
    /// `governance.unavailable` when there are no rules to ask.
    pub rule: RuleId,
    /// The reason as a word that programs compare.
    pub reason_code: ReasonCode,
    /// The rule's own reason.
    pub reason: Box<str>,
    /// What to do next.
    pub next_safe_step: Box<str>,
    /// What was refused.
    pub target: Box<Target>,
    /// What was found out of it.
    pub about: About,
}

/// What a decision found out of a call, for the record of its refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The entities of the call itself; `None` where it was refused before
    /// anybody knew.
    pub entities: Option<EntityLabels>,
    /// Whether it is about every entity, each of which would stand by itself in the answer.
    pub apart: bool,
    /// Those, what words in the arguments added, and what the conversation
    /// held.
    pub labels: EntityLabels,
    /// The [`crate::Policy::version`] that decided.
    pub policy_version: u64,
}

// === impl Denied ===

impl Denied {
    pub(crate) fn of(refusal: &crate::policy::Refusal, target: Target, about: About) -> Self {
        Self {
            rule: refusal.rule.clone(),
            reason_code: refusal.code,
            reason: refusal.reason.clone(),
            next_safe_step: refusal.next.clone(),
            target: Box::new(target),
            about,
        }
    }

    /// A question that cannot be put to anybody.
    pub(crate) fn asked(asked: Asked) -> Self {
        Self {
            about: asked.about(),
            rule: asked.rule,
            reason_code: asked.reason_code,
            reason: asked.reason,
            next_safe_step: "A person has to agree first: see `legation approvals`.".into(),
            target: Box::new(asked.target),
        }
    }

    /// What to do next.
    pub fn hint(&self) -> &str {
        &self.next_safe_step
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} `{}/{}` is not allowed (rule `{}`): {}",
            self.target.verb.in_words(),
            self.target.server.as_str(),
            Quoted(&self.target.item),
            self.rule,
            self.reason
        )
    }
}

impl std::error::Error for Denied {}

/// A client's own text on its way into a message: clipped, and without the
/// control characters that could repaint a terminal.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, character) in self.0.chars().enumerate() {
            if index == QUOTED_CHARS {
                return f.write_str("…");
            }
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                write!(f, "{character}")?;
            }
        }
        Ok(())
    }
}
