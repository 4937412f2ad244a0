//! What the governance files say, and what rules would answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request;

/// Which files hold, and why the others do not.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Files {}

/// Which files hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilesAnswer {
    /// In the order in which they are asked.
    pub files: Vec<FileState>,
}

/// How one file is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileState {
    /// Which.
    pub file: String,
    /// `holds`, or `denies` where it cannot be believed.
    pub state: String,
    /// What is in it, or what is wrong with it.
    pub says: String,
}

/// What the files say of a tool or a client; exactly one is named.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Explain {
    /// The tool, as `server/tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The client, as it was connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// What the files say of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainAnswer {
    /// Of what.
    pub subject: String,
    /// File by file.
    pub says: Vec<Says>,
}

/// What one file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Says {
    /// Which.
    pub file: String,
    /// What.
    pub says: String,
}

/// Which model may have a request, and why.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExplainProvider {
    /// Whose data is in it: ids or accounts, or `all`; nobody's when empty.
    #[serde(default)]
    pub entities: Vec<String>,
    /// The job it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// As if the token of a Copilot user came with it.
    #[serde(default)]
    pub copilot_token: bool,
}

/// Which model may have a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderAnswer {
    /// Whose data is in it.
    pub entity_context: Vec<String>,
    /// Who has it; `null` where nobody may.
    pub provider: Option<String>,
    /// Which model; `null` for the provider's own.
    pub model: Option<String>,
    /// Whose preference that is.
    pub source: Option<String>,
    /// Whether only a provider cleared for health information will do.
    pub needs_clearance: bool,
    /// Whose data is redacted before it goes.
    pub redacted_first: Vec<String>,
    /// Why nobody has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Blocked>,
    /// The event that is recorded.
    pub event: String,
    /// Every provider, and why it may not.
    pub considered: Vec<Considered>,
    /// What was preferred, in the order of asking.
    pub preferences: Vec<Preference>,
    /// Who is asked when the chosen one does not answer.
    pub fallbacks: Vec<String>,
}

/// Why no model has a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blocked {
    /// As a code.
    pub reason_code: String,
    /// In a sentence.
    pub reason: String,
    /// What to do next.
    pub next_safe_step: String,
}

/// One provider that was considered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Considered {
    /// Which.
    pub provider: String,
    /// Whether it may have it.
    pub may_have_it: bool,
    /// Why it may not.
    pub why_not: Vec<String>,
}

/// One preference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preference {
    /// Whose.
    pub of: String,
    /// For which provider.
    pub provider: String,
    /// Whether that one may have it.
    pub may_have_it: bool,
}

/// What the rules would answer to a call, without making it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Decide {
    /// The call, as `server/tool`.
    pub call: String,
    /// Its arguments, a JSON object; `{}` when empty.
    #[serde(default)]
    pub arguments: String,
    /// Who calls; the owner when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Whose data the server holds; as its entry says when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
}

/// What the rules would answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecideAnswer {
    /// `allows`, `asks` or `denies`.
    pub outcome: String,
    /// The rule that decides.
    pub rule: String,
    /// How far it may go.
    pub rung: String,
    /// Why it is refused, as a code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<String>,
    /// What is known of the tool's definition.
    pub definition: String,
    /// Every layer that was asked, in order.
    pub layers: Vec<Layer>,
}

/// What one layer of the rules says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layer {
    /// Which.
    pub layer: String,
    /// What it answers.
    pub verdict: String,
    /// By which rule; empty where none is about it.
    pub rule: String,
    /// Why.
    pub reason: String,
}

/// Decide the newest recorded calls again.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// How many, counted from the newest.
    pub last: usize,
    /// Text to try in the place of `permissions.toml`; the rules in force when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
}

/// What deciding again came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayAnswer {
    /// Calls that were decided again.
    pub calls: usize,
    /// With the same answer by the same rule.
    pub same: usize,
    /// With another answer.
    pub changed: usize,
    /// With the same answer by another rule.
    pub by_another_rule: usize,
    /// Whose answer depends on what was not recorded.
    pub depends: usize,
    /// Records of calls that no rule decided: unknown names, too many calls.
    pub without_decision: usize,
    /// What differs, the most frequent first.
    pub differences: Vec<Difference>,
}

/// Calls that differ in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// How many.
    pub calls: usize,
    /// The oldest of them.
    pub first: String,
    /// The newest of them.
    pub last: String,
    /// What they have in common.
    #[serde(flatten)]
    pub what: Differs,
}

/// What calls that differ in the same way have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Differs {
    /// Whose calls.
    pub client: String,
    /// At which server.
    pub server: String,
    /// What was asked, as MCP calls it.
    pub verb: String,
    /// Of which tool, resource or prompt.
    pub item: String,
    /// What was answered.
    pub before: Said,
    /// What would be answered.
    pub after: Said,
}

/// An answer of the rules.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Said {
    /// `allowed`, `asked`, `denied` or `depends`.
    pub answer: String,
    /// By which rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// How far it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung: Option<String>,
    /// The rules whose answer is not known, and what they read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends: Vec<Reads>,
}

/// A rule that reads what is not recorded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Reads {
    /// Which rule.
    pub rule: String,
    /// What it reads.
    pub reads: Vec<String>,
}

request!(Files, "governance.files", FilesAnswer);
request!(Explain, "governance.explain", ExplainAnswer);
request!(ExplainProvider, "governance.provider", ProviderAnswer);
request!(Decide, "governance.decide", DecideAnswer);
request!(Replay, "governance.replay", ReplayAnswer);
