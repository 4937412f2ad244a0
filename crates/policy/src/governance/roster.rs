//! `rosters/*.json`: the people whose names are always redacted.

use std::fmt;

use legation_core::EntityId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Broken, Date, Governance, Loaded, file};

/// The people of one file. `Debug` counts them.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Roster {
    /// Where an editor finds the schema of this file.
    #[serde(default, rename = "$schema")]
    pub schema: Option<String>,
    /// The people.
    pub people: Vec<Person>,
}

/// One person. `Debug` shows nothing of them.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Person {
    /// The whole name.
    pub name: String,
    /// Other names they go by.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The day they were born.
    #[serde(default)]
    pub born: Option<Date>,
    /// Record numbers, rooms, addresses: texts that point at this person.
    #[serde(default)]
    pub identifiers: Vec<String>,
}

/// What an entity's redactor is built from. `Debug` shows nothing of it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RedactionPlan {
    /// Names of fields whose values are always redacted.
    pub fields: Vec<String>,
    /// Names of people, and other names they go by.
    pub names: Vec<String>,
    /// The days they were born.
    pub births: Vec<Date>,
    /// Texts that point at one of them.
    pub identifiers: Vec<String>,
    /// Regular expressions of the entity's own numbers.
    pub patterns: Vec<String>,
    /// Words of the entity that point at nobody.
    pub safe_words: Vec<String>,
}

// === impl Governance ===

impl Governance {
    /// The people of an entity.
    ///
    /// # Errors
    /// When a roster it names is missing or broken, or the profile is:
    /// whoever redacts without all of its names must not send the result.
    pub fn people(&self, entity: &EntityId) -> Result<Vec<&Person>, Broken> {
        let profile = self.profile.get().map_err(Clone::clone)?;
        let names = profile
            .entities
            .get(entity)
            .map(|entity| &entity.roster_files);
        let mut people = Vec::new();
        for name in names.into_iter().flatten() {
            match self.rosters.get(name.as_str()) {
                Some(Loaded::Good(roster)) => people.extend(&roster.people),
                Some(Loaded::Broken(broken)) => return Err(broken.clone()),
                None => {
                    return Err(Broken {
                        file: file::ROSTERS,
                        reason: format!("does not hold {name}"),
                    });
                }
            }
        }
        Ok(people)
    }

    /// What redacts an entity's data.
    ///
    /// # Errors
    /// As [`Governance::people`].
    pub fn redaction(&self, entity: &EntityId) -> Result<RedactionPlan, Broken> {
        let people = self.people(entity)?;
        let profile = self.profile.get().map_err(Clone::clone)?;
        let mut plan = RedactionPlan::default();
        if let Some(entity) = profile.entities.get(entity) {
            plan.fields.clone_from(&entity.redaction_fields);
            plan.safe_words.clone_from(&entity.safe_words);
            let patterns = entity.redaction_patterns.iter();
            plan.patterns = patterns
                .map(|pattern| pattern.as_str().to_owned())
                .collect();
        }
        for person in people {
            plan.names.push(person.name.clone());
            plan.names.extend(person.aliases.iter().cloned());
            plan.births.extend(person.born);
            plan.identifiers.extend(person.identifiers.iter().cloned());
        }
        Ok(plan)
    }
}

// === impl Roster ===

impl fmt::Debug for Roster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Roster({} people)", self.people.len())
    }
}

// === impl Person ===

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Person(****)")
    }
}

// === impl RedactionPlan ===

impl fmt::Debug for RedactionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (names, fields) = (self.names.len(), self.fields.len());
        write!(f, "RedactionPlan({names} names, {fields} fields)")
    }
}
