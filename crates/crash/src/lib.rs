//! Crash points: what a power failure may leave on the disk, at every moment of
//! a recorded run.
//!
//! A program is run under `strace`, and every write, sync and change of a name in
//! one folder is recorded ([`Recording`]). The operations are then done again on a
//! [`Disk`] that knows what was synced, and images are made of it in which
//! of everything else any part is there, whole or torn; [`explore`] has each opened. What opens it
//! must find all that had been acknowledged by then. A file system that loses
//! power on command was rejected: it keeps more orders than it promises, and needs
//! root.
//!
//! The same run on a disk that is full, or fails, at one of its calls: [`Faults`].
//!
//! Architecture invariant: nothing here knows who is tested, and no crate names
//! this one but for its tests.

mod disk;
mod explore;
mod fault;
mod random;
mod trace;

pub use disk::{Disk, Fate, Image};
pub use explore::{Facts, explore};
pub use fault::{Faults, Kind};
pub use random::{Random, fresh_seed};
pub use trace::{Operation, Recording, Trace, strace};

#[cfg(test)]
mod tests;
