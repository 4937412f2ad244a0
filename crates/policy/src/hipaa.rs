//! The checklist of an entity whose data holds health information: what must
//! be so before any of it may reach a model, each line with what shows it.
//!
//! A line is closed by what the files and the records say, never by a tick:
//! an open one that somebody ticked would be believed.

use legation_core::{EntityId, EntityLabels};

use crate::governance::{
    BanKind, EntitySet, Fact, Governance, LlmProviders, OperatorProfile, Provider, ProviderKind,
};
use crate::provider::{ProviderInquiry, Whose, choose, is_protected, no_clearance};
use crate::registry::{EventField, EventName};

/// What the files do not say.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
    /// The last test of redaction, as far as it is about the rosters and the
    /// profile of now: when it was and what it found, or why there is none.
    pub redaction_test: Result<String, String>,
    /// Where records of model calls go, or why they go nowhere.
    pub audit: Result<String, String>,
}

/// One line of the checklist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whose.
    pub entity: EntityId,
    /// What must be so.
    pub demand: &'static str,
    /// Whether it is not so.
    pub open: bool,
    /// What shows that it is, or is not.
    pub evidence: String,
}

/// The checklist of every entity with health information. Empty where there is
/// none; one open line where that cannot be known.
pub fn checklist(governance: &Governance, evidence: &Evidence) -> Vec<Line> {
    let (profile, providers) = match (governance.profile.get(), governance.providers.get()) {
        (Ok(profile), Ok(providers)) => (profile, providers),
        (Err(broken), _) | (_, Err(broken)) => {
            return vec![Line {
                entity: EntityId::new(crate::governance::ALL),
                demand: "The governance files can be read",
                open: true,
                evidence: format!("{} {}", broken.file, broken.reason),
            }];
        }
    };
    protected(governance)
        .iter()
        .flat_map(|id| {
            Sheet {
                governance,
                profile,
                providers,
                evidence,
                id,
            }
            .lines()
        })
        .collect()
}

/// The entities with health information; none where that cannot be known.
pub fn protected(governance: &Governance) -> Vec<EntityId> {
    let (Some(profile), Some(providers)) = (governance.profile.good(), governance.providers.good())
    else {
        return Vec::new();
    };
    let ids = profile.entities.keys();
    ids.filter(|id| is_protected(providers, profile, id))
        .cloned()
        .collect()
}

/// The checklist of one entity.
struct Sheet<'a> {
    governance: &'a Governance,
    profile: &'a OperatorProfile,
    providers: &'a LlmProviders,
    evidence: &'a Evidence,
    id: &'a EntityId,
}

// === impl Sheet ===

