//! Pinned definitions: what a server offered when its owner last agreed.
//!
//! A tool that was looked at once and later says something else is how a server
//! that was harmless takes over an agent ("rug pull"). So every definition, and
//! the instructions, are pinned by their hash on first sight. What has changed
//! since is set aside: it is neither listed nor called until somebody has seen
//! the difference. What returns to what it was is as good as before.
//!
//! Resources are not pinned: their list is data. Names of servers are not
//! enough to pin under, because two folders may each have a server of one name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legation_config::Instance as Mode;
use legation_core::error::chain;
use legation_core::{EntityId, ServerName, SharedClock};
use legation_filter::inspect::{self, Finding};
use legation_gate::ListKind;
use legation_gate::policy::PinState;
use legation_store::{PinRow, Store};
use legation_wire::json::{Limits, Raw};
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use crate::definitions::Definitions;
use crate::server::Server;

mod known;
mod pinned;
mod review;
mod row;

pub(crate) use pinned::Pinned;
pub use review::{PinError, PinReview};

/// The kind under which a server's instructions are pinned; they have no name.
pub(crate) const INSTRUCTIONS: &str = "instructions";
/// The kind of tools.
const TOOL: &str = "tool";
/// The kind of skills: what models are told of them, and the digests of their files.
const SKILL: &str = "skill";
/// Kinds of lists that are pinned, by the names that stand in the store.
const PINNED: [(ListKind, &str); 4] = [
    (ListKind::Tools, TOOL),
    (ListKind::Prompts, "prompt"),
    (ListKind::Templates, "template"),
    (ListKind::Skills, SKILL),
];
/// What a stored definition may be: it was written by the hub itself.
const STORED: Limits = Limits {
    bytes: 64 << 20,
    depth: 1_024,
};

/// Every pin of every server.
#[derive(Debug)]
pub(crate) struct Pins {
    store: Arc<Store>,
    clock: SharedClock,
    known: Mutex<Known>,
    /// What was noticed and not told yet: at most one entry a server and look,
    /// of which whoever records them takes all at once.
    news: Mutex<Vec<PinNews>>,
    noticed: Notify,
}

/// What one look at a server's definitions brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinNews {
    /// Whose definitions.
    pub server: ServerName,
    /// Whose data the server holds, where its configuration says so.
    pub entity: Option<EntityId>,
    /// How many were never seen before.
    pub seen: usize,
    /// Those that are no longer what was agreed to, by name.
    pub changed: Vec<Box<str>>,
}

#[derive(Debug, Default)]
struct Known {
    pins: HashMap<Box<str>, HashMap<Thing, Pin>>,
    /// Tools by the shape of their names, and whose they are.
    looks: HashMap<String, Vec<Named>>,
    /// The store's pins could not be read: nothing passes for seen.
    unreadable: bool,
}

