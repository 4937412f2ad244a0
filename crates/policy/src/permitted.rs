//! The proof that a call was decided.

use std::sync::Arc;

use legation_core::context::Principal;
use legation_core::{EntityId, EntityLabels};

use crate::decision::Rung;
use crate::grant::GrantId;
use crate::rule_id::RuleId;
use crate::target::Target;

/// Proof that the rules allow exactly this principal exactly this target.
///
/// A server can be called only with one. It is neither `Clone` nor `Default`,
/// its fields are private, and only [`crate::Policy::decide`] makes it, so it
/// can be forged in no other crate:
///
/// ```compile_fail
/// use legation_policy::{Permitted, RuleId, Target};
/// use legation_core::context::Principal;
///
/// fn forge(target: Target, principal: Principal, rule: RuleId) -> Permitted {
///     Permitted(std::sync::Arc::new((target, principal, rule).into()))
/// }
/// ```
///
/// ```compile_fail
/// fn back(receipt: legation_policy::Receipt) -> legation_policy::Permitted {
///     receipt.0
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
pub struct Permitted(Arc<Decided>);

/// What was decided. A call and what judges its result hold it together.
#[derive(Debug)]
struct Decided {
    target: Target,
    principal: Principal,
    rule: RuleId,
    reads_only: bool,
    policy_version: u64,
    rung: Rung,
    entity: EntityId,
    entities: EntityLabels,
    apart: bool,
    labels: EntityLabels,
    grant: Option<GrantId>,
    args_digest: Option<[u8; 32]>,
}

/// What stays behind when a permission goes to its server: enough to judge what
/// comes back, and no key to anything.
#[derive(Debug)]
pub struct Receipt(Permitted);

/// What a decision found, on its way into a [`Permitted`].
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) rule: RuleId,
    pub(crate) reads_only: bool,
    pub(crate) rung: Rung,
    pub(crate) entity: EntityId,
    pub(crate) entities: EntityLabels,
    pub(crate) apart: bool,
    pub(crate) labels: EntityLabels,
    pub(crate) grant: Option<GrantId>,
}

// === impl Permitted ===

impl Permitted {
    pub(crate) fn mint(
        target: Target,
        principal: Principal,
        found: Found,
        policy_version: u64,
        args_digest: Option<[u8; 32]>,
    ) -> Self {
        Self(Arc::new(Decided {
            target,
            principal,
            rule: found.rule,
            reads_only: found.reads_only,
            policy_version,
            rung: found.rung,
            entity: found.entity,
            entities: found.entities,
            apart: found.apart,
            labels: found.labels,
            grant: found.grant,
            args_digest,
        }))
    }

    /// What to judge the result by.
    pub fn receipt(&self) -> Receipt {
        Receipt(Self(Arc::clone(&self.0)))
    }

    /// What may be done.
    pub fn target(&self) -> &Target {
        &self.0.target
    }

    /// Who may do it.
    pub fn principal(&self) -> &Principal {
        &self.0.principal
    }

    /// The rule that allows it.
    pub fn rule(&self) -> &RuleId {
        &self.0.rule
    }

    /// Whether a rule says that what is permitted only reads, in which case
    /// its intent record need not wait for the disk (DESIGN decision 7).
    pub fn reads_only(&self) -> bool {
        self.0.reads_only
    }

    /// The [`crate::Policy::version`] that decided.
    pub fn policy_version(&self) -> u64 {
        self.0.policy_version
    }

    /// How far the call goes.
    pub fn rung(&self) -> Rung {
        self.0.rung
    }

    /// The chain the call is recorded in.
    pub fn entity(&self) -> &EntityId {
        &self.0.entity
    }

    /// Whether it is about every entity, each of which stands by itself in the answer.
    pub fn is_apart(&self) -> bool {
        self.0.apart
    }

    /// The entities of the call itself.
    pub fn entities(&self) -> &EntityLabels {
        &self.0.entities
    }

    /// Whose data the call touches; its result carries these labels.
    pub fn labels(&self) -> &EntityLabels {
        &self.0.labels
    }

    /// The grant that the intent record has to use up, where one was needed.
    pub fn grant(&self) -> Option<&GrantId> {
        self.0.grant.as_ref()
    }

    /// SHA-256 of the canonical arguments that were decided on, where an answer
    /// of a person's was bound to it.
    pub fn args_digest(&self) -> Option<&[u8; 32]> {
        self.0.args_digest.as_ref()
    }
}

// === impl Receipt ===

impl Receipt {
    /// What was done.
    pub fn target(&self) -> &Target {
        self.0.target()
    }

    /// Who did it.
    pub fn principal(&self) -> &Principal {
        self.0.principal()
    }

    /// The entity in whose chain the call was recorded.
    pub fn entity(&self) -> &EntityId {
        self.0.entity()
    }

    /// Whose data the call touched.
    pub fn labels(&self) -> &EntityLabels {
        self.0.labels()
    }

    pub(crate) fn permitted(&self) -> &Permitted {
        &self.0
    }
}
