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

use std::fmt;

use legation_core::{EntityId, EntityLabels};

use crate::governance::{
    DISABLED, EntityOverride, Governance, LlmProviders, Loaded, OperatorProfile, Provider,
    ProviderKind,
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

/// No provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderBlocked {
    /// The code for programs.
    pub reason_code: ReasonCode,
    /// Why. Names no entity.
    pub reason: String,
    /// What to do next.
    pub next_safe_step: String,
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
}

/// Why a provider may not have a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// It is switched off.
    Disabled,
    /// It has no endpoint.
    NoEndpoint,
    /// Neither its name nor `kind` says how it is spoken to.
    NoKind,
    /// The owner did not say that health information may go there.
    NotCleared,
    /// Copilot, for which there is no agreement to be had.
    NeverCleared,
    /// No agreement is named.
    NoAgreement,
    /// The agreement ended on this day.
    AgreementExpired(String),
    /// It is not for the data of this entity.
    NotForEntity(EntityId),
    /// The organisation's policy forbids it.
    Enterprise,
    /// The organisation's policy cannot be read.
    EnterpriseUnavailable,
}

/// What a request demands of a provider.
struct Demand<'a> {
    labels: EntityLabels,
    needs_clearance: bool,
    now_ms: i64,
    governance: &'a Governance,
}

