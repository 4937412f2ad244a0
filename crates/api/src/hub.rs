//! The hub itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Done, request};

/// How the hub is.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Status {}

/// How the hub is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Stop {}

/// Read every file again.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reload {}

/// Hear what happens in the hub: notifications [`EVENT`] until the caller goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Follow {
    /// The id of the event after which to begin; what happens from now on when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// The method of the notifications that [`Follow`] brings: `type`, `data`, and an `id` to come
/// back with.
pub const EVENT: &str = "session.event";

request!(Follow, "session.events", Done);
request!(Status, "hub.status", StatusAnswer);
request!(Stop, "hub.stop", Done);
request!(Reload, "hub.reload", Done);
