//! What is told to the ledger, and the words for it.

use std::fmt;

use legation_core::{ClientId, EntityId, ServerName, Via};
use serde::{Deserialize, Serialize};

/// One call, unique over all starts of the hub. Made by
/// [`Ledger::next_call`](crate::Ledger::next_call).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId {
    pub(crate) start: u64,
    pub(crate) count: u64,
}

/// What is asked of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// `tools/call`
    CallTool,
    /// `resources/read`
    ReadResource,
    /// `prompts/get`
    GetPrompt,
    /// `completion/complete`
    Complete,
    /// An answer or input for a task that runs.
    TaskUpdate,
    /// `tasks/cancel`
    TaskCancel,
    /// `sampling/createMessage`
    Sample,
    /// A request to a model; the item is the model.
    AskModel,
}

/// A call that is about to run.
#[derive(Debug, Clone, Copy)]
pub struct Intent<'a> {
    /// Which call.
    pub call: CallId,
    /// In whose chain it is recorded.
    pub entity: &'a EntityId,
    /// Who asks.
    pub client: &'a ClientId,
    /// How the client reached the hub.
    pub via: Via,
    /// The server; `None` only where a refused call named none that exists.
    pub server: Option<&'a ServerName>,
    /// What is asked.
    pub verb: Verb,
    /// The tool's name, the resource's URI or the prompt's name.
    pub item: &'a str,
    /// The hash of the definition the decision was made on.
    pub definition: Option<&'a [u8; 32]>,
    /// The rule that decided.
    pub rule: &'a str,
    /// The arguments as they go to the server; only a commitment is kept.
    pub args: Option<&'a [u8]>,
    /// What else is known.
    pub detail: Detail<'a>,
}

/// Members that a record has where there is something to say. Texts are ids and
/// words of closed lists, never a caller's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Detail<'a> {
    /// Whose data is concerned, sorted: [`legation_core::EntityLabels::as_slice`].
    pub labels: &'a [EntityId],
    /// The rung of the autonomy ladder.
    pub rung: Option<&'a str>,
    /// The grant the call is made under.
    pub grant: Option<&'a str>,
    /// The approval it uses up.
    pub approval: Option<&'a str>,
    /// The proposal it applies.
    pub proposal: Option<&'a str>,
    /// The model provider.
    pub provider: Option<&'a str>,
    /// Who delegated the call to the client.
    pub on_behalf_of: Option<&'a ClientId>,
    /// Why it was refused, as a code.
    pub reason_code: Option<&'a str>,
    /// The version of the rules that decided.
    pub policy: Option<u64>,
    /// Whose data the call itself is about, where the chain does not say it:
    /// several entities, or a refusal.
    pub entities: Option<&'a [EntityId]>,
    /// What the rules knew of the target, in words of a closed list.
    pub traits: &'a [&'a str],
    /// Which event of the registry it is.
    pub event: Option<&'a str>,
    /// `allowed`, or the code of what stopped it.
    pub governance_result: Option<&'a str>,
    /// What a note is about, as `server/tool`; a call names both anyway.
    pub tool_name: Option<&'a str>,
    /// How sure the caller said it is, from 0 to 1.
    pub confidence: Option<f64>,
    /// What is known of a request to a model.
    pub model: Option<ModelUse<'a>>,
    /// What is known of a request in a chat.
    pub chat: Option<ChatUse<'a>>,
}

/// Members that only a request by the Copilot webhook has.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChatUse<'a> {
    /// What was wanted, as a word of a closed list.
    pub intent: &'a str,
    /// Who asked.
    pub login: &'a str,
    /// The thread.
    pub thread: Option<&'a str>,
}

/// Members that only a request to a model has.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelUse<'a> {
    /// The job it is for.
    pub job: Option<&'a str>,
    /// Whose preference chose the provider.
    pub source: Option<&'a str>,
    /// The conversation it belongs to.
    pub conversation: Option<&'a str>,
    /// Tokens read, as the provider counted them.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// What it cost, in millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
}

/// What a call uses up: in the transaction that records its intent, or not at
/// all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim<'a> {
    /// One use of the grant with this id.
    Grant(&'a str),
    /// The approval with this id.
    Approval(&'a str),
    /// The proposal with this id.
    Proposal(&'a str),
}

/// A call that was refused: its only record.
#[derive(Debug, Clone, Copy)]
pub struct Refused<'a> {
    /// The call, with the rule that refused it.
    pub intent: Intent<'a>,
    /// The error code the client was given, if it was one.
    pub code: Option<i64>,
    /// In a few words, why.
    pub reason: &'a str,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It gave a result.
    Ok,
    /// The tool ran and said that it failed.
    ToolError,
    /// The server asked the client for something first; the client calls again.
    InputRequired,
    /// The server began a task; what becomes of it is read with `tasks/get`.
    Task,
    /// The server or the way to it gave an error.
    Error,
    /// The caller called it off.
    Cancelled,
    /// Its time was over.
    Timeout,
    /// It was refused after its intent was recorded; it did not run.
    Refused,
    /// Nobody knows, for instance because the hub ended meanwhile.
    Unknown,
}

/// What became of a call.
#[derive(Debug, Clone, Copy)]
pub struct OutcomeRecord<'a> {
    /// How it ended.
    pub status: Status,
    /// The error code, if there was one.
    pub code: Option<i64>,
    /// The result as the server gave it; its size and a commitment are kept.
    pub result: Option<&'a [u8]>,
    /// What else is known.
    pub detail: Detail<'a>,
}

/// Something worth recording that is no call, such as a change of rules.
#[derive(Debug, Clone, Copy)]
pub struct Note<'a> {
    /// In whose chain it is recorded.
    pub entity: &'a EntityId,
    /// Who caused it, if it was a client.
    pub client: Option<&'a ClientId>,
    /// What it is about, one word or two.
    pub topic: &'a str,
    /// What happened.
    pub text: &'a str,
    /// What else is known.
    pub detail: Detail<'a>,
}

// === impl CallId ===

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}", self.start, self.count)
    }
}

// === impl Verb ===

impl Verb {
    /// The word that stands in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CallTool => "call_tool",
            Self::ReadResource => "read_resource",
            Self::GetPrompt => "get_prompt",
            Self::Complete => "complete",
            Self::TaskUpdate => "task_update",
            Self::TaskCancel => "task_cancel",
            Self::Sample => "sample",
            Self::AskModel => "ask_model",
        }
    }
}

// === impl Status ===

impl Status {
    /// The word that stands in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ToolError => "tool_error",
            Self::InputRequired => "input_required",
            Self::Task => "task",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}
