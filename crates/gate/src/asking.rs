//! What the gate remembers between calls, made from one store.

use std::sync::Arc;

use legation_core::SharedClock;
use legation_keystore::Key;
use legation_ledger::Ledger;
use legation_store::{Store, StoreError};

use crate::approval::{Approvals, ApprovalsParts};
use crate::conversation::Conversations;
use crate::desk::Permissions;
use crate::journal::Journal;
use crate::proposal::Proposals;
use crate::rate::{RateLimits, Rates};

/// Most records that a start compares with what is approved: a second's work.
const CHECKED_MAX: usize = 1_000_000;
/// How far the clocks of records and rows may have been apart.
const CLOCKS_MS: i64 = 24 * 60 * 60 * 1000;

/// Approvals, proposals, labels and budgets. Clones share them.
#[derive(Debug, Clone)]
pub struct Asking {
    /// Questions to people, and what their answers still allow.
    pub approvals: Arc<Approvals>,
    /// Changes that wait to be certified.
    pub proposals: Arc<Proposals>,
    /// What clients ask a person of their own accord.
    pub permissions: Arc<Permissions>,
    /// Whose data each conversation holds.
    pub conversations: Arc<Conversations>,
    /// How often a client may call.
    pub rates: Arc<Rates>,
    /// What waits to be recorded.
    pub journal: Arc<Journal>,
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
        let journal = Arc::new(Journal::default());
        let approvals = Arc::new(Approvals::open(ApprovalsParts {
            journal: Arc::clone(&journal),
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
        let permissions = Arc::new(Permissions::new(&approvals));
        Ok(Self {
            approvals,
            permissions,
            proposals: Arc::new(proposals),
            conversations: Arc::new(Conversations::new(Arc::clone(store))),
            rates: Arc::new(Rates::new(limits, Arc::clone(clock))),
            journal,
        })
    }

    /// Compares what is approved with what the ledger says was used: a row that
    /// was put back after its use is not honoured. A ledger that cannot be read
    /// leaves nothing approved.
    pub(crate) fn check_against(&self, ledger: &Ledger) {
        let oldest = [self.approvals.oldest_ms(), self.proposals.oldest_ms()];
        let Some(oldest_ms) = oldest.into_iter().flatten().min() else {
            return;
        };
        match ledger.naming(oldest_ms.saturating_sub(CLOCKS_MS), CHECKED_MAX) {
            Ok(named) => {
                self.approvals.check_against(&named);
                self.proposals.check_against(&named);
            }
            Err(error) => {
                let why = legation_core::error::chain(&error);
                self.approvals.distrust(&why);
                self.proposals.distrust();
            }
        }
    }

    /// Closes what has expired.
    pub fn sweep(&self) {
        self.approvals.sweep();
        self.proposals.sweep();
        self.permissions.sweep();
    }

    /// Other rules are in force: what was asked under the old ones is void.
    pub fn policy_changed(&self, version: u64) {
        self.approvals.policy_changed(version);
        self.proposals.policy_changed(version);
    }
}
