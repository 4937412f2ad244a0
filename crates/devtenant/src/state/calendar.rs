//! Calendars.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Somebody's calendar.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Calendar {
    pub(crate) id: String,
    pub(crate) events: Vec<Event>,
}

/// A meeting.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) start_ms: i64,
    pub(crate) end_ms: i64,
    /// The key that makes a repeated creation harmless.
    pub(crate) transaction: Option<String>,
    pub(crate) sequence: u64,
    /// The members that Graph shows, except the id and the times.
    pub(crate) shown: Map<String, Value>,
}
