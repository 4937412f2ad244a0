//! Harness, fixture servers and end-to-end tests.
//!
//! Nothing here is built on the hub's own protocol crates: the fixtures and
//! the mini-clients are a second, independent reading of the specification,
//! so that a misreading in one place cannot hide in the other.

pub mod e2e;
pub mod fixture;
pub mod harness;
pub mod hostile;
