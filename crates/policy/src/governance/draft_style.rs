//! `draft_style.json`: how letters that are drafted sound.

use std::collections::BTreeMap;

use legation_core::EntityId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::name::{self, EntityName};

/// The style.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftStyle {
    /// Where an editor finds the schema of this file.
    #[serde(default, rename = "$schema")]
    pub schema: Option<String>,
    /// How they sound, in words that models are told.
    pub preferred_tone: String,
    /// Rules of style, in words that models are told.
    #[serde(default)]
    pub style_rules: Vec<String>,
    /// Words that no draft holds, without case.
    #[serde(default)]
    pub words_to_avoid: Vec<String>,
    /// How a letter begins; `{name}` is whom it is for.
    #[serde(default = "greeting")]
    pub greeting: String,
    /// How a letter ends, by entity.
    #[serde(default, deserialize_with = "name::map")]
    #[schemars(with = "BTreeMap<EntityName, String>")]
    pub signatures: BTreeMap<EntityId, String>,
    /// How it ends where its entity has no signature.
    pub signature: String,
    /// What stands below a draft until the owner takes it out.
    #[serde(default)]
    pub draft_disclaimer: Option<String>,
    /// What an answer says that is drafted without a model; `{subject}` and `{sender}` are the
    /// letter's.
    pub reply_template: String,
    /// The longest body of a draft, in characters.
    #[serde(default = "longest")]
    pub max_length: u32,
    /// Whether a model that is cleared may write the body.
    #[serde(default)]
    pub model: bool,
}

fn greeting() -> String {
    "Hello {name},".to_owned()
}

fn longest() -> u32 {
    4000
}

// === impl DraftStyle ===

impl DraftStyle {
    /// How letters of an entity end.
    pub fn signature_of(&self, entity: &EntityId) -> &str {
        self.signatures
            .get(entity)
            .map_or(self.signature.as_str(), String::as_str)
    }

    /// The first word of a text that no draft holds.
    pub fn avoided<'s>(&'s self, text: &str) -> Option<&'s str> {
        let text = super::normalise(text);
        self.words_to_avoid
            .iter()
            .find(|word| holds_word(&text, &super::normalise(word)))
            .map(String::as_str)
    }
}

/// Whether a word or phrase stands in a text by itself.
fn holds_word(text: &str, word: &str) -> bool {
    !word.is_empty()
        && text.match_indices(word).any(|(at, found)| {
            let before = text[..at].chars().next_back();
            let after = text[at + found.len()..].chars().next();
            ![before, after]
                .into_iter()
                .flatten()
                .any(char::is_alphanumeric)
        })
}
