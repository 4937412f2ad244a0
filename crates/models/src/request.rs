//! What a model is asked, whatever interface it has.

use std::fmt;

use serde_json::Value;

/// A request to a model.
///
/// Neither it nor its parts print what they hold: it is a conversation.
#[derive(Clone, Default)]
pub struct ChatRequest {
    /// What was said so far, oldest first. An assistant's turn at the end is
    /// gone on with (see [`Resumption`](crate::Resumption)), which only some
    /// servers can do.
    pub messages: Vec<Message>,
    /// What the model may call.
    pub tools: Vec<Tool>,
    /// Whether it must.
    pub tool_choice: ToolChoice,
    /// Whether it may call several at once.
    pub parallel_calls: bool,
    /// What its answer must look like.
    pub answer: Option<AnswerSchema>,
    /// The longest answer, in tokens.
    pub tokens_max: Option<u32>,
    /// How far it may stray; the server's own when not given.
    pub temperature: Option<f64>,
    /// Where its randomness begins, for servers that know such a thing.
    pub seed: Option<u64>,
}

/// One turn.
#[derive(Clone)]
pub enum Message {
    /// What the host says about the conversation.
    System(String),
    /// What a person, or whoever asks, says.
    User(String),
    /// What the model said.
    Assistant(Turn),
    /// What a tool answered.
    Result(CallResult),
}

/// What a model said in one turn.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// Its words.
    pub text: String,
    /// What it thought, where the server tells.
    pub reasoning: String,
    /// The mark without which the server does not take its thoughts back.
    pub reasoning_seal: Option<String>,
    /// What it calls.
    pub calls: Vec<ToolCall>,
}

/// A call of a tool.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Its id, by which its result is told.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them; not checked.
    pub arguments: String,
}

/// The result of a call.
#[derive(Clone)]
pub struct CallResult {
    /// Of which call.
    pub call_id: String,
    /// What the tool said.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// A tool as a model sees it.
#[derive(Clone)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// Whether tools are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As the model likes.
    #[default]
    Auto,
    /// None, although they are shown.
    None,
    /// At least one.
    Required,
    /// This one.
    Named(String),
}

/// What an answer must look like.
#[derive(Clone)]
pub struct AnswerSchema {
    /// A name for it.
    pub name: String,
    /// JSON Schema.
    pub schema: Value,
}

// === impl ChatRequest ===

impl ChatRequest {
    /// A question of one message.
    #[must_use]
    pub fn ask(text: impl Into<String>) -> Self {
        Self {
            messages: vec![Message::User(text.into())],
            ..Self::default()
        }
    }

    /// Whether it ends with a turn that is to be gone on with.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        matches!(self.messages.last(), Some(Message::Assistant(_)))
    }
}

impl fmt::Debug for ChatRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatRequest")
            .field("messages", &self.messages.len())
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

// === impl Message ===

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System(_) => "System",
            Self::User(_) => "User",
            Self::Assistant(_) => "Assistant",
            Self::Result(_) => "Result",
        })
    }
}

// === impl Turn ===

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("text_bytes", &self.text.len())
            .field("reasoning_bytes", &self.reasoning.len())
            .field("calls", &self.calls.len())
            .finish_non_exhaustive()
    }
}

// === impl ToolCall ===

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

// === impl CallResult ===

impl fmt::Debug for CallResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallResult")
            .field("is_error", &self.is_error)
            .finish_non_exhaustive()
    }
}

// === impl Tool ===

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

// === impl AnswerSchema ===

impl fmt::Debug for AnswerSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerSchema")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
