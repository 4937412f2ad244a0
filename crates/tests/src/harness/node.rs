//! JSON compared without losing anything: numbers stay the text they were,
//! members keep their order and their number.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON value whose numbers are text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A number, `true`, `false` or `null`, as written.
    Word(String),
    /// A string, unescaped.
    Text(String),
    /// Elements in order.
    Array(Vec<Self>),
    /// Members in order, doubles included.
    Object(Vec<(String, Self)>),
}

struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

// === impl Node ===

impl Node {
    /// Parses a text.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        let text = text.trim();
        match text.as_bytes().first() {
            Some(b'{') => {
                let Members(members) = serde_json::from_str(text)?;
                let members = members
                    .into_iter()
                    .map(|(name, value)| Ok((name, Self::parse(value.get())?)))
                    .collect::<serde_json::Result<_>>()?;
                Ok(Self::Object(members))
            }
            Some(b'[') => {
                let elements: Vec<Box<RawValue>> = serde_json::from_str(text)?;
                let elements = elements
                    .iter()
                    .map(|element| Self::parse(element.get()))
                    .collect::<serde_json::Result<_>>()?;
                Ok(Self::Array(elements))
            }
            Some(b'"') => Ok(Self::Text(serde_json::from_str(text)?)),
            _ => {
                let word: Box<RawValue> = serde_json::from_str(text)?;
                Ok(Self::Word(word.get().to_owned()))
            }
        }
    }

    /// A member of an object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members
                .iter()
                .find(|(other, _)| other == name)
                .map(|(_, value)| value),
            Self::Word(_) | Self::Text(_) | Self::Array(_) => None,
        }
    }

    /// Removes members of this object by name.
    pub fn remove(&mut self, unwanted: impl Fn(&str) -> bool) {
        if let Self::Object(members) = self {
            members.retain(|(name, _)| !unwanted(name));
        }
    }

    /// Removes every `_meta` key that satisfies the condition, at any depth,
    /// and every `_meta` that is empty then.
    pub fn strip_meta(&mut self, unwanted: &impl Fn(&str) -> bool) {
        match self {
            Self::Object(members) => {
                for (name, value) in members.iter_mut() {
                    if name == "_meta" {
                        value.remove(unwanted);
                    } else {
                        value.strip_meta(unwanted);
                    }
                }
                members.retain(|(name, value)| {
                    !(name == "_meta" && *value == Self::Object(Vec::new()))
                });
            }
            Self::Array(elements) => elements
                .iter_mut()
                .for_each(|element| element.strip_meta(unwanted)),
            Self::Word(_) | Self::Text(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Node;

    #[test]
    fn keeps_what_a_value_would_lose() {
        let same = |a: &str, b: &str| Node::parse(a).unwrap() == Node::parse(b).unwrap();
        assert!(same(r#"{"a": [1, "x"]}"#, r#"{"a":[1,"\u0078"]}"#));
        assert!(!same("[1.0]", "[1]"));
        assert!(!same("[18446744073709551616]", "[18446744073709551615]"));
        assert!(!same(r#"{"a":1,"a":2}"#, r#"{"a":2}"#));
        assert!(!same(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#));
    }

    #[test]
    fn strips_meta_at_any_depth() {
        let mut node =
            Node::parse(r#"{"_meta":{"own/a":1},"x":[{"_meta":{"own/b":1,"c":2}}]}"#).unwrap();
        node.strip_meta(&|name| name.starts_with("own/"));
        assert_eq!(node, Node::parse(r#"{"x":[{"_meta":{"c":2}}]}"#).unwrap());
    }
}
