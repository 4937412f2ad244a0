//! Lists for clients that look for tools instead of reading all of them.
//!
//! What such a client may call is no matter of its list: a tool that is not listed is called like any other, and
//! decided about like any other.

use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};
use legation_core::ClientId;
use legation_gate::policy::Origin;
use legation_gate::{Endpoint, Entry, ListKind, Listing};

/// The server whose tools find and call all others, and those two.
const HUB: &str = "hub";
const NEEDED: [&str; 2] = ["find_tools", "call_tool"];

/// Who looks for tools, and which tools are listed to them nonetheless.
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    clients: GlobSet,
    always: GlobSet,
}

// === impl Discovery ===

impl Discovery {
    /// Clients by their names and tools as `server/tool`, with `*` and `?`.
    ///
    /// # Errors
    /// What is no pattern.
    pub fn new<'a>(
        clients: impl Iterator<Item = &'a str>,
        always: impl Iterator<Item = &'a str>,
    ) -> Result<Self, globset::Error> {
        Ok(Self {
            clients: set(clients)?,
            always: set(always)?,
        })
    }

    /// The list as a client gets it. It stays whole at the endpoint of one server, which was asked for by name, and
    /// where the tools that would find the rest are not in it: nobody may be left with nothing.
    pub(crate) fn shorten(
        &self,
        client: &ClientId,
        endpoint: &Endpoint,
        kind: ListKind,
        listing: Arc<Listing>,
    ) -> Arc<Listing> {
        if kind != ListKind::Tools
            || matches!(endpoint, Endpoint::Server(_))
            || !self.clients.is_match(client.as_str())
        {
            return listing;
        }
        let finds = NEEDED.iter().all(|needed| {
            let mut entries = listing.entries.iter();
            entries.any(|entry| is_hub(entry) && *entry.item == **needed)
        });
        if !finds {
            return listing;
        }
        let stays = |entry: &&Entry| {
            is_hub(entry)
                || self
                    .always
                    .is_match(format!("{}/{}", entry.server, entry.item))
        };
        Arc::new(Listing {
            version: listing.version,
            entries: listing.entries.iter().filter(stays).cloned().collect(),
        })
    }
}

fn is_hub(entry: &Entry) -> bool {
    entry.origin == Origin::Builtin && entry.server.as_str() == HUB
}

fn set<'a>(patterns: impl Iterator<Item = &'a str>) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let plain = |c: char| matches!(c, '*' | '?').then(|| c.to_string());
        let pattern = pattern.chars();
        let pattern: String = pattern
            .map(|c| plain(c).unwrap_or_else(|| globset::escape(&c.to_string())))
            .collect();
        set.add(Glob::new(&pattern)?);
    }
    set.build()
}
