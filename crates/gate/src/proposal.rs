//! Proposals: changes that are laid down word for word, certified by a person,
//! and applied exactly so.
//!
//! The plan is sealed and never changes. What certifies it is a
//! [`HumanProof`]; neither an answer in a form nor a command makes one. Applying
//! it is the same call again: everything is decided anew, and the certificate
//! counts for this plan only, once, in the transaction of the intent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legation_core::{ClientId, EntityId, ProposalId, SharedClock};
use legation_keystore::{HumanProof, Key, KeystoreError};
use legation_policy::{DefinitionHash, Verb};
use legation_store::{ProposalRow, ProposalState, Store, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::approval::{Approvals, Bound, CLOCK_SLACK_MS};

/// Most proposals of one client that may wait.
const PENDING_PER_CLIENT: usize = 64;
/// How long a proposal can be certified and applied.
pub const PROPOSAL_TTL_MS: i64 = 24 * 60 * 60 * 1000;

/// A change that waits to be certified, or to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// What people call it by.
    pub id: ProposalId,
    /// What it is bound to.
    pub bound: Bound,
    /// The rule that wants it certified.
    pub rule: Box<str>,
    /// Why.
    pub reason: Box<str>,
    /// The arguments, whole. Show them only escaped.
    pub arguments: Box<str>,
    /// SHA-256 over the whole plan; a certificate is for this digest.
    pub digest: [u8; 32],
    /// What tells the server that a repeated request is the same one.
    pub idempotency_key: Box<str>,
    /// When it was proposed, in milliseconds of wall time.
    pub created_ms: i64,
    /// Until when it can be certified and applied.
    pub expires_ms: i64,
    /// How it was certified, and when, if it was.
    pub certified: Option<(Box<str>, i64)>,
}

/// What a client proposes, before it has a name.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) rule: Box<str>,
    pub(crate) reason: Box<str>,
    pub(crate) arguments: Box<str>,
}

/// The proposals that are open. Shared.
#[derive(Debug)]
pub struct Proposals {
    store: Arc<Store>,
    key: Key,
    clock: SharedClock,
    approvals: Arc<Approvals>,
    open: Mutex<HashMap<ProposalId, Proposal>>,
}

/// A proposal that could not be brought on.
#[derive(Debug, thiserror::Error)]
pub enum ProposalError {
    /// There is none, or it is over.
    #[error("no proposal of this id waits; nothing was changed")]
    Unknown,
    /// It was certified before, rejected, or has expired.
    #[error("the proposal was certified, rejected or expired meanwhile; nothing was changed")]
    Over,
    /// Too many wait.
    #[error("too many proposals of this client wait already; nothing was proposed")]
    Full,
    /// The store cannot keep it.
    #[error("the proposal could not be kept, so nothing was changed")]
    NotKept(#[source] StoreError),
    /// It cannot be sealed.
    #[error("the proposal could not be sealed, so nothing was kept")]
    NotSealed(#[source] KeystoreError),
    /// No name could be made.
    #[error("the operating system gave no random bytes; nothing was proposed")]
    NoRandomness,
}

/// What is sealed in a row's `plan`.
#[derive(Serialize, Deserialize)]
struct Plan {
    client: Box<str>,
    server: Box<str>,
    verb: Box<str>,
    item: Box<str>,
    entity: Box<str>,
    definition: Option<[u8; 32]>,
    args_digest: [u8; 32],
    policy_version: u64,
    rule: Box<str>,
    reason: Box<str>,
    arguments: Box<str>,
}

// === impl Proposals ===

impl Proposals {
    /// Reads what is open.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub fn open(
        store: Arc<Store>,
        key: Key,
        clock: SharedClock,
        approvals: Arc<Approvals>,
    ) -> Result<Self, StoreError> {
        let proposals = Self {
            store,
            key,
            clock,
            approvals,
            open: Mutex::default(),
        };
        let now_ms = proposals.approvals.now_ms();
        proposals.store.proposal_expire(now_ms)?;
        let mut rows = Vec::new();
        for state in [ProposalState::Proposed, ProposalState::Certified] {
            rows.extend(proposals.store.proposal_list(Some(state))?);
        }
        let mut open = proposals.lock();
        for row in &rows {
            match to_proposal(row, &proposals.key) {
                Some(proposal) if proposal.is_alive(now_ms) => {
                    open.insert(proposal.id.clone(), proposal);
                }
                Some(_) => {}
                None => proposals.approvals.report(format!(
                    "proposal {} was not written by this hub as it stands, and is not honoured",
                    row.id.chars().take(32).collect::<String>()
                )),
            }
        }
        drop(open);
        Ok(proposals)
    }

    /// The open proposal of a call, or a new one; whether it is new.
    ///
    /// # Errors
    /// When too many wait, or it cannot be kept.
    pub(crate) fn propose(
        &self,
        bound: Bound,
        draft: Draft,
    ) -> Result<(Proposal, bool), ProposalError> {
        self.sweep();
        let now_ms = self.approvals.now_ms();
        let mut open = self.lock();
        if let Some(found) = open.values().find(|proposal| proposal.bound == bound) {
            return Ok((found.clone(), false));
        }
        let of_client = open
            .values()
            .filter(|proposal| proposal.bound.client == bound.client);
        if of_client.count() >= PENDING_PER_CLIENT {
            return Err(ProposalError::Full);
        }
        let code = crate::code::short().ok_or(ProposalError::NoRandomness)?;
        let id = ProposalId::new(format!("P-{code}"));
        let digest = digest(&bound, &draft);
        let key = Sha256::new()
            .chain_update(id.as_str())
            .chain_update(digest)
            .finalize();
        let proposal = Proposal {
            id,
            digest,
            idempotency_key: legation_core::id::hex(&key[..16]).into(),
            bound,
            rule: draft.rule,
            reason: draft.reason,
            arguments: draft.arguments,
            created_ms: now_ms,
            expires_ms: now_ms + PROPOSAL_TTL_MS,
            certified: None,
        };
        let row = of_proposal(&proposal, &self.key).map_err(ProposalError::NotSealed)?;
        let added = self
            .store
            .proposal_put(&row)
            .map_err(ProposalError::NotKept)?;
        if !added {
            return Err(ProposalError::Full);
        }
        open.insert(proposal.id.clone(), proposal.clone());
        Ok((proposal, true))
    }

    /// Everything open, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Proposal> {
        self.sweep();
        let mut all: Vec<Proposal> = self.lock().values().cloned().collect();
        all.sort_by(|a, b| (a.created_ms, &a.id).cmp(&(b.created_ms, &b.id)));
        all
    }

