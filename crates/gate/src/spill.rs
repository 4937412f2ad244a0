//! Results too large for one message, kept in pages for those who got them.
//!
//! A page is what its reader would have been sent: judged, redacted and cleaned
//! before it is kept. It is sealed under the key of the entity it is of, so that
//! destroying that key forgets it, and bound to one credential, one conversation
//! and one place among the pages, so that a row that was moved does not open.
//! Pages lie in the vault beside redaction tokens, under names no token has; a
//! table of their own would be the same table again.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use legation_core::error::chain;
use legation_core::{Caller, EntityId, EntityLabels, ServerName, SharedClock};
use legation_filter::spill;
use legation_keystore::Keystore;
use legation_policy::{Receipt, Verb};
use legation_store::{Store, VaultPurge, VaultRow};
use legation_wire::json::{Object, Raw};
use serde::{Deserialize, Serialize};

use crate::conversation::holder;

/// How long a result can be paged through.
const TTL_MS: i64 = 24 * 60 * 60 * 1000;
/// Bytes of a page, at most.
const PAGE: usize = 64 * 1024;
/// The column of the vault under which pages lie; no entity is called so,
/// because an id has no slash.
const COLUMN: &str = "spill/";
/// How a page's address begins.
pub(crate) const SCHEME: &str = "legation://spill/";

/// Spilled results in a store.
#[derive(Debug)]
pub struct Spills {
    store: Arc<Store>,
    keys: Arc<Keystore>,
    clock: SharedClock,
    /// From when on something may be removed, in milliseconds since 1970.
    due_ms: AtomicI64,
}

/// What is kept of a result beside its pages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    entity: Box<str>,
    client: Box<str>,
    holder: Box<str>,
    server: Box<str>,
    verb: Box<str>,
    item: Box<str>,
    labels: Vec<Box<str>>,
    /// Whether it was redacted for its reader.
    redacted: bool,
    pages: usize,
    expires_ms: i64,
}

/// Why a page cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotKept {
    /// There is none for this caller, or no more.
    #[error("there is no such part of a result, or not any more")]
    Gone,
    /// It cannot be read.
    #[error("the part of the result cannot be read")]
    Broken,
}

// === impl Spills ===

impl Spills {
    /// Spills in this store, under keys of this keystore.
    #[must_use]
    pub fn new(store: Arc<Store>, keys: Arc<Keystore>, clock: SharedClock) -> Self {
        Self {
            store,
            keys,
            clock,
            due_ms: AtomicI64::new(0),
        }
    }

    /// A result with its text put aside, if it has any that is worth it. One
    /// that cannot be kept goes out whole: it was permitted.
    pub(crate) fn put_aside(
        &self,
        caller: &Caller,
        receipt: &Receipt,
        (redacted, limit): (bool, usize),
        result: &Raw,
    ) -> Option<Raw> {
        let id = legation_core::id::random_hex().ok()?;
        let page = PAGE.min(limit);
        let text = text_of(result, page)?;
        let spilled = spill::spill(&id, &text, page)?;
        let target = receipt.target();
        let kept = Kept {
            entity: receipt.entity().as_str().into(),
            client: caller.principal.client.as_str().into(),
            holder: holder(caller).into(),
            server: target.server.as_str().into(),
            verb: target.verb.as_str().into(),
            item: target.item.clone(),
            labels: receipt
                .labels()
                .iter()
                .map(|one| one.as_str().into())
                .collect(),
            redacted,
            pages: spilled.pages.len(),
            expires_ms: self.clock.wall().0.saturating_add(TTL_MS),
        };
        if let Err(error) = self.keep(&id, &kept, &spilled.pages) {
            tracing::error!(
                error,
                "a large result could not be put aside, and is sent whole"
            );
            return None;
        }
        self.due_ms.fetch_min(kept.expires_ms, Ordering::Relaxed);
        Some(stub(result, &id, &spilled.stub, text.len(), target.verb))
    }

