//! Who is asked, in which order, before anybody is.

use legation_policy::governance::{Governance, ProviderKind};
use legation_policy::provider::{ChoiceSource, ProviderDecision, Selected, choose};

use super::{RouteError, Wanted};

/// Who is asked, in which order, before anybody is.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The policy's decision.
    pub decision: ProviderDecision,
    /// The chosen provider and then the others, as far as they are asked.
    pub candidates: Vec<Selected>,
    /// Fallbacks that the policy allows and that are not asked, because they
    /// cost money.
    pub too_dear: Vec<String>,
}

// === impl Plan ===

impl Plan {
    /// Decides who is asked. Sends nothing, and reads nothing but its arguments.
    #[must_use]
    pub fn of(governance: &Governance, wanted: &Wanted, now_ms: i64) -> Self {
        let decision = choose(governance, &wanted.inquiry(now_ms));
        let mut candidates = Vec::new();
        let mut too_dear = Vec::new();
        if let Ok(selected) = &decision.outcome {
            let is_local = selected.kind == ProviderKind::LocalModel;
            candidates.push(selected.clone());
            for other in &decision.fallbacks {
                let is_free = other.kind == ProviderKind::LocalModel;
                if is_local && !is_free && !wanted.may_cost {
                    too_dear.push(other.provider.clone());
                } else {
                    candidates.push(other.clone());
                }
            }
        }
        Self {
            decision,
            candidates,
            too_dear,
        }
    }

    /// The same with one provider and no other, where it may have the request.
    pub(crate) fn only(
        mut self,
        governance: &Governance,
        provider: &str,
    ) -> Result<Self, RouteError> {
        let mut all = self.decision.considered.iter();
        match (
            all.find(|one| one.provider == provider),
            &self.decision.outcome,
        ) {
            (Some(found), _) if found.is_in() => {}
            (Some(found), _) => {
                return Err(RouteError::Excluded {
                    provider: provider.to_owned(),
                    why: found.out.clone(),
                });
            }
            (None, Err(source)) => {
                let source = source.clone();
                return Err(RouteError::Blocked { source });
            }
            (None, Ok(_)) => return Err(RouteError::Rules),
        }
        // Whoever names a provider does not loosen what the owner bound; what his own preferences
        // choose for the job is his to say.
        let chosen = self.decision.outcome.as_ref().ok();
        let is_chosen = chosen.is_some_and(|chosen| chosen.provider == provider);
        let bound = self.decision.bound.as_deref();
        if let Some(to) = bound.filter(|to| *to != provider && !is_chosen) {
            return Err(RouteError::Bound {
                provider: provider.to_owned(),
                to: to.to_owned(),
            });
        }
        let selected = named(governance, provider).ok_or(RouteError::Rules)?;
        self.decision.outcome = Ok(selected.clone());
        self.candidates = vec![selected];
        self.too_dear.clear();
        Ok(self)
    }
}

/// A provider as whoever names it gets it.
pub(crate) fn named(governance: &Governance, name: &str) -> Option<Selected> {
    let providers = governance.providers.good()?;
    let provider = providers.providers.get(name)?;
    let model = provider.default_model.as_ref();
    Some(Selected {
        provider: name.to_owned(),
        kind: provider.kind_as(name)?,
        model: model.or(providers.default_model.as_ref()).cloned(),
        source: ChoiceSource::Named,
    })
}
