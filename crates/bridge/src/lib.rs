//! The stdio pipe of one agent to the hub.
//!
//! Agents start one bridge per configured server and never reconnect it, so the
//! bridge outlives the hub: it starts one when none runs, and when the hub goes
//! away it answers what was in flight with an error, reconnects, and redoes the
//! handshake, subscriptions, listeners and log level as if nothing had
//! happened. It checks nothing and decides nothing; the hub does. It runs on
//! plain threads: a start has to be done in milliseconds, and two blocking
//! copies wake nobody needlessly.

pub mod connect;
mod envelope;
mod memory;
mod pipe;

pub use connect::{ConnectError, HubStarter, Started};
pub use pipe::{BridgeError, BridgeParts, run};
