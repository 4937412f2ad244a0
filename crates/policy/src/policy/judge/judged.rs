//! What all layers say together, and the answers it becomes.

use std::sync::Arc;

use legation_core::context::Principal;
use legation_core::{EntityId, EntityLabels};

use super::{Refusal, Want};
use crate::arguments::Arguments;
use crate::decision::{AskKind, Asked, Decision, Inquiry, Rung, Scope};
use crate::denied::{About, Denied};
use crate::explanation::{Explanation, Step, Verdict};
use crate::grant::GrantId;
use crate::permitted::{Found, Permitted};
use crate::rule_id::RuleId;
use crate::target::Target;

/// What all layers say together.
#[derive(Clone, Debug)]
pub(in crate::policy) struct Judged {
    pub(in crate::policy) refusal: Option<Refusal>,
    pub(in crate::policy) wants: Vec<Want>,
    pub(in crate::policy) rule: RuleId,
    pub(in crate::policy) rung: Rung,
    pub(in crate::policy) reads_only: bool,
    pub(in crate::policy) entity: EntityId,
    /// `None` where it was refused before they were known.
    pub(in crate::policy) entities: Option<EntityLabels>,
    /// Whether every entity stands by itself in the answer.
    pub(in crate::policy) apart: bool,
    pub(in crate::policy) labels: EntityLabels,
    pub(in crate::policy) grant: Option<GrantId>,
    /// Whether arguments, time or grants could have changed it.
    pub(in crate::policy) varies: bool,
}

// === impl Judged ===

impl Judged {
    /// The lesser of two answers about one call.
    pub(in crate::policy) fn lesser(self: Arc<Self>, other: Arc<Self>) -> Arc<Self> {
        let rank = |judged: &Self| {
            let answer = if judged.refusal.is_some() {
                0
            } else if !judged.wants.is_empty() {
                1
            } else {
                2
            };
            (answer, judged.rung)
        };
        let (mut lesser, greater) = if rank(&other) < rank(&self) {
            (other, self)
        } else {
            (self, other)
        };
        // Only a call of which both say that it reads is one that reads.
        let reads_only = lesser.reads_only && greater.reads_only;
        let grant = lesser.grant.clone().or_else(|| greater.grant.clone());
        let rung = lesser.rung.min(greater.rung);
        if reads_only != lesser.reads_only || grant != lesser.grant || rung != lesser.rung {
            let changed = Arc::make_mut(&mut lesser);
            changed.reads_only = reads_only;
            changed.grant = grant;
            changed.rung = rung;
        }
        lesser
    }

    pub(in crate::policy) fn decision(
        &self,
        principal: &Principal,
        target: Target,
        version: u64,
        inquiry: &Inquiry<'_>,
    ) -> Decision {
        // Reading and hashing the arguments costs more than a remembered decision.
        let args_digest = || Arguments::digest_of(inquiry.arguments);
        if let Some(refusal) = &self.refusal {
            return Decision::Denied(Box::new(Denied::of(refusal, target, self.about(version))));
        }
        if let Some(want) = self.foremost() {
            let widest = self.wants.iter().map(|want| want.widest).min();
            return Decision::Ask(Box::new(Asked {
                kind: want.kind,
                rule: want.rule.clone(),
                reason_code: want.code,
                reason: want.reason.clone(),
                rung: self.rung,
                entity: self.entity.clone(),
                entities: self.entities.clone().unwrap_or_default(),
                apart: self.apart,
                labels: self.labels.clone(),
                target,
                scopes: offered(want.kind, widest.unwrap_or(Scope::Once)),
                args_digest: args_digest(),
                policy_version: version,
            }));
        }
        let found = Found {
            rule: self.rule.clone(),
            reads_only: self.reads_only,
            rung: self.rung,
            entity: self.entity.clone(),
            entities: self.entities.clone().unwrap_or_default(),
            apart: self.apart,
            labels: self.labels.clone(),
            grant: self.grant.clone(),
        };
        let bound = found.grant.is_some() || inquiry.certified;
        let principal = principal.clone();
        Decision::Permitted(Permitted::mint(
            target,
            principal,
            found,
            version,
            bound.then(args_digest),
        ))
    }

    pub(in crate::policy) fn about(&self, policy_version: u64) -> About {
        About {
            entities: self.entities.clone(),
            apart: self.apart,
            labels: self.labels.clone(),
            policy_version,
        }
    }

    /// Of several questions, the one to put first.
    fn foremost(&self) -> Option<&Want> {
        const ORDER: [AskKind; 5] = [
            AskKind::FirstSight,
            AskKind::Certify,
            AskKind::Sampling,
            AskKind::Draft,
            AskKind::Permission,
        ];
        self.wants.iter().min_by_key(|want| {
            let place = ORDER.iter().position(|kind| *kind == want.kind);
            (place, want.widest, want.rule.clone())
        })
    }

    pub(in crate::policy) fn explanation(&self, steps: Vec<Step>) -> Explanation {
        let (outcome, rule, reason_code) = match (&self.refusal, self.foremost()) {
            (Some(refusal), _) => (Verdict::Denies, &refusal.rule, Some(refusal.code)),
            (None, Some(want)) => (Verdict::Asks, &want.rule, Some(want.code)),
            (None, None) => (Verdict::Passes, &self.rule, None),
        };
        Explanation {
            steps,
            outcome,
            rule: rule.clone(),
            reason_code,
            rung: self.rung,
        }
    }
}

/// The answers up to the widest one. What is certified is certified once.
fn offered(kind: AskKind, widest: Scope) -> Vec<Scope> {
    if kind == AskKind::Certify {
        return vec![Scope::Once];
    }
    let mut scopes: Vec<Scope> = [Scope::Once, Scope::Session, Scope::Here, Scope::Always]
        .into_iter()
        .filter(|scope| *scope <= widest)
        .collect();
    if let Scope::Until(_) = widest {
        scopes.push(widest);
    }
    scopes
}
