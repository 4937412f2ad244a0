//! Every string of a value in one walk: to look at it, or to put another in its place.
//!
//! A filter that went down level by level would read a deep value once per level; here the
//! text is read once, however deep it is, and what nobody changed stays byte for byte.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use super::text::{string_end, unescape, write_string};
use super::{Limits, Raw};

/// Where a string stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It names a member.
    Name,
    /// It is a value.
    Value,
}

/// One step of the way from the whole value to a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The member of this name.
    Member(Box<str>),
    /// The element at this place, from zero.
    Element(usize),
}

/// The way from the whole value to a string.
#[derive(Debug, Clone, Default)]
pub struct Path {
    steps: Vec<Step>,
}

// === impl Path ===

impl Path {
    /// The steps, outermost first.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The path as a JSON pointer (RFC 6901).
    pub fn pointer(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            out.push('/');
            match step {
                Step::Member(name) => out.push_str(&name.replace('~', "~0").replace('/', "~1")),
                Step::Element(index) => out.push_str(&index.to_string()),
            }
        }
        out
    }
}

// === impl Raw ===

impl Raw {
    /// Calls `each` with every string in the value, names of members included, in the order of
    /// the text. A name comes with the path of its member.
    pub fn each_string(&self, mut each: impl FnMut(&Path, Place, &str)) {
        let text = self.as_bytes();
        walk(text, |place, body, path| {
            each(path, place, &decoded(&text[body]));
        });
    }

    /// The value with other strings in the place of those for which `change` gives one; `None`
    /// when it gave none. Everything else stays as it is written.
    ///
    /// A changed name that another member has already gets a suffix, so that the value stays one
    /// that [`Raw`] describes.
    pub fn map_strings(
        &self,
        mut change: impl FnMut(&Path, Place, &str) -> Option<String>,
    ) -> Option<Self> {
        let text = self.as_bytes();
        let mut swaps = Vec::new();
        walk(text, |place, body, path| {
            if let Some(new) = change(path, place, &decoded(&text[body.clone()])) {
                swaps.push((place, body, new));
            }
        });
        if swaps.is_empty() {
            return None;
        }
        let names_changed = swaps.iter().any(|(place, ..)| *place == Place::Name);
        let new = written(text, &swaps, false);
        if !names_changed {
            return Some(Self::from_checked(new));
        }
        let whole = Limits {
            bytes: usize::MAX,
            depth: usize::MAX,
        };
        let suffixed = |_| Self::parse(written(text, &swaps, true), &whole);
        let parsed = Self::parse(new, &whole).or_else(suffixed);
        // Two names that collide even so were chosen to: nothing of such a value is worth keeping.
        Some(parsed.unwrap_or_else(|_| Self::null()))
    }
}

/// The text with the strings replaced; names with a suffix that says where they stood.
fn written(text: &Bytes, swaps: &[(Place, Range<usize>, String)], suffix: bool) -> Bytes {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for (place, body, new) in swaps {
        // The quotes stand just outside the body.
        out.extend_from_slice(&text[from..body.start - 1]);
        if suffix && *place == Place::Name {
            write_string(&mut out, format!("{new}#{}", body.start).as_bytes());
        } else {
            write_string(&mut out, new.as_bytes());
        }
        from = body.end + 1;
    }
    out.extend_from_slice(&text[from..]);
    out.into()
}

fn decoded(body: &[u8]) -> Cow<'_, str> {
    match unescape(body) {
        Cow::Borrowed(body) => Cow::Borrowed(std::str::from_utf8(body).expect("checked UTF-8")),
        Cow::Owned(body) => Cow::Owned(
            String::from_utf8(body).expect("escapes of checked text stand for characters"),
        ),
    }
}

/// Comes by every string of a checked text, once.
fn walk(text: &[u8], mut on: impl FnMut(Place, Range<usize>, &Path)) {
    // Whether each open container is an object; its last step is the path's at that depth.
    let mut open: Vec<bool> = Vec::new();
    let mut path = Path::default();
    let mut name_next = false;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                let end = string_end(text, at + 1);
                let body = at + 1..end - 1;
                if name_next {
                    if let Some(step) = path.steps.last_mut() {
                        *step = Step::Member(decoded(&text[body.clone()]).into());
                    }
                    on(Place::Name, body, &path);
                    name_next = false;
                } else {
                    on(Place::Value, body, &path);
                }
                at = end;
                continue;
            }
            b'{' => {
                open.push(true);
                path.steps.push(Step::Element(0));
                name_next = true;
            }
            b'[' => {
                open.push(false);
                path.steps.push(Step::Element(0));
            }
            b'}' | b']' => {
                open.pop();
                path.steps.pop();
                name_next = false;
            }
            b',' => {
                name_next = open.last() == Some(&true);
                if let Some(Step::Element(index)) = path.steps.last_mut()
                    && !name_next
                {
                    *index += 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
}
