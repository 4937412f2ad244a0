//! What the tools of `delegate` answer, and what of it leaves for whom.
//!
//! What stands in the engine's view and not here is the owner's alone.

use legation_api::conversation::{Body, MessageView, Source};
use legation_api::tasks::{
    CheckView, EngineStatusAnswer, TaskState, TaskView, TokenUsage, ToolCallView,
};
use serde::Serialize;

/// What is said of a task whose data its reader may not have.
pub(super) const WITHHELD: &str =
    "it holds data that you are not cleared for or that your conversation must not hold";
const PREEMPTED: &str =
    "a person is being answered; the task goes on by itself: poll it again, or cancel it";
const QUEUED: &str = "poll_task brings the result";

/// A task, for `chat`, `poll_task` and `cancel`.
#[derive(Debug, Serialize)]
pub(super) struct Task<'a> {
    task_id: &'a str,
    status: TaskState,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_position: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<&'a str>,
    elapsed_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partial_response: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tool_calls: &'a [ToolCallView],
    #[serde(skip_serializing_if = "Option::is_none")]
    token_usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<&'a CheckView>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    changed_files: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    will_resume: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// Tokens; null where the provider did not say.
#[derive(Debug, Serialize)]
pub(super) struct Usage {
    input: Option<u64>,
    output: Option<u64>,
}

/// For `get_history`.
#[derive(Debug, Default, Serialize)]
pub(super) struct History<'a> {
    /// Null where nobody has said anything yet.
    pub(super) session_id: Option<&'a str>,
    pub(super) messages: Vec<Entry<'a>>,
    pub(super) withheld: usize,
}

/// An entry of the conversation.
#[derive(Debug, Serialize)]
pub(super) struct Entry<'a> {
    seq: u64,
    at: &'a str,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    kind: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call: Option<&'a ToolCallView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    entities: &'a [String],
}

/// For `get_capabilities`.
#[derive(Debug, Serialize)]
pub(super) struct Capabilities {
    pub(super) models: Vec<Model>,
    pub(super) tools: Vec<String>,
    pub(super) max_concurrent_tasks: usize,
    pub(super) rate_limit: RateLimit,
}

/// A model that would have tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Model {
    /// Its name at its provider.
    pub name: String,
    /// Its provider.
    pub provider: String,
    /// Whether it runs on this machine.
    pub local: bool,
    /// Its window in tokens, where that is known.
    pub context_length: Option<u64>,
    /// The hints that choose it.
    pub strengths: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct RateLimit {
    /// Null where there is no limit.
    pub(super) requests_per_minute: Option<u32>,
}

/// For `report_issue`.
#[derive(Debug, Serialize)]
pub(super) struct Reported<'a> {
    pub(super) report_id: &'a str,
    pub(super) recorded: bool,
}

/// For `status`.
#[derive(Debug, Serialize)]
pub(super) struct Status<'a> {
    state: &'a str,
    active_task: Option<Active<'a>>,
    queue_depth: usize,
    model_loaded: Option<bool>,
    /// Nobody measures it.
    gpu_utilization: Option<()>,
}

#[derive(Debug, Serialize)]
struct Active<'a> {
    /// Null where it is somebody else's.
    task_id: Option<&'a str>,
    elapsed_seconds: u64,
}

// === impl Task ===

impl<'a> Task<'a> {
    /// The whole task.
    pub(super) fn whole(view: &'a TaskView) -> Self {
        let runs = view.status == TaskState::Preempted;
        let hint = match view.status {
            TaskState::Preempted => Some(PREEMPTED),
            TaskState::Queued => Some(QUEUED),
            _ => None,
        };
        Self {
            task_id: &view.task_id,
            status: view.status,
            queue_position: view.queue_position,
            progress: view.progress.as_deref(),
            elapsed_seconds: view.elapsed_seconds,
            response: view.response.as_deref(),
            partial_response: view.partial_response.as_deref(),
            tool_calls: &view.tool_calls,
            token_usage: view.token_usage.map(Usage::from),
            check: view.check.as_ref(),
            changed_files: &view.changed_files,
            model: view.model.as_deref(),
            will_resume: runs.then_some(true),
            question: view.question.as_deref(),
            error: view.error.as_deref(),
            hint: view.hint.as_deref().or(hint),
        }
    }

    /// How it stands, and nothing that was said or done.
    pub(super) fn bare(view: &'a TaskView) -> Self {
        Self {
            progress: None,
            response: None,
            partial_response: None,
            tool_calls: &[],
            check: None,
            changed_files: &[],
            question: None,
            error: None,
            hint: Some(WITHHELD),
            ..Self::whole(view)
        }
    }
}

// === impl Usage ===

impl From<TokenUsage> for Usage {
    fn from(usage: TokenUsage) -> Self {
        Self {
            input: usage.input,
            output: usage.output,
        }
    }
}

// === impl Entry ===

impl<'a> From<&'a MessageView> for Entry<'a> {
    fn from(message: &'a MessageView) -> Self {
        let (kind, text, tool_call, arguments) = match &message.body {
            Body::Text { text, .. } => ("text", text, None, None),
            Body::Tool {
                call,
                arguments,
                result,
                ..
            } => ("tool", result, Some(call), Some(arguments.as_str())),
            Body::Summary { text, .. } => ("summary", text, None, None),
            Body::Note { text } => ("note", text, None, None),
        };
        let (source, client) = match &message.source {
            Source::Human => ("human", None),
            Source::Client(name) => ("client", Some(name.as_str())),
            Source::Model => ("model", None),
            Source::System => ("system", None),
        };
        Self {
            seq: message.seq,
            at: &message.at,
            source,
            client,
            task_id: message.task_id.as_deref(),
            kind,
            text,
            tool_call,
            arguments,
            entities: &message.entities,
        }
    }
}

// === impl Status ===

impl<'a> Status<'a> {
    /// How the engine is, as far as it concerns a client.
    pub(super) fn of(status: &'a EngineStatusAnswer, is_own: impl Fn(&TaskView) -> bool) -> Self {
        let own = status.active.iter().find(|task| is_own(task));
        let active = own.or_else(|| status.active.first());
        Self {
            state: &status.state,
            active_task: active.map(|task| Active {
                task_id: own.map(|own| own.task_id.as_str()),
                elapsed_seconds: task.elapsed_seconds,
            }),
            queue_depth: status.queue_depth,
            model_loaded: status.model_loaded,
            gpu_utilization: None,
        }
    }
}
