//! `para_rules.json`: where things are filed (projects, areas, resources, archive).

use legation_core::EntityId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name::{self, EntityName};
use super::pattern::NamePattern;

/// The rules.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParaRules {
    /// Where an editor finds the schema of this file.
    #[serde(default, rename = "$schema")]
    pub schema: Option<String>,
    /// A folder path of `{entity}`, `{para_category}`, `{topic}` (the deal, else the category of
    /// the item) and `{document_type}`. A part that is empty is left out.
    pub folder_template: String,
    /// What is filed where, the first that matches.
    pub rules: Vec<ParaRule>,
    /// Where everything else belongs.
    pub default_category: ParaCategory,
}

/// One rule. All that it names must be so.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParaRule {
    /// Its name.
    pub id: String,
    /// Where it files.
    pub category: ParaCategory,
    /// The document's type, as the path has it.
    #[serde(default)]
    pub document_type: Option<String>,
    /// Words in the subject or the text, whole and without case.
    #[serde(default)]
    pub keywords: Vec<String>,
    /// Addresses that write, `*` and `?` allowed.
    #[serde(default)]
    pub senders: Vec<NamePattern>,
    /// The categories of the item.
    #[serde(default)]
    pub categories: Vec<String>,
    /// Whether it must belong to a deal.
    #[serde(default)]
    pub with_deal: bool,
    /// Whose items only; anybody's when empty.
    #[serde(default, deserialize_with = "name::list")]
    #[schemars(with = "Vec<EntityName>")]
    pub entities: Vec<EntityId>,
}

/// The four places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ParaCategory {
    /// What has an end.
    Projects,
    /// What goes on.
    Areas,
    /// What may be useful.
    Resources,
    /// What is over.
    Archive,
}

// === impl ParaCategory ===

impl ParaCategory {
    /// Its name in a path.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Projects => "Projects",
            Self::Areas => "Areas",
            Self::Resources => "Resources",
            Self::Archive => "Archive",
        }
    }
}
