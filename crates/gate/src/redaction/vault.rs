//! Vaults: one for each entity and conversation, in memory while they are used
//! and sealed in the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use legation_core::{EntityId, SharedClock};
use legation_keystore::{Key, Keystore};
use legation_redact::{MemoryVault, Restorer, VaultRow, restore_json};
use legation_store::{Store, VaultPurge};

use super::RedactionError;

/// How long a token can be restored.
const TTL_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// How many vaults are kept open; the store keeps them all.
const OPEN_MAX: usize = 1_024;

/// The vaults of a store.
#[derive(Debug)]
pub(super) struct Vaults {
    store: Arc<Store>,
    keys: Arc<Keystore>,
    clock: SharedClock,
    open: Mutex<HashMap<VaultName, Arc<Held>>>,
}

/// An entity and a conversation.
type VaultName = (EntityId, Box<str>);

/// One vault in memory.
#[derive(Debug)]
pub(crate) struct Held {
    store: Arc<Store>,
    clock: SharedClock,
    entity: EntityId,
    conversation: Box<str>,
    key: Key,
    /// From when on a row in it counts no more, in milliseconds since 1970.
    good_until_ms: i64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    vault: MemoryVault,
    /// Tokens that are in the vault and not in the store yet.
    unkept: Vec<VaultRow>,
}

// === impl Vaults ===

impl Vaults {
    pub(super) fn new(store: Arc<Store>, keys: Arc<Keystore>, clock: SharedClock) -> Self {
        Self {
            store,
            keys,
            clock,
            open: Mutex::default(),
        }
    }

    /// The vault of an entity and a conversation, if the entity's key still is.
    pub(super) fn existing(
        &self,
        entity: &EntityId,
        conversation: &str,
    ) -> Result<Option<Arc<Held>>, RedactionError> {
        match self.keys.existing(&key_name(entity)) {
            Ok(Some(key)) => self.with_key(entity, conversation, key).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    /// The vault of an entity and a conversation.
    pub(super) fn open(
        &self,
        entity: &EntityId,
        conversation: &str,
    ) -> Result<Arc<Held>, RedactionError> {
        let key = self.keys.key(&key_name(entity));
        self.with_key(entity, conversation, key.map_err(|error| failed(&error))?)
    }

    /// A vault in memory counts only under the key it was opened with, so that
    /// destroying the key counts for it too.
    fn with_key(
        &self,
        entity: &EntityId,
        conversation: &str,
        key: Key,
    ) -> Result<Arc<Held>, RedactionError> {
        let now_ms = self.clock.wall().0;
        let name = (entity.clone(), Box::from(conversation));
        // Held over the reading: two calls must not open one vault twice, or
        // one value would get two tokens.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = open.get(&name)
            && held.key.reveal() == key.reveal()
            && now_ms < held.good_until_ms
        {
            return Ok(Arc::clone(held));
        }
        let read = self.read(entity, conversation, key, now_ms)?;
        if open.len() >= OPEN_MAX {
            open.retain(|_, held| Arc::strong_count(held) > 1);
        }
        let held = Arc::new(read);
        open.insert(name, Arc::clone(&held));
        Ok(held)
    }

    fn read(
        &self,
        entity: &EntityId,
        conversation: &str,
        key: Key,
        now_ms: i64,
    ) -> Result<Held, RedactionError> {
        let rows = self.store.vault_list(entity.as_str(), conversation);
        let rows = rows.map_err(|error| failed(&error))?;
        let mut good_until_ms = now_ms.saturating_add(TTL_MS);
        let mut opened = Vec::with_capacity(rows.len());
        let mut expired = false;
        for row in rows {
            if row.expires_ms <= now_ms {
                expired = true;
                continue;
            }
            // Two conversations may draw the same token; their rows differ.
            let token = row.token.split(' ').next().unwrap_or_default().to_owned();
            let beside = beside(entity, conversation, &token);
            // What another key sealed, or somebody moved here, stands for nothing.
            let Ok(value) = key.open(&beside, &row.sealed) else {
                continue;
            };
            let Ok(value) = std::str::from_utf8(&value) else {
                continue;
            };
            good_until_ms = good_until_ms.min(row.expires_ms);
            opened.push(VaultRow {
                token,
                value: value.to_owned(),
            });
        }
        if expired && let Err(error) = self.store.vault_purge(VaultPurge::Before(now_ms)) {
            tracing::warn!(error = %error, "expired redaction tokens could not be removed");
        }
        Ok(Held {
            store: Arc::clone(&self.store),
            clock: Arc::clone(&self.clock),
            entity: entity.clone(),
            conversation: conversation.into(),
            key,
            good_until_ms,
            inner: Mutex::new(Inner {
                vault: MemoryVault::from_rows(opened),
                unkept: Vec::new(),
            }),
        })
    }
}

// === impl Held ===

impl Held {
    /// A document with the values of this vault's tokens in their places.
    pub(crate) fn restore(&self, document: &str) -> String {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        restore_json(document, &inner.vault)
    }

    /// The next piece of a text, restored as far as it is certain.
    pub(crate) fn restore_piece(&self, restorer: &mut Restorer, piece: &str) -> String {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        restorer.push(piece, &inner.vault)
    }

    /// Redacts something, and keeps what its tokens stand for before anybody
    /// sees them.
    pub(super) fn redact<T>(
        &self,
        redact: impl FnOnce(&mut MemoryVault) -> T,
    ) -> Result<T, RedactionError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let redacted = redact(&mut inner.vault);
        let fresh = inner.vault.take_fresh();
        inner.unkept.extend(fresh);
        if !inner.unkept.is_empty() {
            let rows = self.sealed(&inner.unkept)?;
            self.store
                .vault_put(&rows)
                .map_err(|error| failed(&error))?;
            inner.unkept.clear();
        }
        Ok(redacted)
    }

    fn sealed(&self, rows: &[VaultRow]) -> Result<Vec<legation_store::VaultRow>, RedactionError> {
        let now_ms = self.clock.wall().0;
        let seal = |row: &VaultRow| {
            let beside = beside(&self.entity, &self.conversation, &row.token);
            let sealed = self.key.seal(&beside, row.value.as_bytes());
            Ok(legation_store::VaultRow {
                entity: self.entity.as_str().to_owned(),
                conversation: self.conversation.to_string(),
                token: format!("{} {}", row.token, self.conversation),
                sealed: sealed.map_err(|error| failed(&error))?,
                created_ms: now_ms,
                expires_ms: now_ms.saturating_add(TTL_MS),
            })
        };
        rows.iter().map(seal).collect()
    }
}

fn key_name(entity: &EntityId) -> String {
    format!("vault.{entity}")
}

/// What a sealed value is bound to; a row that was moved does not open.
fn beside(entity: &EntityId, conversation: &str, token: &str) -> Vec<u8> {
    let mut beside = Vec::new();
    for part in [entity.as_str(), conversation, token] {
        beside.extend((part.len() as u64).to_be_bytes());
        beside.extend(part.as_bytes());
    }
    beside
}

fn failed(error: &dyn std::error::Error) -> RedactionError {
    tracing::error!(error = %legation_core::error::chain(error), "a vault of redaction tokens cannot be used");
    RedactionError::Vault
}
