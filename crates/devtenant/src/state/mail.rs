//! Mailboxes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Somebody's mail.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Mailbox {
    pub(crate) folders: Vec<Folder>,
    pub(crate) mails: Vec<Mail>,
    /// What was deleted or moved away, for delta queries.
    pub(crate) removed: Vec<Removed>,
}

/// A mail folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Folder {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The name that every client knows, such as `inbox`; empty for folders people made.
    pub(crate) well_known: String,
    pub(crate) parent: Option<String>,
    pub(crate) hidden: bool,
}

/// A mail or a draft.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Mail {
    /// Changes with every move, unless a client asks for the other one.
    pub(crate) id: String,
    pub(crate) immutable_id: String,
    pub(crate) folder: String,
    /// When it was last changed, in the order of all changes.
    pub(crate) sequence: u64,
    /// When it came into its folder, in the same order.
    pub(crate) entered: u64,
    /// The members that Graph shows, except ids and folder.
    pub(crate) shown: Map<String, Value>,
    pub(crate) attachments: Vec<Value>,
}

/// A mail that left a folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Removed {
    pub(crate) id: String,
    pub(crate) immutable_id: String,
    pub(crate) folder: String,
    pub(crate) sequence: u64,
    /// `deleted` or `changed`.
    pub(crate) reason: String,
}