    /// One that is open.
    #[must_use]
    pub fn get(&self, id: &ProposalId) -> Option<Proposal> {
        let now_ms = self.approvals.now_ms();
        self.lock()
            .get(id)
            .filter(|proposal| proposal.is_alive(now_ms))
            .cloned()
    }

    /// A person certifies a plan they have seen, named by its digest.
    ///
    /// # Errors
    /// When there is no such plan any more, or the certificate cannot be kept.
    pub fn certify(
        &self,
        id: &ProposalId,
        digest: &[u8; 32],
        proof: &HumanProof,
    ) -> Result<(), ProposalError> {
        self.sweep();
        let at_ms = self.approvals.now_ms();
        let mut open = self.lock();
        let waits = open.get(id).ok_or(ProposalError::Unknown)?;
        if waits.digest != *digest || waits.certified.is_some() {
            return Err(ProposalError::Over);
        }
        let by = certified_by(id.as_str(), digest, proof.how(), at_ms, &self.key);
        let held = self
            .store
            .proposal_certify(id.as_str(), digest, &by, at_ms)
            .map_err(ProposalError::NotKept)?;
        if !held {
            open.remove(id);
            return Err(ProposalError::Over);
        }
        let proposal = open.get_mut(id).ok_or(ProposalError::Unknown)?;
        proposal.certified = Some((proof.how().into(), at_ms));
        Ok(())
    }

    /// Says no to a proposal, certified or not.
    ///
    /// # Errors
    /// When there is none, or the row cannot be written; it is void either way.
    pub fn reject(&self, id: &ProposalId) -> Result<(), ProposalError> {
        self.lock().remove(id).ok_or(ProposalError::Unknown)?;
        let held = self
            .store
            .proposal_state(id.as_str(), ProposalState::Rejected)
            .map_err(ProposalError::NotKept)?;
        if held {
            Ok(())
        } else {
            Err(ProposalError::Over)
        }
    }

    /// It was applied, in the transaction of its intent, or another was first.
    pub(crate) fn applied(&self, id: &ProposalId) {
        self.lock().remove(id);
    }

    /// Other rules are in force: what was proposed under the old ones is void.
    pub fn policy_changed(&self, version: u64) {
        self.close(ProposalState::Voided, |proposal| {
            proposal.bound.policy_version != version
        });
    }

    /// Closes what has expired.
    pub fn sweep(&self) {
        let now_ms = self.approvals.now_ms();
        self.close(ProposalState::Expired, |proposal| {
            !proposal.is_alive(now_ms)
        });
    }

    fn close(&self, to: ProposalState, over: impl Fn(&Proposal) -> bool) {
        let gone: Vec<ProposalId> = {
            let mut open = self.lock();
            let ids: Vec<ProposalId> = open
                .values()
                .filter(|proposal| over(proposal))
                .map(|proposal| proposal.id.clone())
                .collect();
            for id in &ids {
                open.remove(id);
            }
            ids
        };
        for id in gone {
            if let Err(error) = self.store.proposal_state(id.as_str(), to) {
                tracing::warn!(error = %legation_core::error::chain(&error), "a proposal's row stays open");
            }
        }
    }

