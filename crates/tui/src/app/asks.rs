//! What is asked of the hub, and what it answers.

use legation_api::{approvals, audit, conversation, inbox, mcp, tasks};

/// A request.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    Submit(tasks::Submit),
    Tasks(tasks::List),
    Cancel(tasks::Cancel),
    Reply(tasks::Answer),
    Steer(tasks::Steer),
    Edit(tasks::Edit),
    Undo(tasks::Undo),
    Typing(tasks::Typing),
    Engine,
    Approvals {
        /// Whether somebody wants to read them.
        is_shown: bool,
    },
    Approval(approvals::Find),
    Approve(approvals::Answer),
    Certify(approvals::Certify),
    Servers(mcp::List),
    Server(mcp::Show),
    Tools {
        /// What the tools that are shown have to do with.
        words: String,
        request: mcp::Tools,
    },
    Enable(mcp::Enable),
    Disable(mcp::Disable),
    Reload(mcp::ReloadServer),
    Unread,
    Inbox(inbox::Pull),
    Audit(audit::Tail),
    Sessions,
    Forget(conversation::Delete),
}

/// What the hub answered.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Task(Box<tasks::TaskView>),
    Tasks(tasks::ListAnswer),
    Undone(tasks::UndoAnswer),
    Engine(Box<tasks::EngineStatusAnswer>),
    Approvals(approvals::ListAnswer),
    Approval(Box<approvals::Waiting>),
    Approved(approvals::Answered),
    Servers(mcp::ListAnswer),
    Server(Box<mcp::ShowAnswer>),
    Tools(mcp::ToolsAnswer),
    Inbox(inbox::PullAnswer),
    Audit(audit::TailAnswer),
    Sessions(conversation::SessionsAnswer),
    Done,
}

/// Why the hub did not do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Whether nobody knows if it was done.
    pub(crate) is_lost: bool,
}

// === impl Ask ===

impl Ask {
    /// The name of the request, and nothing of what it holds.
    fn name(&self) -> &'static str {
        match self {
            Self::Submit(_) => "submit",
            Self::Tasks(_) => "tasks",
            Self::Cancel(_) => "cancel",
            Self::Reply(_) => "reply",
            Self::Steer(_) => "steer",
            Self::Edit(_) => "edit",
            Self::Undo(_) => "undo",
            Self::Typing(_) => "typing",
            Self::Engine => "engine",
            Self::Approvals { .. } => "approvals",
            Self::Approval(_) => "approval",
            Self::Approve(_) => "approve",
            Self::Certify(_) => "certify",
            Self::Servers(_) => "servers",
            Self::Server(_) => "server",
            Self::Tools { .. } => "tools",
            Self::Enable(_) => "enable",
            Self::Disable(_) => "disable",
            Self::Reload(_) => "reload",
            Self::Unread => "unread",
            Self::Inbox(_) => "inbox",
            Self::Audit(_) => "audit",
            Self::Sessions => "sessions",
            Self::Forget(_) => "forget",
        }
    }

    /// Whether it is asked by the clock, so that a failure is nobody's business.
    pub(crate) fn is_quiet(&self) -> bool {
        matches!(
            self,
            Self::Typing(_) | Self::Engine | Self::Unread | Self::Approvals { is_shown: false }
        )
    }
}

impl PartialEq for Ask {
    /// Whether they are requests of one kind with the same contents.
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && format!("{self:?}") == format!("{other:?}")
    }
}

// === impl Refusal ===

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
