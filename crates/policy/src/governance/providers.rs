//! `llm_provider.json`: the models there are and what each is cleared for.

use std::collections::BTreeMap;
use std::fmt;

use legation_core::EntityId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::date::Date;
use super::name::{self, EntityName, EntitySet};

/// The word in `default_provider` that means none.
pub const DISABLED: &str = "disabled";

/// The providers and who prefers which.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LlmProviders {
    /// Where an editor finds the schema of this file.
    #[serde(default, rename = "$schema")]
    pub schema: Option<String>,
    /// The provider where nothing else is preferred, or `disabled`.
    pub default_provider: String,
    /// The model where neither a job nor its provider names one.
    #[serde(default)]
    pub default_model: Option<String>,
    /// How long a model may take to begin its answer, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// The providers, by name.
    pub providers: BTreeMap<String, Provider>,
    /// What an entity prefers, and whether it needs a HIPAA-cleared one.
    #[serde(default, deserialize_with = "name::map")]
    #[schemars(with = "BTreeMap<EntityName, EntityOverride>")]
    pub entity_overrides: BTreeMap<EntityId, EntityOverride>,
    /// What a job prefers.
    #[serde(default)]
    pub per_job_overrides: BTreeMap<String, JobOverride>,
    /// Who is asked, in this order, when the chosen provider does not answer.
    /// The same clearances hold; an override that demands a cleared provider
    /// allows no other.
    #[serde(default)]
    pub fallbacks: Vec<String>,
    /// The provider at whose prices the answers of local models are counted as
    /// saved.
    #[serde(default)]
    pub savings_against: Option<String>,
}

/// One provider.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// How it is spoken to; by default what its name says.
    #[serde(default)]
    pub kind: Option<ProviderKind>,
    /// Whether it may be used at all.
    pub enabled: bool,
    /// Where it is; an empty text is nowhere.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// The environment variable that holds its key. Never the key itself.
    #[serde(default)]
    pub auth_env_var: Option<String>,
    /// Another source of its key, such as `x-github-token`.
    #[serde(default)]
    pub auth_source: Option<String>,
    /// The version of its interface, where it wants one.
    #[serde(default)]
    pub api_version: Option<String>,
    /// The model where the job names none.
    #[serde(default)]
    pub default_model: Option<String>,
    /// Whether the owner says that health information may go there. Needs an
    /// agreement in force, unless it is a local model.
    pub hipaa_cleared: bool,
    /// The business associate agreement.
    #[serde(default)]
    pub baa: Option<Agreement>,
    /// Whose data may go there; everybody's when not given.
    #[serde(default)]
    pub entities: Option<EntitySet>,
    /// What it costs, where it costs something by the token.
    #[serde(default)]
    pub prices: Option<Prices>,
    /// How much it may be asked.
    #[serde(default)]
    pub limits: Option<ProviderLimits>,
    /// Words for the reader.
    #[serde(default)]
    pub notes: Option<String>,
}

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// OpenAI's own service.
    OpenaiDirect,
    /// OpenAI's models in the owner's Azure tenant.
    AzureOpenai,
    /// Anthropic's own service.
    AnthropicDirect,
    /// Anything else that speaks like OpenAI's.
    OpenaiCompatible,
    /// Copilot, with the token of the person who asks. There is no agreement
    /// to be had for it, so it is never cleared for health information.
    CopilotExtension,
    /// A model on the owner's own machine. That it is one is the owner's word:
    /// a loopback address can be a tunnel.
    LocalModel,
}

/// A business associate agreement.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// Where the signed paper is found.
    pub reference: String,
    /// The last day it holds, or the day by which somebody must look at it.
    pub expires: Date,
}

/// Prices in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Of what a model reads.
    pub input: f64,
    /// Of what it had read before; by default the price of reading it anew.
    #[serde(default)]
    pub cached_input: Option<f64>,
    /// Of what it writes.
    pub output: f64,
}

/// How much a provider may be asked; what is not given has no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderLimits {
    /// Requests within any minute.
    #[serde(default)]
    pub requests_per_minute: Option<u32>,
    /// Tokens, read and written, within any 24 hours.
    #[serde(default)]
    pub tokens_per_day: Option<u64>,
    /// US dollars within any 30 days. Needs `prices`.
    #[serde(default)]
    pub usd_per_month: Option<f64>,
}

/// What an entity prefers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityOverride {
    /// The provider, or nothing for the default one.
    #[serde(default)]
    pub provider: Option<String>,
    /// Whether only a HIPAA-cleared provider will do.
    #[serde(default)]
    pub required_hipaa_cleared: bool,
    /// Words for the reader.
    #[serde(default)]
    pub notes: Option<String>,
}

/// What a job prefers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobOverride {
    /// The provider.
    pub provider: String,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// Words for the reader.
    #[serde(default)]
    pub notes: Option<String>,
}

// === impl Provider ===

impl Provider {
    /// How the provider called `name` is spoken to; `None` when neither it
    /// nor its name says.
    pub fn kind_as(&self, name: &str) -> Option<ProviderKind> {
        self.kind.or_else(|| ProviderKind::parse(name))
    }

    /// Where it is.
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoint
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
    }
}

// === impl Agreement ===

impl Agreement {
    /// Whether it names an agreement: the templates hold a text that begins
    /// with `REPLACE`, which is none.
    pub fn is_named(&self) -> bool {
        let reference = self.reference.trim();
        !reference.is_empty() && !reference.starts_with("REPLACE")
    }
}

// === impl ProviderKind ===

impl ProviderKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::OpenaiDirect,
        Self::AzureOpenai,
        Self::AnthropicDirect,
        Self::OpenaiCompatible,
        Self::CopilotExtension,
        Self::LocalModel,
    ];

    /// The word a file uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenaiDirect => "openai_direct",
            Self::AzureOpenai => "azure_openai",
            Self::AnthropicDirect => "anthropic_direct",
            Self::OpenaiCompatible => "openai_compatible",
            Self::CopilotExtension => "copilot_extension",
            Self::LocalModel => "local_model",
        }
    }

    /// The kind a file calls `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
