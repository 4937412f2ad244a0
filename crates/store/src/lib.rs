//! The hub's SQLite store: ledger rows, remembered definitions, tasks.
//!
//! One file, `state.db`, opened only by the holder of the data directory's
//! lock. Writers share one connection behind a mutex and commit on the thread
//! that asks: a writer thread that callers wait for costs two cross-thread
//! wake-ups a call, and a checkpoint on the committing connection shows up in
//! the tail latency, so checkpoints have a thread and a connection of their own.
//!
//! Every method blocks the calling thread: tens of microseconds for a commit
//! to the page cache, one `fdatasync` more where the documentation says the row
//! is on disk on return.
//!
//! Architecture invariant: nothing here knows what a record means. Hashes,
//! JSON and policy are other crates' business.

mod checkpoint;
mod connection;
mod definitions;
mod error;
mod ledger_rows;
mod migrate;
mod reader;
mod store;
mod tasks;

pub use definitions::Definition;
pub use error::{OpenError, StoreError};
pub use ledger_rows::{LedgerHead, LedgerMark, LedgerRow, NewLedgerRow};
pub use reader::Reader;
pub use store::{Committed, Generation, Store, StoreOptions, SyncFile};
pub use tasks::Task;

#[cfg(test)]
mod tests;