/// Chooses the provider of a request.
pub fn choose(governance: &Governance, inquiry: &ProviderInquiry<'_>) -> ProviderDecision {
    let mut decision = ProviderDecision {
        outcome: Err(ProviderBlocked::nothing()),
        needs_clearance: true,
        redact: EntityLabels::none(),
        considered: Vec::new(),
        preferences: Vec::new(),
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
    for wish in wishes(providers, &demand.labels, inquiry.job) {
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

/// Whether an entity's data is for cleared providers only. Either file can
/// say so; the stricter one counts.
pub(crate) fn is_protected(
    providers: &LlmProviders,
    profile: &OperatorProfile,
    id: &EntityId,
) -> bool {
    let by_override = providers
        .entity_overrides
        .get(id)
        .is_some_and(|one| one.required_hipaa_cleared);
    by_override
        || profile
            .entities
            .get(id)
            .is_none_or(|entity| entity.phi_auto_redact)
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

// === impl Demand ===

impl Demand<'_> {
    fn exclusions(&self, name: &str, provider: &Provider) -> Vec<Exclusion> {
        let mut out = Vec::new();
        if !provider.enabled {
            out.push(Exclusion::Disabled);
        }
        if provider.endpoint().is_none() {
            out.push(Exclusion::NoEndpoint);
        }
        let kind = provider.kind_as(name);
        if kind.is_none() {
            out.push(Exclusion::NoKind);
        }
        if self.needs_clearance {
            out.extend(no_clearance(provider, kind, self.now_ms));
        }
        if let Some(entities) = &provider.entities {
            let foreign = self.labels.iter().find(|label| !entities.contains(label));
            out.extend(foreign.cloned().map(Exclusion::NotForEntity));
        }
        match &self.governance.enterprise {
            Loaded::Good(enterprise) if enterprise.provider(name).is_err() => {
                out.push(Exclusion::Enterprise);
            }
            Loaded::Good(_) => {}
            Loaded::Broken(_) => out.push(Exclusion::EnterpriseUnavailable),
        }
        out
    }
}

/// Why a provider is not cleared for health information; `None` when it is.
pub(crate) fn no_clearance(
    provider: &Provider,
    kind: Option<ProviderKind>,
    now_ms: i64,
) -> Option<Exclusion> {
    if kind == Some(ProviderKind::CopilotExtension) {
        return Some(Exclusion::NeverCleared);
    }
    if !provider.hipaa_cleared {
        return Some(Exclusion::NotCleared);
    }
    match provider.baa.as_ref().filter(|baa| baa.is_named()) {
        Some(baa) if now_ms >= baa.expires.end_ms() => {
            Some(Exclusion::AgreementExpired(baa.expires.to_string()))
        }
        Some(_) => None,
        // Nothing leaves the owner's machine, so there is nobody to agree with.
        None if kind == Some(ProviderKind::LocalModel) => None,
        None => Some(Exclusion::NoAgreement),
    }
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

// === impl ProviderBlocked ===

impl ProviderBlocked {
    fn nothing() -> Self {
        Self::unavailable(
            "no provider may have this".to_owned(),
            "Ask again, or ask the owner to look at llm_provider.json.",
        )
    }

    fn unavailable(reason: String, step: &str) -> Self {
        Self {
            reason_code: ReasonCode::LlmProviderUnavailable,
            reason,
            next_safe_step: step.to_owned(),
        }
    }

    fn unknown_entity() -> Self {
        Self {
            reason_code: ReasonCode::UnknownEntity,
            reason: "the data is of an entity that operator_profile.json does not have".to_owned(),
            next_safe_step: "The owner must add the entity or correct its name.".to_owned(),
        }
    }

    fn unknown_provider(name: &str) -> Self {
        Self {
            reason_code: ReasonCode::UnknownProvider,
            reason: format!(
                "provider {name:?} is preferred, and llm_provider.json does not say what it is"
            ),
            next_safe_step: "The owner must correct the name in llm_provider.json, or give the \
                             provider a `kind`."
                .to_owned(),
        }
    }

    fn no_copilot_token() -> Self {
        Self {
            reason_code: ReasonCode::CopilotTokenMissing,
            reason: "Copilot is the chosen provider, and no Copilot user's token came with this \
                     request"
                .to_owned(),
            next_safe_step: "Ask through Copilot, or have the owner choose another provider."
                .to_owned(),
        }
    }

    /// Providers there may be, but none of them is both preferred and in.
    fn nobody(demand: &Demand<'_>, decision: &ProviderDecision) -> Self {
        let left: Vec<&str> = decision
            .considered
            .iter()
            .filter(|one| one.is_in())
            .map(|one| one.provider.as_str())
            .collect();
        let what = if demand.needs_clearance {
            "this data may go to a provider that is cleared for health information only, and "
        } else {
            ""
        };
        if left.is_empty() {
            let step = if demand.needs_clearance {
                "The owner must enable a provider with `hipaa_cleared`, an endpoint and an \
                 agreement in force in llm_provider.json; `legation governance hipaa` lists what \
                 is missing."
            } else {
                "The owner must enable a provider with an endpoint in llm_provider.json."
            };
            return Self::unavailable(format!("{what}no provider that may have it is left"), step);
        }
        Self::unavailable(
            format!("{what}no provider that is preferred may have it"),
            &format!(
                "The owner can prefer one that may, in llm_provider.json: {}.",
                left.join(", ")
            ),
        )
    }
}

impl fmt::Display for ProviderBlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason_code, self.reason)
    }
}

impl std::error::Error for ProviderBlocked {}

// === impl ChoiceSource ===

impl ChoiceSource {
    /// The word a record uses.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::PerJobOverride => "per_job_override",
            Self::EntityOverride(_) => "entity_override",
            Self::Default => "default",
        }
    }
}

// === impl Exclusion ===

impl fmt::Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("it is not enabled"),
            Self::NoEndpoint => f.write_str("it has no endpoint"),
            Self::NoKind => f.write_str("neither its name nor `kind` says how it is spoken to"),
            Self::NotCleared => f.write_str("it is not declared cleared for health information"),
            Self::NeverCleared => {
                f.write_str("Copilot cannot be cleared: there is no agreement to be had for it")
            }
            Self::NoAgreement => f.write_str("no business associate agreement is named"),
            Self::AgreementExpired(day) => write!(f, "its agreement ended on {day}"),
            Self::NotForEntity(entity) => write!(f, "it is not for the data of {entity}"),
            Self::Enterprise => f.write_str("the organisation's policy does not allow it"),
            Self::EnterpriseUnavailable => f.write_str("the organisation's policy cannot be read"),
        }
    }
}

#[cfg(test)]
mod tests;
