//! Mail as a source of the inbox: what comes into the mailbox of whoever acts
//! for an account.
//!
//! Graph tells what changed since a link, and the link moves on only when what
//! came with it is on disk. A letter is known by the id it has everywhere, so
//! that one which is told of again, after a crash or when Graph has forgotten
//! the link, comes in once.

mod incoming;
mod source;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use legation_core::{Cancel, SharedClock};
use legation_entra::Accounts;
use legation_entra::mail::Noise;
use legation_inbox::Inbox;
use legation_store::Store;

use crate::kept::Kept;
use crate::sources::Reports;

pub use incoming::channel;

/// The mailboxes that are read.
pub struct MailSource {
    accounts: Arc<Accounts>,
    kept: Kept,
    inbox: Arc<Inbox>,
    reports: Arc<Reports>,
}

/// One mailbox, and how it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// Whose: the account's name.
    pub account: Box<str>,
    /// How often it is looked into.
    pub every: Duration,
    /// Which letters stay out.
    pub leave_out: Vec<Noise>,
}

// === impl MailSource ===

impl MailSource {
    /// Reads mailboxes of these accounts into the inbox; how far is kept in the
    /// store.
    #[must_use]
    pub fn new(
        accounts: Arc<Accounts>,
        (store, clock): (Arc<Store>, SharedClock),
        inbox: Arc<Inbox>,
        reports: Arc<Reports>,
    ) -> Self {
        Self {
            accounts,
            kept: Kept::new(store, clock),
            inbox,
            reports,
        }
    }

    /// Reads until it is called off.
    pub async fn run(&self, mailboxes: &[Mailbox], cancel: &Cancel) {
        source::run(self, mailboxes, cancel).await;
    }
}

impl fmt::Debug for MailSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MailSource").field(&self.accounts).finish()
    }
}

#[cfg(test)]
mod tests;
