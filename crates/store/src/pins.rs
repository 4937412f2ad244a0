//! Pins: the definitions that were seen, and what was decided about them.

use crate::sql::{Row, Session, Value, collect, first};
use crate::state::words;
use crate::{DatabaseError, Reader, Store, StoreError};

words! {
    /// What was decided about a definition.
    pub enum PinState {
        /// Seen, and nobody has decided.
        New = "new",
        /// May be used.
        Approved = "approved",
        /// Differs from what was approved.
        Changed = "changed",
        /// Must not be used.
        Quarantined = "quarantined",
    }
}

/// One pinned definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinRow {
    /// The server it is of.
    pub server: String,
    /// What kind of thing it defines.
    pub kind: String,
    /// The name of that thing.
    pub item: String,
    /// Hash of the definition.
    pub hash: [u8; 32],
    /// The definition.
    pub definition: Vec<u8>,
    /// What was decided.
    pub state: PinState,
    /// What the checks found, opaque here.
    pub findings: Vec<u8>,
    /// When it was first seen, in milliseconds since 1970.
    pub first_seen_ms: i64,
    /// When it last changed, in milliseconds since 1970.
    pub changed_ms: Option<i64>,
    /// When it was last decided, in milliseconds since 1970.
    pub decided_ms: Option<i64>,
    /// Who decided.
    pub decided_by: Option<String>,
}

const PUT: &str = "INSERT INTO pins (server, kind, item, hash, definition, state, findings,
        first_seen_ms, changed_ms, decided_ms, decided_by)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    ON CONFLICT (server, kind, item) DO UPDATE SET hash = excluded.hash,
        definition = excluded.definition, state = excluded.state, findings = excluded.findings,
        first_seen_ms = excluded.first_seen_ms, changed_ms = excluded.changed_ms,
        decided_ms = excluded.decided_ms, decided_by = excluded.decided_by";
const GET: &str = "SELECT server, kind, item, hash, definition, state, findings, first_seen_ms,
        changed_ms, decided_ms, decided_by
    FROM pins WHERE server = ?1 AND kind = ?2 AND item = ?3";
const LIST: &str = "SELECT server, kind, item, hash, definition, state, findings, first_seen_ms,
        changed_ms, decided_ms, decided_by
    FROM pins ORDER BY server, kind, item";
const LIST_SERVER: &str = "SELECT server, kind, item, hash, definition, state, findings,
        first_seen_ms, changed_ms, decided_ms, decided_by
    FROM pins WHERE server = ?1 ORDER BY server, kind, item";
const DECIDE: &str = "UPDATE pins SET state = ?5, decided_by = ?6, decided_ms = ?7
    WHERE server = ?1 AND kind = ?2 AND item = ?3 AND hash = ?4";
const REMOVE: &str = "DELETE FROM pins WHERE server = ?1 AND kind = ?2 AND item = ?3";

impl Store {
    /// Adds a pin or replaces the one of the same thing. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn pin_put(&self, pin: &PinRow) -> Result<(), StoreError> {
        self.write_durable("storing a pinned definition", |session| put(session, pin))
    }

    /// Like [`Store::pin_put`] for many, in one transaction. In a file it survives this process,
    /// and a power failure with the next commit that does: a definition that nobody has decided
    /// about and no recorded call has used can be pinned again.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn pin_put_all(&self, pins: &[PinRow]) -> Result<(), StoreError> {
        self.write_soon("storing pinned definitions", pins.len(), |session| {
            pins.iter().try_for_each(|pin| put(session, pin))
        })
    }

    /// The pin of one thing.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn pin_get(
        &self,
        server: &str,
        kind: &str,
        item: &str,
    ) -> Result<Option<PinRow>, StoreError> {
        self.read("reading a pinned definition", |session| {
            first(
                session,
                GET,
                &[server.into(), kind.into(), item.into()],
                from_row,
            )
        })
    }

    /// The pins of one server, or all, by server, kind and item.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn pin_list(&self, server: Option<&str>) -> Result<Vec<PinRow>, StoreError> {
        self.read("listing pinned definitions", |session| match server {
            None => collect(session, LIST, &[], from_row),
            Some(server) => collect(session, LIST_SERVER, &[server.into()], from_row),
        })
    }

    /// Decides about the definition with this hash; `false`, and nothing done,
    /// when another has taken its place. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn pin_decide(
        &self,
        (server, kind, item): (&str, &str, &str),
        hash: &[u8; 32],
        state: PinState,
        by: &str,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        self.write_durable("deciding about a pinned definition", |session| {
            session.execute(
                DECIDE,
                &[
                    server.into(),
                    kind.into(),
                    item.into(),
                    hash.into(),
                    state.as_str().into(),
                    by.into(),
                    now_ms.into(),
                ],
            )
        })
        .map(|changed| changed == 1)
    }

    /// Forgets a pin; `false` when there was none. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn pin_remove(&self, server: &str, kind: &str, item: &str) -> Result<bool, StoreError> {
        self.write_durable("forgetting a pinned definition", |session| {
            session.execute(REMOVE, &[server.into(), kind.into(), item.into()])
        })
        .map(|removed| removed == 1)
    }
}

impl Reader {
    /// See [`Store::pin_list`].
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn pin_list(&self) -> Result<Vec<PinRow>, StoreError> {
        self.read("listing pinned definitions", |session| {
            collect(session, LIST, &[], from_row)
        })
    }
}

fn put(session: &mut dyn Session, pin: &PinRow) -> Result<(), DatabaseError> {
    session
        .execute(
            PUT,
            &[
                Value::from(&pin.server),
                Value::from(&pin.kind),
                Value::from(&pin.item),
                Value::from(&pin.hash),
                Value::from(&pin.definition),
                Value::from(pin.state.as_str()),
                Value::from(&pin.findings),
                Value::from(pin.first_seen_ms),
                Value::from(pin.changed_ms),
                Value::from(pin.decided_ms),
                Value::from(pin.decided_by.as_ref()),
            ],
        )
        .map(drop)
}

fn from_row(mut row: Row) -> Result<PinRow, DatabaseError> {
    Ok(PinRow {
        server: row.text()?,
        kind: row.text()?,
        item: row.text()?,
        hash: row.hash()?,
        definition: row.blob()?,
        state: row.parsed(PinState::parse)?,
        findings: row.blob()?,
        first_seen_ms: row.int()?,
        changed_ms: row.int_or_null()?,
        decided_ms: row.int_or_null()?,
        decided_by: row.text_or_null()?,
    })
}
