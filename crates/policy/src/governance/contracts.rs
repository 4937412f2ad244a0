//! `output_contracts.json`: what a result must be like for those who read it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use legation_core::{ClientId, EntityLabels};
use regex::{Regex, RegexBuilder};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::name::EntitySet;
use super::pattern::{NamePattern, ToolPattern};

/// The contracts, and who reads for which audience.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputContracts {
    /// Where an editor finds the schema of this file.
    #[serde(default, rename = "$schema")]
    pub schema: Option<String>,
    /// The audiences, by name.
    pub audiences: BTreeMap<String, Audience>,
    /// The audience of a client that none of them lists.
    pub default_audience: String,
    /// The contracts; every one that speaks of a result must be kept.
    pub contracts: Vec<OutputContract>,
}

/// Who reads a result.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Audience {
    /// The clients that read for it, `*` and `?` allowed.
    pub clients: Vec<NamePattern>,
}

/// One contract.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputContract {
    /// Its name in refusals and in the ledger.
    pub id: String,
    /// The tools whose results it speaks of.
    pub tools: Vec<ToolPattern>,
    /// For which audiences; all of them when not given.
    #[serde(default)]
    pub audiences: Option<Vec<String>>,
    /// Whose data may be in it at all; anybody's when not given.
    #[serde(default)]
    pub entities: Option<EntitySet>,
    /// Texts that must stand in it, headings for one.
    #[serde(default)]
    pub required_sections: Vec<String>,
    /// The longest it may be, in characters.
    #[serde(default)]
    pub max_length: Option<u64>,
    /// Regular expressions that must not match, of the linear-time kind.
    #[serde(default)]
    pub forbidden_patterns: Vec<TextPattern>,
    /// Whether health information may be in it unredacted.
    #[serde(default = "yes")]
    pub allow_phi: bool,
    /// Why, for the one who is refused.
    pub because: String,
    /// Results that it lets pass or stops, tried when the file loads.
    #[serde(default)]
    pub golden_fixtures: Vec<GoldenFixture>,
}

/// A result that a contract is tried on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoldenFixture {
    /// The result's text.
    pub text: String,
    /// Whether the contract lets it pass.
    pub passes: bool,
}

/// A regular expression, compiled when it is read.
#[derive(Clone, Debug)]
pub struct TextPattern(Regex);

/// How a result breaks a contract. Repeats nothing of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    /// A text that must stand in it does not.
    Lacks(String),
    /// It has more characters than this.
    TooLong(u64),
    /// This expression matches.
    Forbidden(String),
    /// It holds health information.
    Phi,
    /// It holds data of an entity that this contract is not for.
    Entity,
}

/// The most memory one compiled expression may take, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

fn yes() -> bool {
    true
}

// === impl OutputContracts ===

impl OutputContracts {
    /// The audiences a client reads for: every one that lists it, else the
    /// default one.
    pub fn audiences_of(&self, client: &ClientId) -> Vec<&str> {
        let listed: Vec<&str> = self
            .audiences
            .iter()
            .filter(|(_, audience)| {
                let mut clients = audience.clients.iter();
                clients.any(|pattern| pattern.matches(client.family()))
            })
            .map(|(name, _)| name.as_str())
            .collect();
        if listed.is_empty() {
            vec![self.default_audience.as_str()]
        } else {
            listed
        }
    }

    /// The contracts that speak of a tool's result for a client.
    pub fn of<'c>(
        &'c self,
        tool: &'c str,
        client: &ClientId,
    ) -> impl Iterator<Item = &'c OutputContract> {
        let audiences = self.audiences_of(client);
        self.contracts.iter().filter(move |contract| {
            contract.tools.iter().any(|pattern| pattern.matches(tool))
                && contract
                    .audiences
                    .as_ref()
                    .is_none_or(|named| named.iter().any(|name| audiences.contains(&name.as_str())))
        })
    }
}

// === impl OutputContract ===

impl OutputContract {
    /// Whether every result keeps it.
    pub fn demands_nothing(&self) -> bool {
        self.entities.is_none()
            && self.required_sections.is_empty()
            && self.max_length.is_none()
            && self.forbidden_patterns.is_empty()
            && self.allow_phi
    }

    /// How a result breaks it; `None` when it is kept. `labels` are those of
    /// the result, and `unredacted_phi` says that health information was found
    /// in it and stayed.
    pub fn breach(
        &self,
        text: &str,
        labels: &EntityLabels,
        unredacted_phi: bool,
    ) -> Option<Breach> {
        if unredacted_phi && !self.allow_phi {
            return Some(Breach::Phi);
        }
        if let Some(entities) = &self.entities
            && labels.iter().any(|label| !entities.contains(label))
        {
            return Some(Breach::Entity);
        }
        if let Some(longest) = self.max_length
            && text.chars().count() as u64 > longest
        {
            return Some(Breach::TooLong(longest));
        }
        let mut sections = self.required_sections.iter();
        if let Some(lacking) = sections.find(|section| !text.contains(section.as_str())) {
            return Some(Breach::Lacks(lacking.clone()));
        }
        self.forbidden_patterns
            .iter()
            .find(|pattern| pattern.0.is_match(text))
            .map(|pattern| Breach::Forbidden(pattern.0.as_str().to_owned()))
    }
}

// === impl TextPattern ===

impl TextPattern {
    /// As written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether it matches somewhere in `text`.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl<'de> Deserialize<'de> for TextPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Err(D::Error::custom("an empty expression matches everything"));
        }
        RegexBuilder::new(&text)
            .size_limit(MAX_PATTERN_BYTES)
            .build()
            .map(Self)
            .map_err(D::Error::custom)
    }
}

impl JsonSchema for TextPattern {
    fn schema_name() -> Cow<'static, str> {
        "TextPattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A regular expression without look-around and back-references.",
            "minLength": 1,
        })
    }
}

// === impl Breach ===

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lacks(section) => write!(f, "the result lacks {section:?}"),
            Self::TooLong(longest) => write!(f, "the result has more than {longest} characters"),
            Self::Forbidden(pattern) => write!(f, "the result matches the expression {pattern:?}"),
            Self::Phi => f.write_str("the result holds health information"),
            Self::Entity => f.write_str("the result holds data that this audience may not have"),
        }
    }
}
