//! A task in the queue, and what comes before what.

use std::time::Instant;

use legation_api::tasks::Class;
use legation_core::SessionId;

use super::Hold;

/// A task that was accepted and has to be stored before it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(super) session: SessionId,
    pub(super) class: Class,
    /// In which order tasks were accepted.
    pub(super) number: u64,
    pub(super) place: i64,
}

/// The queue of a class is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full {
    /// How many there may be.
    pub(crate) most: usize,
}

/// What comes first is smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) rank: Rank,
    /// What was begun goes before what was not.
    pub(super) is_new: bool,
    pub(super) place: i64,
    pub(super) number: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// It has waited too long.
    Aged,
    Human,
    System,
    Agent,
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) session: SessionId,
    pub(super) class: Class,
    pub(super) number: u64,
    pub(super) place: i64,
    pub(super) stage: Stage,
    /// Since when it has not had the floor.
    pub(super) waits_since: Instant,
    /// How many turns of people it has let pass meanwhile.
    pub(super) turns: u32,
    pub(super) is_aged: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It was not begun, or not by this process.
    New,
    /// It has the floor.
    Active {
        since: Instant,
        hold: Option<(Hold, Instant)>,
        /// Until when it cannot be interrupted.
        safe_until: Option<Instant>,
    },
    /// It was begun and stands still.
    Standing,
    /// It was begun, and wants nothing for now.
    Resting,
}

// === impl Ticket ===

impl Ticket {
    /// The task's place among those of its class.
    pub(crate) fn place(&self) -> i64 {
        self.place
    }
}

// === impl Full ===

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tasks wait already", self.most)
    }
}

// === impl Rank ===

impl Rank {
    pub(super) fn of(class: Class) -> Self {
        match class {
            Class::Human => Self::Human,
            Class::System => Self::System,
            Class::Agent => Self::Agent,
        }
    }
}

// === impl Task ===

impl Task {
    pub(super) fn key(&self) -> Key {
        Key {
            rank: if self.is_aged {
                Rank::Aged
            } else {
                Rank::of(self.class)
            },
            is_new: self.stage == Stage::New,
            place: self.place,
            number: self.number,
        }
    }

    pub(super) fn is_human(&self) -> bool {
        self.class == Class::Human
    }
}
