//! Hash-chained record of every call, and its verifier.
//!
//! Every call leaves two records in its entity's chain: an *intent* before it
//! runs and an *outcome* after. A call whose intent could not be recorded gets
//! no [`Ticket`], and without one nobody may run it. A refused call leaves one
//! record. Arguments and results appear as keyed commitments only.
//!
//! Each record is stored as the exact bytes that were hashed:
//! `hash = SHA-256(0x00 ‖ prev ‖ len ‖ bytes)` with `len` as eight big-endian
//! bytes and `prev` the hash before it in the chain, zeros at its start. What
//! the chain cannot show is that its end was cut off; only a head kept
//! elsewhere ([`Report`] gives the heads) can.
//!
//! Every record names under whose identity it was made: `attribution`, and
//! where there is one `agent_id` and `sponsor`, in this order behind what it is
//! about. The outcome of a call repeats its intent's. Records from before there
//! were identities have none of the three.
//!
//! There is no writer thread: the first caller in a tick of a runtime commits
//! for all that queued behind it, on its own thread, because two cross-thread
//! wake-ups cost more than the commit.
//!
//! Architecture invariant: this crate decides nothing. It does not know why a
//! call was allowed, it only refuses to pretend that one was recorded.

mod away;
mod chain;
mod checkpoint;
mod commit;
mod error;
mod export;
mod follow;
mod identities;
mod keys;
mod latest;
mod ledger;
mod line;
mod members;
mod publish;
mod query;
mod queue;
mod read;
mod record;
mod said;
mod settle;
mod shred;
mod sign_off;
mod stored;
mod sweep;
mod tally;
mod ticket;
mod verify;

pub use checkpoint::{
    Checkpoint, CheckpointError, Head, Made, NoteError, PublicKey, PublicKeyError,
};
pub use error::{LedgerError, LedgerOpenError};
pub use export::{Format, FormatError};
pub use follow::Follow;
pub use identities::Identities;
pub use keys::{LedgerKeys, Month};
pub use latest::Latest;
pub use ledger::{Durability, Ledger};
pub use publish::{Place, PublishError, PublishSettings};
pub use query::{Bounds, Filter, Named, Page};
pub use read::{Entry, LedgerReader, Records};
pub use record::{
    CallId, ChatUse, Claim, Detail, Intent, ModelUse, Note, OutcomeRecord, Refused, Status, Verb,
};
pub use shred::Shredded;
pub use sign_off::Pace;
pub use stored::{Kind, Record};
pub use tally::{HOUR_MS, Sums, Tally};
pub use ticket::Ticket;
pub use verify::{ChainReport, Evidence, EvidenceError, Fault, FaultKind, Report};

#[cfg(test)]
mod tests;
