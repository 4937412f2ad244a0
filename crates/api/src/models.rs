//! Models: what they cost, and which are preferred.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;

/// Ask what models cost and what local ones saved.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Savings {
    /// How many days back, today included; 30 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
}

/// What models cost, and what local ones saved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavingsAnswer {
    /// The first day that is counted, as `2026-11-21` (UTC).
    pub from: String,
    /// The last one.
    pub until: String,
    /// At whose prices savings are counted; absent where nobody's are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// By provider, model and job.
    pub rows: Vec<SavingsRow>,
    /// Day by day, for days on which a model was asked.
    #[serde(default)]
    pub days: Vec<SavingsDay>,
    /// What all of it cost, in millionths of a US dollar.
    pub cost_micro_usd: u64,
    /// What it would have cost more elsewhere.
    pub saved_micro_usd: u64,
}

/// What one model did for one job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavingsRow {
    /// Who was asked.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// For which job; empty for none.
    pub job: String,
    /// How often it answered.
    pub requests: u64,
    /// How often it did not say how many tokens there were: those cost something
    /// that is not counted here.
    pub uncounted: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// In millionths of a US dollar.
    pub cost_micro_usd: u64,
    /// In millionths of a US dollar.
    pub saved_micro_usd: u64,
}

/// What one day cost and saved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SavingsDay {
    /// Which, as `2026-11-21` (UTC).
    pub day: String,
    /// In millionths of a US dollar.
    pub cost_micro_usd: u64,
    /// In millionths of a US dollar.
    pub saved_micro_usd: u64,
}

/// Ask what is known of the providers that are on. Local servers are asked what
/// they are.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {}

/// The providers that are on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapabilitiesAnswer {
    /// By name.
    pub providers: Vec<CapabilityView>,
}

/// What is known of a provider's model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapabilityView {
    /// The provider.
    pub provider: String,
    /// How it is spoken to.
    pub kind: String,
    /// Its model; `null` where nobody names one and it has not just one.
    pub model: Option<String>,
    /// Whether what it is asked stays on this machine.
    pub is_local: bool,
    /// What serves it.
    pub server: Option<String>,
    /// How many tokens a conversation may have.
    pub context_tokens: Option<u64>,
    /// Whether it can call tools.
    pub tools: Option<bool>,
    /// What a turn that was broken off is worth: `exact`, `prefill` or `restart`.
    pub resumption: String,
    /// Whether the owner says that health information may go there.
    pub hipaa_cleared: bool,
    /// Whether it answered what it is; `null` for services, which are not asked.
    pub answers: Option<bool>,
    /// Why it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Ask which models are preferred, without anything secret.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Preferences {}

/// Which models are preferred.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreferencesAnswer {
    /// The provider where nothing else is preferred, or `disabled`.
    pub default_provider: String,
    /// The model where neither a job nor its provider names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// The providers, by name.
    pub providers: BTreeMap<String, ProviderView>,
    /// What entities prefer and need.
    pub entity_overrides: BTreeMap<String, EntityView>,
    /// What jobs prefer.
    pub per_job_overrides: BTreeMap<String, JobView>,
    /// Who is asked when the chosen one does not answer.
    pub fallbacks: Vec<String>,
}

/// A provider, without anything secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderView {
    /// How it is spoken to; `null` where nobody says.
    pub kind: Option<String>,
    /// Whether it may be used at all.
    pub enabled: bool,
    /// Where it is; `null` where the text is no address.
    pub endpoint: Option<String>,
    /// The model where a job names none.
    pub default_model: Option<String>,
    /// Whether the owner says that health information may go there.
    pub hipaa_cleared: bool,
    /// Where its key is taken from: `environment`, `keystore`, `caller` or `none`.
    pub key: String,
    /// The environment variable that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_env_var: Option<String>,
    /// Words for the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// What an entity prefers and needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntityView {
    /// The provider; `null` for the default one.
    pub provider: Option<String>,
    /// Whether only one that is cleared for health information will do.
    pub required_hipaa_cleared: bool,
    /// Words for the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// What a job prefers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobView {
    /// The provider.
    pub provider: String,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Words for the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// Change which models are preferred. What is not named stays; nothing can make
/// a provider cleared or switch one on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetPreferences {
    /// The provider where nothing else is preferred, or `disabled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_provider: Option<String>,
    /// What these jobs prefer; `null` for nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub per_job_overrides: BTreeMap<String, Option<JobView>>,
    /// Only say what would come of it.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a change comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetPreferencesAnswer {
    /// Whether the file says something else now; never in a dry run.
    pub updated: bool,
    /// Whether it would.
    pub changes: bool,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// What the owner should know of it.
    pub warnings: Vec<String>,
    /// What is preferred then.
    pub preferences: PreferencesAnswer,
}

request!(Savings, "models.savings", SavingsAnswer);
request!(Capabilities, "models.capabilities", CapabilitiesAnswer);
request!(Preferences, "models.preferences", PreferencesAnswer);
request!(
    SetPreferences,
    "models.set_preferences",
    SetPreferencesAnswer
);
