//! The hub's store: ledger rows, and what else has to survive it.
//!
//! Everything lies either in one SQLite file, `state.db`, with the ledger's rows in a file of their own beside it, both
//! opened only by the holder of the data directory's lock, or in a PostgreSQL database that
//! several hubs may share. Rows go in and come out; a noun has a file of its
//! own, and its methods start with its name.
//!
//! Every method blocks the calling thread: with a file tens of microseconds
//! for a commit to the page cache, one `fdatasync` more where the documentation
//! says the row is on disk on return; with a server see [`Store::is_remote`].
//! Text must not hold the character NUL, which PostgreSQL refuses.
//!
//! Architecture invariant: nothing here knows what a record means. Hashes,
//! JSON and policy are other crates' business.

mod approvals;
mod checkpoints;
mod counters;
mod definitions;
mod delegation;
mod desk;
mod error;
mod grants;
mod kept;
mod labels;
mod leases;
mod ledger_rows;
mod pins;
mod postgres;
mod proposals;
mod reader;
mod spend;
mod sql;
mod sqlite;
mod state;
mod store;
mod tasks;
mod vault;
mod volume;

pub use approvals::{ApprovalRow, ApprovalState};
pub use checkpoints::CheckpointRow;
pub use definitions::Definition;
pub use delegation::{
    DelegatedRow, DelegatedState, DelegatedWhich, Fence, MessageNew, MessageRow, PartialRow,
    ReportRow, SessionRow, SessionUpdate, StepRow, StepState,
};
pub use desk::{DeskAdded, DeskEvent, DeskRow, DeskWhich};
pub use error::{DatabaseError, OpenError, StoreError};
pub use grants::GrantRow;
pub use kept::KeptRow;
pub use leases::Lease;
pub use ledger_rows::{
    BuildLedger, Claim, LedgerBatch, LedgerHead, LedgerMark, LedgerRow, NewLedgerRow,
};
pub use pins::{PinRow, PinState};
pub use postgres::url::{DatabaseUrl, UrlError};
pub use proposals::{ProposalRow, ProposalState};
pub use reader::Reader;
pub use spend::SpendRow;
pub use store::{Committed, Generation, Store, StoreOptions, SyncFile};
pub use tasks::Task;
pub use vault::{VaultPurge, VaultRow};

#[cfg(test)]
mod tests;
