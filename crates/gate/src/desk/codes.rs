//! Codes: which question one means, and how many were wrong.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Desk, Heard, Posting, Refused, words};

/// Wrong codes of one person after which none counts for a while.
pub(super) const TRIES_MAX: u32 = 5;
/// For how long, in milliseconds.
pub(super) const LOCKED_MS: i64 = 15 * 60 * 1000;
/// Messages with wrong codes that are remembered.
const WRONG_MAX: usize = 64;
/// Under whose name wrong codes of commands are counted: no account has such a one.
const COMMANDS: &str = "(commands)";

/// The wrong codes of one person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tries {
    pub(super) wrong: u32,
    pub(super) last_ms: i64,
}

// === impl Desk ===

impl Desk {
    /// The id of what still waits under this code, for who asks at the hub. A
    /// code says what is meant and proves nothing; but a program that could try
    /// them all would know which one to have the person write, for another
    /// reason than theirs. So wrong ones are counted here too, and a right one
    /// forgives none.
    #[must_use]
    pub fn with_code(&self, code: &str) -> Option<String> {
        let is_id = || self.waiting().iter().any(|one| *one.id == *code);
        if code.len() != words::LENGTH || self.is_locked(COMMANDS) || is_id() {
            return None;
        }
        let found = self.open_with(code);
        if found.is_none() {
            self.count_wrong(COMMANDS);
        }
        found
    }

    fn open_with(&self, code: &str) -> Option<String> {
        let held = self.lock();
        let open = held
            .postings
            .values()
            .filter(|one| !one.is_over() && one.is_shown);
        let mut found = None;
        for posting in open {
            if self.codes.is_code(&posting.put(), code) {
                found = Some(posting.id.to_string());
            }
        }
        found
    }

    /// Whether a code is of a question that was put through another account, which
    /// reads the same chat and judges it.
    pub(super) fn is_anothers(&self, heard: &Heard<'_>, code: &str) -> bool {
        let accounts: BTreeSet<Box<str>> = {
            let held = self.lock();
            let all = held.postings.values();
            all.map(|one| one.account.clone()).collect()
        };
        let others = accounts.iter().filter(|one| ***one != *heard.account);
        let mut others = others.map(|account| Heard { account, ..*heard });
        others.any(|heard| self.find(&heard, code).is_some())
    }

    /// Whether nobody else who reads the same chat has said of a message that its
    /// code is wrong.
    pub(super) fn is_judged_first(&self, heard: &Heard<'_>) -> bool {
        let said = (
            heard.account.into(),
            heard.chat.into(),
            heard.message.into(),
        );
        let wrong = &mut self.lock().wrong;
        let is_same = |one: &(Box<str>, Box<str>, Box<str>)| {
            (&one.1, &one.2) == (&said.1, &said.2) && one.0 != said.0
        };
        let is_first = !wrong.iter().any(is_same);
        if is_first {
            wrong.push_back(said);
            let beyond = wrong.len().saturating_sub(WRONG_MAX);
            wrong.drain(..beyond);
        }
        is_first
    }

    /// The posting with this code, of those in this chat. Each is compared, so
    /// that the time it takes says nothing of where one fits.
    pub(super) fn find(&self, heard: &Heard<'_>, code: &str) -> Option<Posting> {
        let all = self.postings(heard.account);
        let here = all.into_iter().filter(|one| {
            *one.chat == *heard.chat
                && one.is_shown
                && one.person.eq_ignore_ascii_case(heard.person)
                && one.program.eq_ignore_ascii_case(heard.program)
        });
        let mut found = None;
        for posting in here {
            let is_it = self.codes.is_code(&posting.put(), code);
            // Of two with one code the one that still waits is meant.
            if is_it && found.as_ref().is_none_or(Posting::is_over) {
                found = Some(posting);
            }
        }
        found
    }

    /// Whether so many codes were wrong that none counts now.
    pub(super) fn is_locked(&self, account: &str) -> bool {
        let now_ms = self.asking.approvals.now_ms();
        let held = self.lock();
        held.tries.get(account).is_some_and(|tries| {
            tries.wrong >= TRIES_MAX && now_ms.saturating_sub(tries.last_ms) < LOCKED_MS
        })
    }

    /// Counts a wrong code, on disk, so that a restart forgets none.
    pub(super) fn count_wrong(&self, account: &str) -> Refused {
        let now_ms = self.asking.approvals.now_ms();
        let tries = {
            let mut held = self.lock();
            let tries = held.tries.entry(account.into()).or_default();
            if now_ms.saturating_sub(tries.last_ms) >= LOCKED_MS {
                tries.wrong = 0;
            }
            tries.wrong += 1;
            tries.last_ms = now_ms;
            *tries
        };
        self.keep_tries(account, tries);
        Refused::WrongCode {
            left: TRIES_MAX.saturating_sub(tries.wrong),
        }
    }

    pub(super) fn right_code(&self, account: &str) {
        if self.lock().tries.remove(account).is_some() {
            self.keep_tries(account, Tries::default());
        }
    }

    fn keep_tries(&self, account: &str, tries: Tries) {
        if let Err(error) = self.rows.put_tries(account, tries) {
            tracing::error!(error = %legation_core::error::chain(&error), "wrong codes are counted in memory only");
        }
    }
}
