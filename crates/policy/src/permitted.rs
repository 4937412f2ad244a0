//! The proof that a call was decided.

use legation_core::context::Principal;

use crate::rules::RuleId;
use crate::target::Target;

/// Proof that the rules allow exactly this principal exactly this target.
///
/// A server can be called only with one. It is neither `Clone` nor `Default`,
/// its fields are private, and only [`crate::Rules::decide`] makes it, so it
/// can be forged in no other crate:
///
/// ```compile_fail
/// use legation_policy::{Permitted, RuleId, Target};
/// use legation_core::context::Principal;
///
/// fn forge(target: Target, principal: Principal, rule: RuleId) -> Permitted {
///     Permitted { target, principal, rule, reads_only: true, policy_version: 1 }
/// }
/// ```
///
/// ```compile_fail
/// fn twice(permitted: &legation_policy::Permitted) -> legation_policy::Permitted {
///     permitted.clone()
/// }
/// ```
///
/// Receiving one and reading it is all another crate can do:
///
/// ```
/// fn server_of(permitted: &legation_policy::Permitted) -> &str {
///     permitted.target().server.as_str()
/// }
/// ```
#[derive(Debug)]
#[must_use = "a permission that is dropped was decided for nothing"]
pub struct Permitted {
    target: Target,
    principal: Principal,
    rule: RuleId,
    reads_only: bool,
    policy_version: u64,
}

// === impl Permitted ===

impl Permitted {
    pub(crate) fn mint(
        target: Target,
        principal: Principal,
        rule: RuleId,
        reads_only: bool,
        policy_version: u64,
    ) -> Self {
        Self {
            target,
            principal,
            rule,
            reads_only,
            policy_version,
        }
    }

    /// What may be done.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Who may do it.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The rule that allows it.
    pub fn rule(&self) -> &RuleId {
        &self.rule
    }

    /// Whether a rule says that what is permitted only reads, in which case
    /// its intent record need not wait for the disk (DESIGN decision 7).
    pub fn reads_only(&self) -> bool {
        self.reads_only
    }

    /// The [`crate::Rules::version`] that decided.
    pub fn policy_version(&self) -> u64 {
        self.policy_version
    }
}
