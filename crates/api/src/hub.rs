//! The hub itself.

use serde::{Deserialize, Serialize};

use crate::{Done, request};

/// How the hub is.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Status {}

/// How the hub is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusAnswer {
    /// The hub's version.
    pub version: String,
    /// This start of it.
    pub boot: String,
    /// Its process.
    pub pid: u32,
    /// Its data directory.
    pub home: String,
    /// Where it answers HTTP, as `http://ADDR`; absent when it does not.
    pub listen: Option<String>,
    /// Whether HTTP asks for no credential.
    pub no_auth: bool,
    /// Milliseconds since it started.
    pub uptime_ms: u64,
    /// Servers configured.
    pub servers: usize,
    /// Servers connected.
    pub connected: usize,
    /// The rules in force, or why there are none.
    pub rules: String,
    /// What is wrong at the moment, a line each.
    pub problems: Vec<String>,
}

/// Stop, after calls in flight have ended or five seconds; then they are called off and told so.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Stop {}

/// Read every file again.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Reload {}

request!(Status, "hub.status", StatusAnswer);
request!(Stop, "hub.stop", Done);
request!(Reload, "hub.reload", Done);
