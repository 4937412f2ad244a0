//! What is said of refusals, to the command and to its owner.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::super::REFUSES;

/// Hosts that the owner is told of; who asks for more of them is looking for one.
const TOLD_MAX: usize = 32;

/// Tells the owner of refusals, of each once.
pub(super) struct Said {
    /// What names the hosts.
    rule: String,
    told: Mutex<HashSet<String>>,
    say: fn(&str),
}

/// What was refused, and what would allow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The host and the port.
    pub(super) wanted: String,
    /// Why, for both.
    pub(super) why: &'static str,
    /// What the owner would have to name.
    pub(super) missing: String,
}

// === impl Said ===

impl Said {
    pub(super) fn new(rule: String, say: fn(&str)) -> Self {
        Self {
            rule,
            told: Mutex::default(),
            say,
        }
    }

    /// Tells the owner, and gives back what to tell the command: that does not hear where a
    /// name leads.
    pub(super) fn refuse(&self, refusal: &Refusal) -> String {
        let Refusal {
            wanted,
            why,
            missing,
        } = refusal;
        let rule = &self.rule;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < TOLD_MAX && told.insert(format!("{wanted} {missing}")) {
            (self.say)(&format!(
                "{REFUSES}{wanted}, {why}; to allow it, add \"{missing}\" to {rule}\n"
            ));
            if told.len() == TOLD_MAX {
                (self.say)(&format!("{REFUSES}more hosts than are told of here\n"));
            }
        }
        format!(
            "The sandbox of this program refuses {wanted}, {why}. Its owner can allow it in {rule}."
        )
    }
}

/// Writes a line where the command complains, too; in one piece, so that no line of the
/// command's comes in between.
pub(super) fn say(line: &str) {
    let _unread = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
}
