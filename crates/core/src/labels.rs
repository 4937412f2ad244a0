//! Whose data something is.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::EntityId;

/// The entities whose data a message, a result or a conversation holds: a set
/// that only ever grows. Sorted, without doubles; the empty set is data of
/// nobody's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityLabels(Option<Arc<[EntityId]>>);

// === impl EntityLabels ===

impl EntityLabels {
    /// Data of nobody's.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Data of one entity.
    #[must_use]
    pub fn of(entity: EntityId) -> Self {
        Self(Some(Arc::new([entity])))
    }

    /// Whether it is data of nobody's.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether some of it is this entity's.
    #[must_use]
    pub fn contains(&self, entity: &EntityId) -> bool {
        self.as_slice().binary_search(entity).is_ok()
    }

    /// The entities, sorted.
    #[must_use]
    pub fn as_slice(&self) -> &[EntityId] {
        self.0.as_deref().unwrap_or_default()
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

impl FromIterator<EntityId> for EntityLabels {
    fn from_iter<I: IntoIterator<Item = EntityId>>(entities: I) -> Self {
        let mut all: Vec<_> = entities.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        Self((!all.is_empty()).then(|| all.into()))
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
