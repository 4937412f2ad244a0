//! Delegated tasks: what they are, and what their owner does with them.
//!
//! The engine and its native server speak in these types too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Done, request};

/// Who comes before whom.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A person wrote it. First of all.
    Human,
    /// The hub itself wants it.
    System,
    /// An agent delegated it.
    Agent,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It waits for its turn.
    Queued,
    /// A model works on it.
    InProgress,
    /// Somebody who comes first is answered; it goes on by itself.
    Preempted,
    /// It waits for a person: see [`TaskView::question`].
    InputRequired,
    /// Done, and its check passed where it has one.
    Completed,
    /// Not done; [`TaskView::error`] says why.
    Failed,
    /// Called off.
    Cancelled,
}

/// Why a task failed, for programs and exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// A rule refused it.
    Refused,
    /// No model that may have it answers.
    NoModel,
    /// Its check did not pass.
    Check,
    /// It used up its turns, tokens or time, or went in circles.
    Limit,
    /// Anything else.
    Other,
}

/// A file that the caller hands over, so that it need not be read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextFile {
    /// Its path as the caller knows it.
    pub path: String,
    /// Its text.
    pub content: String,
}

/// What must be so before a task counts as completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Check {
    /// A shell command in the task's folder that must exit with 0.
    Command {
        /// The command line.
        command: String,
    },
    /// The answer must be JSON of this schema.
    JsonSchema {
        /// JSON Schema.
        schema: Value,
    },
}

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NewTask {
    /// The message.
    pub message: String,
    /// Files handed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextFile>,
    /// `code_generation`, `code_review`, `refactoring`, `testing`, `documentation` or `general`;
    /// it chooses model, tools and check as the settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The session; the current one of the caller's folder when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What must hold at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// The provider, where one is wanted; rules still decide whether it may have the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model, where one is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The custom agent that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether a model that costs money may do what a local one should.
    #[serde(default)]
    pub may_cost: bool,
}

/// A tool call that a task made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallView {
    /// The tool.
    pub tool: String,
    /// `running`, `success`, `error`, `denied`, `skipped` or `unknown` (the hub ended between the call and its result).
    pub status: String,
    /// The file it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The command it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The command's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Lines read or written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// Where the whole result is, when it was too long to be kept here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_uri: Option<String>,
}

/// What runs beside a task's conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackgroundKind {
    /// A task of an MCP server, which it began instead of answering a call.
    McpTask,
}

/// Something that runs beside a task's conversation and brings its result when it has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackgroundView {
    /// What it is.
    pub kind: BackgroundKind,
    /// The id of the call that began it, by which the model knows it.
    pub id: String,
    /// The server.
    pub server: String,
    /// The tool as the model called it.
    pub tool: String,
    /// What the server calls it.
    pub server_task_id: String,
    /// `working`, `input_required`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// What the server, or the hub in its place, says of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When it began, RFC 3339.
    pub created: String,
    /// When it last changed, RFC 3339.
    pub updated: String,
    /// How often its server wants to be asked, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
}

/// Tokens as the provider counted them; `None` where it did not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// Read.
    pub input: Option<u64>,
    /// Written.
    pub output: Option<u64>,
}

/// What became of a task's check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckView {
    /// Whether it passed.
    pub passed: bool,
    /// How often it was tried.
    pub tries: u32,
    /// The command's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// The end of what it said.
    pub output: String,
}

/// A task as its owner sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskView {
    /// Its id.
    pub task_id: String,
    /// The session it belongs to.
    pub session: String,
    /// Who comes before whom.
    pub class: Class,
    /// Who delegated it: a client's name, or `you`.
    pub source: String,
    /// The first line of what is to be done.
    pub title: String,
    /// Where it stands.
    pub status: TaskState,
    /// How many come before it, while it is queued or preempted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<usize>,
    /// What it does at the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// Time it was worked on, in seconds.
    pub elapsed_seconds: u64,
    /// When it was handed in, RFC 3339.
    pub created: String,
    /// When it last changed, RFC 3339.
    pub changed: String,
    /// The answer, once it is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// What was said so far of an answer that is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_response: Option<String>,
    /// The calls it made.
    #[serde(default)]
    pub tool_calls: Vec<ToolCallView>,
    /// What runs, or ran, beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<BackgroundView>,
    /// Tokens so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// Its check, once it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckView>,
    /// What it asks a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Why it failed, with the rule where one refused, or why it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Which kind of failure that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What can be done next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Provider and model that work on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whose data it holds.
    #[serde(default)]
    pub entities: Vec<String>,
    /// Files it changed, relative to its folder.
    #[serde(default)]
    pub changed_files: Vec<String>,
}

