//! Proposals: what shall be done exactly as it was shown, once a person has
//! certified it.

use crate::approvals::count;
use crate::sql::{Row, Value, collect, first};
use crate::state::words;
use crate::{DatabaseError, Store, StoreError};

words! {
    /// How far a proposal has come.
    pub enum ProposalState {
        /// Nobody has certified it.
        Proposed = "proposed",
        /// Certified, and not applied yet.
        Certified = "certified",
        /// Applied.
        Applied = "applied",
        /// Refused.
        Rejected = "rejected",
        /// Its time passed before it was applied.
        Expired = "expired",
        /// What it was about has changed since.
        Voided = "voided",
    }
}

/// One proposal. Nothing but its state and who certified it ever changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalRow {
    /// Its name.
    pub id: String,
    /// How far it has come.
    pub state: ProposalState,
    /// The client that made it.
    pub client: String,
    /// Whose data it is about.
    pub entity: String,
    /// Digest of the plan.
    pub digest: [u8; 32],
    /// When it was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// From when on it counts no more, in milliseconds since 1970.
    pub expires_ms: i64,
    /// Who certified it.
    pub certified_by: Option<String>,
    /// When it was certified, in milliseconds since 1970.
    pub certified_ms: Option<i64>,
    /// Its maker's name for it; no two proposals have the same.
    pub idempotency_key: String,
    /// What shall be done, sealed by its owner.
    pub plan: Vec<u8>,
}

const PUT: &str =
    "INSERT INTO proposals (id, state, client, entity, digest, created_ms, expires_ms,
        certified_by, certified_ms, idempotency_key, plan)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    ON CONFLICT DO NOTHING";
const GET: &str = "SELECT id, state, client, entity, digest, created_ms, expires_ms, certified_by,
        certified_ms, idempotency_key, plan
    FROM proposals WHERE id = ?1";
const GET_KEY: &str = "SELECT id, state, client, entity, digest, created_ms, expires_ms,
        certified_by, certified_ms, idempotency_key, plan
    FROM proposals WHERE idempotency_key = ?1";
const LIST: &str = "SELECT id, state, client, entity, digest, created_ms, expires_ms, certified_by,
        certified_ms, idempotency_key, plan
    FROM proposals ORDER BY created_ms, id";
const LIST_STATE: &str = "SELECT id, state, client, entity, digest, created_ms, expires_ms,
        certified_by, certified_ms, idempotency_key, plan
    FROM proposals WHERE state = ?1 ORDER BY created_ms, id";
const CERTIFY: &str = "UPDATE proposals
    SET state = 'certified', certified_by = ?3, certified_ms = ?4
    WHERE id = ?1 AND digest = ?2 AND state = 'proposed' AND expires_ms > ?4";
const END: &str = "UPDATE proposals SET state = ?2
    WHERE id = ?1 AND state IN ('proposed', 'certified')";
const EXPIRE: &str = "UPDATE proposals SET state = 'expired'
    WHERE state IN ('proposed', 'certified') AND expires_ms <= ?1";
const PURGE: &str = "DELETE FROM proposals
    WHERE state NOT IN ('proposed', 'certified') AND created_ms < ?1";

/// Uses up a certified proposal: id, now.
pub(crate) const APPLY: &str = "UPDATE proposals SET state = 'applied'
    WHERE id = ?1 AND state = 'certified' AND expires_ms > ?2";

impl Store {
    /// Adds a proposal; `false`, and nothing done, when there is one with its
    /// id or its idempotency key. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn proposal_put(&self, proposal: &ProposalRow) -> Result<bool, StoreError> {
        self.write_durable("storing a proposal", |session| {
            session.execute(
                PUT,
                &[
                    Value::from(&proposal.id),
                    Value::from(proposal.state.as_str()),
                    Value::from(&proposal.client),
                    Value::from(&proposal.entity),
                    Value::from(&proposal.digest),
                    Value::from(proposal.created_ms),
                    Value::from(proposal.expires_ms),
                    Value::from(proposal.certified_by.as_ref()),
                    Value::from(proposal.certified_ms),
                    Value::from(&proposal.idempotency_key),
                    Value::from(&proposal.plan),
                ],
            )
        })
        .map(|added| added == 1)
    }

    /// The proposal with this id.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn proposal_get(&self, id: &str) -> Result<Option<ProposalRow>, StoreError> {
        self.read("reading a proposal", |session| {
            first(session, GET, &[id.into()], from_row)
        })
    }

    /// The proposal with this idempotency key.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn proposal_by_key(&self, key: &str) -> Result<Option<ProposalRow>, StoreError> {
        self.read("reading a proposal", |session| {
            first(session, GET_KEY, &[key.into()], from_row)
        })
    }

    /// The proposals in one state, or all, oldest first.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn proposal_list(
        &self,
        state: Option<ProposalState>,
    ) -> Result<Vec<ProposalRow>, StoreError> {
        self.read("listing proposals", |session| match state {
            None => collect(session, LIST, &[], from_row),
            Some(state) => collect(session, LIST_STATE, &[state.as_str().into()], from_row),
        })
    }

    /// Certifies the proposal with this id and this digest; `false`, and
    /// nothing done, unless it was proposed and its time has not passed. On
    /// disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn proposal_certify(
        &self,
        id: &str,
        digest: &[u8; 32],
        by: &str,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        self.write_durable("certifying a proposal", |session| {
            session.execute(
                CERTIFY,
                &[id.into(), digest.into(), by.into(), now_ms.into()],
            )
        })
        .map(|changed| changed == 1)
    }

    /// Ends a proposal that was not applied, as [`ProposalState::Rejected`],
    /// `Expired` or `Voided`; `false`, and nothing done, for any other state or
    /// when it has ended already. Only a claim applies, see
    /// [`Store::ledger_commit`]. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn proposal_state(&self, id: &str, to: ProposalState) -> Result<bool, StoreError> {
        self.write_durable("ending a proposal", |session| match to {
            ProposalState::Proposed | ProposalState::Certified | ProposalState::Applied => Ok(0),
            ProposalState::Rejected | ProposalState::Expired | ProposalState::Voided => {
                session.execute(END, &[id.into(), to.as_str().into()])
            }
        })
        .map(|changed| changed == 1)
    }

    /// Marks what was not applied in time as expired and says how many that
    /// were. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn proposal_expire(&self, now_ms: i64) -> Result<usize, StoreError> {
        self.write_durable("expiring proposals", |session| {
            session.execute(EXPIRE, &[now_ms.into()])
        })
        .map(count)
    }

    /// Removes what is over and was made before `before_ms`, and says how many
    /// that were. On disk on return.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn proposal_purge(&self, before_ms: i64) -> Result<usize, StoreError> {
        self.write_durable("removing old proposals", |session| {
            session.execute(PURGE, &[before_ms.into()])
        })
        .map(count)
    }
}

fn from_row(mut row: Row) -> Result<ProposalRow, DatabaseError> {
    Ok(ProposalRow {
        id: row.text()?,
        state: row.parsed(ProposalState::parse)?,
        client: row.text()?,
        entity: row.text()?,
        digest: row.hash()?,
        created_ms: row.int()?,
        expires_ms: row.int()?,
        certified_by: row.text_or_null()?,
        certified_ms: row.int_or_null()?,
        idempotency_key: row.text()?,
        plan: row.blob()?,
    })
}
