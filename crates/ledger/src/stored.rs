//! A record as it is read back.

use serde::{Deserialize, Serialize};

use crate::record::Status;

/// Kinds of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Before a call.
    Intent,
    /// After a call.
    Outcome,
    /// Instead of a call.
    Refused,
    /// No call.
    Note,
}

/// A record as read back. Members that its kind does not have are `None`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Record {
    /// Version of the record's form: 1.
    pub v: u32,
    /// Whose chain.
    pub entity: String,
    /// Place in the chain, from 1.
    pub seq: i64,
    /// When, RFC 3339 with milliseconds.
    pub at: String,
    /// What it is.
    pub kind: Kind,
    /// The call's id.
    pub call: Option<String>,
    /// Outcome: the intent's place in the chain.
    pub intent: Option<i64>,
    /// Who asked.
    pub client: Option<String>,
    /// How the client reached the hub.
    pub via: Option<String>,
    /// The server.
    pub server: Option<String>,
    /// What was asked.
    pub verb: Option<String>,
    /// Of which tool, resource or prompt.
    pub item: Option<String>,
    /// Who acted; absent in records from before there were identities.
    pub attribution: Option<String>,
    /// Under which agent's identity, by its id in the directory.
    pub agent_id: Option<String>,
    /// The person who answers for the agent.
    pub sponsor: Option<String>,
    /// The hash of its definition.
    pub definition: Option<String>,
    /// The rule that decided.
    pub rule: Option<String>,
    /// Whose data was concerned.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The rung of the autonomy ladder.
    pub rung: Option<String>,
    /// The grant it was made under.
    pub grant: Option<String>,
    /// The approval it used up.
    pub approval: Option<String>,
    /// The proposal it applied.
    pub proposal: Option<String>,
    /// The model provider.
    #[serde(rename = "provider_used")]
    pub provider: Option<String>,
    /// Who delegated it.
    pub on_behalf_of: Option<String>,
    /// Why it was refused, as a code.
    pub reason_code: Option<String>,
    /// The version of the rules that decided, 16 hexadecimal digits.
    pub policy: Option<String>,
    /// Whose data the call itself is about, where the chain does not say it.
    pub entities: Option<Vec<String>>,
    /// What the rules knew of the target.
    #[serde(default)]
    pub traits: Vec<String>,
    /// Which event of the registry it is.
    pub event: Option<String>,
    /// `allowed`, or the code of what stopped it.
    pub governance_result: Option<String>,
    /// Note: the tool it is about, as `server/tool`.
    pub tool_name: Option<String>,
    /// How sure the caller said it is.
    pub confidence: Option<f64>,
    /// A request to a model: the job it was for.
    pub job_id: Option<String>,
    /// Whose preference chose the provider.
    pub source: Option<String>,
    /// The conversation it belongs to.
    pub conversation: Option<String>,
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// What it cost, in millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
    /// Commitment to the arguments.
    pub args: Option<String>,
    /// Outcome: how it ended.
    pub status: Option<Status>,
    /// The error code.
    pub code: Option<i64>,
    /// Outcome: milliseconds since the intent was recorded, to the microsecond.
    pub execution_time_ms: Option<f64>,
    /// Outcome: size of the result.
    pub result_bytes: Option<i64>,
    /// Outcome: commitment to the result.
    pub result: Option<String>,
    /// Refused: why.
    pub reason: Option<String>,
    /// Note: what it is about.
    pub topic: Option<String>,
    /// Note: what happened.
    pub text: Option<String>,
}
