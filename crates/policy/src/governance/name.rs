//! Names of entities: what a file may call one, and which one a text means.
//!
//! An id is written in lower-case ASCII, so that no two ids look alike for
//! another reason than their spelling. What a model writes is normalised
//! before it is compared; text that merely looks like an id is told apart
//! from text that is one, and from text that is nothing.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use legation_core::EntityId;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use unicode_normalization::UnicodeNormalization as _;
use unicode_security::confusable_detection::skeleton;

/// The word that means every entity.
pub const ALL: &str = "all";

/// The longest id, in bytes.
const MAX_LEN: usize = 64;

/// What an id looks like, for people and for the schemas.
const PATTERN: &str = "^[a-z0-9][a-z0-9_-]{0,63}$";

/// Some entities, or all there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntitySet {
    /// Every entity, those included that are added later.
    All,
    /// These.
    Of(BTreeSet<EntityId>),
}

/// Which entity a text means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// This one, by its id or by one of its accounts.
    Entity(EntityId),
    /// Every entity.
    All,
    /// None, but it looks like this one's name.
    LooksLike(EntityId),
    /// None.
    Unknown,
}

/// An id as it may stand in a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntityName(EntityId);

/// Names normalised as comparison needs them: NFKC and lower case.
pub fn normalise(text: &str) -> String {
    text.trim()
        .nfkc()
        .flat_map(char::to_lowercase)
        .nfkc()
        .collect()
}

/// What a text looks like: equal for texts that a reader cannot tell apart.
pub(crate) fn look(text: &str) -> String {
    skeleton(&normalise(text))
        .flat_map(char::to_lowercase)
        .collect()
}

/// For `deserialize_with`: a list of ids.
pub(super) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<EntityId>, D::Error> {
    let names = Vec::<EntityName>::deserialize(deserializer)?;
    Ok(names.into_iter().map(|name| name.0).collect())
}

/// For `deserialize_with`: something for each id.
pub(super) fn map<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<BTreeMap<EntityId, T>, D::Error> {
    let map = BTreeMap::<EntityName, T>::deserialize(deserializer)?;
    Ok(map
        .into_iter()
        .map(|(name, value)| (name.0, value))
        .collect())
}

/// For `deserialize_with`: ids for each of something.
pub(super) fn lists<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<EntityId>>, D::Error> {
    let map = BTreeMap::<String, Vec<EntityName>>::deserialize(deserializer)?;
    Ok(map
        .into_iter()
        .map(|(key, names)| (key, names.into_iter().map(|name| name.0).collect()))
        .collect())
}

// === impl EntityName ===

impl EntityName {
    fn parse(text: &str) -> Result<Self, String> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let mut bytes = text.bytes();
        let starts_well = bytes.next().is_some_and(plain);
        if !starts_well
            || text.len() > MAX_LEN
            || !bytes.all(|byte| plain(byte) || matches!(byte, b'_' | b'-'))
        {
            return Err(format!(
                "{text:?} cannot be the id of an entity: lower-case letters, digits, `-` and `_`, \
                 at most {MAX_LEN}"
            ));
        }
        if text == ALL {
            return Err(format!(
                "`{ALL}` means every entity and cannot be the id of one"
            ));
        }
        Ok(Self(EntityId::new(text)))
    }
}

impl fmt::Debug for EntityName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for EntityName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

impl JsonSchema for EntityName {
    fn schema_name() -> Cow<'static, str> {
        "EntityId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "The id of an entity.",
            "pattern": PATTERN,
            "not": { "const": ALL },
        })
    }
}

// === impl EntitySet ===

impl EntitySet {
    /// No entity.
    pub fn none() -> Self {
        Self::Of(BTreeSet::new())
    }

    /// Whether it holds this entity.
    pub fn contains(&self, entity: &EntityId) -> bool {
        match self {
            Self::All => true,
            Self::Of(some) => some.contains(entity),
        }
    }

    /// What both hold.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, set) | (set, Self::All) => set.clone(),
            (Self::Of(one), Self::Of(other)) => Self::Of(one & other),
        }
    }

    /// The entities named one by one.
    pub fn named(&self) -> impl Iterator<Item = &EntityId> {
        match self {
            Self::All => None,
            Self::Of(some) => Some(some.iter()),
        }
        .into_iter()
        .flatten()
    }
}

impl Default for EntitySet {
    fn default() -> Self {
        Self::none()
    }
}

impl fmt::Display for EntitySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str(ALL),
            Self::Of(some) if some.is_empty() => f.write_str("none"),
            Self::Of(some) => {
                let names: Vec<&str> = some.iter().map(EntityId::as_str).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}

impl<'de> Deserialize<'de> for EntitySet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SetVisitor)
    }
}

impl JsonSchema for EntitySet {
    fn schema_name() -> Cow<'static, str> {
        "EntitySet".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<EntityName>();
        json_schema!({
            "description": "Ids of entities, or \"all\".",
            "anyOf": [
                { "const": ALL },
                { "type": "array", "items": one },
            ],
        })
    }
}

struct SetVisitor;

impl<'de> Visitor<'de> for SetVisitor {
    type Value = EntitySet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of entity ids, or \"all\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<EntitySet, E> {
        if text == ALL {
            Ok(EntitySet::All)
        } else {
            Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<EntitySet, A::Error> {
        let mut some = BTreeSet::new();
        while let Some(EntityName(id)) = items.next_element()? {
            some.insert(id);
        }
        Ok(EntitySet::Of(some))
    }
}
