//! One call, judged by every layer; the strictest verdict wins.

mod judged;

use std::sync::Arc;

use legation_core::context::Principal;
use legation_core::{EntityId, EntityLabels};

use super::Policy;
pub(super) use judged::Judged;

use crate::arguments::Arguments;
use crate::boundary::Subject;
use crate::decision::{AskKind, Inquiry, Rung, Scope};
use crate::explanation::{Explanation, Layer, Step, Verdict};
use crate::grant::{GrantScope, Wanted};
use crate::permissions::Spoken;
use crate::registry::ReasonCode;
use crate::replay::{Judgement, Supposed};
use crate::rule_id::RuleId;
use crate::target::{Question, Target};

/// The chain of what is of no one entity.
const CHAIN_OF_ALL: &str = "all";

/// Why it may not be done.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) rule: RuleId,
    pub(crate) code: ReasonCode,
    pub(crate) reason: Box<str>,
    pub(crate) next: Box<str>,
}

/// What a person has to agree to.
#[derive(Clone, Debug)]
pub(super) struct Want {
    pub(super) kind: AskKind,
    pub(super) rule: RuleId,
    pub(super) code: ReasonCode,
    pub(super) reason: Box<str>,
    /// The widest answer that may be given.
    pub(super) widest: Scope,
}

/// What one layer says.
pub(super) enum Says {
    Nothing(Box<str>),
    By(RuleId, Box<str>),
    Limit(Rung, RuleId, Box<str>),
    Ask(Want),
    Deny(Refusal),
}

/// One call on its way through the layers.
pub(super) struct Case<'a> {
    pub(super) principal: &'a Principal,
    pub(super) delegated: bool,
    pub(super) question: &'a Question<'a>,
    /// `server/item`.
    pub(super) name: &'a str,
    /// `None` when the question is whether it could ever be done.
    pub(super) inquiry: Option<&'a Inquiry<'a>>,
    /// Where a recorded call is decided again, whose arguments nobody knows.
    pub(super) supposed: Option<&'a Supposed<'a>>,
}

/// What is known so far.
pub(super) struct Progress<'p> {
    pub(super) subject: Subject,
    /// Whether the boundary said whose data it is.
    pub(super) bounded: bool,
    /// Whether every entity stands by itself in the answer.
    pub(super) apart: bool,
    /// Labels of the call and of the conversation.
    pub(super) labels: EntityLabels,
    pub(super) spoken: Spoken<'p>,
    /// How far the layers let it go so far.
    pub(super) rung: Rung,
    /// Why it goes no farther.
    pub(super) lowered_by: Option<(RuleId, Box<str>)>,
    pub(super) wants: Vec<Want>,
    pub(super) refusal: Option<Refusal>,
    pub(super) varies: bool,
}

type LayerFn = for<'p> fn(&'p Policy, &Case<'_>, &mut Progress<'p>) -> Says;

const LAYERS: [(Layer, LayerFn); 10] = [
    (Layer::Enterprise, Policy::ask_enterprise),
    (Layer::Boundary, Policy::ask_boundary),
    (Layer::Clearance, Policy::ask_clearance),
    (Layer::Role, Policy::ask_roles),
    (Layer::Bans, Policy::ask_bans),
    (Layer::Ladder, Policy::ask_ladder),
    (Layer::Cedar, Policy::ask_cedar),
    (Layer::Permissions, Policy::ask_permissions),
    (Layer::Pins, Policy::ask_pins),
    (Layer::Contracts, Policy::ask_contracts),
];

// === impl Policy ===

impl Policy {
    /// Judges a call, from memory where nothing that varies was read.
    pub(super) fn judge_cached(
        &self,
        principal: &Principal,
        inquiry: &Inquiry<'_>,
        target: &Target,
    ) -> Arc<Judged> {
        let question = target.question();
        let inert = self
            .boundary
            .as_ref()
            .is_ok_and(|boundary| !boundary.reads(&question, inquiry.arguments));
        let key = inert.then(|| self.cache.key(principal, inquiry, target));
        if let Some(key) = key
            && let Some(judged) = self.cache.get(key, principal, inquiry, target)
        {
            return judged;
        }
        let name = name_of(&question);
        let case = Case {
            principal,
            delegated: inquiry.on_behalf_of.is_some(),
            question: &question,
            name: &name,
            inquiry: Some(inquiry),
            supposed: None,
        };
        let judged = Arc::new(self.judge(&case, target, None));
        if let Some(key) = key
            && !judged.varies
        {
            let kept = Arc::clone(&judged);
            self.cache.put(key, principal, inquiry, target, kept);
        }
        judged
    }

