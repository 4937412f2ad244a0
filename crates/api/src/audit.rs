//! The ledger of the running hub.

use serde::{Deserialize, Serialize};

use crate::request;

/// The newest records.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tail {
    /// At most so many.
    pub count: usize,
}

/// The newest records.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TailAnswer {
    /// Oldest first; each as it is stored, with its sequence number and hash.
    pub records: Vec<Record>,
}

/// One record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// Its place in the chain of its entity.
    pub seq: u64,
    /// SHA-256 over the record and its predecessor's hash, hexadecimal.
    pub hash: String,
    /// The stored text.
    pub record: Box<serde_json::value::RawValue>,
}

/// Check the whole chain.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Verify {}

/// What the check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyAnswer {
    /// Whether the chain is whole.
    pub intact: bool,
    /// Records read.
    pub records: u64,
    /// Intents among them.
    pub intents: u64,
    /// Outcomes among them.
    pub outcomes: u64,
    /// Refusals among them.
    pub refused: u64,
    /// The hash of the newest record, hexadecimal; absent for an empty ledger.
    pub head: Option<String>,
    /// The first fault: where and what.
    pub fault: Option<Fault>,
}

/// Where a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Whose chain.
    pub entity: String,
    /// At which sequence number.
    pub seq: u64,
    /// What is wrong there.
    pub what: String,
}

request!(Tail, "audit.tail", TailAnswer);
request!(Verify, "audit.verify", VerifyAnswer);
