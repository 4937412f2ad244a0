//! Where something belongs, by the owner's filing rules.

use std::fmt;

use legation_core::EntityId;
use legation_policy::governance::{ParaRule, ParaRules};
use serde::{Deserialize, Serialize};

use crate::source::SourceId;
use crate::text::Plain;

/// Longest part of a path, in characters.
const PART_MAX: usize = 60;

/// Where something might be filed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// What is filed.
    pub source: SourceId,
    /// The item of triage it belongs to.
    pub item: String,
    /// Where: a folder path that begins with `/`.
    pub path: String,
    /// The rule that says so, or who did.
    pub by: String,
    /// Why, in words.
    #[serde(default)]
    pub rationale: String,
    /// Where it was before it was filed, once it is: what undoes it.
    #[serde(default)]
    pub was: Option<Was>,
}

/// What undoes a filing.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Was {
    /// The folder it came from.
    pub folder: String,
    /// Its id where it is now.
    pub id: String,
}

/// How a suggestion stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FilingState {
    /// Nobody decided.
    Proposed,
    /// It lies there.
    Filed,
    /// It was taken back.
    Undone,
    /// The owner does not want it.
    Rejected,
}

/// What the rules read of something that is to be filed.
#[derive(Clone, Copy)]
pub struct ToFile<'a> {
    /// Whose it is.
    pub entity: &'a EntityId,
    /// What its entity is called.
    pub entity_name: &'a str,
    /// What its deal is called, if it has one.
    pub deal: Option<&'a str>,
    /// What it is about.
    pub category: Option<&'a str>,
    /// Who wrote it.
    pub sender: &'a str,
    /// Subject and text.
    pub text: &'a str,
}

// === impl FilingState ===

impl FilingState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Proposed, Self::Filed, Self::Undone, Self::Rejected];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Filed => "filed",
            Self::Undone => "undone",
            Self::Rejected => "rejected",
        }
    }

    /// The state with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// The path the rules give, and the id of the rule.
#[must_use]
pub fn place(rules: &ParaRules, what: &ToFile<'_>) -> (String, String) {
    let plain = Plain::of(what.text);
    let rule = rules.rules.iter().find(|rule| is_rule(rule, what, &plain));
    let category = rule.map_or(rules.default_category, |rule| rule.category);
    let document = rule.and_then(|rule| rule.document_type.as_deref());
    let topic = what.deal.or(what.category);
    let path = path(
        &rules.folder_template,
        &[
            ("{entity}", what.entity_name),
            ("{para_category}", category.folder()),
            ("{topic}", topic.unwrap_or_default()),
            ("{document_type}", document.unwrap_or_default()),
        ],
    );
    let by = rule.map_or_else(
        || "rule:default".to_owned(),
        |rule| format!("rule:{}", rule.id),
    );
    (path, by)
}

fn is_rule(rule: &ParaRule, what: &ToFile<'_>, plain: &Plain) -> bool {
    let theirs = rule.entities.is_empty() || rule.entities.contains(what.entity);
    let words = rule.keywords.is_empty() || rule.keywords.iter().any(|word| plain.holds(word));
    let sender = what.sender.to_lowercase();
    let senders = rule.senders.is_empty() || rule.senders.iter().any(|name| name.matches(&sender));
    let category = rule.categories.is_empty()
        || what
            .category
            .is_some_and(|category| rule.categories.iter().any(|one| one == category));
    theirs && words && senders && category && (!rule.with_deal || what.deal.is_some())
}

fn path(template: &str, values: &[(&str, &str)]) -> String {
    let mut path = String::new();
    for part in template.split('/').filter(|part| !part.is_empty()) {
        let mut filled = part.to_owned();
        for (name, value) in values {
            // A value is one folder: it cannot open others.
            filled = filled.replace(name, &folder(value));
        }
        if !filled.trim().is_empty() {
            path.push('/');
            path.push_str(filled.trim());
        }
    }
    match path.is_empty() {
        true => "/".to_owned(),
        false => path,
    }
}

/// A text as the name of one folder.
#[must_use]
pub fn folder(text: &str) -> String {
    let plain = text
        .chars()
        .map(|letter| match letter {
            '/' | '\\' | '{' | '}' => '-',
            letter if letter.is_control() => ' ',
            letter => letter,
        })
        .take(PART_MAX)
        .collect::<String>();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    plain.trim_matches(['.', ' ']).to_owned()
}

/// Whether somebody's path is one that can be suggested.
#[must_use]
pub fn is_path(path: &str) -> bool {
    let parts: Vec<&str> = path
        .strip_prefix('/')
        .unwrap_or_default()
        .split('/')
        .collect();
    parts.len() <= 8
        && parts
            .iter()
            .all(|part| !part.is_empty() && folder(part) == *part)
}

impl fmt::Debug for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suggestion")
            .field("by", &self.by)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Was {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Was(***)")
    }
}

impl fmt::Debug for ToFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToFile")
            .field("entity", self.entity)
            .finish_non_exhaustive()
    }
}
