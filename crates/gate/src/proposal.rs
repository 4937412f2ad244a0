//! Proposals: changes that are laid down word for word, certified by a person,
//! and applied exactly so.
//!
//! The plan is sealed and never changes. What certifies it is a
//! [`HumanProof`]; neither an answer in a form nor a command makes one. Applying
//! it is the same call again: everything is decided anew, and the certificate
//! counts for this plan only, once, in the transaction of the intent.

mod check;
mod row;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legation_core::{ProposalId, SharedClock};
use legation_keystore::{HumanProof, Key, KeystoreError};
use legation_policy::registry::EventName;
use legation_store::{ProposalState, Store, StoreError};
use sha2::{Digest as _, Sha256};

use row::{certified_by, of_proposal, to_proposal};

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
        let digest = bound.digest(&draft.rule, &draft.arguments);
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
        drop(open);
        self.happened(EventName::ProposalMade, &proposal);
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
        let certified = proposal.clone();
        drop(open);
        self.happened(EventName::ProposalCertified, &certified);
        Ok(())
    }

    /// Says no to a proposal, certified or not.
    ///
    /// # Errors
    /// When there is none, or the row cannot be written; it is void either way.
    pub fn reject(&self, id: &ProposalId) -> Result<(), ProposalError> {
        let rejected = self.lock().remove(id).ok_or(ProposalError::Unknown)?;
        self.happened(EventName::ProposalRejected, &rejected);
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
    pub(crate) fn applied(&self, id: &ProposalId, recorded: bool) {
        let gone = self.lock().remove(id);
        if let Some(applied) = gone.filter(|_| recorded) {
            self.happened(EventName::ProposalApplied, &applied);
        }
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
        let gone: Vec<Proposal> = {
            let mut open = self.lock();
            let ids: Vec<ProposalId> = open
                .values()
                .filter(|proposal| over(proposal))
                .map(|proposal| proposal.id.clone())
                .collect();
            ids.iter().filter_map(|id| open.remove(id)).collect()
        };
        for proposal in gone {
            let event = match to {
                ProposalState::Expired => EventName::ProposalExpired,
                _ => EventName::ProposalVoided,
            };
            self.happened(event, &proposal);
            if let Err(error) = self.store.proposal_state(proposal.id.as_str(), to) {
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
