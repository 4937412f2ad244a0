//! `output_contracts.json`: what a result must be like for those who read it.

use std::collections::BTreeMap;

use legation_core::ClientId;
use schemars::JsonSchema;
use serde::Deserialize;

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
    pub forbidden_patterns: Vec<String>,
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
                clients.any(|pattern| pattern.matches(client.as_str()))
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
