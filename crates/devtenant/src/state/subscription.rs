//! Subscriptions to changes, and the notices that are due.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::directory::ObjectId;

/// A subscription.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Subscription {
    pub(crate) id: String,
    pub(crate) resource: String,
    pub(crate) change_type: String,
    pub(crate) notification_url: String,
    pub(crate) lifecycle_url: Option<String>,
    pub(crate) client_state: Option<String>,
    pub(crate) expires_ms: i64,
    pub(crate) application: String,
    pub(crate) creator: ObjectId,
}

/// One request to a subscriber.
#[derive(Debug, Clone)]
pub(crate) struct Notice {
    pub(crate) url: String,
    pub(crate) body: Value,
}
