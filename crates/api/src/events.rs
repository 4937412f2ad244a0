//! The event subscriptions of the running hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Done, request};

/// A webhook's subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subscription {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub client: String,
    /// Which events.
    pub event: String,
    /// Which of them, as JSON.
    pub arguments: String,
    /// Scheme, host and port of the receiver; its path may hold a secret.
    pub receiver: String,
    /// `active`, `failing`, `inactive` or `lapsed`.
    pub state: String,
    /// When it lapses, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// When its receiver last took something, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_delivery: Option<String>,
    /// What was wrong last, as the events extension calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Since when nothing arrives, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_since: Option<String>,
}

/// List the subscriptions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct List {}

/// The subscriptions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListAnswer {
    /// By id.
    pub subscriptions: Vec<Subscription>,
}

/// Ask a subscription's receiver for a sign of life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Test {
    /// Which one.
    pub id: String,
}

/// End a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remove {
    /// Which one.
    pub id: String,
}

request!(List, "events.list", ListAnswer);
request!(Test, "events.test", Done);
request!(Remove, "events.remove", Done);