impl Sheet<'_> {
    fn lines(&self) -> Vec<Line> {
        [
            ("A provider is set up for it", self.set_up()),
            (
                "A business associate agreement is in force",
                self.agreement(),
            ),
            (
                "The provider is cleared in llm_provider.json",
                self.cleared(),
            ),
            (
                "The entity's override names that provider",
                self.overridden(),
            ),
            ("Redaction was tested with its own people", self.tested()),
            (
                "Every model call is recorded with provider and entity",
                self.recorded(),
            ),
            ("Copilot gets none of it for a model", self.no_copilot()),
            (
                "None of it is in what the Copilot webhook sends",
                self.no_webhook(),
            ),
            ("A ban stops unredacted health information", self.banned()),
        ]
        .into_iter()
        .map(|(demand, shown)| Line {
            entity: self.id.clone(),
            demand,
            open: shown.is_err(),
            evidence: shown.unwrap_or_else(|why| why),
        })
        .collect()
    }

    /// The provider that the override names.
    fn provider(&self) -> Result<(&str, &Provider), String> {
        let wanted = self.providers.entity_overrides.get(self.id);
        let name = wanted
            .and_then(|wanted| wanted.provider.as_deref())
            .ok_or("no entity_overrides entry names a provider")?;
        let provider = self.providers.providers.get(name);
        let provider = provider.ok_or_else(|| format!("there is no provider {name}"))?;
        Ok((name, provider))
    }

    fn set_up(&self) -> Result<String, String> {
        let (name, provider) = self.provider()?;
        match provider.endpoint() {
            _ if !provider.enabled => Err(format!("{name} is not enabled")),
            None => Err(format!("{name} has no endpoint")),
            Some(endpoint) => Ok(format!("{name} is enabled at {endpoint}")),
        }
    }

    fn agreement(&self) -> Result<String, String> {
        let (name, provider) = self.provider()?;
        let kind = provider.kind_as(name);
        match &provider.baa {
            Some(baa) if !baa.is_named() => Err(format!(
                "the reference of {name} is still the template's; it says until {}",
                baa.expires
            )),
            Some(baa) if self.evidence.now_ms >= baa.expires.end_ms() => Err(format!(
                "{:?} of {name} ended on {}",
                baa.reference, baa.expires
            )),
            Some(baa) => Ok(format!(
                "{:?} of {name}, until {}",
                baa.reference, baa.expires
            )),
            None if kind == Some(ProviderKind::LocalModel) => Ok(format!(
                "{name} runs on the owner's machine, by the owner's word"
            )),
            None => Err(format!("{name} names none")),
        }
    }

    fn cleared(&self) -> Result<String, String> {
        let (name, provider) = self.provider()?;
        let kind = provider
            .kind_as(name)
            .ok_or_else(|| format!("nothing says how {name} is spoken to"))?;
        match no_clearance(provider, Some(kind), self.evidence.now_ms) {
            Some(why) => Err(format!("{name}: {why}")),
            None => Ok(format!("{name} ({kind}) has hipaa_cleared")),
        }
    }

    fn overridden(&self) -> Result<String, String> {
        let (name, _) = self.provider()?;
        let is_required = self
            .providers
            .entity_overrides
            .get(self.id)
            .is_some_and(|wanted| wanted.required_hipaa_cleared);
        if is_required {
            Ok(format!("{name}, with required_hipaa_cleared"))
        } else {
            Err(format!("{name}, but without required_hipaa_cleared"))
        }
    }

    fn tested(&self) -> Result<String, String> {
        let entity = self.profile.entities.get(self.id);
        if !entity.is_some_and(|entity| entity.phi_auto_redact) {
            return Err("phi_auto_redact is off".to_owned());
        }
        self.governance
            .people(self.id)
            .map_err(|broken| format!("{} {}", broken.file, broken.reason))?;
        self.evidence.redaction_test.clone()
    }

    fn recorded(&self) -> Result<String, String> {
        let fields = EventName::LlmProviderSelected.fields();
        let says = [EventField::ProviderUsed, EventField::EntityContext];
        if !says.iter().all(|field| fields.contains(field)) {
            return Err("records of model calls name no provider or no entity".to_owned());
        }
        self.evidence.audit.clone()
    }

    /// Asks for the entity with a Copilot user's token, for every job.
    fn no_copilot(&self) -> Result<String, String> {
        let labels = EntityLabels::of(self.id.clone());
        let jobs = self.providers.per_job_overrides.keys().map(String::as_str);
        let is_copilot = |name: &str| {
            let provider = self.providers.providers.get(name);
            provider.and_then(|one| one.kind_as(name)) == Some(ProviderKind::CopilotExtension)
        };
        let mut asked = 0_usize;
        for job in jobs.map(Some).chain([None]) {
            let decision = choose(
                self.governance,
                &ProviderInquiry {
                    whose: Whose::Labels(&labels),
                    job,
                    copilot_token: true,
                    now_ms: self.evidence.now_ms,
                },
            );
            let mut considered = decision.considered.iter();
            let open = considered.find(|one| one.is_in() && is_copilot(&one.provider));
            if let Some(open) = open {
                return Err(format!("{} may have it", open.provider));
            }
            asked += 1;
        }
        Ok(format!(
            "refused for every job ({asked} tried, with a Copilot token)"
        ))
    }

    fn no_webhook(&self) -> Result<String, String> {
        let holds = |entities: &EntitySet| entities.contains(self.id);
        let mut logins = self.profile.github_logins.iter();
        if let Some((login, _)) = logins.find(|(_, entities)| holds(entities)) {
            return Err(format!("github_logins lets {login} ask for it"));
        }
        let copilot = self
            .profile
            .clearance_of(&legation_core::ClientId::new("copilot"));
        if holds(&copilot.entities) && copilot.phi {
            return Err("the client `copilot` is cleared for it".to_owned());
        }
        Ok("no login in github_logins and no clearance of `copilot` reaches it".to_owned())
    }

    fn banned(&self) -> Result<String, String> {
        let bans = self
            .governance
            .bans
            .get()
            .map_err(|broken| format!("{} {}", broken.file, broken.reason))?;
        let whole = bans.bans.iter().find(|ban| {
            ban.kind == BanKind::NeverDo
                && ban.when.tools.is_none()
                && ban.when.arguments.is_empty()
                && ban.when.text.is_empty()
                && ban.when.facts == [Fact::UnredactedPhi]
        });
        whole.map_or_else(
            || Err("no never_do ban has the fact unredacted_phi and nothing else".to_owned()),
            |ban| Ok(format!("`{}` in hard_bans.json", ban.id)),
        )
    }
}

#[cfg(test)]
mod tests;
