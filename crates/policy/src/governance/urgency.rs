//! `urgency_rules.json`: what is urgent, and what incoming items are about.

use std::collections::BTreeMap;

use legation_core::EntityId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::contracts::TextPattern;
use super::name::{self, EntityName};
use super::pattern::NamePattern;

/// The rules.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UrgencyRules {
    /// Where an editor finds the schema of this file.
    #[serde(default, rename = "$schema")]
    pub schema: Option<String>,
    /// The categories an item may have, and what each means. Models are told this.
    pub categories: BTreeMap<String, String>,
    /// What gives an item a category or makes it urgent. Of several that match, the most urgent
    /// wins, then the first.
    pub signals: Vec<UrgencySignal>,
    /// From 0 to 1: below it an item stays open and its question goes to the human.
    #[serde(default = "sure")]
    pub confidence_threshold: f64,
    /// Whether a model that is cleared may say what no rule says.
    #[serde(default)]
    pub model: bool,
    /// What the human is asked about an item that nothing is known of.
    #[serde(default = "question")]
    pub question: String,
}

/// One signal. All that it names must be so; of the words of one list any will do.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UrgencySignal {
    /// Its name.
    pub id: String,
    /// How urgent what it finds is.
    pub urgency: Urgency,
    /// The category it gives.
    #[serde(default)]
    pub category: Option<String>,
    /// Words in the subject or the text, whole and without case.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Regular expressions over subject and text, of the linear-time kind.
    #[serde(default)]
    pub patterns: Vec<TextPattern>,
    /// Addresses that write, `*` and `?` allowed.
    #[serde(default)]
    pub senders: Vec<NamePattern>,
    /// Sums in US dollars from this on.
    #[serde(default)]
    pub threshold_usd: Option<f64>,
    /// Whose items only; anybody's when empty.
    #[serde(default, deserialize_with = "name::list")]
    #[schemars(with = "Vec<EntityName>")]
    pub entities: Vec<EntityId>,
    /// From 0 to 1: how sure it is.
    #[serde(default = "certain")]
    pub confidence: f64,
}

/// How urgent something is, from the least.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Deserialize,
    serde::Serialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// Some day.
    Low,
    /// In its turn.
    #[default]
    Normal,
    /// Today.
    High,
    /// Now.
    Critical,
}

fn sure() -> f64 {
    0.7
}

fn certain() -> f64 {
    0.9
}

fn question() -> String {
    "What is this about, and whose is it?".to_owned()
}

// === impl Urgency ===

impl Urgency {
    /// Every one, from the least.
    pub const ALL: [Self; 4] = [Self::Low, Self::Normal, Self::High, Self::Critical];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// The one with this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}
