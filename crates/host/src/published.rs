//! A server's definitions as clients see them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use legation_config::{ServerSpec, Source};
use legation_core::ServerName;
use legation_gate::{Entry, ListKind};
use legation_wire::json::{Object, Raw};
use legation_wire::meta;

use crate::definitions::{Definitions, Item};
use crate::names::{Names, Space};
use crate::pins::Pinned;
use crate::server::Server;

/// Definitions together with the entries made of them.
#[derive(Debug)]
pub(crate) struct Published {
    /// The definitions.
    pub(crate) definitions: Definitions,
    /// Which of them nobody has agreed to.
    pub(crate) pinned: Pinned,
    shelves: [Shelf; 5],
}

/// One list, ready to be merged into a catalogue.
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    /// Differs whenever the entries do.
    pub(crate) version: u64,
    /// Under flat names.
    pub(crate) flat: Arc<[Entry]>,
    /// Under the server's own names.
    pub(crate) own: Arc<[Entry]>,
}

/// In a skill's `_meta`, in lists of several servers: whose it is.
const ORIGIN: &str = "io.legation/server";
/// A tool that many models know by this name.
const WEB_SEARCH: &str = "web_search";

/// Versions of lists and listings, unique in one run.
static VERSIONS: AtomicU64 = AtomicU64::new(1);

/// A version nobody had before.
pub(crate) fn next_version() -> u64 {
    VERSIONS.fetch_add(1, Ordering::Relaxed)
}

// === impl Published ===

impl Published {
    /// Makes entries of definitions. Lists that read as in `before` keep its
    /// entries and versions, so that nobody takes them for changed.
    pub(crate) fn new(
        server: &Server,
        definitions: Definitions,
        pinned: Pinned,
        before: Option<&Self>,
        names: &mut Names,
    ) -> Self {
        let changed = before.map_or_else(
            || ListKind::ALL.to_vec(),
            |before| before.definitions.differences(&definitions),
        );
        let shelves = ListKind::ALL.map(|kind| match before {
            Some(before) if !changed.contains(&kind) && before.pinned.same(&pinned, kind) => {
                before.shelf(kind).clone()
            }
            _ => Shelf::fill(server, kind, &definitions, &pinned, names),
        });
        Self {
            definitions,
            pinned,
            shelves,
        }
    }

    /// One list.
    pub(crate) fn shelf(&self, kind: ListKind) -> &Shelf {
        let slot = ListKind::ALL.iter().position(|known| *known == kind);
        &self.shelves[slot.unwrap_or_default()]
    }
}

// === impl Shelf ===

impl Shelf {
    /// What is set aside is not listed: an agent should not plan with it.
    fn fill(
        server: &Server,
        kind: ListKind,
        definitions: &Definitions,
        pinned: &Pinned,
        names: &mut Names,
    ) -> Self {
        let spec = &server.spec;
        let entry = |item: &Item, raw: Raw| {
            let own = server.offer.as_ref();
            if let Some(own) = own.and_then(|offer| offer.entry(kind, &item.name)) {
                return Entry { raw, ..own.clone() };
            }
            Entry {
                server: spec.name.clone(),
                item: item.name.clone(),
                raw,
                trusted: spec.trusted,
                origin: server.origin.clone(),
                read_only_hint: item.read_only_hint,
                entity: spec.entity.clone(),
                native: None,
                fingerprint: Some(server.fingerprint),
            }
        };
        let items: Vec<&Item> = definitions
            .list(kind)
            .items()
            .iter()
            .filter(|item| !pinned.hides(kind, &item.name))
            .collect();
        let own: Arc<[Entry]> = items
            .iter()
            .map(|item| entry(item, item.raw.clone()))
            .collect();
        let flat = match space(kind) {
            None if kind == ListKind::Skills => items
                .iter()
                .map(|item| entry(item, with_origin(&item.raw, &spec.name)))
                .collect(),
            None => Arc::clone(&own),
            Some(space) => {
                let mut flat = Vec::with_capacity(items.len());
                for item in items {
                    let name = names.assign(space, &spec.name, spec.flat_prefix(), &item.name);
                    flat.push(entry(item, renamed(&item.raw, &item.name, &name)));
                    let second = second_name(spec, space, item)
                        .and_then(|second| names.alias(space, second, &spec.name, &item.name));
                    if let Some(second) = second.filter(|second| *second != name) {
                        flat.push(entry(item, renamed(&item.raw, &item.name, &second)));
                    }
                }
                flat.into()
            }
        };
        Self {
            version: next_version(),
            flat,
            own,
        }
    }
}

/// The names of a list that are made flat; URIs are not.
pub(crate) fn space(kind: ListKind) -> Option<Space> {
    match kind {
        ListKind::Tools => Some(Space::Tools),
        ListKind::Prompts => Some(Space::Prompts),
        ListKind::Resources | ListKind::Templates | ListKind::Skills => None,
    }
}

/// The name that models know a tool of GitHub's server by, beside its flat one.
fn second_name(spec: &ServerSpec, space: Space, item: &Item) -> Option<&'static str> {
    let is_github = matches!(spec.source, Source::Builtin);
    (is_github && space == Space::Tools && *item.name == *WEB_SEARCH).then_some(WEB_SEARCH)
}

/// A skill's entry among those of other servers. Its name and address are not changed, for its files
/// are compared with them; so it says beside them whose it is (SEP-2640, security considerations).
fn with_origin(raw: &Raw, server: &ServerName) -> Raw {
    let mut object: Object = raw.to_object().unwrap_or_default();
    meta::set(&mut object, ORIGIN, Raw::str(server.as_str()));
    object.to_raw()
}

fn renamed(raw: &Raw, own: &str, flat: &str) -> Raw {
    if own == flat {
        return raw.clone();
    }
    let mut object: Object = raw.to_object().unwrap_or_default();
    object.set("name", Raw::str(flat));
    object.to_raw()
}
