//! JSON in which no object has a key twice.
//!
//! `serde_json` keeps the last of two equal keys, so a text could show its
//! reader one thing and mean another. Every text that somebody relies on having
//! read is parsed here.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses a whole text.
///
/// # Errors
/// When it is not JSON, or an object in it, at any depth, has a key twice.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

struct Strict;

// === impl Strict ===

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {key:?} is there twice")));
            }
            let value = members.next_value_seed(Self)?;
            all.insert(key, value);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_key_that_stands_twice_is_refused_however_it_is_written() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"x":{"\u0061":1,"a":2}}"#,
            r#"[{"a":[{"k":1,"k":1}]}]"#,
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains("is there twice"), "{text}: {error}");
        }
        for text in [r#"{"a":{"k":1},"b":{"k":1}}"#, "[1,-2,3.5,null,true,\"é\"]"] {
            assert_eq!(parse(text).expect(text).to_string(), text);
        }
        for text in ["", "{} {}", "{\"a\":1,}", "{\"a\":1e999}"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
