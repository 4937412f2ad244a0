//! What brings messages into the inbox by itself: a reader for each account
//! and kind, that begins again when it failed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use legation_core::{Caller, Cancel, ClientId, OpContext, Principal, SeatId, Via};
use legation_entra::{Account, Accounts, Class};

use crate::accounts::{self, Failure};

/// What keeps accounts from being read, for whoever asks how the hub is.
#[derive(Default)]
pub struct Reports(Mutex<BTreeMap<(Box<str>, &'static str), Failure>>);

/// How one kind of message is read.
pub(crate) trait Read: Sync {
    /// Reads an account until it cannot go on.
    fn read(&self, source: &Source<'_>, account: Account) -> impl Future<Output = Failure> + Send;
}

/// One kind of message of one account.
pub(crate) struct Source<'a> {
    pub(crate) accounts: &'a Accounts,
    pub(crate) account: &'a str,
    /// What people call it: `chats`, `mail`.
    pub(crate) what: &'static str,
    pub(crate) reports: &'a Reports,
    pub(crate) context: &'a OpContext,
}

/// After a failure; an account that nobody signed in with among them.
pub(crate) const RETRY: Duration = Duration::from_secs(30);
/// After a refusal that a person must do something about: asking more often
/// changes nothing.
pub(crate) const REFUSED: Duration = Duration::from_secs(15 * 60);
/// The name under which the hub reads for itself.
pub(crate) const READER: &str = "inbox";

/// The context in which the hub reads for itself.
pub(crate) fn context(cancel: &Cancel) -> OpContext {
    context_as(cancel, READER)
}

/// The context of what the hub does by itself, under a name of its own.
pub(crate) fn context_as(cancel: &Cancel, name: &str) -> OpContext {
    let principal = Principal {
        client: ClientId::new(name),
        via: Via::Admin,
    };
    let caller = Caller {
        principal,
        seat: SeatId::new(name),
        workspace: None,
    };
    OpContext::new(caller, cancel.clone())
}

/// Waits; whether it was called off meanwhile.
pub(crate) async fn is_over(context: &OpContext, wait: Duration) -> bool {
    tokio::select! {
        biased;
        _ = context.cancel.cancelled() => true,
        () = tokio::time::sleep(wait) => false,
    }
}

/// How long to leave a source alone after this.
pub(crate) fn wait_after(failure: &Failure) -> Duration {
    let is = |class: Class| failure.error == class.as_str();
    let refused = is(Class::ConsentDenied) || is(Class::TeamsNotLicensed);
    let least = if refused { REFUSED } else { RETRY };
    let said = failure.retry_after_s.map(Duration::from_secs);
    said.unwrap_or(least).max(least)
}

// === impl Source ===

impl Source<'_> {
    /// Reads until it is called off.
    pub(crate) async fn keep_reading(&self, how: &impl Read) {
        loop {
            let failure = match self.accounts.pick(Some(self.account)).await {
                Err(error) => Failure::from(&error),
                Ok(account) => match accounts::ready(self.context, &account).await {
                    Err(failure) => failure,
                    Ok(()) => how.read(self, account).await,
                },
            };
            if self.context.cancel.reason().is_some() {
                return;
            }
            let wait = wait_after(&failure);
            self.failed(failure);
            if is_over(self.context, wait).await {
                return;
            }
        }
    }

    /// It was read.
    pub(crate) fn worked(&self) {
        self.reports.lock().remove(&self.key());
    }

    /// It could not be read. Said once, not with every try.
    pub(crate) fn failed(&self, failure: Failure) {
        let (account, what, error) = (self.account, self.what, failure.message.clone());
        let class = failure.error;
        let before = self.reports.lock().insert(self.key(), failure);
        if before.is_none_or(|before| before.error != class) {
            tracing::warn!(account, error, "{what} are not read for now");
        }
    }

    fn key(&self) -> (Box<str>, &'static str) {
        (self.account.into(), self.what)
    }
}

// === impl Reports ===

impl Reports {
    /// What is not read at the moment, and what to do about it.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let one = |((account, what), failure): (&(Box<str>, &'static str), &Failure)| {
            format!(
                "account `{account}`: its {what} cannot be read: {}; {}",
                failure.message, failure.hint
            )
        };
        self.lock().iter().map(one).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(Box<str>, &'static str), Failure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.problems()).finish()
    }
}

#[cfg(test)]
mod tests;