    /// The time, for those who check a proof.
    #[must_use]
    pub fn clock(&self) -> &SharedClock {
        &self.clock
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProposalId, Proposal>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Proposal ===

impl Proposal {
    /// Whether it can be certified or applied at a time.
    #[must_use]
    pub fn is_alive(&self, now_ms: i64) -> bool {
        now_ms < self.expires_ms && self.created_ms <= now_ms.saturating_add(CLOCK_SLACK_MS)
    }
}

/// SHA-256 over everything that makes the plan, each part with its length.
fn digest(bound: &Bound, draft: &Draft) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    for text in [
        bound.client.as_str(),
        bound.server.as_str(),
        bound.verb.as_str(),
        &bound.item,
        bound.entity.as_str(),
        &draft.rule,
        &draft.arguments,
    ] {
        add(text.as_bytes());
    }
    add(bound.definition.as_ref().map_or(&[], |hash| &hash.0));
    add(&bound.arguments);
    add(&bound.policy_version.to_le_bytes());
    hash.finalize().into()
}

fn certified_by(id: &str, digest: &[u8; 32], how: &str, at_ms: i64, key: &Key) -> String {
    let mac = key.mac(&[
        b"proposal certified",
        id.as_bytes(),
        digest,
        how.as_bytes(),
        &at_ms.to_le_bytes(),
    ]);
    format!("{how} {}", legation_core::id::hex(&mac))
}

fn of_proposal(proposal: &Proposal, key: &Key) -> Result<ProposalRow, KeystoreError> {
    let bound = &proposal.bound;
    let plan = Plan {
        client: bound.client.as_str().into(),
        server: bound.server.as_str().into(),
        verb: bound.verb.as_str().into(),
        item: bound.item.clone(),
        entity: bound.entity.as_str().into(),
        definition: bound.definition.map(|hash| hash.0),
        args_digest: bound.arguments,
        policy_version: bound.policy_version,
        rule: proposal.rule.clone(),
        reason: proposal.reason.clone(),
        arguments: proposal.arguments.clone(),
    };
    let mut row = ProposalRow {
        id: proposal.id.as_str().to_owned(),
        state: ProposalState::Proposed,
        client: bound.client.as_str().to_owned(),
        entity: bound.entity.as_str().to_owned(),
        digest: proposal.digest,
        created_ms: proposal.created_ms,
        expires_ms: proposal.expires_ms,
        certified_by: None,
        certified_ms: None,
        idempotency_key: proposal.idempotency_key.to_string(),
        plan: Vec::new(),
    };
    let plain = serde_json::to_vec(&plan).unwrap_or_default();
    row.plan = key.seal(&columns(&row), &plain)?;
    Ok(row)
}

fn to_proposal(row: &ProposalRow, key: &Key) -> Option<Proposal> {
    let plain = key.open(&columns(row), &row.plan).ok()?;
    let plan: Plan = serde_json::from_slice(&plain).ok()?;
    let certified = match (row.state, row.certified_ms, row.certified_by.as_deref()) {
        (ProposalState::Proposed, ..) => None,
        (ProposalState::Certified, Some(at_ms), Some(by)) => {
            let how = by.rsplit_once(' ')?.0;
            if certified_by(&row.id, &row.digest, how, at_ms, key) != by {
                return None;
            }
            Some((how.into(), at_ms))
        }
        _ => return None,
    };
    Some(Proposal {
        id: ProposalId::new(row.id.as_str()),
        bound: Bound {
            client: ClientId::new(&*plan.client),
            server: legation_core::ServerName::parse(&plan.server).ok()?,
            verb: Verb::parse(&plan.verb)?,
            item: plan.item,
            entity: EntityId::new(&*plan.entity),
            definition: plan.definition.map(DefinitionHash),
            arguments: plan.args_digest,
            policy_version: plan.policy_version,
        },
        rule: plan.rule,
        reason: plan.reason,
        arguments: plan.arguments,
        digest: row.digest,
        idempotency_key: row.idempotency_key.as_str().into(),
        created_ms: row.created_ms,
        expires_ms: row.expires_ms,
        certified,
    })
}

/// Everything in a row that its plan is sealed with.
fn columns(row: &ProposalRow) -> Vec<u8> {
    let mut beside = Vec::with_capacity(192);
    let mut add = |part: &[u8]| {
        beside.extend_from_slice(&(part.len() as u64).to_le_bytes());
        beside.extend_from_slice(part);
    };
    add(b"proposal");
    for text in [&row.id, &row.client, &row.entity, &row.idempotency_key] {
        add(text.as_bytes());
    }
    add(&row.digest);
    add(&row.created_ms.to_le_bytes());
    add(&row.expires_ms.to_le_bytes());
    beside
}
