//! The reader of governance files: plain JSON, read strictly.
//!
//! A key that stands twice, at any depth, refuses the file: most readers keep
//! the last of two, so a file could show its owner one rule and enforce
//! another. A key that nobody knows refuses it too, because a misspelt ban
//! bans nothing; keys that begin with `_` are the owner's own words, are
//! skipped and kept. Reading straight into the types was rejected because it
//! can say neither that a key is doubled nor where in the file a mistake is.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::problem::Place;

/// What a file said beyond its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// JSON pointer of the key.
    pub pointer: String,
    /// What stands there.
    pub value: Value,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(super) struct Read<T> {
    pub(super) value: T,
    pub(super) notes: Vec<Note>,
}

/// Why a file could not be read, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) place: Place,
    pub(super) message: String,
}

/// Reads `text` as a `T`.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<Read<T>, Refused> {
    if text.starts_with('\u{feff}') {
        return Err(Refused {
            place: Place::line(1),
            message: "it begins with a byte-order mark".to_owned(),
        });
    }
    let whole = parse(text)?;
    let mut notes = Vec::new();
    let clean = without_notes(whole, &mut String::new(), &mut notes);
    match serde_path_to_error::deserialize(Objects(clean)) {
        Ok(value) => Ok(Read { value, notes }),
        Err(error) => {
            let pointer = pointer_of(error.path());
            Err(Refused {
                place: place(text, &pointer),
                message: error.into_inner().to_string(),
            })
        }
    }
}

/// The whole document, without a doubled key anywhere.
pub(super) fn parse(text: &str) -> Result<Value, Refused> {
    legation_core::json::parse(text).map_err(|error| {
        let said = error.to_string();
        let message = said
            .rfind(" at line ")
            .map_or(said.as_str(), |at| &said[..at]);
        Refused {
            place: Place::line(error.line()),
            message: message.to_owned(),
        }
    })
}

/// The place of `pointer` in `text`, which has been parsed.
pub(super) fn place(text: &str, pointer: &str) -> Place {
    let wanted: Vec<String> = pointer
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect();
    let offset = Scanner { text, at: 0 }.find(&wanted);
    Place {
        pointer: (!pointer.is_empty()).then(|| pointer.to_owned()),
        line: offset.map(|offset| 1 + text[..offset].matches('\n').count()),
    }
}

/// Adds one step to a JSON pointer.
pub(super) fn push_step(pointer: &mut String, step: &str) {
    pointer.push('/');
    pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
}

fn without_notes(value: Value, pointer: &mut String, notes: &mut Vec<Note>) -> Value {
    let depth = pointer.len();
    match value {
        Value::Object(members) => {
            let mut kept = Map::new();
            for (key, value) in members {
                push_step(pointer, &key);
                if key.starts_with('_') {
                    notes.push(Note {
                        pointer: pointer.clone(),
                        value,
                    });
                } else {
                    kept.insert(key, without_notes(value, pointer, notes));
                }
                pointer.truncate(depth);
            }
            Value::Object(kept)
        }
        Value::Array(items) => Value::Array(
            items
                .into_iter()
                .enumerate()
                .map(|(index, item)| {
                    push_step(pointer, &index.to_string());
                    let item = without_notes(item, pointer, notes);
                    pointer.truncate(depth);
                    item
                })
                .collect(),
        ),
        plain => plain,
    }
}

fn pointer_of(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => push_step(&mut pointer, &index.to_string()),
            Segment::Map { key } => push_step(&mut pointer, key),
            Segment::Enum { variant } => push_step(&mut pointer, variant),
            Segment::Unknown => {}
        }
    }
    pointer
}

/// A value in which an object is an object: types would take a list of their
/// members without names for one as well, and no name would then be checked.
struct Objects(Value);

/// Walks a document that is known to be JSON, to find where a value begins.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

// === impl Objects ===

impl<'de> Deserializer<'de> for Objects {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::Array(items) => {
                visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Objects)))
            }
            Value::Object(members) => {
                let members = members.into_iter().map(|(key, value)| (key, Self(value)));
                visitor.visit_map(MapDeserializer::new(members))
            }
            plain => plain.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        if self.0.is_array() {
            return Err(Self::Error::invalid_type(Unexpected::Seq, &visitor));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.0.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl IntoDeserializer<'_, serde_json::Error> for Objects {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

// === impl Scanner ===

impl Scanner<'_> {
    /// The offset of the value at `steps`; where the last of them does not
    /// exist, of the value that should hold it.
    fn find(mut self, steps: &[String]) -> Option<usize> {
        self.space();
        let mut found = self.at;
        for step in steps {
            let inside = match self.peek()? {
                b'{' => self.enter_member(step),
                b'[' => self.enter_item(step.parse().ok()?),
                _ => None,
            };
            if inside.is_none() {
                return Some(found);
            }
            self.space();
            found = self.at;
        }
        Some(found)
    }

    fn enter_member(&mut self, wanted: &str) -> Option<()> {
        self.at += 1;
        loop {
            self.space();
            if self.peek()? != b'"' {
                return None;
            }
            let start = self.at;
            self.string();
            let key: String = serde_json::from_str(&self.text[start..self.at]).ok()?;
            self.space();
            self.at += 1;
            if key == wanted {
                return Some(());
            }
            self.space();
            self.value();
            self.space();
            self.at += 1;
        }
    }

    fn enter_item(&mut self, wanted: usize) -> Option<()> {
        self.at += 1;
        for _ in 0..wanted {
            self.space();
            if self.peek()? == b']' {
                return None;
            }
            self.value();
            self.space();
            self.at += 1;
        }
        self.space();
        (self.peek()? != b']').then_some(())
    }

    fn value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.string();
                    if depth == 0 {
                        return;
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    if depth == 0 {
                        return;
                    }
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                b',' if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return;
            }
        }
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests;
