//! Approvals: what somebody was asked to allow, and what they said.
//!
//! Every change of state compares and sets in one statement, so that of two
//! who race one wins whatever backend and however many hubs there are.

use crate::grants::put_in;
use crate::sql::{Row, Value, collect, first};
use crate::state::words;
use crate::{DatabaseError, GrantRow, Store, StoreError};

words! {
    /// How far an approval has come.
    pub enum ApprovalState {
        /// Nobody has answered.
        Pending = "pending",
        /// Allowed, and not used yet.
        Granted = "granted",
        /// Refused.
        Denied = "denied",
        /// Used by the one call it was for.
        Consumed = "consumed",
        /// Its time passed before it was used.
        Expired = "expired",
        /// What it was for has changed since.
        Voided = "voided",
    }
}

/// One approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRow {
    /// Its name.
    pub id: String,
    /// How far it has come.
    pub state: ApprovalState,
    /// The client that wants the call.
    pub client: String,
    /// The running client it was asked from.
    pub seat: String,
    /// The server the call is for.
    pub server: String,
    /// The tool, resource or prompt.
    pub item: String,
    /// What is to be done with it.
    pub verb: String,
    /// Whose data it is about.
    pub entity: String,
    /// Hash of the pinned definition, where there is one.
    pub definition: Option<[u8; 32]>,
    /// Digest of the arguments.
    pub args_digest: [u8; 32],
    /// The policy it was asked under.
    pub policy_version: u64,
    /// When it was asked, in milliseconds since 1970.
    pub created_ms: i64,
    /// From when on it counts no more, in milliseconds since 1970.
    pub expires_ms: i64,
    /// When it was last decided, in milliseconds since 1970.
    pub decided_ms: Option<i64>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// What else its owner needs, sealed by that owner.
    pub detail: Vec<u8>,
}

const PUT: &str = "INSERT INTO approvals (id, state, client, seat, server, item, verb, entity,
        definition, args_digest, policy_version, created_ms, expires_ms, decided_ms, decided_by,
        detail)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
    ON CONFLICT (id) DO NOTHING";
const GET: &str = "SELECT id, state, client, seat, server, item, verb, entity, definition,
        args_digest, policy_version, created_ms, expires_ms, decided_ms, decided_by, detail
    FROM approvals WHERE id = ?1";
const LIST: &str = "SELECT id, state, client, seat, server, item, verb, entity, definition,
        args_digest, policy_version, created_ms, expires_ms, decided_ms, decided_by, detail
    FROM approvals ORDER BY created_ms, id";
const LIST_STATE: &str = "SELECT id, state, client, seat, server, item, verb, entity, definition,
        args_digest, policy_version, created_ms, expires_ms, decided_ms, decided_by, detail
    FROM approvals WHERE state = ?1 ORDER BY created_ms, id";
const ALLOW: &str = "UPDATE approvals SET state = 'granted', decided_by = ?2, decided_ms = ?3
    WHERE id = ?1 AND state = 'pending' AND expires_ms > ?3";
const REFUSE: &str = "UPDATE approvals SET state = ?4, decided_by = ?2, decided_ms = ?3
    WHERE id = ?1 AND state IN ('pending', 'granted')";
const EXPIRE: &str = "UPDATE approvals SET state = 'expired', decided_ms = ?1
    WHERE state IN ('pending', 'granted') AND expires_ms <= ?1";
const PURGE: &str = "DELETE FROM approvals
    WHERE state NOT IN ('pending', 'granted') AND created_ms < ?1";

/// Uses up a granted approval: id, now.
pub(crate) const CONSUME: &str = "UPDATE approvals SET state = 'consumed', decided_ms = ?2
    WHERE id = ?1 AND state = 'granted' AND expires_ms > ?2";

