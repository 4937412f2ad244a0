//! Rules as a generator draws them, and what they mean.

use legation_policy::Policy;
use legation_policy::governance::{FileText, Template};
use serde_json::{Value, json};

use crate::talk::Dice;

/// The entities; the first has health information.
pub(crate) const ENTITIES: [&str; 3] = ["meadow", "harbor", "quarry"];
/// The providers and how they are spoken to.
pub(crate) const PROVIDERS: [(&str, &str); 5] = [
    ("service", "openai_compatible"),
    ("agreed", "openai_compatible"),
    ("tenant", "azure_openai"),
    ("desk", "local_model"),
    ("rack", "local_model"),
];
pub(crate) const JOBS: [&str; 4] = [
    "delegate.task",
    "delegate.compact",
    "desk.draft",
    "sampling",
];

/// One state of `llm_provider.json`.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    providers: Vec<Entry>,
    /// Entities that demand a cleared provider by themselves.
    demands: Vec<bool>,
    default: usize,
    /// What entities prefer, and what jobs prefer.
    wishes: Vec<Option<usize>>,
    jobs: Vec<Option<usize>>,
    fallbacks: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Entry {
    enabled: bool,
    cleared: bool,
    /// Whose data it may have; everybody's when `None`.
    entities: Option<Vec<usize>>,
}

// === impl Rules ===

impl Rules {
    pub(crate) fn drawn(dice: &mut Dice) -> Self {
        let providers = PROVIDERS.iter().map(|_| Entry {
            enabled: dice.of(8) > 0,
            cleared: dice.of(2) == 0,
            entities: (dice.of(4) == 0).then(|| {
                let all = 0..ENTITIES.len();
                all.filter(|_| dice.of(2) == 0).collect()
            }),
        });
        let providers = providers.collect();
        let maybe = |dice: &mut Dice| (dice.of(3) == 0).then(|| dice.of(PROVIDERS.len()));
        Self {
            providers,
            demands: ENTITIES.iter().map(|_| dice.of(4) == 0).collect(),
            default: dice.of(PROVIDERS.len()),
            wishes: ENTITIES.iter().map(|_| maybe(dice)).collect(),
            jobs: JOBS.iter().map(|_| maybe(dice)).collect(),
            fallbacks: (0..4).map(|_| dice.of(PROVIDERS.len())).collect(),
        }
    }

    /// Whether a provider may have data of an entity: the oracle.
    pub(crate) fn allows(&self, provider: usize, entity: usize) -> bool {
        let entry = &self.providers[provider];
        let is_protected = entity == 0 || self.demands[entity];
        let is_for = entry.entities.as_ref();
        let is_for = is_for.is_none_or(|entities| entities.contains(&entity));
        entry.enabled && is_for && (entry.cleared || !is_protected)
    }

    pub(crate) fn policy(&self, ports: &[u16]) -> Policy {
        let entry = |(at, (name, kind)): (usize, &(&str, &str))| {
            let entry = &self.providers[at];
            let mut value = json!({
                "kind": kind, "enabled": entry.enabled, "auth_source": "none",
                "endpoint": format!("http://127.0.0.1:{}", ports[at]),
                "default_model": "small", "hipaa_cleared": entry.cleared,
                "baa": { "reference": "agreement 17", "expires": "2099-12-31" },
            });
            if let Some(entities) = &entry.entities {
                let names = entities.iter().map(|at| ENTITIES[*at]);
                value["entities"] = names.collect();
            }
            ((*name).to_owned(), value)
        };
        let providers: serde_json::Map<String, Value> =
            PROVIDERS.iter().enumerate().map(entry).collect();
        let name = |at: &usize| PROVIDERS[*at].0;
        let mut entities = serde_json::Map::new();
        for (at, entity) in ENTITIES.iter().enumerate() {
            let wish = json!({
                "provider": self.wishes[at].as_ref().map(name),
                "required_hipaa_cleared": self.demands[at],
            });
            entities.insert((*entity).to_owned(), wish);
        }
        let mut jobs = serde_json::Map::new();
        for (job, wish) in JOBS.iter().zip(&self.jobs) {
            if let Some(wish) = wish {
                jobs.insert((*job).to_owned(), json!({ "provider": name(wish) }));
            }
        }
        let llm = json!({
            "default_provider": name(&self.default), "providers": providers,
            "entity_overrides": entities, "per_job_overrides": jobs,
            "fallbacks": self.fallbacks.iter().map(name).collect::<Vec<_>>(),
            "timeout_ms": 5_000,
        });
        let mut sources = Template::Business.sources();
        sources.llm_provider = FileText::Text(llm.to_string());
        let policy = Policy::load(&sources, &[]);
        let good = policy.governance().providers.good().is_some();
        assert!(good, "{llm}: {:?}", policy.problems());
        policy
    }
}
