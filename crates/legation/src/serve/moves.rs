//! How approvals move on, for those who tell others of it.
//!
//! Events of approvals are handed to listeners that may fall behind, and what is lost then cannot be
//! had again. So who listens keeps what it has said, and after a loss reads what waits now: what was
//! not said yet is said, and what does not wait any more has moved on.

use std::collections::BTreeMap;

use legation_core::ApprovalId;
use legation_gate::approval::{Answer, ApprovalEvent, Approvals, State};
use tokio::sync::broadcast::error::RecvError;

/// What has been said of most approvals, before those that have left the book are forgotten: more
/// than it can hold.
const SAID_MAX: usize = 2048;

/// What has been said of open approvals.
#[derive(Debug, Default)]
pub(super) struct Moves {
    said: BTreeMap<ApprovalId, State>,
}

/// One step of one approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) id: ApprovalId,
    /// How it stands; `None` where it is closed.
    pub(super) state: Option<State>,
}

/// What is to be said now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) moves: Vec<Move>,
    /// How many events were lost before.
    pub(super) missed: u64,
}

/// What is open.
pub(super) trait Open {
    /// What waits for an answer, oldest first.
    fn waiting(&self) -> Vec<ApprovalId>;
    /// How an open approval stands.
    fn state(&self, id: &ApprovalId) -> Option<State>;
}

// === impl Moves ===

impl Moves {
    /// Knows what waits already, of which nothing has to be said.
    pub(super) fn begin(open: &impl Open) -> Self {
        let waiting = open.waiting().into_iter();
        Self {
            said: waiting.map(|id| (id, State::Pending)).collect(),
        }
    }

    /// What an event comes to, or the loss of some; `None` when there will be no more.
    pub(super) fn next(
        &mut self,
        event: Result<ApprovalEvent, RecvError>,
        open: &impl Open,
    ) -> Option<Heard> {
        let heard = match event {
            Ok(event) => Heard {
                moves: self.heard(&event, open).into_iter().collect(),
                missed: 0,
            },
            Err(RecvError::Lagged(missed)) => Heard {
                moves: self.looked(open),
                missed,
            },
            Err(RecvError::Closed) => return None,
        };
        if self.said.len() > SAID_MAX {
            // What was used up leaves the book without a word.
            self.said.retain(|id, _| open.state(id).is_some());
        }
        Some(heard)
    }

    fn heard(&mut self, event: &ApprovalEvent, open: &impl Open) -> Option<Move> {
        let (id, state) = match event {
            ApprovalEvent::Asked(id) => (id, Some(State::Pending)),
            ApprovalEvent::Answered(id, Answer::Deny) => (id, Some(State::Denied)),
            ApprovalEvent::Answered(id, _) => (id, Some(State::Granted)),
            ApprovalEvent::Closed(id) => (id, None),
            ApprovalEvent::GrantsChanged | ApprovalEvent::OthersChanged => return None,
        };
        // After a loss, an event may come of what was found by looking: that it is closed was said.
        let is_answer = !matches!(state, Some(State::Pending) | None);
        if is_answer && !self.said.contains_key(id) && open.state(id).is_none() {
            return None;
        }
        let before = match state {
            Some(state) => self.said.insert(id.clone(), state),
            None => self.said.remove(id),
        };
        let is_known = state.is_some() && before == state;
        (!is_known).then(|| Move {
            id: id.clone(),
            state,
        })
    }

    /// What is new since the last word, found by looking at what is open.
    fn looked(&mut self, open: &impl Open) -> Vec<Move> {
        let mut moves = Vec::new();
        self.said.retain(|id, said| {
            let now = open.state(id);
            if now != Some(*said) {
                let id = id.clone();
                moves.push(Move { id, state: now });
            }
            now.inspect(|now| *said = *now).is_some()
        });
        for id in open.waiting() {
            if !self.said.contains_key(&id) {
                self.said.insert(id.clone(), State::Pending);
                let state = Some(State::Pending);
                moves.push(Move { id, state });
            }
        }
        moves
    }
}

// === impl Move ===

impl Move {
    /// The word for how it stands.
    pub(super) fn as_str(&self) -> &'static str {
        self.state.map_or("closed", State::as_str)
    }
}

// === impl Open ===

impl Open for Approvals {
    fn waiting(&self) -> Vec<ApprovalId> {
        self.list()
            .into_iter()
            .map(|approval| approval.id)
            .collect()
    }

    fn state(&self, id: &ApprovalId) -> Option<State> {
        self.get(id).map(|approval| approval.state)
    }
}

#[cfg(test)]
mod tests;
