//! Why something may not be done, in words an agent can pass on.

use std::fmt;

use crate::decision::Asked;
use crate::registry::ReasonCode;
use crate::rule_id::RuleId;
use crate::target::{Origin, Target};

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
}

// === impl Denied ===

impl Denied {
    pub(crate) fn by_rule(rule: RuleId, because: Option<&str>, target: Target) -> Self {
        let hint = format!(
            "Rule `{rule}` in governance/permissions.toml forbids it; only the owner of this hub \
             can change that rule."
        );
        Self {
            rule,
            reason_code: ReasonCode::PermissionDenied,
            reason: because
                .unwrap_or("a rule of this hub's owner forbids it")
                .into(),
            next_safe_step: hint.into(),
            target: Box::new(target),
        }
    }

    pub(crate) fn by_default(target: Target) -> Self {
        let server = target.server.as_str();
        let hint = if target.trusted {
            format!(
                "The owner can add a rule with effect = \"allow\", servers = [\"{server}\"] and \
                 items = [\"{}\"] to governance/permissions.toml; it applies as soon as the file \
                 is saved.",
                Quoted(&target.item)
            )
        } else if let Origin::Workspace(folder) = &target.origin {
            format!("The owner can review the server with `legation trust {folder}`.")
        } else {
            format!(
                "The owner can look at the server with `legation mcp show {server}` and allow it \
                 in governance/permissions.toml."
            )
        };
        let reason = if target.trusted {
            "no rule allows it"
        } else {
            "no rule allows it and the server has not been reviewed"
        };
        Self {
            rule: RuleId::default_deny(),
            reason_code: ReasonCode::NoRuleAllows,
            reason: reason.into(),
            next_safe_step: hint.into(),
            target: Box::new(target),
        }
    }

    pub(crate) fn unavailable(reason: &str, target: Target) -> Self {
        Self {
            rule: RuleId::unavailable(),
            reason_code: ReasonCode::GovernanceUnavailable,
            reason: reason.into(),
            next_safe_step:
                "The owner must repair or restore governance/permissions.toml; until then \
                   everything is refused."
                    .into(),
            target: Box::new(target),
        }
    }

    pub(crate) fn of(refusal: &crate::policy::Refusal, target: Target) -> Self {
        Self {
            rule: refusal.rule.clone(),
            reason_code: refusal.code,
            reason: refusal.reason.clone(),
            next_safe_step: refusal.next.clone(),
            target: Box::new(target),
        }
    }

    /// A question that cannot be put to anybody.
    pub(crate) fn asked(asked: Asked) -> Self {
        Self {
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
