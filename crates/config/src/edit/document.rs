//! `mcp.json` as a list of entries that keep their text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::Serialize as _;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json;
use crate::servers::{Source, entries};

/// The members of one object, in order, each as it was written.
struct Members(Vec<(String, Box<RawValue>)>);

/// The file: its entries, and the members around them.
pub(super) struct Document {
    /// What stands around the entries, `mcpServers` itself excluded.
    root: Members,
    /// Where among the members of the root `mcpServers` stands; `None` for
    /// the bare shape, whose root is the entries.
    wrapped_at: Option<usize>,
    servers: Members,
    indent: String,
}

// === impl Document ===

impl Document {
    /// Reads `text`; an empty one is a file without servers.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = json::without_mark(text);
        if text.trim().is_empty() {
            return Ok(Self {
                root: Members(Vec::new()),
                wrapped_at: Some(0),
                servers: Members(Vec::new()),
                indent: "  ".to_owned(),
            });
        }
        // The same reader as the one that loads the file decides what it is.
        let anywhere = Source::Additional { file: None };
        entries(text, &anywhere).map_err(|problem| problem.message)?;
        let mut root: Members = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let indent = indent_of(text);
        let Some(at) = root.0.iter().position(|(key, _)| key == "mcpServers") else {
            return Ok(if root.0.is_empty() {
                Self {
                    wrapped_at: Some(0),
                    servers: Members(Vec::new()),
                    root,
                    indent,
                }
            } else {
                Self {
                    root: Members(Vec::new()),
                    wrapped_at: None,
                    servers: root,
                    indent,
                }
            });
        };
        let (_, servers) = root.0.remove(at);
        let servers = serde_json::from_str(servers.get()).map_err(|error| error.to_string())?;
        Ok(Self {
            root,
            wrapped_at: Some(at),
            servers,
            indent,
        })
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.servers.0.iter().any(|(key, _)| key == name)
    }

    /// Replaces the entry `name` where it stands, or appends it.
    pub(super) fn set(&mut self, name: &str, entry: &Value) {
        let level = self.entry_level();
        let raw = self.render(entry, level);
        match self.servers.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = raw,
            None => self.servers.0.push((name.to_owned(), raw)),
        }
    }

    /// Whether there was such an entry.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let before = self.servers.0.len();
        self.servers.0.retain(|(key, _)| key != name);
        self.servers.0.len() < before
    }

    /// `None` when there is no such entry, an error when it is not an object.
    pub(super) fn set_disabled(
        &mut self,
        name: &str,
        disabled: bool,
    ) -> Option<Result<(), String>> {
        let level = self.entry_level();
        let indent = self.indent.clone();
        let (_, raw) = self.servers.0.iter_mut().find(|(key, _)| key == name)?;
        let members: Result<Members, _> = serde_json::from_str(raw.get());
        let Ok(mut members) = members else {
            return Some(Err(format!("the entry {name:?} is not an object")));
        };
        let is_disabled = members
            .0
            .iter()
            .any(|(key, value)| key == "disabled" && value.get() == "true");
        if is_disabled == disabled {
            return Some(Ok(()));
        }
        members.0.retain(|(key, _)| key != "disabled");
        if disabled {
            members
                .0
                .push(("disabled".to_owned(), raw_value("true".to_owned())));
        }
        *raw = raw_value(members.to_text(&indent, level));
        Some(Ok(()))
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = match self.wrapped_at {
            None => self.servers.to_text(&self.indent, 0),
            Some(at) => {
                let mut root = Members(self.root.0.clone());
                let servers = self.servers.to_text(&self.indent, 1);
                root.0
                    .insert(at, ("mcpServers".to_owned(), raw_value(servers)));
                root.to_text(&self.indent, 0)
            }
        };
        text.push('\n');
        text
    }

    /// How deep the members of the entries' braces stand.
    fn entry_level(&self) -> usize {
        if self.wrapped_at.is_some() { 2 } else { 1 }
    }

    /// `value` in pretty form, its inner lines indented for `level`.
    fn render(&self, value: &Value, level: usize) -> Box<RawValue> {
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.indent.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        value
            .serialize(&mut serializer)
            .expect("JSON values always serialise into memory");
        let text = String::from_utf8(bytes).expect("serde_json writes UTF-8");
        raw_value(text.replace('\n', &format!("\n{}", self.indent.repeat(level))))
    }
}

fn raw_value(text: String) -> Box<RawValue> {
    RawValue::from_string(text).expect("the text was made from JSON values")
}

/// The white space in front of the first indented line.
fn indent_of(text: &str) -> String {
    text.lines()
        .map(|line| &line[..line.len() - line.trim_start().len()])
        .find(|indent| !indent.is_empty())
        .unwrap_or("  ")
        .to_owned()
}

// === impl Members ===

impl Members {
    /// One member per line, closed at `level`.
    fn to_text(&self, indent: &str, level: usize) -> String {
        if self.0.is_empty() {
            return "{}".to_owned();
        }
        let members: Vec<String> = self
            .0
            .iter()
            .map(|(key, value)| {
                let key = Value::String(key.clone());
                format!("\n{}{key}: {}", indent.repeat(level + 1), value.get())
            })
            .collect();
        format!("{{{}\n{}}}", members.join(","), indent.repeat(level))
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}
