//! What the hub has ever seen, so that a name nobody offers is told apart from
//! one whose server is merely away.

use std::collections::{HashMap, HashSet};

use legation_core::ServerName;

use crate::target::{NativeTool, Verb};

/// A pinned definition, or a server that is configured and was never seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTool {
    /// Its server.
    pub server: ServerName,
    /// Its own name; `None` says only that the server is configured.
    pub item: Option<Box<str>>,
    /// What can be done with it.
    pub verb: Verb,
    /// The JSON text of a tool's `inputSchema`.
    pub schema: Option<Box<str>>,
    /// Whether the owner reviewed the server.
    pub trusted: bool,
    /// What the program knows of a tool of its own.
    pub native: Option<NativeTool>,
}

/// The names of all of them.
#[derive(Debug, Default)]
pub(crate) struct KnownNames<'k> {
    tools: HashMap<&'k str, HashSet<&'k str>>,
    /// Servers none of whose lists was ever seen: any name may be theirs.
    unseen: HashSet<&'k str>,
}

// === impl KnownTool ===

impl KnownTool {
    /// A server that is configured, whatever it will offer.
    pub fn server_only(server: ServerName, trusted: bool) -> Self {
        Self {
            server,
            item: None,
            verb: Verb::CallTool,
            schema: None,
            trusted,
            native: None,
        }
    }
}

// === impl KnownNames ===

impl<'k> KnownNames<'k> {
    pub(crate) fn of(known: &'k [KnownTool]) -> Self {
        let mut names = Self::default();
        for one in known {
            let tools = names.tools.entry(one.server.as_str()).or_default();
            tools.extend(one.item.as_deref());
        }
        let unseen = names.tools.iter().filter(|(_, tools)| tools.is_empty());
        names.unseen = unseen.map(|(server, _)| *server).collect();
        names
    }

    /// Adds a tool that is part of the hub.
    pub(crate) fn add(&mut self, server: &'k str, tool: &'k str) {
        self.tools.entry(server).or_default().insert(tool);
        self.unseen.remove(server);
    }

    pub(crate) fn has_server(&self, server: &str) -> bool {
        self.tools.contains_key(server)
    }

    /// Whether the tool was seen, or may yet be.
    pub(crate) fn has_tool(&self, server: &str, tool: &str) -> bool {
        self.unseen.contains(server)
            || self
                .tools
                .get(server)
                .is_some_and(|tools| tools.contains(tool))
    }

    /// The name that is nearest to one that is not there.
    pub(crate) fn nearest_server(&self, wanted: &str) -> Option<&'k str> {
        nearest(self.tools.keys().copied(), wanted)
    }

    /// The tool's name that is nearest to one that is not there.
    pub(crate) fn nearest_tool(&self, server: &str, wanted: &str) -> Option<&'k str> {
        nearest(self.tools.get(server)?.iter().copied(), wanted)
    }
}

/// The name that differs least, if it differs little.
fn nearest<'k>(names: impl Iterator<Item = &'k str>, wanted: &str) -> Option<&'k str> {
    names
        .map(|name| (distance(name, wanted), name))
        .filter(|(distance, _)| *distance <= wanted.len() / 3 + 1)
        .min()
        .map(|(_, name)| name)
}

/// How many letters have to change (Levenshtein), over bytes and at most 64 of
/// them: it only helps to name a likely slip.
fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let (one, other) = (&one[..one.len().min(64)], &other[..other.len().min(64)]);
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}
