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
