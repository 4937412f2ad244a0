//! Which providers may have a request, before anybody is asked which they want.

use std::fmt;

use legation_core::{EntityId, EntityLabels};

use crate::governance::{
    Governance, LlmProviders, Loaded, OperatorProfile, Provider, ProviderKind,
};

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
pub(super) struct Demand<'a> {
    pub(super) labels: EntityLabels,
    pub(super) needs_clearance: bool,
    pub(super) now_ms: i64,
    pub(super) governance: &'a Governance,
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

// === impl Demand ===

impl Demand<'_> {
    pub(super) fn exclusions(&self, name: &str, provider: &Provider) -> Vec<Exclusion> {
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
