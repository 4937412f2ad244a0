//! Grants: what may run without being asked again.
//!
//! Beside them the store counts their changes: whoever keeps the grants in
//! memory compares [`Store::grant_generation`] with the one it read them at.

use crate::approvals::count;
use crate::counters::advance;
use crate::sql::{Row, Session, Value, collect, first};
use crate::{DatabaseError, Store, StoreError};

/// One grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantRow {
    /// Its name.
    pub id: String,
    /// The client it is for.
    pub client: String,
    /// The client that it acts for; `None` for itself.
    pub on_behalf_of: Option<String>,
    /// The server it is about.
    pub server: String,
    /// The tool, resource or prompt.
    pub item: String,
    /// What may be done with it.
    pub verb: String,
    /// Whose data it is about.
    pub entity: String,
    /// The pinned definition it holds for; `None` for any.
    pub definition: Option<[u8; 32]>,
    /// The arguments it holds for; `None` for any.
    pub args_digest: Option<[u8; 32]>,
    /// How far it reaches.
    pub rung: String,
    /// The policy it holds under; `None` for any.
    pub policy_version: Option<u64>,
    /// Once, session, here, until or always.
    pub scope: String,
    /// The running client it holds for; `None` for any.
    pub seat: Option<String>,
    /// The folder it holds in; `None` for any.
    pub workspace: Option<String>,
    /// When it was given, in milliseconds since 1970.
    pub created_ms: i64,
    /// From when on it holds no more, in milliseconds since 1970; `None` for never.
    pub expires_ms: Option<i64>,
    /// How often it may still be used; `None` for as often as one likes.
    pub uses_left: Option<i64>,
    /// The approval it came of.
    pub approval: Option<String>,
    /// Who gave it.
    pub approver: String,
    /// Its owner's seal over the rest but `uses_left`, which the store counts
    /// down.
    pub mac: [u8; 32],
}

/// The counter that changes with the grants.
pub(crate) const GENERATION: &str = "grants";

const PUT: &str = "INSERT INTO grants (id, client, server, item, verb, entity, definition,
        args_digest, rung, policy_version, scope, seat, workspace, created_ms, expires_ms,
        uses_left, approval, approver, mac, on_behalf_of)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
        ?20)
    ON CONFLICT (id) DO UPDATE SET client = excluded.client, server = excluded.server,
        item = excluded.item, verb = excluded.verb, entity = excluded.entity,
        definition = excluded.definition, args_digest = excluded.args_digest,
        rung = excluded.rung, policy_version = excluded.policy_version, scope = excluded.scope,
        seat = excluded.seat, workspace = excluded.workspace, created_ms = excluded.created_ms,
        expires_ms = excluded.expires_ms, uses_left = excluded.uses_left,
        approval = excluded.approval, approver = excluded.approver, mac = excluded.mac,
        on_behalf_of = excluded.on_behalf_of";
const GET: &str = "SELECT id, client, server, item, verb, entity, definition, args_digest, rung,
        policy_version, scope, seat, workspace, created_ms, expires_ms, uses_left, approval,
        approver, mac, on_behalf_of
    FROM grants WHERE id = ?1";
const LIST: &str = "SELECT id, client, server, item, verb, entity, definition, args_digest, rung,
        policy_version, scope, seat, workspace, created_ms, expires_ms, uses_left, approval,
        approver, mac, on_behalf_of
    FROM grants ORDER BY created_ms, id";
const REMOVE: &str = "DELETE FROM grants WHERE id = ?1";
const EXPIRE: &str = "DELETE FROM grants WHERE expires_ms <= ?1 OR uses_left <= 0";
const READ_GENERATION: &str = "SELECT value FROM counters WHERE name = ?1";

/// Uses a grant once: id, now. Answers with the uses left.
const USE: &str = "UPDATE grants SET uses_left = uses_left - 1
    WHERE id = ?1 AND (uses_left IS NULL OR uses_left > 0)
        AND (expires_ms IS NULL OR expires_ms > ?2)
    RETURNING uses_left";