    fn keep(&self, id: &str, kept: &Kept, pages: &[String]) -> Result<(), String> {
        let failed = |error: &dyn std::error::Error| chain(error);
        let hub = self.keys.key("spill").map_err(|error| failed(&error))?;
        let own = self.keys.key(&key_name(&kept.entity));
        let own = own.map_err(|error| failed(&error))?;
        let head = serde_json::to_vec(kept).map_err(|error| failed(&error))?;
        let row = |page: usize, sealed: Vec<u8>| VaultRow {
            entity: COLUMN.to_owned(),
            conversation: format!("{COLUMN}{id}"),
            token: name(id, page),
            sealed,
            created_ms: kept.expires_ms.saturating_sub(TTL_MS),
            expires_ms: kept.expires_ms,
        };
        let sealed = hub.seal(&beside(id, 0, kept), &head);
        let mut rows = vec![row(0, sealed.map_err(|error| failed(&error))?)];
        for (page, text) in (1..).zip(pages) {
            let sealed = own.seal(&beside(id, page, kept), text.as_bytes());
            rows.push(row(page, sealed.map_err(|error| failed(&error))?));
        }
        self.store.vault_put(&rows).map_err(|error| failed(&error))
    }

    /// What is known of the result behind an address, for the caller it was
    /// kept for; and which page the address names.
    pub(crate) fn find(&self, caller: &Caller, uri: &str) -> Result<(Kept, usize), NotKept> {
        let (id, page) = spill::parse_uri(uri).ok_or(NotKept::Gone)?;
        let row = self.row(id, 0)?;
        let hub = self.keys.existing("spill").map_err(|_| NotKept::Broken)?;
        let hub = hub.ok_or(NotKept::Gone)?;
        // The head says whose it is, and opens for nobody else.
        let reader = (caller.principal.client.as_str(), holder(caller));
        let plain = hub
            .open(&bound(id, 0, reader), &row.sealed)
            .map_err(|_| NotKept::Gone)?;
        let kept: Kept = serde_json::from_slice(&plain).map_err(|_| NotKept::Broken)?;
        if kept.expires_ms <= self.clock.wall().0 || page > kept.pages {
            return Err(NotKept::Gone);
        }
        Ok((kept, page))
    }

    /// The text of a page.
    pub(crate) fn page(&self, uri: &str, kept: &Kept, page: usize) -> Result<String, NotKept> {
        let (id, _) = spill::parse_uri(uri).ok_or(NotKept::Gone)?;
        let row = self.row(id, page)?;
        let key = self.keys.existing(&key_name(&kept.entity));
        let key = key.map_err(|_| NotKept::Broken)?.ok_or(NotKept::Gone)?;
        let plain = key
            .open(&beside(id, page, kept), &row.sealed)
            .map_err(|_| NotKept::Gone)?;
        String::from_utf8(plain.to_vec()).map_err(|_| NotKept::Broken)
    }

    fn row(&self, id: &str, page: usize) -> Result<VaultRow, NotKept> {
        let found = self.store.vault_get(COLUMN, &name(id, page));
        found.map_err(|_| NotKept::Broken)?.ok_or(NotKept::Gone)
    }

    /// Removes what has expired.
    pub(crate) fn sweep(&self) {
        let now_ms = self.clock.wall().0;
        if now_ms < self.due_ms.load(Ordering::Relaxed) {
            return;
        }
        // What is kept from here on expires later than this.
        self.due_ms
            .store(now_ms.saturating_add(TTL_MS), Ordering::Relaxed);
        if let Err(error) = self.store.vault_purge(VaultPurge::Before(now_ms)) {
            tracing::warn!(error = %chain(&error), "expired results could not be removed");
        }
    }
}

// === impl Kept ===

impl Kept {
    pub(crate) fn server(&self) -> Option<ServerName> {
        ServerName::parse(&self.server).ok()
    }

    pub(crate) fn verb(&self) -> Option<Verb> {
        Verb::parse(&self.verb)
    }

    pub(crate) fn item(&self) -> &str {
        &self.item
    }

