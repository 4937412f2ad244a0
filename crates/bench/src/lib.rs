//! Load generator and echo servers of `cargo xtask bench`.
//!
//! The hub is measured from outside: nothing of it is linked here, so that a mistake of its protocol
//! code cannot hide in the measurement. Both programs are as cheap as they can be made, because on a
//! small machine they share the cores with what they measure; a ready-made load generator would
//! neither open MCP sessions nor check each answer.

pub mod answer;
pub mod client;
pub mod http;
pub mod idle;
pub mod journal;
pub mod listing;
pub mod load;
pub mod serve;
pub mod startup;
pub mod stats;
pub mod stdio;
pub mod sys;
