//! Which model may have a request, and why.
//!
//! Clearance comes first: the providers that may have the data are found
//! before anybody's preference is looked at, so no override, job or default
//! can lead data to a provider that is not cleared for it. Choosing first and
//! checking afterwards was rejected: every path that forgets the check leaks.
//!
//! Nothing here answers "yes" because a file, an entity or a field is missing.
//! Whether two entities may meet at all is the boundary's business, not
//! this module's.

mod blocked;
mod clearance;

use legation_core::{EntityId, EntityLabels};

pub use blocked::ProviderBlocked;
pub use clearance::Exclusion;
pub(crate) use clearance::{is_protected, no_clearance};

use clearance::Demand;

use crate::governance::{
    DISABLED, EntityOverride, Governance, LlmProviders, Loaded, OperatorProfile, ProviderKind,
};
use crate::registry::{EventName, ReasonCode};

/// Whose data a request to a model holds.
#[derive(Clone, Copy, Debug)]
pub enum Whose<'a> {
    /// The join of the labels of everything in it. No label is nobody's data.
    Labels(&'a EntityLabels),
    /// Every entity's. Also right where nobody knows.
    All,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct ProviderInquiry<'a> {
    /// Whose data it is.
    pub whose: Whose<'a>,
    /// The job it is for, as `per_job_overrides` names it.
    pub job: Option<&'a str>,
    /// Whether the token of a Copilot user came with the request.
    pub copilot_token: bool,
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
}

/// The answer, with everything it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderDecision {
    /// Which provider, or why none.
    pub outcome: Result<Selected, ProviderBlocked>,
    /// Whether the data may only go to a provider that is cleared for health
    /// information.
    pub needs_clearance: bool,
    /// The entities whose data is redacted before it is sent, whoever gets it.
    pub redact: EntityLabels,
    /// Every provider, in or out, by name.
    pub considered: Vec<Considered>,
    /// The preferences in the order in which they were asked.
    pub preferences: Vec<Preference>,
    /// The provider that everything of an entity's goes to and to no other, where an entity whose
    /// data it holds is bound to one.
    pub bound: Option<String>,
    /// Who may be asked, in this order, when the chosen one does not answer.
    /// They may have the request as it may.
    pub fallbacks: Vec<Selected>,
}

/// The provider to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Its name in `llm_provider.json`.
    pub provider: String,
    /// How it is spoken to.
    pub kind: ProviderKind,
    /// The model, where one is named.
    pub model: Option<String>,
    /// Whose preference it was.
    pub source: ChoiceSource,
}

/// One provider, before any preference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    /// Its name.
    pub provider: String,
    /// Why it may not have this; empty when it may.
    pub out: Vec<Exclusion>,
}

/// One preference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preference {
    /// Whose it is.
    pub source: ChoiceSource,
    /// The provider it names.
    pub provider: String,
    /// Whether that one may have this.
    pub is_in: bool,
}

/// Whose preference chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoiceSource {
    /// The job's.
    PerJobOverride,
    /// This entity's.
    EntityOverride(EntityId),
    /// Nobody's in particular.
    Default,
    /// Nobody's: another did not answer.
    Fallback,
    /// That of whoever asked this provider and no other.
    Named,
}

/// Chooses the provider of a request.
pub fn choose(governance: &Governance, inquiry: &ProviderInquiry<'_>) -> ProviderDecision {
    let mut decision = ProviderDecision {
        outcome: Err(ProviderBlocked::nothing()),
        needs_clearance: true,
        redact: EntityLabels::none(),
        considered: Vec::new(),
        preferences: Vec::new(),
        bound: None,
        fallbacks: Vec::new(),
    };
    decision.outcome = decide(governance, inquiry, &mut decision);
    decision
}

/// Whether a provider that was chosen may still have a request: asked again
/// while an answer streams, because files change meanwhile.
///
/// # Errors
/// Why not.
pub fn may_still(
    governance: &Governance,
    provider: &str,
    inquiry: &ProviderInquiry<'_>,
) -> Result<(), ProviderBlocked> {
    let decision = choose(governance, inquiry);
    let is_in = |considered: &Considered| considered.provider == provider && considered.is_in();
    if decision.considered.iter().any(is_in) {
        return Ok(());
    }
    Err(decision
        .outcome
        .err()
        .unwrap_or_else(ProviderBlocked::nothing))
}

fn decide(
    governance: &Governance,
    inquiry: &ProviderInquiry<'_>,
    decision: &mut ProviderDecision,
) -> Result<Selected, ProviderBlocked> {
    let (providers, profile) = match (&governance.providers, &governance.profile) {
        (Loaded::Good(providers), Loaded::Good(profile)) => (providers, profile),
        (Loaded::Broken(broken), _) | (_, Loaded::Broken(broken)) => {
            return Err(ProviderBlocked::unavailable(
                broken.to_string(),
                "The owner must repair or restore that file.",
            ));
        }
    };
    let labels = match inquiry.whose {
        Whose::Labels(labels) => labels.clone(),
        Whose::All => profile.everyone(),
    };
    if labels
        .iter()
        .any(|label| !profile.entities.contains_key(label))
    {
        return Err(ProviderBlocked::unknown_entity());
    }
    let demand = Demand {
        needs_clearance: labels.iter().any(|id| is_protected(providers, profile, id)),
        labels,
        now_ms: inquiry.now_ms,
        governance,
    };
    decision.needs_clearance = demand.needs_clearance;
    decision.redact = redacted(profile, &demand.labels);
    decision.considered = providers
        .providers
        .iter()
        .map(|(name, provider)| Considered {
            provider: name.clone(),
            out: demand.exclusions(name, provider),
        })
        .collect();
    prefer(providers, &demand, inquiry, decision)
}

