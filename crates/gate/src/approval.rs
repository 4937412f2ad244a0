//! Approvals: what a person was asked, what they answered, and what the answer
//! still allows.
//!
//! An approval is bound to everything the decision looked at ([`Bound`]): a call
//! that differs in any of it is another call, and asks anew. What an approval
//! allows is used up in the transaction that records the call's intent
//! ([`Approvals::claim`]), so neither a crash nor a crowd uses it twice. Keeping
//! the answers in memory alone was rejected: a client that cannot be asked calls
//! again an hour later, perhaps after the hub has stopped for want of clients.
//!
//! Rows carry a MAC over all that makes them worth forging. One that does not
//! verify is not honoured, and is reported.

mod book;
mod check;
mod digest;
mod effects;
mod form;
mod granted;
mod row;
mod shell;
mod time;

use std::fmt;

use legation_core::{ApprovalId, ClientId, EntityId, SeatId, ServerName};
use legation_policy::{AskKind, DefinitionHash, GrantScope, Rung, Verb};

pub use book::NotOpen;
pub use digest::short_digest;
pub use form::escaped;
pub(crate) use form::{read as read_answer, request as question};
pub use shell::{AnswerError, ApprovalEvent, Approvals, ApprovalsParts, Lasting};

/// Everything that an approval is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bound {
    /// Whose call.
    pub client: ClientId,
    /// For whom it is made, where the client acts for another one.
    pub on_behalf_of: Option<ClientId>,
    /// At which server.
    pub server: ServerName,
    /// What is done.
    pub verb: Verb,
    /// The tool, resource or prompt.
    pub item: Box<str>,
    /// In whose business.
    pub entity: EntityId,
    /// The definition that was decided on.
    pub definition: Option<DefinitionHash>,
    /// Digest of the arguments as the server would get them.
    pub arguments: [u8; 32],
    /// The rules that asked.
    pub policy_version: u64,
}

/// One approval that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// What people call it by.
    pub id: ApprovalId,
    /// What it is bound to.
    pub bound: Bound,
    /// The seat the call came from, for answers that last a session.
    pub seat: SeatId,
    /// The folder it came from, for answers that last there.
    pub workspace: Option<Box<str>>,
    /// Whether the client has sessions: a seat that ends.
    pub has_session: bool,
    /// What kind of question it is.
    pub kind: AskKind,
    /// How far the call would go.
    pub rung: Rung,
    /// The answers that last which its rule lets a person give.
    pub lasting: Vec<Answer>,
    /// How long `always` is, where the rule bounds it, in milliseconds.
    pub lasts_ms: Option<i64>,
    /// The rule that asks.
    pub rule: Box<str>,
    /// Why it asks.
    pub reason: Box<str>,
    /// The arguments, as the model wrote them, cut to [`PREVIEW_MAX`]. Show it
    /// only escaped.
    pub preview: Box<str>,
    /// When it was asked, in milliseconds of wall time.
    pub created_ms: i64,
    /// Until when it holds.
    pub expires_ms: i64,
    /// Whether it was answered.
    pub state: State,
    /// By whom, and how.
    pub answered: Option<Answered>,
}

/// Most characters of arguments that an approval keeps for its reader.
pub const PREVIEW_MAX: usize = 2_000;

/// How long an approval can be answered and used.
pub const APPROVAL_TTL_MS: i64 = 24 * 60 * 60 * 1000;

/// How far a clock may have been set back before what is dated later than now
/// counts as not ours.
pub(crate) const CLOCK_SLACK_MS: i64 = 5 * 60 * 1000;

/// Whether an approval was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It waits.
    Pending,
    /// It allows its call, and has not been used up.
    Granted,
    /// Somebody said no.
    Denied,
}

/// What a person may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// This call, once.
    Once,
    /// Such calls until the client's session ends.
    Session,
    /// Such calls from the same folder.
    Here,
    /// Such calls, whatever their arguments, until the definition changes.
    Always,
    /// No.
    Deny,
}