/// Hand in a task as the owner.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Submit {
    /// What is to be done.
    pub task: NewTask,
    /// The folder it is done in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// List tasks, newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct List {
    /// Only those that are not over.
    #[serde(default)]
    pub open: bool,
    /// Only this session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// At most so many; 100 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListAnswer {
    /// Newest first; those in the queue in their order.
    pub tasks: Vec<TaskView>,
}

/// One task.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Show {
    /// Its id, or a beginning of it that no other has.
    pub task_id: String,
}

/// Wait until a task is over, asks something, or the time is up.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Wait {
    /// Its id.
    pub task_id: String,
    /// At most so long, in milliseconds.
    pub timeout_ms: u64,
}

/// Call a task off.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Cancel {
    /// Its id.
    pub task_id: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Answer what a task asks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Its id.
    pub task_id: String,
    /// The answer.
    pub text: String,
}

/// Say something to a task between its steps.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Steer {
    /// Its id.
    pub task_id: String,
    /// What.
    pub text: String,
}

/// Change a task that has not begun.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    /// Its id.
    pub task_id: String,
    /// Its new message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The task of its class that it shall come before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

/// Take back what a task did to files.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Undo {
    /// Its id.
    pub task_id: String,
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

/// What taking back comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UndoAnswer {
    /// Files put back.
    pub restored: Vec<String>,
    /// Files taken away because the task had made them.
    pub removed: Vec<String>,
    /// Files left alone, each with the reason: somebody changed them since.
    pub kept: Vec<(String, String)>,
}

/// A report of a poor result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportView {
    /// Its id.
    pub id: String,
    /// The task it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Who reported.
    pub client: String,
    /// `incorrect`, `incomplete`, `hallucination`, `off_topic`, `slow` or `other`.
    pub issue_type: String,
    /// What is wrong.
    pub description: String,
    /// What was expected instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// When, RFC 3339.
    pub created: String,
}

/// List reports, newest first.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reports {}

/// Reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportsAnswer {
    /// Newest first.
    pub reports: Vec<ReportView>,
}

/// A report with the transcript of its task, as JSON.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReportExport {
    /// Its id.
    pub id: String,
}

/// How the engine is.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
pub struct EngineStatus {}

/// How the engine is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineStatusAnswer {
    /// `idle`, `busy`, `paused` or `off`.
    pub state: String,
    /// The tasks that are worked on.
    pub active: Vec<TaskView>,
    /// How many wait.
    pub queue_depth: usize,
    /// Provider and model that would have the next task; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether a model answers; `None` where nobody asked it yet.
    #[serde(default)]
    pub model_loaded: Option<bool>,
    /// What is wrong, a line each.
    #[serde(default)]
    pub problems: Vec<String>,
}

request!(Submit, "tasks.submit", TaskView);
request!(List, "tasks.list", ListAnswer);
request!(Show, "tasks.show", TaskView);
request!(Wait, "tasks.wait", TaskView);
request!(Cancel, "tasks.cancel", TaskView);
request!(Answer, "tasks.answer", TaskView);
request!(Steer, "tasks.steer", TaskView);
request!(Edit, "tasks.edit", TaskView);
request!(Undo, "tasks.undo", UndoAnswer);
request!(Reports, "tasks.reports", ReportsAnswer);
request!(ReportExport, "tasks.report", Value);
request!(EngineStatus, "tasks.engine", EngineStatusAnswer);

/// Keystrokes of a person: agents' steps that have not begun wait for a moment.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Typing {
    /// The session.
    pub session: String,
}

request!(Typing, "tasks.typing", Done);

// === impl TaskView ===

impl TaskView {
    /// A task of which no more is known.
    #[must_use]
    pub fn new(task_id: String, session: String, class: Class, status: TaskState) -> Self {
        Self {
            task_id,
            session,
            class,
            source: String::new(),
            title: String::new(),
            status,
            queue_position: None,
            progress: None,
            elapsed_seconds: 0,
            created: String::new(),
            changed: String::new(),
            response: None,
            partial_response: None,
            tool_calls: Vec::new(),
            background: Vec::new(),
            token_usage: None,
            check: None,
            question: None,
            error: None,
            failure: None,
            hint: None,
            model: None,
            entities: Vec::new(),
            changed_files: Vec::new(),
        }
    }
}

// === impl TaskState ===

impl TaskState {
    /// Whether nothing follows.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The word that stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Preempted => "preempted",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}