type Thing = (&'static str, Box<str>);
/// Whose tool it is, and its name.
type Named = (Box<str>, Box<str>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pin {
    /// What was agreed to, or is waiting to be.
    hash: [u8; 32],
    state: PinState,
    /// What came instead.
    other: Option<[u8; 32]>,
}

/// One definition on its way to the register.
struct Seen<'a> {
    thing: Thing,
    hash: [u8; 32],
    text: &'a str,
}

// === impl Pins ===

impl Pins {
    /// Reads what the store remembers.
    pub(crate) fn recall(store: Arc<Store>, clock: SharedClock) -> Self {
        let mut known = Known::default();
        match store.pin_list(None) {
            Ok(rows) => {
                for row in rows {
                    known.put(&row);
                }
            }
            Err(error) => {
                tracing::error!(error = %chain(&error), "the pinned definitions cannot be read; every definition is set aside until the hub starts with them");
                known.unreadable = true;
            }
        }
        Self {
            store,
            clock,
            known: Mutex::new(known),
            news: Mutex::default(),
            noticed: Notify::new(),
        }
    }

    /// Waits for something to be noticed, and takes it.
    pub(crate) async fn noticed(&self) -> Vec<PinNews> {
        loop {
            let news =
                std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner));
            if !news.is_empty() {
                return news;
            }
            self.noticed.notified().await;
        }
    }

    fn tell_of(&self, server: &Server, seen: usize, changed: Vec<Box<str>>) {
        if seen == 0 && changed.is_empty() {
            return;
        }
        let news = PinNews {
            server: server.spec.name.clone(),
            entity: server.spec.entity.clone(),
            seen,
            changed,
        };
        self.news
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(news);
        self.noticed.notify_one();
    }

    /// Compares definitions with what is pinned, and pins what was never seen.
    pub(crate) fn judge(&self, server: &Server, definitions: &Definitions) -> Pinned {
        let owner = server.spec.label();
        let trusted = server.spec.trusted;
        let mut pinned = Pinned::default();
        if server.spec.transport.memory().is_some() {
            // The program that would be asked about is the one that asks.
            return pinned;
        }
        let mut rows = Vec::new();
        let (mut first_seen, mut changed) = (0, Vec::new());
        let mut known = self.known();
        let shared = server.spec.instance == Mode::Shared;
        for seen in seen(definitions) {
            if seen.thing.0 == INSTRUCTIONS && !shared {
                // A process of the client's own may well speak to that client alone.
                let state = [PinState::New, PinState::Approved][usize::from(trusted)];
                pinned.put(&seen.thing, state);
                continue;
            }
            let state = if known.unreadable {
                PinState::Quarantined
            } else {
                let before = known.pins.get(&*owner).and_then(|of| of.get(&seen.thing));
                let before = before.copied();
                let mut findings = Vec::new();
                let pin = judge(before, &seen.hash, || {
                    findings = known.findings(&owner, &seen);
                    fresh(&findings, trusted)
                });
                if Some(pin) != before {
                    first_seen += usize::from(before.is_none());
                    if pin.state == PinState::Changed {
                        changed.push(seen.thing.1.clone());
                    }
                    if pin.other.is_some() {
                        findings = known.findings(&owner, &seen);
                    }
                    tell(
                        server,
                        &seen.thing,
                        pin.state,
                        (before.is_none(), &findings),
                    );
                    rows.push(self.row(&owner, &seen, pin, (before.is_some(), &findings)));
                    known.insert(&owner, seen.thing.clone(), pin);
                }
                pin.state
            };
            pinned.put(&seen.thing, state);
        }
        drop(known);
        self.tell_of(server, first_seen, changed);
        if !rows.is_empty()
            && let Err(error) = self.store.pin_put_all(&rows)
        {
            let name = &server.spec.name;
            tracing::error!(server = %name, error = %chain(&error), "what a server offers could not be pinned; after a restart it counts as never seen");
        }
        pinned
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Known ===

impl Known {
    fn put(&mut self, row: &PinRow) {
        let kinds = PINNED.map(|(_, kind)| kind);
        let kind = kinds.into_iter().chain([INSTRUCTIONS]);
        let Some(kind) = kind.into_iter().find(|kind| *kind == row.kind) else {
            return;
        };
        let pin = Pin {
            hash: row.hash,
            state: row::state_of(row.state),
            other: row::other(row).map(|text| Sha256::digest(text.as_bytes()).into()),
        };
        self.insert(&row.server, (kind, row.item.as_str().into()), pin);
    }

    fn insert(&mut self, owner: &str, thing: Thing, pin: Pin) {
        if thing.0 == TOOL {
            let like = self.looks.entry(inspect::shape(&thing.1)).or_default();
            if !like
                .iter()
                .any(|(of, name)| **of == *owner && *name == thing.1)
            {
                like.push((owner.into(), thing.1.clone()));
            }
        }
        let of = self.pins.entry(owner.into()).or_default();
        of.insert(thing, pin);
    }

    /// What speaks against a definition. Servers may well have tools of one
    /// name, which clients see under different ones; a name that is only meant
    /// to be taken for another is something else.
    fn findings(&self, owner: &str, seen: &Seen<'_>) -> Vec<Finding> {
        let mut findings = inspected(seen);
        let (kind, name) = &seen.thing;
        if *kind == TOOL {
            let like = self.looks.get(&inspect::shape(name));
            let others = like.into_iter().flatten();
            let others = others.filter(|(of, theirs)| **of != *owner && theirs != name);
            findings.extend(inspect::shadowed(name, others.map(|(_, theirs)| &**theirs)));
        }
        findings
    }
}

fn inspected(seen: &Seen<'_>) -> Vec<Finding> {
    match Raw::parse(seen.text.to_owned().into(), &STORED) {
        Ok(definition) if seen.thing.0 != INSTRUCTIONS => inspect::inspect(&definition),
        _ => inspect::inspect_text(seen.text),
    }
}

/// What a definition is that nobody has agreed to yet. One that no honest server sends is set
/// aside even where the owner trusts the server: the owner reads neither tag characters nor every
/// description. One that has an honest reading is asked about.
fn fresh(findings: &[Finding], trusted: bool) -> PinState {
    if findings.iter().any(|finding| finding.hard) {
        PinState::Quarantined
    } else if trusted && findings.is_empty() {
        PinState::Approved
    } else {
        PinState::New
    }
}

/// What becomes of a pin when its thing is seen with this hash; `fresh` says what it is
/// where nobody agreed to it before.
fn judge(before: Option<Pin>, hash: &[u8; 32], fresh: impl FnOnce() -> PinState) -> Pin {
    let Some(before) = before else {
        return Pin {
            hash: *hash,
            state: fresh(),
            other: None,
        };
    };
    if before.hash == *hash {
        let state = match before.state {
            // It is again what was agreed to.
            PinState::Changed => PinState::Approved,
            PinState::New => fresh(),
            PinState::Approved | PinState::Quarantined => before.state,
        };
        return Pin {
            state,
            other: None,
            ..before
        };
    }
    match before.state {
        // Nobody had agreed to what it was before, so there is nothing to compare it with.
        PinState::New => Pin {
            hash: *hash,
            state: fresh(),
            other: None,
        },
        PinState::Quarantined => Pin {
            other: Some(*hash),
            ..before
        },
        PinState::Approved | PinState::Changed => Pin {
            state: PinState::Changed,
            other: Some(*hash),
            ..before
        },
    }
}

fn tell(
    server: &Server,
    (kind, item): &Thing,
    state: PinState,
    (first, findings): (bool, &[Finding]),
) {
    let name = &server.spec.name;
    for finding in findings {
        server.log.warn(&format!(
            "the {kind} {} has something that a definition should not have: {finding}",
            inspect::escaped(item)
        ));
    }
    match state {
        PinState::Changed => {
            server.log.warn(&format!(
                "the {kind} {item} changed since it was agreed to and is set aside"
            ));
            tracing::warn!(server = %name, kind, item = %item.escape_debug(), "a definition changed since it was agreed to and is set aside; see `legation mcp review {name}`");
        }
        PinState::Quarantined => {
            tracing::warn!(server = %name, kind, item = %item.escape_debug(), "a definition tries to mislead models or people and is set aside; see `legation mcp logs {name}` and `legation mcp review {name}`");
        }
        PinState::New if first => {
            tracing::info!(server = %name, kind, item = %item.escape_debug(), "a definition was seen for the first time");
        }
        PinState::New | PinState::Approved => {}
    }
}

/// Everything of a server that is pinned.
fn seen(definitions: &Definitions) -> impl Iterator<Item = Seen<'_>> {
    let lists = PINNED.into_iter().flat_map(|(kind, word)| {
        let items = definitions.list(kind).items().iter();
        items.map(move |item| Seen {
            thing: (word, item.name.clone()),
            hash: item.hash.0,
            text: item.raw.as_text(),
        })
    });
    let instructions = definitions.about.instructions.as_deref();
    let instructions = instructions.map(|text| Seen {
        thing: (INSTRUCTIONS, "".into()),
        hash: Sha256::digest(text).into(),
        text,
    });
    lists.chain(instructions)
}

#[cfg(test)]
mod tests;