/// An answer, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// What was said.
    pub answer: Answer,
    /// By which road.
    pub channel: Channel,
    /// When, in milliseconds of wall time.
    pub at_ms: i64,
}

/// The roads an answer comes by. None of them proves that it was a person; a
/// [`legation_keystore::HumanProof`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// A form in the client that called.
    Elicitation,
    /// A command of the owner's.
    Command,
    /// A program of the owner's, over the admin API.
    Api,
    /// The web console.
    Console,
    /// The terminal UI.
    Terminal,
    /// A reply in Teams.
    Teams,
    /// A button in GitHub Copilot's chat.
    Copilot,
}

/// Why an open approval was closed without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Voided {
    /// Its time was over.
    Expired,
    /// Other rules are in force.
    Policy,
}

// === impl Approval ===

impl Approval {
    /// Whether it holds at a time. One dated later than now is not ours, or the
    /// clock was set back: either way it does not.
    #[must_use]
    pub fn is_alive(&self, now_ms: i64) -> bool {
        now_ms < self.expires_ms && self.created_ms <= now_ms.saturating_add(CLOCK_SLACK_MS)
    }

    /// Whether this answer can be given to it.
    ///
    /// # Errors
    /// When the client has not what the answer would be bound to.
    pub fn offers(&self, answer: Answer) -> Result<(), NotOpen> {
        match answer {
            Answer::Once | Answer::Deny => Ok(()),
            answer if !self.lasting.contains(&answer) => Err(NotOpen::TooLasting),
            Answer::Session if !self.has_session => Err(NotOpen::NotOffered("session")),
            Answer::Here if self.workspace.is_none() => Err(NotOpen::NotOffered("folder")),
            Answer::Session | Answer::Here | Answer::Always => Ok(()),
        }
    }

    /// What an answer grants: one that is bound to a session or a folder that
    /// the client has not grants this one call.
    #[must_use]
    pub fn granted_by(&self, answer: Answer) -> Answer {
        match answer {
            Answer::Session if !self.has_session => Answer::Once,
            Answer::Here if self.workspace.is_none() => Answer::Once,
            Answer::Once | Answer::Session | Answer::Here | Answer::Always | Answer::Deny => answer,
        }
    }

    /// The answers that can be given to it.
    pub fn answers(&self) -> impl Iterator<Item = Answer> {
        Answer::ALL
            .into_iter()
            .filter(|answer| self.offers(*answer).is_ok())
    }
}

// === impl State ===

impl State {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Granted => "granted",
            Self::Denied => "denied",
        }
    }
}

// === impl Answer ===

impl Answer {
    /// All of them, in the order a form shows them.
    pub const ALL: [Self; 5] = [
        Self::Once,
        Self::Session,
        Self::Here,
        Self::Always,
        Self::Deny,
    ];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Here => "here",
            Self::Always => "always",
            Self::Deny => "deny",
        }
    }

    /// Reads a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|answer| answer.as_str() == word)
    }

    /// How long what it grants lasts; `None` for a denial.
    #[must_use]
    pub fn scope(self) -> Option<GrantScope> {
        match self {
            Self::Once => Some(GrantScope::Once),
            Self::Session => Some(GrantScope::Session),
            Self::Here => Some(GrantScope::Here),
            Self::Always => Some(GrantScope::Always),
            Self::Deny => None,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Channel ===

impl Channel {
    /// The word that stands in rows and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Command => "command",
            Self::Api => "api",
            Self::Console => "console",
            Self::Terminal => "terminal",
            Self::Teams => "teams",
            Self::Copilot => "copilot",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [
            Self::Elicitation,
            Self::Command,
            Self::Api,
            Self::Console,
            Self::Terminal,
            Self::Teams,
            Self::Copilot,
        ]
        .into_iter()
        .find(|channel| channel.as_str() == word)
    }
}

// === impl Voided ===

impl Voided {
    /// In words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Policy => "voided by a change of the rules",
        }
    }
}

#[cfg(test)]
mod tests;
