//! JSON with comments, as editors and agents keep it: reading it, and changing
//! one entry while every other byte stays as it is.
//!
//! The files are the users' own, often with comments, trailing commas and an
//! order that means something to them. Reading into values and writing the
//! whole file again was rejected: it loses all of that. So an entry is found
//! by its place in the text, and only that place is rewritten.

mod scan;

use std::ops::Range;

use serde_json::{Map, Value};

pub(crate) use scan::SyntaxError;
use scan::{Object, Scanner};

/// Why one entry could not be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    #[error("it is not JSON, not even with comments")]
    Syntax(#[source] SyntaxError),
    #[error("it does not hold an object")]
    NoObject,
    #[error("its member `{0}` is not an object")]
    Shape(&'static str),
    #[error("it cannot be changed without touching something else")]
    Unsafe,
}

/// A text, its value, and where things stand.
struct Document<'t> {
    text: &'t str,
    root: Object,
    value: Map<String, Value>,
}

/// The entry `member.key` of `text`, if there is one.
pub(crate) fn entry(
    text: &str,
    member: &'static str,
    key: &str,
) -> Result<Option<Value>, EditError> {
    if is_blank(text) {
        return Ok(None);
    }
    let document = Document::read(text)?;
    match document.value.get(member) {
        None => Ok(None),
        Some(Value::Object(servers)) => Ok(servers.get(key).cloned()),
        Some(_) => Err(EditError::Shape(member)),
    }
}

/// The text with the entry `member.key` set, or taken out where `entry` is `None`.
pub(crate) fn with_entry(
    text: &str,
    member: &'static str,
    key: &str,
    entry: Option<&Value>,
) -> Result<String, EditError> {
    if is_blank(text) {
        let Some(entry) = entry else {
            return Ok(text.to_owned());
        };
        let mut servers = Map::new();
        servers.insert(key.to_owned(), entry.clone());
        let mut root = Map::new();
        root.insert(member.to_owned(), Value::Object(servers));
        return Ok(render(&Value::Object(root), "  ", 0) + "\n");
    }
    let document = Document::read(text)?;
    let old = document
        .value
        .get(member)
        .and_then(|servers| servers.get(key));
    let changed = match entry {
        Some(entry) if old == Some(entry) => text.to_owned(),
        Some(entry) => document.set(member, key, entry)?,
        None => document.take(member, key)?,
    };
    // The text was edited by position; what came out must be what was meant.
    let mut wanted = document.value;
    change_value(&mut wanted, member, key, entry);
    let found = Document::read(&changed)?.value;
    if found == wanted {
        Ok(changed)
    } else {
        Err(EditError::Unsafe)
    }
}

/// A member of the outermost object, if there is one.
pub(crate) fn member(text: &str, key: &str) -> Result<Option<Value>, EditError> {
    if is_blank(text) {
        return Ok(None);
    }
    Ok(Document::read(text)?.value.get(key).cloned())
}

/// The text with a member of the outermost object set, or taken out where
/// `value` is `None`.
pub(crate) fn with_member(
    text: &str,
    key: &str,
    value: Option<&Value>,
) -> Result<String, EditError> {
    if is_blank(text) {
        return Ok(match value {
            Some(value) => format!("{{\n  {}: {value}\n}}\n", Value::from(key)),
            None => text.to_owned(),
        });
    }
    let document = Document::read(text)?;
    let indent = indentation(text);
    let mut wanted = document.value.clone();
    let changed = match (value, document.root.position(key)) {
        (None, None) => text.to_owned(),
        (None, Some(at)) => document.remove(&document.root, at),
        (Some(value), Some(at)) => {
            let span = document.root.members[at].value.clone();
            document.replace(&span, &render(value, indent, 1))
        }
        (Some(value), None) => {
            let value = render(value, indent, 1);
            document.insert(&document.root, key, &value, indent, 0)
        }
    };
    match value {
        Some(value) => drop(wanted.insert(key.to_owned(), value.clone())),
        None => drop(wanted.shift_remove(key)),
    }
    if Document::read(&changed)?.value == wanted {
        Ok(changed)
    } else {
        Err(EditError::Unsafe)
    }
}

/// The text with every value hidden that is not the entry's own, and those of
/// the entry that may be secrets too: for showing changes. Comments are hidden
/// as well, since people comment out what they may need again.
pub(super) fn masked(text: &str, member: &str, key: &str) -> Result<String, SyntaxError> {
    if is_blank(text) {
        return Ok(text.to_owned());
    }
    let mut scanner = Scanner::new(text);
    scanner.root()?;
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for comment in &scanner.comments {
        scanner.texts.push((Vec::new(), comment.clone()));
    }
    scanner.texts.sort_by_key(|(_, span)| span.start);
    for (path, span) in &scanner.texts {
        let own = matches!(path.as_slice(), [a, b, ..] if a == member && b == key);
        let secret = path
            .iter()
            .any(|name| matches!(name.as_str(), "headers" | "http_headers" | "env"));
        if own && !secret {
            continue;
        }
        masked.push_str(&text[at..span.start]);
        masked.push_str(match text.as_bytes().get(span.start) {
            Some(b'"') => "\"****\"",
            _ if text[span.clone()].starts_with("/*") => "/* **** */",
            _ => "// ****",
        });
        at = span.end;
    }
    masked.push_str(&text[at..]);
    Ok(masked)
}