    pub(super) fn judge_ever(&self, principal: &Principal, question: &Question<'_>) -> bool {
        let name = name_of(question);
        let case = Case {
            principal,
            delegated: false,
            question,
            name: &name,
            inquiry: None,
            supposed: None,
        };
        self.run(&case, None).refusal.is_none()
    }

    pub(super) fn explain_call(&self, inquiry: &Inquiry<'_>, target: &Target) -> Explanation {
        let question = target.question();
        let name = name_of(&question);
        let mut steps = Vec::new();
        let mut judge = |principal| {
            let case = Case {
                principal,
                delegated: inquiry.on_behalf_of.is_some(),
                question: &question,
                name: &name,
                inquiry: Some(inquiry),
                supposed: None,
            };
            Arc::new(self.judge(&case, target, Some(&mut steps)))
        };
        let mut judged = judge(inquiry.principal);
        if let Some(delegator) = inquiry.on_behalf_of {
            judged = judged.lesser(judge(delegator));
        }
        judged.explanation(steps)
    }

    /// Judges a recorded call as it is supposed to have been.
    pub(crate) fn judge_supposed(
        &self,
        inquiry: &Inquiry<'_>,
        target: &Target,
        supposed: &Supposed<'_>,
    ) -> Judgement {
        let question = target.question();
        let name = name_of(&question);
        let judge = |principal| {
            let case = Case {
                principal,
                delegated: inquiry.on_behalf_of.is_some(),
                question: &question,
                name: &name,
                inquiry: Some(inquiry),
                supposed: Some(supposed),
            };
            Arc::new(self.judge(&case, target, None))
        };
        let mut judged = judge(inquiry.principal);
        if let Some(delegator) = inquiry.on_behalf_of {
            judged = judged.lesser(judge(delegator));
        }
        let allowing = judged.rule.clone();
        let told = judged.explanation(Vec::new());
        Judgement::of(told.outcome, told.rule, allowing, told.rung)
    }

    fn judge(&self, case: &Case<'_>, target: &Target, mut steps: Option<&mut Vec<Step>>) -> Judged {
        let mut progress = self.run(case, steps.as_deref_mut());
        let rule = progress.deciding_rule();
        let entity = match progress.subject.entities.as_slice() {
            [one] => one.clone(),
            _ => EntityId::new(CHAIN_OF_ALL),
        };
        let mut judged = Judged {
            rule,
            rung: progress.rung,
            reads_only: progress.spoken.reads.is_some(),
            entity,
            entities: progress.bounded.then(|| progress.subject.entities.clone()),
            apart: progress.apart,
            labels: progress.labels.clone(),
            grant: None,
            varies: progress.varies || !progress.wants.is_empty(),
            refusal: progress.refusal.take(),
            wants: progress.wants,
        };
        if judged.refusal.is_none() && !judged.wants.is_empty() {
            self.look_for_grant(case, target, &mut judged, steps);
        }
        judged
    }

    /// Asks every layer; stops at the first refusal unless somebody wants to
    /// hear them all.
    fn run<'p>(&'p self, case: &Case<'_>, mut steps: Option<&mut Vec<Step>>) -> Progress<'p> {
        let mut progress = Progress::new();
        for (layer, ask) in LAYERS {
            let says = ask(self, case, &mut progress);
            if let Some(steps) = steps.as_deref_mut() {
                steps.push(says.step(layer));
            }
            progress.hear(says);
            if progress.refusal.is_some() && steps.is_none() {
                break;
            }
        }
        progress
    }