impl Store {
    /// Adds a grant or replaces the one with its id. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn grant_put(&self, grant: &GrantRow) -> Result<(), StoreError> {
        let generation = self.write_durable("storing a grant", |session| put_in(session, grant))?;
        self.grants_are_at(generation);
        Ok(())
    }

    /// The grant with this id.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn grant_get(&self, id: &str) -> Result<Option<GrantRow>, StoreError> {
        self.read("reading a grant", |session| {
            first(session, GET, &[id.into()], from_row)
        })
    }

    /// All grants, oldest first, used up and expired ones included.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn grant_list(&self) -> Result<Vec<GrantRow>, StoreError> {
        self.read("listing grants", |session| {
            collect(session, LIST, &[], from_row)
        })
    }

    /// Removes a grant; `false` when there was none. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn grant_remove(&self, id: &str) -> Result<bool, StoreError> {
        self.grants_delete("removing a grant", REMOVE, id.into())
            .map(|removed| removed == 1)
    }

    /// Removes the grants that are used up or whose time is over and says how
    /// many that were. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn grant_expire(&self, now_ms: i64) -> Result<usize, StoreError> {
        self.grants_delete("removing expired grants", EXPIRE, now_ms.into())
    }

    /// A number that changes with every change of the grants except a use that
    /// leaves others. From memory: it tells of this process's changes; those of
    /// other hubs are seen after [`Store::grant_generation_read`].
    #[must_use]
    pub fn grant_generation(&self) -> u64 {
        self.known_grants()
    }

    /// Reads the number of [`Store::grant_generation`] from the database.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn grant_generation_read(&self) -> Result<u64, StoreError> {
        let generation = self.read("reading the grants' generation", read_generation)?;
        self.grants_are_at(generation);
        Ok(self.known_grants())
    }

    fn grants_delete(
        &self,
        what: &'static str,
        sql: &'static str,
        value: Value<'_>,
    ) -> Result<usize, StoreError> {
        let (removed, generation) = self.write_durable(what, |session| {
            let removed = session.execute(sql, &[value])?;
            let generation = match removed {
                0 => None,
                _ => Some(advance(session, GENERATION, 1)?),
            };
            Ok((removed, generation))
        })?;
        if let Some(generation) = generation {
            self.grants_are_at(generation);
        }
        Ok(count(removed))
    }
}

/// Stores a grant in a transaction; the generation after it.
pub(crate) fn put_in(session: &mut dyn Session, grant: &GrantRow) -> Result<i64, DatabaseError> {
    let version = grant.policy_version.map(u64::cast_signed);
    session.execute(
        PUT,
        &[
            Value::from(&grant.id),
            Value::from(&grant.client),
            Value::from(&grant.server),
            Value::from(&grant.item),
            Value::from(&grant.verb),
            Value::from(&grant.entity),
            Value::from(grant.definition.as_ref()),
            Value::from(grant.args_digest.as_ref()),
            Value::from(&grant.rung),
            Value::from(version),
            Value::from(&grant.scope),
            Value::from(grant.seat.as_ref()),
            Value::from(grant.workspace.as_ref()),
            Value::from(grant.created_ms),
            Value::from(grant.expires_ms),
            Value::from(grant.uses_left),
            Value::from(grant.approval.as_ref()),
            Value::from(&grant.approver),
            Value::from(&grant.mac),
            Value::from(grant.on_behalf_of.as_ref()),
        ],
    )?;
    advance(session, GENERATION, 1)
}

/// Uses a grant in a transaction. Whether it held, and the generation after
/// its last use.
pub(crate) fn use_in(
    session: &mut dyn Session,
    id: &str,
    now_ms: i64,
) -> Result<(bool, Option<i64>), DatabaseError> {
    let left = first(session, USE, &[id.into(), now_ms.into()], |mut row| {
        row.int_or_null()
    })?;
    match left {
        None => Ok((false, None)),
        Some(Some(0)) => Ok((true, Some(advance(session, GENERATION, 1)?))),
        Some(_) => Ok((true, None)),
    }
}

/// The generation as it lies in the database.
pub(crate) fn read_generation(session: &mut dyn Session) -> Result<i64, DatabaseError> {
    first(session, READ_GENERATION, &[GENERATION.into()], |mut row| {
        row.int()
    })
    .map(Option::unwrap_or_default)
}

fn from_row(mut row: Row) -> Result<GrantRow, DatabaseError> {
    Ok(GrantRow {
        id: row.text()?,
        client: row.text()?,
        server: row.text()?,
        item: row.text()?,
        verb: row.text()?,
        entity: row.text()?,
        definition: row.hash_or_null()?,
        args_digest: row.hash_or_null()?,
        rung: row.text()?,
        policy_version: row.int_or_null()?.map(i64::cast_unsigned),
        scope: row.text()?,
        seat: row.text_or_null()?,
        workspace: row.text_or_null()?,
        created_ms: row.int()?,
        expires_ms: row.int_or_null()?,
        uses_left: row.int_or_null()?,
        approval: row.text_or_null()?,
        approver: row.text()?,
        mac: row.hash()?,
        on_behalf_of: row.text_or_null()?,
    })
}
