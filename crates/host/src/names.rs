//! The names under which clients see tools and prompts.
//!
//! A flat name is computed from the server's prefix and the item's own name,
//! so that it is the same after a restart and in every hub with the same
//! configuration. Only where that is impossible (too long, or another pair has
//! the name) does it carry a hash of the pair. The register remembers which
//! pair has which name, for as long as the store lives: a client that has
//! learnt to allow `files-read` must not find another tool behind it later. A
//! counter as suffix was rejected because it depends on the order in which
//! servers connect.

use std::collections::BTreeMap;
use std::sync::Arc;

use legation_core::id::hex;
use legation_core::{QuickMap, ServerName};
use legation_wire::json::{Object, Raw};
use sha2::{Digest as _, Sha256};

/// Longest flat name: with a client's own `mcp__legation__` it stays within 64.
pub const FLAT_MAX: usize = 49;

/// Hexadecimal digits of a hash suffix.
const SUFFIX: usize = 10;

/// How many names are remembered. A server that invents new names all the time
/// must not fill the store; beyond the bound every new name has a suffix, which
/// needs no memory to stay its own.
const REMEMBERED_MAX: usize = 100_000;

/// Tools and prompts are named apart: a tool and a prompt may share a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Names of tools.
    Tools,
    /// Names of prompts.
    Prompts,
}

/// The pair behind a flat name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Whose item it is.
    pub server: ServerName,
    /// The server's own name for it.
    pub item: Arc<str>,
}

/// Every flat name ever given, and to whom.
#[derive(Debug, Default)]
pub struct Names {
    tools: QuickMap<Arc<str>, Owner>,
    prompts: QuickMap<Arc<str>, Owner>,
    changed: bool,
}

// === impl Space ===

impl Space {
    const ALL: [Self; 2] = [Self::Tools, Self::Prompts];

    fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
        }
    }
}

// === impl Names ===

impl Names {
    /// Reads what [`Names::to_raw`] wrote. Entries that make no sense are left
    /// out: the worst that follows is a suffix.
    #[must_use]
    pub fn from_raw(raw: &Raw) -> Self {
        let mut names = Self::default();
        for space in Space::ALL {
            let Some(members) = raw.get(space.key()).and_then(|raw| raw.to_object()) else {
                continue;
            };
            for (flat, pair) in members.iter() {
                let pair: Option<[Raw; 2]> = pair.to_array().and_then(|pair| pair.try_into().ok());
                let Some([server, item]) = pair else {
                    continue;
                };
                let server = server
                    .to_str()
                    .and_then(|name| ServerName::parse(&name).ok());
                let item = item.to_str().map(|item| Arc::from(item.as_ref()));
                if let (Some(server), Some(item)) = (server, item) {
                    names
                        .space_mut(space)
                        .insert(flat.into(), Owner { server, item });
                }
            }
        }
        names
    }

    /// `{"tools": {flat: [server, item]}, "prompts": {…}}`, sorted by name.
    #[must_use]
    pub fn to_raw(&self) -> Raw {
        let mut spaces = Object::new();
        for space in Space::ALL {
            let given = self.space(space).iter();
            let members: BTreeMap<&str, (&str, &str)> = given
                .map(|(flat, owner)| (&**flat, (owner.server.as_str(), &*owner.item)))
                .collect();
            spaces.set(space.key(), Raw::from_serialize(&members));
        }
        spaces.to_raw()
    }

    /// Whether a name was given since this was last asked.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// The flat name of an item, given now if it has none yet. An empty prefix
    /// stands for the server's own names.
    pub fn assign(
        &mut self,
        space: Space,
        server: &ServerName,
        prefix: &str,
        item: &str,
    ) -> Arc<str> {
        if let Some(plain) = plain(prefix, item)
            && let Some(given) = self.give(space, plain, server, item, false)
        {
            return given;
        }
        let mut round = 0_u32;
        loop {
            let name = suffixed(prefix, server, item, round);
            if let Some(given) = self.give(space, name, server, item, true) {
                return given;
            }
            round += 1;
        }
    }

    /// A second name of an item, unless somebody else has it.
    pub fn alias(
        &mut self,
        space: Space,
        flat: &str,
        server: &ServerName,
        item: &str,
    ) -> Option<Arc<str>> {
        self.give(space, flat.to_owned(), server, item, false)
    }

    /// The pair behind a flat name.
    #[must_use]
    pub fn owner(&self, space: Space, flat: &str) -> Option<&Owner> {
        self.space(space).get(flat)
    }

    fn give(
        &mut self,
        space: Space,
        flat: String,
        server: &ServerName,
        item: &str,
        always: bool,
    ) -> Option<Arc<str>> {
        if let Some((given, owner)) = self.space(space).get_key_value(flat.as_str()) {
            let own = owner.server == *server && *owner.item == *item;
            return own.then(|| Arc::clone(given));
        }
        if !always && self.tools.len() + self.prompts.len() >= REMEMBERED_MAX {
            return None;
        }
        let flat: Arc<str> = flat.into();
        let owner = Owner {
            server: server.clone(),
            item: item.into(),
        };
        self.space_mut(space).insert(Arc::clone(&flat), owner);
        self.changed = true;
        Some(flat)
    }

    fn space(&self, space: Space) -> &QuickMap<Arc<str>, Owner> {
        match space {
            Space::Tools => &self.tools,
            Space::Prompts => &self.prompts,
        }
    }

    fn space_mut(&mut self, space: Space) -> &mut QuickMap<Arc<str>, Owner> {
        match space {
            Space::Tools => &mut self.tools,
            Space::Prompts => &mut self.prompts,
        }
    }
}

/// The name a pair has when nothing stands against it.
fn plain(prefix: &str, item: &str) -> Option<String> {
    if prefix.is_empty() {
        return Some(item.to_owned());
    }
    let name = format!("{}-{}", sanitise(prefix), sanitise(item));
    (name.len() <= FLAT_MAX).then_some(name)
}

/// The name a pair has otherwise. `round` is 0 but for a collision of hashes.
fn suffixed(prefix: &str, server: &ServerName, item: &str, round: u32) -> String {
    let mut hash = Sha256::new();
    hash.update(server.as_str());
    hash.update([0]);
    hash.update(item);
    if round > 0 {
        hash.update([0]);
        hash.update(round.to_be_bytes());
    }
    let digest = hash.finalize();
    let mut name = if prefix.is_empty() {
        sanitise(item)
    } else {
        format!("{}-{}", sanitise(prefix), sanitise(item))
    };
    name.truncate(FLAT_MAX - SUFFIX - 1);
    name.push('-');
    name.push_str(&hex(&digest[..SUFFIX / 2]));
    name
}

/// Only `[A-Za-z0-9_-]`: non-ASCII text as its punycode label, every other
/// character as an underscore.
#[must_use]
pub fn sanitise(text: &str) -> String {
    let ascii = if text.is_ascii() {
        text.to_owned()
    } else {
        // Punycode fails only on texts of more than a thousand characters; those
        // are cut and carry a hash anyway.
        idna::punycode::encode_str(text)
            .map_or_else(|| "xn--".to_owned(), |code| format!("xn--{code}"))
    };
    ascii
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