    /// Lets an agreement stand for what would be asked. It never lifts a
    /// refusal, and certifying takes more than an agreement.
    fn look_for_grant(
        &self,
        case: &Case<'_>,
        target: &Target,
        judged: &mut Judged,
        steps: Option<&mut Vec<Step>>,
    ) {
        let Some(inquiry) = case.inquiry else {
            return;
        };
        let asks = |kind| judged.wants.iter().any(|want| want.kind == kind);
        if asks(AskKind::Certify) {
            return;
        }
        let digest = Arguments::digest_of(inquiry.arguments);
        let widest = judged.wants.iter().map(|want| scope_of(want.widest)).min();
        // A person agreed to the call as it was: by whom, and for whom. So one
        // agreement covers both halves of a delegated call, and no other call.
        let wanted = Wanted {
            client: &inquiry.principal.client,
            on_behalf_of: inquiry.on_behalf_of.map(|delegator| &delegator.client),
            server: &target.server,
            item: &target.item,
            verb: target.verb,
            definition: target.definition,
            args_digest: Some(&digest),
            entity: &judged.entity,
            rung: judged.rung,
            policy_version: self.version(),
            seat: inquiry.seat,
            workspace: inquiry.workspace.and_then(std::path::Path::to_str),
            now_ms: inquiry.now_ms,
            widest: widest.unwrap_or(GrantScope::Once),
            definition_bound: asks(AskKind::FirstSight),
        };
        let found = inquiry.grants.covering(&wanted);
        if let Some(steps) = steps {
            let (verdict, reason) = match found {
                Some(grant) => (Verdict::Passes, format!("grant {} covers it", grant.id)),
                None => (Verdict::Asks, "nobody has agreed to it yet".to_owned()),
            };
            steps.push(Step {
                layer: Layer::Grants,
                verdict,
                rule: None,
                reason: reason.into(),
            });
        }
        if let Some(grant) = found {
            judged.grant = Some(grant.id.clone());
            judged.wants.clear();
        }
    }
}

/// `server/item`, as governance files name it.
fn name_of(question: &Question<'_>) -> String {
    let (server, item) = (question.server.as_str(), question.item);
    let mut name = String::with_capacity(server.len() + 1 + item.len());
    name.push_str(server);
    name.push('/');
    name.push_str(item);
    name
}

fn scope_of(scope: Scope) -> GrantScope {
    match scope {
        Scope::Once => GrantScope::Once,
        Scope::Session => GrantScope::Session,
        Scope::Here => GrantScope::Here,
        Scope::Until(_) => GrantScope::Until,
        Scope::Always => GrantScope::Always,
    }
}

// === impl Says ===

impl Says {
    fn step(&self, layer: Layer) -> Step {
        let (verdict, rule, reason) = match self {
            Self::Nothing(reason) => (Verdict::Passes, None, reason),
            Self::By(rule, reason) => (Verdict::Passes, Some(rule), reason),
            Self::Limit(rung, rule, reason) => (Verdict::Limits(*rung), Some(rule), reason),
            Self::Ask(want) => (Verdict::Asks, Some(&want.rule), &want.reason),
            Self::Deny(refusal) => (Verdict::Denies, Some(&refusal.rule), &refusal.reason),
        };
        Step {
            layer,
            verdict,
            rule: rule.cloned(),
            reason: reason.clone(),
        }
    }
}

// === impl Progress ===

impl Progress<'_> {
    fn new() -> Self {
        Self {
            subject: Subject::default(),
            bounded: false,
            apart: false,
            labels: EntityLabels::none(),
            spoken: Spoken::default(),
            rung: Rung::Execute,
            lowered_by: None,
            wants: Vec::new(),
            refusal: None,
            varies: false,
        }
    }

    fn hear(&mut self, says: Says) {
        match says {
            Says::Nothing(_) | Says::By(..) => {}
            Says::Limit(rung, rule, reason) => {
                if rung < self.rung {
                    self.rung = rung;
                    self.lowered_by = Some((rule, reason));
                }
            }
            Says::Ask(want) => self.wants.push(want),
            Says::Deny(refusal) => {
                self.refusal.get_or_insert(refusal);
            }
        }
    }

    fn deciding_rule(&self) -> RuleId {
        if let Some(refusal) = &self.refusal {
            return refusal.rule.clone();
        }
        let allow = self.spoken.allow.or(self.spoken.asks.first().copied());
        allow.map_or_else(RuleId::default_deny, |rule| rule.id.clone())
    }
}