impl Store {
    /// Adds an approval; `false`, and nothing done, when there is one with its
    /// id. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn approval_put(&self, approval: &ApprovalRow) -> Result<bool, StoreError> {
        let version = approval.policy_version.cast_signed();
        self.write_durable("storing an approval", |session| {
            session.execute(
                PUT,
                &[
                    Value::from(&approval.id),
                    Value::from(approval.state.as_str()),
                    Value::from(&approval.client),
                    Value::from(&approval.seat),
                    Value::from(&approval.server),
                    Value::from(&approval.item),
                    Value::from(&approval.verb),
                    Value::from(&approval.entity),
                    Value::from(approval.definition.as_ref()),
                    Value::from(&approval.args_digest),
                    Value::from(version),
                    Value::from(approval.created_ms),
                    Value::from(approval.expires_ms),
                    Value::from(approval.decided_ms),
                    Value::from(approval.decided_by.as_ref()),
                    Value::from(&approval.detail),
                ],
            )
        })
        .map(|added| added == 1)
    }

    /// The approval with this id.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn approval_get(&self, id: &str) -> Result<Option<ApprovalRow>, StoreError> {
        self.read("reading an approval", |session| {
            first(session, GET, &[id.into()], from_row)
        })
    }

    /// The approvals in one state, or all, oldest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn approval_list(
        &self,
        state: Option<ApprovalState>,
    ) -> Result<Vec<ApprovalRow>, StoreError> {
        self.read("listing approvals", |session| match state {
            None => collect(session, LIST, &[], from_row),
            Some(state) => collect(session, LIST_STATE, &[state.as_str().into()], from_row),
        })
    }

    /// Moves an approval on; `false`, and nothing done, where the move is not
    /// to be had. [`ApprovalState::Granted`] needs one that is pending and
    /// whose time has not passed; [`ApprovalState::Denied`], `Voided` and
    /// `Expired` also take back a grant that was not consumed. Only a claim
    /// consumes, see [`Store::ledger_commit`]. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn approval_decide(
        &self,
        id: &str,
        to: ApprovalState,
        by: &str,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        self.write_durable("deciding an approval", |session| {
            let decided = [id.into(), by.into(), now_ms.into()];
            match to {
                ApprovalState::Pending | ApprovalState::Consumed => Ok(0),
                ApprovalState::Granted => session.execute(ALLOW, &decided),
                ApprovalState::Denied | ApprovalState::Voided | ApprovalState::Expired => {
                    let [id, by, now] = decided;
                    session.execute(REFUSE, &[id, by, now, to.as_str().into()])
                }
            }
        })
        .map(|changed| changed == 1)
    }

    /// Moves a pending approval to [`ApprovalState::Granted`] and stores the
    /// grant that came of it, both or neither; `false` when neither. On disk
    /// on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn approval_grant(
        &self,
        id: &str,
        by: &str,
        now_ms: i64,
        grant: &GrantRow,
    ) -> Result<bool, StoreError> {
        let generation = self.write_durable("granting an approval", |session| {
            let allowed = session.execute(ALLOW, &[id.into(), by.into(), now_ms.into()])?;
            if allowed == 0 {
                return Ok(None);
            }
            put_in(session, grant).map(Some)
        })?;
        if let Some(generation) = generation {
            self.grants_are_at(generation);
        }
        Ok(generation.is_some())
    }

    /// Marks what is undecided or unused past its time as expired and says how
    /// many that were. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn approval_expire(&self, now_ms: i64) -> Result<usize, StoreError> {
        self.write_durable("expiring approvals", |session| {
            session.execute(EXPIRE, &[now_ms.into()])
        })
        .map(count)
    }

    /// Removes what is over and was asked before `before_ms`, and says how many
    /// that were. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn approval_purge(&self, before_ms: i64) -> Result<usize, StoreError> {
        self.write_durable("removing old approvals", |session| {
            session.execute(PURGE, &[before_ms.into()])
        })
        .map(count)
    }
}

pub(crate) fn count(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}

fn from_row(mut row: Row) -> Result<ApprovalRow, DatabaseError> {
    Ok(ApprovalRow {
        id: row.text()?,
        state: row.parsed(ApprovalState::parse)?,
        client: row.text()?,
        seat: row.text()?,
        server: row.text()?,
        item: row.text()?,
        verb: row.text()?,
        entity: row.text()?,
        definition: row.hash_or_null()?,
        args_digest: row.hash()?,
        policy_version: row.int()?.cast_unsigned(),
        created_ms: row.int()?,
        expires_ms: row.int()?,
        decided_ms: row.int_or_null()?,
        decided_by: row.text_or_null()?,
        detail: row.blob()?,
    })
}
