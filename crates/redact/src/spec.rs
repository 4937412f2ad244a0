//! What a redactor is built from.

/// What a redactor knows beforehand about an entity's data.
#[derive(Debug, Clone)]
pub struct RedactorSpec {
    /// Keys of JSON members whose values are identifiers, whatever they look like: names of
    /// members (`dob`), or words as people say them ("resident names").
    pub fields: Vec<String>,
    /// Persons and values that are known to be the entity's.
    pub roster: Vec<RosterEntry>,
    /// Which names are looked for beyond the roster.
    pub names: NameList,
    /// Takes out every word and number that is not known to be harmless.
    pub safe_word_mode: bool,
    /// Words of the entity that are harmless although no list has them (products, wards).
    pub safe_words: Vec<String>,
    /// Regular expressions of the entity's own numbers.
    pub patterns: Vec<String>,
}

/// Which list of names is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameList {
    /// The roster alone.
    None,
    /// The list that is built in.
    #[default]
    BuiltIn,
}

/// One known value: a person's name, a number, an address. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct RosterEntry {
    /// What it is.
    pub class: crate::class::Class,
    /// The value.
    pub value: String,
}

/// A redactor could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A pattern of the entity is no regular expression.
    #[error("pattern {number} of the entity is no regular expression; nothing was built")]
    Pattern {
        /// Its place in the list, from 1.
        number: usize,
        /// What is wrong with it.
        #[source]
        source: Box<regex::Error>,
    },
    /// The roster is too large to be searched for.
    #[error("the roster's {entries} entries cannot be built into a search; nothing was built")]
    Roster {
        /// How many entries it has.
        entries: usize,
        /// What is wrong with them.
        #[source]
        source: Box<aho_corasick::BuildError>,
    },
}

// === impl RedactorSpec ===

impl Default for RedactorSpec {
    fn default() -> Self {
        Self {
            fields: Vec::new(),
            roster: Vec::new(),
            names: NameList::BuiltIn,
            safe_word_mode: true,
            safe_words: Vec::new(),
            patterns: Vec::new(),
        }
    }
}

// === impl RosterEntry ===

impl RosterEntry {
    /// A person's name.
    #[must_use]
    pub fn person(name: impl Into<String>) -> Self {
        Self {
            class: crate::class::Class::Name,
            value: name.into(),
        }
    }

    /// Any other value.
    #[must_use]
    pub fn value(class: crate::class::Class, value: impl Into<String>) -> Self {
        Self {
            class,
            value: value.into(),
        }
    }
}

impl std::fmt::Debug for RosterEntry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RosterEntry")
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}

// === impl BuildError ===

impl BuildError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Pattern { .. } => "correct the pattern in the entity's redaction fields",
            Self::Roster { .. } => "split the roster between entities, or leave out long entries",
        }
    }
}
