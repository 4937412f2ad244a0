//! The agent's own identity: the hub and its commands against a tenant in another process.

mod commands;
mod entities;
mod failures;
mod records;
mod secrets;
pub(crate) mod stand;
mod tools;
mod waiting;
