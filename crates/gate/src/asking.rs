//! What the gate remembers between calls, made from one store.

use std::sync::Arc;

use legation_core::SharedClock;
use legation_keystore::Key;
use legation_store::{Store, StoreError};

use crate::approval::{Approvals, ApprovalsParts};
use crate::conversation::Conversations;
use crate::proposal::Proposals;
use crate::rate::{RateLimits, Rates};

/// Approvals, proposals, labels and budgets. Clones share them.
#[derive(Debug, Clone)]
pub struct Asking {
    /// Questions to people, and what their answers still allow.
    pub approvals: Arc<Approvals>,
    /// Changes that wait to be certified.
    pub proposals: Arc<Proposals>,
    /// Whose data each conversation holds.
    pub conversations: Arc<Conversations>,
    /// How often a client may call.
    pub rates: Arc<Rates>,
}

// === impl Asking ===

impl Asking {
    /// Reads what a store holds. `key` is `approvals` of the keystore.
    ///
    /// # Errors
    /// When the rows cannot be read.
    pub fn open(
        store: &Arc<Store>,
        key: &Key,
        clock: &SharedClock,
        limits: RateLimits,
    ) -> Result<Self, StoreError> {
        let approvals = Arc::new(Approvals::open(ApprovalsParts {
            store: Arc::clone(store),
            key: key.derive("approvals"),
            clock: Arc::clone(clock),
        })?);
        let proposals = Proposals::open(
            Arc::clone(store),
            key.derive("proposals"),
            Arc::clone(clock),
            Arc::clone(&approvals),
        )?;
        Ok(Self {
            approvals,
            proposals: Arc::new(proposals),
            conversations: Arc::new(Conversations::new(Arc::clone(store))),
            rates: Arc::new(Rates::new(limits, Arc::clone(clock))),
        })
    }

    /// Other rules are in force: what was asked under the old ones is void.
    pub fn policy_changed(&self, version: u64) {
        self.approvals.policy_changed(version);
        self.proposals.policy_changed(version);
    }
}
