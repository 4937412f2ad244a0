//! The tests of the hub from outside, and of the fixtures they stand on.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod answers;
mod approvals;
mod audit;
mod bad_input;
mod bridge;
mod business;
mod chat;
mod clients;
mod commands;
mod crashes;
mod crowd;
mod definitions;
mod delegate;
mod demo;
mod disk;
mod entra;
mod events;
mod fidelity;
mod fixture;
mod governance;
mod hostile;
mod identity;
mod inbox;
mod leaks;
mod leftovers;
mod models;
mod natives;
mod ops;
mod patience;
mod pins;
mod relay;
mod replays;
mod roads;
mod rules;
mod spilled;
mod sse;
mod teams;
mod waits;
mod waking;
mod watch;
