//! Looking at what was set aside, and deciding about it.

use legation_gate::policy::PinState;
use legation_store::{PinRow, StoreError};
use legation_wire::json::Raw;
use sha2::{Digest as _, Sha256};

use super::row::{note, other, stored_state};
use super::{INSTRUCTIONS, PINNED, Pin, Pins, STORED};

/// One definition that waits for somebody to look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinReview {
    /// Whose it is: the server's name, with `@` and the folder for a server of
    /// a folder.
    pub server: String,
    /// `tool`, `prompt`, `template`, `skill` or `instructions`.
    pub kind: String,
    /// Its name; empty for instructions.
    pub item: String,
    /// `new`, `changed` or `quarantined`.
    pub state: &'static str,
    /// What was agreed to, where something was.
    pub before: Option<String>,
    /// What the server says now.
    pub now: String,
    /// What speaks against it, one line each.
    pub findings: Vec<String>,
    /// When it was first seen, in milliseconds since 1970.
    pub first_seen_ms: i64,
}

/// A decision that did not take effect.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// Nothing of that name waits.
    #[error(
        "nothing named {item:?} of server {server:?} waits to be looked at; nothing was changed"
    )]
    Nothing {
        /// The server given.
        server: String,
        /// The name given.
        item: String,
    },
    /// It is not what was looked at any more.
    #[error("{item:?} of server {server:?} changed again in the meantime; nothing was changed")]
    Moved {
        /// The server given.
        server: String,
        /// The name given.
        item: String,
    },
    /// The store failed.
    #[error("the decision could not be stored; nothing was changed")]
    Store {
        /// What went wrong.
        #[source]
        source: StoreError,
    },
}

// === impl PinReview ===

impl PinReview {
    fn of(row: &PinRow) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (before, now) = match other(row) {
            Some(other) => (Some(text(&row.definition)), other),
            None => (None, text(&row.definition)),
        };
        Self {
            server: row.server.clone(),
            kind: row.kind.clone(),
            item: row.item.clone(),
            state: row.state.as_str(),
            before,
            now,
            findings: findings(row),
            first_seen_ms: row.first_seen_ms,
        }
    }
}

// === impl PinError ===

impl PinError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Nothing { .. } => "`legation mcp review` shows what waits",
            Self::Moved { .. } => "look at it again with `legation mcp review`",
            Self::Store { .. } => {
                "see that the disk of the data directory has room and can be written"
            }
        }
    }
}

// === impl Pins ===

impl Pins {
    /// What waits, of one server or of all.
    pub(crate) fn waiting(&self, server: Option<&str>) -> Result<Vec<PinReview>, PinError> {
        let rows = self
            .store
            .pin_list(None)
            .map_err(|source| PinError::Store { source })?;
        let wanted = |row: &&PinRow| {
            // Behind the name of a workspace server stands its folder.
            let name = row.server.split_once("@/").map(|(name, _)| name);
            let name = name.unwrap_or(&row.server);
            row.state != legation_store::PinState::Approved
                && server.is_none_or(|server| server == row.server || server == name)
        };
        Ok(rows.iter().filter(wanted).map(PinReview::of).collect())
    }

    /// Decides about what was looked at. What is refused stays set aside, and
    /// what was agreed to before stays agreed to.
    pub(crate) fn decide(
        &self,
        review: &PinReview,
        accept: bool,
        by: &str,
    ) -> Result<(), PinError> {
        let failed = |source| PinError::Store { source };
        let PinReview {
            server, kind, item, ..
        } = review;
        let (server_name, item_name) = (server.clone(), item.clone());
        // Held while the store is asked: what the server says in the meantime waits.
        let mut known = self.known();
        let row = self.store.pin_get(server, kind, item).map_err(failed)?;
        let Some(mut row) = row.filter(|row| row.state != legation_store::PinState::Approved)
        else {
            return Err(PinError::Nothing {
                server: server_name,
                item: item_name,
            });
        };
        if PinReview::of(&row).now != review.now {
            return Err(PinError::Moved {
                server: server_name,
                item: item_name,
            });
        }
        let pin = decided(&row, accept);
        if accept {
            row.definition = review.now.clone().into_bytes();
            row.findings = note(None, &[]);
        }
        row.hash = pin.hash;
        row.state = stored_state(pin.state);
        row.decided_ms = Some(self.clock.wall().0);
        row.decided_by = Some(by.to_owned());
        self.store.pin_put(&row).map_err(failed)?;
        let kinds = PINNED.map(|(_, kind)| kind);
        let mut kinds = kinds.into_iter().chain([INSTRUCTIONS]);
        if let Some(kind) = kinds.find(|known| known == kind) {
            known.insert(server, (kind, item.as_str().into()), pin);
        }
        Ok(())
    }
}

fn decided(row: &PinRow, accept: bool) -> Pin {
    let other = other(row).map(|text| Sha256::digest(text.as_bytes()).into());
    if accept {
        return Pin {
            hash: other.unwrap_or(row.hash),
            state: PinState::Approved,
            other: None,
        };
    }
    Pin {
        hash: row.hash,
        state: match (row.state, other) {
            (legation_store::PinState::Changed, Some(_)) => PinState::Changed,
            _ => PinState::Quarantined,
        },
        other,
    }
}

/// What speaks against a stored definition.
fn findings(row: &PinRow) -> Vec<String> {
    let note = Raw::parse(row.findings.clone().into(), &STORED).ok();
    let lines = note.and_then(|note| note.get("findings")?.to_array());
    let lines = lines.into_iter().flatten();
    lines
        .filter_map(|line| Some(line.to_str()?.into_owned()))
        .collect()
}
