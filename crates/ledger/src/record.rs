//! What stands in a record: the words for it, going in and coming out.

use std::fmt;
use std::ops::Range;

use legation_core::{ClientId, EntityId, ServerName, Via};
use serde::Deserialize;

use crate::LedgerKey;
use crate::line::Line;

/// Longest item (a tool's name, a resource's URI) kept in a record, in bytes.
const ITEM_MAX: usize = 1024;
/// Longest rule, definition, reason or topic kept in a record, in bytes.
const WORD_MAX: usize = 256;
/// Longest note kept in a record, in bytes.
const NOTE_MAX: usize = 4096;
/// Longest client or server name kept; ids are checked elsewhere, this only
/// keeps a record small whatever happens there.
const ID_MAX: usize = 256;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
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
}

/// Something worth recording that is no call, such as a change of rules.
#[derive(Debug, Clone, Copy)]
pub struct Note<'a> {
    /// In whose chain it is recorded.
    pub entity: &'a EntityId,
    /// What it is about, one word or two.
    pub topic: &'a str,
    /// What happened.
    pub text: &'a str,
}

/// Kinds of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
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
    /// The hash of its definition.
    pub definition: Option<String>,
    /// The rule that decided.
    pub rule: Option<String>,
    /// Commitment to the arguments.
    pub args: Option<String>,
    /// Outcome: how it ended.
    pub status: Option<Status>,
    /// The error code.
    pub code: Option<i64>,
    /// Outcome: microseconds since the intent was recorded.
    pub duration_us: Option<i64>,
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

/// Where in an intent's members those are that its outcome repeats.
#[derive(Debug, Clone)]
pub(crate) struct Spans {
    call: Range<usize>,
    subject: Range<usize>,
}

/// What an outcome repeats of its intent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeated<'a> {
    /// The member `call`.
    pub(crate) call: &'a [u8],
    /// The members of [`Subject`].
    pub(crate) subject: &'a [u8],
    /// The intent's place in the chain.
    pub(crate) intent: i64,
}

/// The members that a record and the outcome of the same call have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) client: &'a str,
    pub(crate) via: &'a str,
    pub(crate) server: Option<&'a str>,
    pub(crate) verb: &'a str,
    pub(crate) item: &'a str,
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

// === impl Subject ===

impl Subject<'_> {
    pub(crate) fn write(&self, line: &mut Line) {
        line.text("client", self.client, ID_MAX)
            .text("via", self.via, WORD_MAX);
        if let Some(server) = self.server {
            line.text("server", server, ID_MAX);
        }
        line.text("verb", self.verb, WORD_MAX)
            .text("item", self.item, ITEM_MAX);
    }

    pub(crate) fn to_members(self) -> Vec<u8> {
        let mut line = Line::default();
        self.write(&mut line);
        line.into_members()
    }
}

// === impl Spans ===

impl Spans {
    /// What the outcome repeats, out of the intent's members and place.
    pub(crate) fn of<'a>(&self, members: &'a [u8], intent: i64) -> Repeated<'a> {
        Repeated {
            call: &members[self.call.clone()],
            subject: &members[self.subject.clone()],
            intent,
        }
    }
}

// === impl Intent ===

impl Intent<'_> {
    /// The members, and where those are that the outcome repeats.
    pub(crate) fn members(&self, kind: &'static str, key: &LedgerKey) -> (Line, Spans) {
        let mut line = Line::with_capacity(512);
        line.word("kind", kind);
        let call = line.len() + 1;
        line.call("call", self.call);
        let (call, start) = (call..line.len(), line.len() + 1);
        let subject = Subject {
            client: self.client.as_str(),
            via: self.via.as_str(),
            server: self.server.map(ServerName::as_str),
            verb: self.verb.as_str(),
            item: self.item,
        };
        subject.write(&mut line);
        let subject = start..line.len();
        if let Some(definition) = self.definition {
            line.digest("definition", definition);
        }
        line.text("rule", self.rule, WORD_MAX);
        if let Some(args) = self.args {
            line.digest("args", &key.digest(args));
        }
        (line, Spans { call, subject })
    }
}

// === impl Refused ===

impl Refused<'_> {
    pub(crate) fn members(&self, key: &LedgerKey) -> Vec<u8> {
        let (mut line, _) = self.intent.members("refused", key);
        if let Some(code) = self.code {
            line.int("code", code);
        }
        line.text("reason", self.reason, WORD_MAX);
        line.into_members()
    }
}

// === impl OutcomeRecord ===

impl OutcomeRecord<'_> {
    /// An outcome of which nothing but its status is known.
    #[must_use]
    pub fn bare(status: Status) -> Self {
        Self {
            status,
            code: None,
            result: None,
        }
    }

    /// `duration_us` is absent where the call outlived the hub.
    pub(crate) fn members(
        &self,
        intent: &Repeated<'_>,
        duration_us: Option<i64>,
        key: &LedgerKey,
    ) -> Vec<u8> {
        let mut line = Line::with_capacity(intent.subject.len() + 256);
        line.word("kind", "outcome")
            .members(intent.call)
            .int("intent", intent.intent)
            .members(intent.subject)
            .word("status", self.status.as_str());
        if let Some(code) = self.code {
            line.int("code", code);
        }
        if let Some(duration) = duration_us {
            line.int("duration_us", duration);
        }
        if let Some(result) = self.result {
            line.int(
                "result_bytes",
                i64::try_from(result.len()).unwrap_or(i64::MAX),
            )
            .digest("result", &key.digest(result));
        }
        line.into_members()
    }
}

// === impl Note ===

impl Note<'_> {
    pub(crate) fn members(&self) -> Vec<u8> {
        let mut line = Line::with_capacity(self.text.len() + 64);
        line.word("kind", "note")
            .text("topic", self.topic, WORD_MAX)
            .text("text", self.text, NOTE_MAX);
        line.into_members()
    }
}