/// Walks the preferences and takes the first that is in.
fn prefer(
    providers: &LlmProviders,
    demand: &Demand<'_>,
    inquiry: &ProviderInquiry<'_>,
    decision: &mut ProviderDecision,
) -> Result<Selected, ProviderBlocked> {
    let wishes = wishes(providers, &demand.labels, inquiry.job);
    let bound = wishes.iter().find(|wish| wish.is_binding);
    decision.bound = bound.map(|wish| wish.provider.to_owned());
    for wish in wishes {
        let Some((kind, provider)) = providers
            .providers
            .get(wish.provider)
            .and_then(|provider| Some((provider.kind_as(wish.provider)?, provider)))
        else {
            return Err(ProviderBlocked::unknown_provider(wish.provider));
        };
        let is_in = decision
            .considered
            .iter()
            .any(|one| one.provider == wish.provider && one.is_in());
        decision.preferences.push(Preference {
            source: wish.source.clone(),
            provider: wish.provider.to_owned(),
            is_in,
        });
        if is_in {
            if kind == ProviderKind::CopilotExtension && !inquiry.copilot_token {
                return Err(ProviderBlocked::no_copilot_token());
            }
            let model = wish.model.or(provider.default_model.as_deref());
            if !wish.is_binding {
                decision.fallbacks = fallbacks(providers, inquiry, decision, wish.provider);
            }
            return Ok(Selected {
                provider: wish.provider.to_owned(),
                kind,
                model: model
                    .or(providers.default_model.as_deref())
                    .map(str::to_owned),
                source: wish.source,
            });
        }
        if wish.is_binding {
            break;
        }
    }
    Err(ProviderBlocked::nobody(demand, decision))
}

/// Who may be asked besides the one that was chosen.
fn fallbacks(
    providers: &LlmProviders,
    inquiry: &ProviderInquiry<'_>,
    decision: &ProviderDecision,
    chosen: &str,
) -> Vec<Selected> {
    let mut found: Vec<Selected> = Vec::new();
    for name in &providers.fallbacks {
        let is_in = decision
            .considered
            .iter()
            .any(|one| one.provider == *name && one.is_in());
        let is_new = name != chosen && found.iter().all(|one| one.provider != *name);
        let Some(provider) = providers.providers.get(name).filter(|_| is_in && is_new) else {
            continue;
        };
        let Some(kind) = provider.kind_as(name) else {
            continue;
        };
        if kind == ProviderKind::CopilotExtension && !inquiry.copilot_token {
            continue;
        }
        let model = provider.default_model.as_ref();
        found.push(Selected {
            provider: name.clone(),
            kind,
            model: model.or(providers.default_model.as_ref()).cloned(),
            source: ChoiceSource::Fallback,
        });
    }
    found
}

fn redacted(profile: &OperatorProfile, labels: &EntityLabels) -> EntityLabels {
    let redacts = |id: &&EntityId| {
        profile
            .entities
            .get(*id)
            .is_none_or(|one| one.phi_auto_redact)
    };
    labels.iter().filter(redacts).cloned().collect()
}

/// A preference that has not been asked yet.
struct Wish<'a> {
    source: ChoiceSource,
    provider: &'a str,
    model: Option<&'a str>,
    /// Whether nothing after it is asked when it cannot be granted.
    is_binding: bool,
}

fn wishes<'a>(
    providers: &'a LlmProviders,
    labels: &EntityLabels,
    job: Option<&str>,
) -> Vec<Wish<'a>> {
    let mut wishes = Vec::new();
    if let Some(wanted) = job.and_then(|job| providers.per_job_overrides.get(job)) {
        wishes.push(Wish {
            source: ChoiceSource::PerJobOverride,
            provider: &wanted.provider,
            model: wanted.model.as_deref(),
            is_binding: false,
        });
    }
    let of_entities = |strict: bool| {
        labels.iter().filter_map(move |id| {
            let EntityOverride {
                provider,
                required_hipaa_cleared,
                ..
            } = providers.entity_overrides.get(id)?;
            (*required_hipaa_cleared == strict).then_some(())?;
            Some(Wish {
                source: ChoiceSource::EntityOverride(id.clone()),
                provider: provider.as_deref()?,
                model: None,
                is_binding: strict,
            })
        })
    };
    wishes.extend(of_entities(true));
    wishes.extend(of_entities(false));
    if providers.default_provider != DISABLED {
        wishes.push(Wish {
            source: ChoiceSource::Default,
            provider: &providers.default_provider,
            model: None,
            is_binding: false,
        });
    }
    wishes
}

// === impl ProviderDecision ===

impl ProviderDecision {
    /// What the record of this decision is called.
    pub fn event(&self) -> EventName {
        match &self.outcome {
            Ok(_) => EventName::LlmProviderSelected,
            Err(blocked) => match blocked.reason_code {
                ReasonCode::CopilotTokenMissing => EventName::CopilotTokenMissing,
                ReasonCode::UnknownProvider => EventName::UnknownProvider,
                _ => EventName::LlmProviderBlocked,
            },
        }
    }
}

// === impl Considered ===

impl Considered {
    /// Whether it may have the request.
    pub fn is_in(&self) -> bool {
        self.out.is_empty()
    }
}

// === impl ChoiceSource ===

impl ChoiceSource {
    /// The word a record uses.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::PerJobOverride => "per_job_override",
            Self::EntityOverride(_) => "entity_override",
            Self::Default => "default",
            Self::Fallback => "fallback",
            Self::Named => "named",
        }
    }
}

#[cfg(test)]
mod tests;