fn change_value(root: &mut Map<String, Value>, member: &str, key: &str, entry: Option<&Value>) {
    let Some(entry) = entry else {
        let emptied = root
            .get_mut(member)
            .and_then(Value::as_object_mut)
            .is_some_and(|servers| servers.shift_remove(key).is_some() && servers.is_empty());
        if emptied {
            root.shift_remove(member);
        }
        return;
    };
    let servers = root
        .entry(member)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(servers) = servers.as_object_mut() {
        servers.insert(key.to_owned(), entry.clone());
    }
}

fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// `value` in pretty form, its inner lines indented for `level`.
fn render(value: &Value, indent: &str, level: usize) -> String {
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    serde::Serialize::serialize(value, &mut serializer)
        .expect("JSON values always serialise into memory");
    String::from_utf8_lossy(&bytes).replace('\n', &format!("\n{}", indent.repeat(level)))
}

/// The white space that the file's first indented line starts with.
fn indentation(text: &str) -> &str {
    text.lines()
        .skip(1)
        .find_map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            let indent = &line[..line.len() - rest.len()];
            (!indent.is_empty() && rest.starts_with('"')).then_some(indent)
        })
        .unwrap_or("  ")
}

// === impl Document ===

impl<'t> Document<'t> {
    fn read(text: &'t str) -> Result<Self, EditError> {
        let mut scanner = Scanner::new(text);
        match scanner.root().map_err(EditError::Syntax)? {
            (Value::Object(value), Some(root)) => Ok(Self { text, root, value }),
            _ => Err(EditError::NoObject),
        }
    }

    fn set(&self, member: &'static str, key: &str, entry: &Value) -> Result<String, EditError> {
        let indent = indentation(self.text);
        let changed = match self.root.find(member) {
            None => {
                let mut servers = Map::new();
                servers.insert(key.to_owned(), entry.clone());
                let value = render(&Value::Object(servers), indent, 1);
                self.insert(&self.root, member, &value, indent, 0)
            }
            Some(found) => {
                let servers = found.object.as_ref().ok_or(EditError::Shape(member))?;
                let value = render(entry, indent, 2);
                match servers.find(key) {
                    Some(old) => self.replace(&old.value, &value),
                    None => self.insert(servers, key, &value, indent, 1),
                }
            }
        };
        Ok(changed)
    }

    fn take(&self, member: &'static str, key: &str) -> Result<String, EditError> {
        let Some(found) = self.root.find(member) else {
            return Ok(self.text.to_owned());
        };
        let servers = found.object.as_ref().ok_or(EditError::Shape(member))?;
        let Some(index) = servers.position(key) else {
            return Ok(self.text.to_owned());
        };
        if servers.members.len() > 1 {
            return Ok(self.remove(servers, index));
        }
        let outer = self.root.position(member).ok_or(EditError::Unsafe)?;
        Ok(self.remove(&self.root, outer))
    }

    fn replace(&self, span: &Range<usize>, new: &str) -> String {
        let new = self.with_line_ends(new);
        format!(
            "{}{new}{}",
            &self.text[..span.start],
            &self.text[span.end..]
        )
    }

    /// Adds a member behind all others and behind what is said about the last.
    fn insert(
        &self,
        object: &Object,
        key: &str,
        value: &str,
        indent: &str,
        level: usize,
    ) -> String {
        let text = self.text;
        let inner = &text[object.open + 1..object.close];
        let end = object.open + 1 + inner.trim_end().len();
        let last = object.members.last();
        let comma = last.filter(|last| last.comma.is_none());
        let comma = comma.map(|last| last.value.end);
        // Who ends lists with a comma wants it behind the new last one too.
        let end_comma = if last.is_some() && comma.is_none() {
            ","
        } else {
            ""
        };
        let key = Value::from(key);
        let new = format!("\n{}{key}: {value}{end_comma}", indent.repeat(level + 1));
        let tail = if text[end..object.close].contains('\n') {
            text[end..object.close].to_owned()
        } else {
            self.with_line_ends(&format!("\n{}", indent.repeat(level)))
        };
        let (before, after) = match comma {
            Some(at) => (
                format!("{},{}", &text[..at], &text[at..end]),
                &text[object.close..],
            ),
            None => (text[..end].to_owned(), &text[object.close..]),
        };
        format!("{before}{}{tail}{after}", self.with_line_ends(&new))
    }

    /// Takes a member out with the white space before it and its comma, or
    /// the comma before it where it is the last.
    fn remove(&self, object: &Object, index: usize) -> String {
        let text = self.text;
        let member = &object.members[index];
        let start = text[..member.start].trim_end().len();
        let end = member.comma.map_or(member.value.end, |comma| comma + 1);
        let before = &text[..start];
        let orphan = match (index.checked_sub(1), member.comma) {
            (Some(previous), None) => object.members[previous].comma,
            _ => None,
        };
        let before = match orphan {
            Some(comma) => format!("{}{}", &before[..comma], &before[comma + 1..]),
            None => before.to_owned(),
        };
        let rest = &text[end..];
        let bare = object.members.len() == 1
            && text[object.open + 1..member.start].trim().is_empty()
            && text[end..object.close].trim().is_empty();
        let rest = if bare { rest.trim_start() } else { rest };
        format!("{before}{rest}")
    }

    fn with_line_ends(&self, new: &str) -> String {
        if self.text.contains("\r\n") {
            new.replace('\n', "\r\n")
        } else {
            new.to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