    pub(crate) fn entity(&self) -> EntityId {
        EntityId::new(&*self.entity)
    }

    pub(crate) fn labels(&self) -> EntityLabels {
        self.labels
            .iter()
            .map(|label| EntityId::new(&**label))
            .collect()
    }

    pub(crate) fn redacted(&self) -> bool {
        self.redacted
    }
}

/// The result of reading a page.
pub(crate) fn contents(uri: &str, text: &str) -> Raw {
    let contents = Object::new()
        .with("uri", Raw::str(uri))
        .with("mimeType", Raw::from_static(r#""text/plain""#))
        .with("text", Raw::str(text));
    Object::new()
        .with("contents", Raw::array(&[contents.to_raw()]))
        .to_raw()
}

/// All text of a result: of its blocks, or where they say less than its
/// structure does, of that.
fn text_of(result: &Raw, page: usize) -> Option<String> {
    let blocks = ["content", "contents"]
        .iter()
        .find_map(|member| result.get(member));
    let mut text = String::new();
    for block in blocks
        .and_then(|blocks| blocks.to_array())
        .unwrap_or_default()
    {
        if let Some(more) = block.get("text").as_ref().and_then(Raw::to_str) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&more);
        }
    }
    let structure = result.get("structuredContent");
    match structure {
        Some(structure) if structure.as_text().len() > text.len() + page => {
            Some(structure.as_text().to_owned())
        }
        _ => (!text.is_empty()).then_some(text),
    }
}

/// The result without what was put aside: its head, where the rest is, and every
/// block that is no text.
fn stub(result: &Raw, id: &str, text: &str, bytes: usize, verb: Verb) -> Raw {
    let Some(mut object) = result.to_object() else {
        return result.clone();
    };
    let member = if object.contains("contents") {
        "contents"
    } else {
        "content"
    };
    let blocks = object
        .get(member)
        .and_then(Raw::to_array)
        .unwrap_or_default();
    let mut kept = Vec::new();
    if verb == Verb::ReadResource {
        let uri = blocks.iter().find_map(|block| block.get("uri"));
        let head = Object::new()
            .with("uri", uri.unwrap_or_else(|| Raw::str(&spill::uri(id, 1))))
            .with("mimeType", Raw::from_static(r#""text/plain""#))
            .with("text", Raw::str(text));
        kept.push(head.to_raw());
    } else {
        let head = Object::new()
            .with("type", Raw::from_static(r#""text""#))
            .with("text", Raw::str(text));
        let link = Object::new()
            .with("type", Raw::from_static(r#""resource_link""#))
            .with("uri", Raw::str(&spill::uri(id, 1)))
            .with("name", Raw::from_static(r#""The whole result, in pages""#))
            .with("mimeType", Raw::from_static(r#""text/plain""#))
            .with("size", Raw::int(i64::try_from(bytes).unwrap_or(i64::MAX)));
        kept.extend([head.to_raw(), link.to_raw()]);
    }
    kept.extend(
        blocks
            .into_iter()
            .filter(|block| block.get("text").is_none()),
    );
    object.set(member, Raw::array(&kept));
    // What it says is among the pages; a client that checks it against a schema
    // could make nothing of a part.
    drop(object.remove("structuredContent"));
    object.to_raw()
}

fn name(id: &str, page: usize) -> String {
    format!("{COLUMN}{id}/{page}")
}

/// The key of an entity's vault: one shredding forgets tokens and pages.
fn key_name(entity: &str) -> String {
    format!("vault.{entity}")
}

fn beside(id: &str, page: usize, kept: &Kept) -> Vec<u8> {
    bound(id, page, (&kept.client, &kept.holder))
}

/// What a sealed page is bound to.
fn bound(id: &str, page: usize, (client, holder): (&str, &str)) -> Vec<u8> {
    let mut beside = b"spill".to_vec();
    for part in [id, client, holder] {
        beside.extend((part.len() as u64).to_be_bytes());
        beside.extend(part.as_bytes());
    }
    beside.extend((page as u64).to_be_bytes());
    beside
}
