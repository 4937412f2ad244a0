//! Calendars.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Somebody's calendar.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Calendar {
    pub(crate) id: String,
    pub(crate) events: Vec<Event>,
    /// What was deleted, for delta queries.
    #[serde(default)]
    pub(crate) removed: Vec<RemovedEvent>,
}

/// A meeting.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Event {
    pub(crate) id: String,
    /// The moment; of an event that takes days whole, midnight of its first day as if that were
    /// in UTC.
    pub(crate) start_ms: i64,
    pub(crate) end_ms: i64,
    /// The key that makes a repeated creation harmless.
    pub(crate) transaction: Option<String>,
    pub(crate) sequence: u64,
    /// The days on which a series was called off, as `YYYY-MM-DD`.
    #[serde(default)]
    pub(crate) skipped: Vec<String>,
    /// The members that Graph shows, except the id and the times.
    pub(crate) shown: Map<String, Value>,
}

/// A meeting that was deleted, or an occurrence of one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RemovedEvent {
    pub(crate) id: String,
    pub(crate) start_ms: i64,
    pub(crate) end_ms: i64,
    pub(crate) sequence: u64,
}

// === impl Event ===

impl Event {
    /// Whether it takes days whole.
    pub(crate) fn is_all_day(&self) -> bool {
        self.shown.get("isAllDay") == Some(&Value::Bool(true))
    }
}
