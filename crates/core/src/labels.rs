//! Whose data something is.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::EntityId;

/// The entities whose data a message, a result or a conversation holds: a set
/// that only ever grows. Sorted, without doubles; the empty set is data of
/// nobody's.
#[derive(Debug, Clone, Default)]
pub struct EntityLabels(Labels);

/// One entity is the usual case, and lies where it is used.
#[derive(Debug, Clone, Default)]
enum Labels {
    #[default]
    None,
    One(EntityId),
    Many(Arc<[EntityId]>),
}

// === impl EntityLabels ===

impl EntityLabels {
    /// Data of nobody's.
    #[must_use]
    pub fn none() -> Self {
        Self(Labels::None)
    }

    /// Data of one entity.
    #[must_use]
    pub fn of(entity: EntityId) -> Self {
        Self(Labels::One(entity))
    }

    /// Whether it is data of nobody's.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self.0, Labels::None)
    }

    /// Whether some of it is this entity's.
    #[must_use]
    pub fn contains(&self, entity: &EntityId) -> bool {
        self.as_slice().binary_search(entity).is_ok()
    }

    /// The entities, sorted.
    #[must_use]
    pub fn as_slice(&self) -> &[EntityId] {
        match &self.0 {
            Labels::None => &[],
            Labels::One(entity) => std::slice::from_ref(entity),
            Labels::Many(entities) => entities,
        }
    }

    /// The entities, sorted.
    pub fn iter(&self) -> std::slice::Iter<'_, EntityId> {
        self.as_slice().iter()
    }

    /// What holds the data of both.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        if other.iter().all(|entity| self.contains(entity)) {
            return self.clone();
        }
        if self.is_empty() {
            return other.clone();
        }
        self.iter().chain(other.iter()).cloned().collect()
    }
}

impl PartialEq for EntityLabels {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for EntityLabels {}

impl Hash for EntityLabels {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl PartialOrd for EntityLabels {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EntityLabels {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl FromIterator<EntityId> for EntityLabels {
    fn from_iter<I: IntoIterator<Item = EntityId>>(entities: I) -> Self {
        let mut all: Vec<_> = entities.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        match all.len() {
            0 | 1 => all.pop().map_or_else(Self::none, Self::of),
            _ => Self(Labels::Many(all.into())),
        }
    }
}

impl<'a> IntoIterator for &'a EntityLabels {
    type Item = &'a EntityId;
    type IntoIter = std::slice::Iter<'a, EntityId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for EntityLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entity) in self.iter().enumerate() {
            if index > 0 {
                f.write_str("+")?;
            }
            f.write_str(entity.as_str())?;
        }
        Ok(())
    }
}

impl Serialize for EntityLabels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_slice().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EntityLabels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<EntityId>::deserialize(deserializer).map(Self::from_iter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> EntityLabels {
        names.iter().map(|name| EntityId::new(*name)).collect()
    }

    #[test]
    fn a_join_is_a_set_whatever_the_order() {
        let both = labels(&["b", "a", "b"]);
        assert_eq!(both, labels(&["a", "b"]));
        assert_eq!(labels(&["b"]).join(&labels(&["a"])), both);
        assert_eq!(both.join(&EntityLabels::none()), both);
        assert_eq!(EntityLabels::none().join(&both), both);
        assert_eq!(both.to_string(), "a+b");
        assert!(both.contains(&EntityId::new("a")) && !both.contains(&EntityId::new("c")));
        assert!(labels(&[]).is_empty());
    }
}
