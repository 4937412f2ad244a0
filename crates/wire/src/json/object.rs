//! Members of one object, in order, their values still raw.

use std::fmt;

use bytes::Bytes;

use super::scan::Member;
use super::text::write_string;
use super::{Raw, walk};
use crate::meta;

/// Members of one JSON object in the order they were written; values stay raw text.
///
/// Lookups compare one by one: the objects of a protocol message have a handful of members,
/// and arguments are not looked into here.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Object {
    /// Names are unescaped UTF-8.
    members: Vec<(Bytes, Raw)>,
}

// === impl Object ===

impl Object {
    /// An object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one level of a checked object text.
    pub(super) fn read(raw: &Raw) -> Self {
        let text = raw.as_bytes();
        let mut members = Vec::with_capacity(8);
        walk::members(text, |member| {
            members.push((key_bytes(text, &member), raw.slice(member.value)));
            true
        });
        Self { members }
    }

    /// Value of a member.
    pub fn get(&self, key: &str) -> Option<&Raw> {
        self.members
            .iter()
            .find(|(name, _)| name == key.as_bytes())
            .map(|(_, value)| value)
    }

    /// Whether there is a member of this name.
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Replaces a member where it stands, or appends it.
    pub fn set(&mut self, key: &str, value: Raw) {
        match self
            .members
            .iter_mut()
            .find(|(name, _)| name == key.as_bytes())
        {
            Some((_, old)) => *old = value,
            None => {
                let name =
                    known(key.as_bytes()).unwrap_or_else(|| Bytes::copy_from_slice(key.as_bytes()));
                self.members.push((name, value));
            }
        }
    }

    /// `set` for building in one expression.
    #[must_use]
    pub fn with(mut self, key: &str, value: Raw) -> Self {
        self.set(key, value);
        self
    }

    /// Takes a member out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Raw> {
        let index = self
            .members
            .iter()
            .position(|(name, _)| name == key.as_bytes())?;
        Some(self.members.remove(index).1)
    }

    /// Members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Raw)> {
        self.members
            .iter()
            .map(|(name, value)| (key_str(name), value))
    }

    /// Keeps the members for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Raw) -> bool) {
        self.members
            .retain(|(name, value)| keep(key_str(name), value));
    }

    /// Sets every member of `other`, which wins where both have one.
    pub fn merge(&mut self, other: &Self) {
        for (key, value) in other.iter() {
            self.set(key, value.clone());
        }
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The object as one value.
    pub fn to_raw(&self) -> Raw {
        let size = self
            .members
            .iter()
            .map(|(name, value)| name.len() + value.as_bytes().len() + 4)
            .sum::<usize>();
        // As long as the text becomes unless names have to be escaped: the last member has no
        // comma behind it. Without room to spare it needs no second allocation to be shared.
        let mut out = Vec::with_capacity(size.max(1) + 1);
        self.write_to(&mut out);
        Raw::from_checked(out.into())
    }

    /// Appends the object as text.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (index, (name, value)) in self.members.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_string(out, name);
            out.push(b':');
            out.extend_from_slice(value.as_bytes());
        }
        out.push(b'}');
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: AsRef<str>> FromIterator<(K, Raw)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, Raw)>>(members: I) -> Self {
        let mut object = Self::new();
        for (key, value) in members {
            object.set(key.as_ref(), value);
        }
        object
    }
}

/// The names that every call has. They need neither a copy nor a count of who
/// holds the message they came in, which adds up over the objects of a call.
fn known(name: &[u8]) -> Option<Bytes> {
    const KNOWN: [&str; 11] = [
        meta::META,
        meta::PROTOCOL_VERSION,
        meta::CLIENT_CAPABILITIES,
        meta::CLIENT_INFO,
        meta::LOG_LEVEL,
        meta::PROGRESS_TOKEN,
        "name",
        "version",
        "arguments",
        "content",
        "resultType",
    ];
    let found = KNOWN.iter().find(|known| known.as_bytes() == name)?;
    Some(Bytes::from_static(found.as_bytes()))
}

/// A member name as a slice of the text, or unescaped when it has to be.
fn key_bytes(text: &Bytes, member: &Member) -> Bytes {
    match member.name(text) {
        std::borrow::Cow::Borrowed(body) => {
            known(body).unwrap_or_else(|| text.slice(member.key.clone()))
        }
        std::borrow::Cow::Owned(owned) => owned.into(),
    }
}

fn key_str(name: &Bytes) -> &str {
    std::str::from_utf8(name).expect("member names are slices of checked UTF-8")
}
