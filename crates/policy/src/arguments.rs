//! The arguments of a call, parsed when a rule first reads them.

use std::cell::OnceCell;
use std::fmt;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The arguments of one call. Text that is not one JSON object, or that has
/// the same key twice, can be read by no rule: every deny that reads them
/// strikes and no allow does.
pub struct Arguments<'a> {
    text: &'a str,
    value: OnceCell<Option<Value>>,
    digest: OnceCell<[u8; 32]>,
}

// === impl Arguments ===

impl<'a> Arguments<'a> {
    /// Arguments as the JSON text of an object.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            value: OnceCell::new(),
            digest: OnceCell::new(),
        }
    }

    /// The text as it was given.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The object, if the text is one that can be believed.
    pub(crate) fn value(&self) -> Option<&Value> {
        self.value
            .get_or_init(|| {
                let value = legation_core::json::parse(self.text).ok()?;
                value.is_object().then_some(value)
            })
            .as_ref()
    }

    /// SHA-256 of the arguments with their keys sorted, so that a client that
    /// writes the same call in another order asks about the same thing.
    pub fn digest(&self) -> [u8; 32] {
        *self.digest.get_or_init(|| {
            let mut canonical = String::with_capacity(self.text.len());
            match self.value() {
                Some(value) if is_exact(value) => write_sorted(value, &mut canonical),
                _ => canonical.push_str(self.text),
            }
            Sha256::digest(canonical.as_bytes()).into()
        })
    }

    /// The digest of a call without arguments.
    pub fn digest_of(arguments: Option<&Self>) -> [u8; 32] {
        arguments.map_or_else(|| Sha256::digest(b"").into(), Self::digest)
    }
}

impl fmt::Debug for Arguments<'_> {
    /// Arguments hold personal data; their length does not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arguments({} bytes)", self.text.len())
    }
}

/// Whether no number was rounded when it was read: two calls that differ in a
/// digit that was lost must not have one digest.
fn is_exact(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(items) => items.iter().all(is_exact),
        Value::Object(members) => members.values().all(is_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_sorted(&map[key], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_sorted(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
