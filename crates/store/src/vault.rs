//! The vault: what redaction tokens stand for, sealed by their owner.

use crate::approvals::count;
use crate::sql::{Row, Value, collect, first};
use crate::{DatabaseError, Store, StoreError};

/// What one token stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultRow {
    /// Whose data it is.
    pub entity: String,
    /// The conversation it was made in.
    pub conversation: String,
    /// The token; an entity has it only once.
    pub token: String,
    /// The value, sealed by its owner.
    pub sealed: Vec<u8>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// From when on it may be removed, in milliseconds since 1970.
    pub expires_ms: i64,
}

/// What to remove from the vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VaultPurge<'a> {
    /// Everything of an entity.
    Entity(&'a str),
    /// Everything of a conversation, whatever the entity.
    Conversation(&'a str),
    /// What expires at or before this time, in milliseconds since 1970.
    Before(i64),
}

const PUT: &str = "INSERT INTO vault (entity, conversation, token, sealed, created_ms, expires_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (entity, token) DO UPDATE SET conversation = excluded.conversation,
        sealed = excluded.sealed, created_ms = excluded.created_ms,
        expires_ms = excluded.expires_ms";
const GET: &str = "SELECT entity, conversation, token, sealed, created_ms, expires_ms
    FROM vault WHERE entity = ?1 AND token = ?2";
const LIST: &str = "SELECT entity, conversation, token, sealed, created_ms, expires_ms
    FROM vault WHERE entity = ?1 AND conversation = ?2 ORDER BY created_ms, token";
const PURGE_ENTITY: &str = "DELETE FROM vault WHERE entity = ?1";
const PURGE_CONVERSATION: &str = "DELETE FROM vault WHERE conversation = ?1";
const PURGE_BEFORE: &str = "DELETE FROM vault WHERE expires_ms <= ?1";

impl Store {
    /// Adds what tokens stand for, all or none, in place of what they stood for
    /// before. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn vault_put(&self, rows: &[VaultRow]) -> Result<(), StoreError> {
        self.write_durable("storing redaction tokens", |session| {
            for row in rows {
                session.execute(
                    PUT,
                    &[
                        Value::from(&row.entity),
                        Value::from(&row.conversation),
                        Value::from(&row.token),
                        Value::from(&row.sealed),
                        Value::from(row.created_ms),
                        Value::from(row.expires_ms),
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// What a token of an entity stands for.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn vault_get(&self, entity: &str, token: &str) -> Result<Option<VaultRow>, StoreError> {
        self.read("reading a redaction token", |session| {
            first(session, GET, &[entity.into(), token.into()], from_row)
        })
    }

    /// What an entity's tokens of one conversation stand for, oldest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn vault_list(
        &self,
        entity: &str,
        conversation: &str,
    ) -> Result<Vec<VaultRow>, StoreError> {
        self.read("listing redaction tokens", |session| {
            collect(
                session,
                LIST,
                &[entity.into(), conversation.into()],
                from_row,
            )
        })
    }

    /// Removes tokens and says how many. On disk on return; the sealed bytes
    /// may stay in free pages of the file, which is why they are sealed.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn vault_purge(&self, what: VaultPurge<'_>) -> Result<usize, StoreError> {
        self.write_durable("removing redaction tokens", |session| match what {
            VaultPurge::Entity(entity) => session.execute(PURGE_ENTITY, &[entity.into()]),
            VaultPurge::Conversation(name) => session.execute(PURGE_CONVERSATION, &[name.into()]),
            VaultPurge::Before(ms) => session.execute(PURGE_BEFORE, &[ms.into()]),
        })
        .map(count)
    }
}

fn from_row(mut row: Row) -> Result<VaultRow, DatabaseError> {
    Ok(VaultRow {
        entity: row.text()?,
        conversation: row.text()?,
        token: row.text()?,
        sealed: row.blob()?,
        created_ms: row.int()?,
        expires_ms: row.int()?,
    })
}
