//! Records that wait for the next commit: one queue per thread.
//!
//! The hub runs several single-threaded runtimes. With one queue for all, the
//! leader of one would mostly wake waiters of another, which costs more than
//! the commit itself; with a queue per thread it serves its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use legation_core::EntityId;
use tokio::sync::oneshot;

use crate::error::LedgerError;
use crate::ledger::Durability;
use crate::members::Spans;
use crate::record::CallId;
use crate::ticket::Ticket;

/// Queues; more threads than this share, which costs wake-ups and nothing else.
const SHARDS: usize = 16;

/// One record on its way into a chain.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) entity: EntityId,
    pub(crate) at_ms: i64,
    /// Everything after `at`.
    pub(crate) members: Vec<u8>,
    pub(crate) duty: Duty,
}

/// What is owed once the record is written.
#[derive(Debug)]
pub(crate) enum Duty {
    /// A ticket, to whoever wants to run the call.
    Intent {
        durability: Durability,
        call: CallId,
        spans: Spans,
        /// What it uses up. Boxed, because few do.
        claim: Option<Box<Claimed>>,
        waiter: oneshot::Sender<Result<Ticket, LedgerError>>,
    },
    /// Word that it is done.
    Plain {
        durability: Durability,
        waiter: oneshot::Sender<Result<(), LedgerError>>,
    },
    /// Nothing: nobody waits for an outcome.
    Outcome {
        /// Position of the intent.
        closes: i64,
    },
}

/// What an intent uses up.
#[derive(Debug, Clone)]
pub(crate) struct Claimed {
    pub(crate) kind: ClaimKind,
    pub(crate) id: String,
    /// When, in milliseconds since 1970.
    pub(crate) at_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClaimKind {
    Grant,
    Approval,
    Proposal,
}

/// Someone who has to be told that it failed.
#[derive(Debug)]
pub(crate) enum Waiter {
    Intent(oneshot::Sender<Result<Ticket, LedgerError>>),
    Plain(oneshot::Sender<Result<(), LedgerError>>),
}

/// All queues.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    /// Bounded: those who wait are counted by the ledger, and an outcome takes
    /// the place of a call that was let in before.
    queue: Vec<Pending>,
    /// Someone has undertaken to commit this queue.
    led: bool,
    /// How many of those in it wait for the disk.
    for_disk: usize,
}

/// The calling thread's queue.
pub(crate) fn my_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    }
    // A thread that is being torn down has lost its number; any queue will do.
    MINE.try_with(|mine| *mine).unwrap_or(0)
}

// === impl Queues ===

impl Queues {
    /// Adds a record somebody waits for; true when the caller now leads.
    pub(crate) fn push(&self, shard: usize, pending: Pending) -> bool {
        let mut shard = self.shard(shard);
        shard.for_disk += usize::from(pending.duty.durability() == Durability::Disk);
        shard.queue.push(pending);
        !std::mem::replace(&mut shard.led, true)
    }

    /// How many in a queue wait for the disk.
    pub(crate) fn for_disk(&self, shard: usize) -> usize {
        self.shard(shard).for_disk
    }

    /// Adds a record nobody waits for.
    pub(crate) fn push_quietly(&self, shard: usize, pending: Pending) {
        self.shard(shard).queue.push(pending);
    }

    /// Takes what waits, and the lead with it. Records whose caller has gone
    /// are left out: it will not run the call.
    pub(crate) fn take(&self, shard: usize) -> Vec<Pending> {
        let mut shard = self.shard(shard);
        shard.led = false;
        shard.for_disk = 0;
        let mut queue = std::mem::take(&mut shard.queue);
        drop(shard);
        queue.retain(|pending| match &pending.duty {
            Duty::Intent { waiter, .. } => !waiter.is_closed(),
            Duty::Plain { .. } | Duty::Outcome { .. } => true,
        });
        queue
    }

    /// Takes what waits in all queues.
    pub(crate) fn take_all(&self) -> Vec<Pending> {
        (0..SHARDS).flat_map(|shard| self.take(shard)).collect()
    }

    fn shard(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Claimed ===

impl Claimed {
    pub(crate) fn to_store(&self) -> legation_store::Claim<'_> {
        let (id, now_ms) = (self.id.as_str(), self.at_ms);
        match self.kind {
            ClaimKind::Grant => legation_store::Claim::Grant { id, now_ms },
            ClaimKind::Approval => legation_store::Claim::Approval { id, now_ms },
            ClaimKind::Proposal => legation_store::Claim::Proposal { id, now_ms },
        }
    }
}

// === impl ClaimKind ===

impl ClaimKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Grant => "grant",
            Self::Approval => "approval",
            Self::Proposal => "proposal",
        }
    }
}

// === impl Waiter ===

impl Waiter {
    /// Who waits for a record, if anybody does.
    pub(crate) fn of(duty: Duty) -> Option<Self> {
        match duty {
            Duty::Intent { waiter, .. } => Some(Self::Intent(waiter)),
            Duty::Plain { waiter, .. } => Some(Self::Plain(waiter)),
            Duty::Outcome { .. } => None,
        }
    }

    pub(crate) fn fail(self, error: LedgerError) {
        // One who has gone need not be told.
        match self {
            Self::Intent(waiter) => drop(waiter.send(Err(error))),
            Self::Plain(waiter) => drop(waiter.send(Err(error))),
        }
    }
}

// === impl Duty ===

impl Duty {
    pub(crate) fn durability(&self) -> Durability {
        match self {
            Self::Intent { durability, .. } | Self::Plain { durability, .. } => *durability,
            Self::Outcome { .. } => Durability::PageCache,
        }
    }
}
