//! The merged lists, remembered for as long as they read the same.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use legation_config::View;
use legation_gate::{Endpoint, Entry, ListKind, Listing};

use crate::glob;
use crate::published::{Published, next_version};

/// How many different forms of one list are kept, the least recently used being
/// forgotten first. Lists differ by folder, by seat where a server shows clients
/// different things, and over time; a form can be as large as the catalogue.
const FORMS_MAX: usize = 16;
/// How many lists of endpoints are kept; more are asked for only by someone
/// who names endpoints that do not exist, and those are refused before.
const LISTS_MAX: usize = 4_096;

/// The lists made so far.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    made: Mutex<HashMap<(Endpoint, ListKind), VecDeque<Form>>>,
}

/// A server's part in a list.
pub(crate) struct Part {
    /// What it shows.
    pub(crate) published: Arc<Published>,
}

#[derive(Debug)]
struct Form {
    /// The versions of the parts, in order.
    of: Vec<u64>,
    listing: Arc<Listing>,
}

// === impl Catalogue ===

impl Catalogue {
    /// The list made of these parts: the same `Arc` as long as they are the
    /// same.
    pub(crate) fn listing(
        &self,
        endpoint: &Endpoint,
        kind: ListKind,
        parts: &[Part],
        view: Option<&View>,
    ) -> Arc<Listing> {
        let of: Vec<u64> = parts
            .iter()
            .map(|part| part.published.shelf(kind).version)
            .collect();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= LISTS_MAX {
            made.clear();
        }
        let forms = made.entry((endpoint.clone(), kind)).or_default();
        if let Some(at) = forms.iter().position(|form| form.of == of) {
            let listing = Arc::clone(&forms[at].listing);
            let last = forms.len() - 1;
            forms.swap(at, last);
            return listing;
        }
        let listing = Arc::new(Listing {
            version: next_version(),
            entries: merge(endpoint, kind, parts, view),
        });
        if forms.len() == FORMS_MAX {
            forms.pop_front();
        }
        forms.push_back(Form {
            of,
            listing: Arc::clone(&listing),
        });
        listing
    }

    /// Forgets every list; for when the configuration, and with it the meaning
    /// of endpoints, changed.
    pub(crate) fn clear(&self) {
        self.made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

fn merge(endpoint: &Endpoint, kind: ListKind, parts: &[Part], view: Option<&View>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for part in parts {
        let shelf = part.published.shelf(kind);
        let source = match endpoint {
            Endpoint::Server(_) => &shelf.own,
            Endpoint::All | Endpoint::View(_) => &shelf.flat,
        };
        match view {
            Some(view) if kind == ListKind::Tools => {
                let shown = |entry: &&Entry| glob::any(&view.tools, &entry.item);
                entries.extend(source.iter().filter(shown).cloned());
            }
            _ => entries.extend_from_slice(source),
        }
    }
    if kind == ListKind::Skills {
        leave_out_doubled(&mut entries);
    }
    entries
}

/// Two servers may have a skill at one address, which is all that a client knows one by: neither must
/// pass for the other, so neither is listed. Who asks for it is told who has it.
fn leave_out_doubled(entries: &mut Vec<Entry>) {
    let mut owners: HashMap<Box<str>, usize> = HashMap::new();
    for entry in &*entries {
        *owners.entry(entry.item.clone()).or_default() += 1;
    }
    entries.retain(|entry| {
        let only = owners.get(&entry.item) == Some(&1);
        if !only {
            let (server, skill) = (&entry.server, &entry.item);
            tracing::warn!(%server, skill = %skill.escape_debug(), "another server has a skill at the same address, so it is only listed at /mcp/s/{server}");
        }
        only
    });
}
