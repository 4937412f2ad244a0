//! The ledger of the running hub.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;

/// Which records are wanted. What is absent does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Filter {
    /// Recorded at this time or later, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_ms: Option<i64>,
    /// Recorded before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
    /// In this entity's chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// At this place in its chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    /// `intent`, `outcome`, `refused` or `note`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// About this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// By this client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// To this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Under this agent's identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// With this attribution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribution: Option<String>,
    /// Of this tool, resource or prompt, by its own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// Decided by this rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// That ended so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Refused for this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<String>,
    /// A note about this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
}

/// The newest records.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Tail {
    /// At most so many.
    pub count: usize,
}

/// The newest records.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TailAnswer {
    /// Oldest first; each as it is stored, with its sequence number and hash.
    pub records: Vec<Record>,
}

/// Records that match.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Query {
    /// Which.
    #[serde(flatten)]
    pub filter: Filter,
    /// At most so many.
    pub limit: usize,
    /// Only records before this position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    /// Look at no more records than this; 200,000 when not given, or where it is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<usize>,
}

/// Records that match.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct QueryAnswer {
    /// Newest first.
    pub records: Vec<Record>,
    /// To be asked for as `before`; absent when everything was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// Everything about one call.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Show {
    /// The call's id, as it stands in records.
    pub call: String,
}

/// One record.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Its place among all records.
    pub position: i64,
    /// Whose chain it is in.
    pub entity: String,
    /// Its place in the chain of its entity.
    pub seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub at_ms: i64,
    /// SHA-256 over the record and its predecessor's hash, hexadecimal.
    pub hash: String,
    /// The stored text.
    #[schemars(with = "serde_json::Value")]
    pub record: Box<serde_json::value::RawValue>,
}

/// Records in another form, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Export {
    /// Which.
    #[serde(flatten)]
    pub filter: Filter,
    /// `jsonl`, `ocsf` or `otel`.
    pub format: String,
    /// Only records after this position.
    pub after: i64,
}

/// Records in another form.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExportAnswer {
    /// A line a record.
    pub lines: Vec<String>,
    /// To be asked for as `after`; absent when everything was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// Check every chain.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Verify {
    /// A folder of exported checkpoints to compare with, as an absolute path.
    pub checkpoints: Option<String>,
    /// The keys whose checkpoints are trusted; the first of the ledger when
    /// there is none.
    pub public_keys: Vec<String>,
}

/// What the check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyAnswer {
    /// Whether nothing is wrong.
    pub intact: bool,
    /// Records read.
    pub records: u64,
    /// Intents among them.
    pub intents: u64,
    /// Outcomes among them.
    pub outcomes: u64,
    /// Refusals among them.
    pub refused: u64,
    /// Notes among them.
    pub notes: u64,
    /// Calls without outcome, which run now.
    pub open: u64,
    /// Checkpoints that were compared.
    pub checkpoints: u64,
    /// Records that the largest checkpoint with a trusted signature covers.
    pub covered: u64,
    /// The keys that were trusted.
    pub public_keys: Vec<String>,
    /// Where every chain ends.
    pub chains: Vec<Chain>,
    /// What is wrong: the first thousand faults.
    pub faults: Vec<Fault>,
    /// How much is wrong.
    pub fault_count: u64,
}

/// Where one chain ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Chain {
    /// Whose.
    pub entity: String,
    /// Its number of records.
    pub seq: i64,
    /// The hash of its newest, hexadecimal.
    pub hash: String,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// In one word.
    pub kind: String,
    /// Whose chain.
    pub entity: String,
    /// At which sequence number.
    pub seq: i64,
    /// The checkpoint that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// In a sentence.
    pub what: String,
}

/// What was recorded, counted by spans of time.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// How many days back, today included; 7 when not given, 90 at most. Up to three
    /// days are told by hours, more by days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
}

/// What was recorded, counted by spans of time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountsAnswer {
    /// When the first span begins, in milliseconds since 1970.
    pub from_ms: i64,
    /// How long each is, in milliseconds.
    pub span_ms: i64,
    /// Oldest first, those without records included.
    pub spans: Vec<CountsSpan>,
    /// Records that were not counted yet when this was counted: counting goes on.
    pub missing: u64,
}

/// What was recorded in one span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountsSpan {
    /// Calls that were made.
    pub calls: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Calls among those made that did not end well.
    pub failed: u64,
    /// Half of the calls took no longer, in milliseconds; absent where none ended. As exact as a
    /// quarter of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<f64>,
    /// Of twenty calls nineteen took no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<f64>,
}

/// Make a checkpoint, and export it.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {}

/// The checkpoint that covers everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointAnswer {
    /// The signed text; absent where nothing is new since the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The key that signs checkpoints.
    pub public_key: String,
}

/// Change the key that signs checkpoints.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct RotateKey {}

/// The new key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RotateKeyAnswer {
    /// As a verifier key.
    pub public_key: String,
}

/// Destroy the keys of an entity's commitments.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Shred {
    /// Whose.
    pub entity: String,
    /// Of every month before this one: `2026-01`, or a date in it.
    pub before: String,
    /// Only say which.
    pub dry_run: bool,
}

/// Which keys were, or would be, destroyed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShredAnswer {
    /// Their months.
    pub months: Vec<String>,
    /// Whether they are gone.
    pub destroyed: bool,
}

request!(Tail, "audit.tail", TailAnswer);
request!(Query, "audit.query", QueryAnswer);
request!(Show, "audit.show", TailAnswer);
request!(Export, "audit.export", ExportAnswer);
request!(Verify, "audit.verify", VerifyAnswer);
request!(Counts, "audit.counts", CountsAnswer);
request!(Checkpoint, "audit.checkpoint", CheckpointAnswer);
request!(RotateKey, "audit.rotate-key", RotateKeyAnswer);
request!(Shred, "audit.shred", ShredAnswer);
