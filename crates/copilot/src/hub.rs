//! The hub as this crate sees it.

use std::fmt;

use futures_util::future::BoxFuture;
use legation_core::{Cancel, EntityId, Secret};
use serde_json::{Map, Value};

use crate::Intent;

/// Who wrote.
#[derive(Clone, Debug)]
pub struct Asker {
    /// Their login at GitHub, as GitHub writes it.
    pub login: String,
    /// The thread, where the request names one.
    pub thread: Option<String>,
    /// Their token. It may be shown to GitHub's models where the rules let them be asked, and to
    /// nobody else.
    pub token: Secret,
    /// Calls off what is done for them.
    pub cancel: Cancel,
}

/// An entity, as far as words lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Business {
    /// Which.
    pub id: EntityId,
    /// What people call it.
    pub name: String,
    /// Other words that mean it.
    pub words: Vec<String>,
    /// Its accounts.
    pub accounts: Vec<String>,
    /// Its deals: id and name.
    pub deals: Vec<(String, String)>,
    /// Whether it is under HIPAA: it may be looked at, and nothing else.
    pub is_hipaa: bool,
    /// Whether this login may ask about it.
    pub is_allowed: bool,
}

/// A call of one of the hub's own tools.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The server.
    pub server: String,
    /// The tool, by its own name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// The one entity it is about; none for what is about nobody's data.
    pub entity: Option<EntityId>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Called {
    /// The tool answered: `content`, `structuredContent`, `isError`.
    Answered(Answered),
    /// It was not made.
    Refused(Refused),
    /// The hub has no answer of the tool's.
    Failed {
        /// What happened, and what to do.
        message: String,
    },
}

/// A tool's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answered {
    /// Its texts.
    pub text: String,
    /// What can be looked up.
    pub references: Vec<Reference>,
    /// Whether it is a failure.
    pub is_error: bool,
}

/// Something an answer is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// What it is, such as `legation.deal`.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// What to show of it.
    pub name: String,
}

/// A call that was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The reason, as a word.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// What a person may answer right here: the id of an approval.
    pub approval: Option<String>,
}

/// What came of an answer to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// It was taken.
    Taken,
    /// There is no such question of theirs that still waits.
    Gone,
}

/// What a model is asked about a message.
#[derive(Clone, Debug)]
pub struct Guessing {
    /// What the person wrote.
    pub text: String,
    /// What it may be.
    pub among: Vec<Intent>,
    /// Whose data it may be about: the strictest rule of all of them holds.
    pub entities: Vec<EntityId>,
}

/// What a model thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// What is wanted.
    pub intent: Intent,
    /// Whose model said so.
    pub provider: String,
}

/// What is recorded of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// Who wrote.
    pub login: String,
    /// In which thread.
    pub thread: Option<String>,
    /// What was wanted, as it was understood.
    pub intent: &'static str,
    /// Whose data it was about, where that was found out.
    pub entity: Option<EntityId>,
    /// Whose model helped to understand it.
    pub provider: Option<String>,
    /// Why nothing was done; `None` where nothing was refused.
    pub refused: Option<String>,
    /// What of it counts against the login itself.
    pub work: Work,
}

/// How far a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Its writer was not let in.
    NotLetIn,
    /// The person was asked back, or told what can be asked.
    AskedBack,
    /// A tool was called, or its call was refused by the gate.
    Called,
    /// A person answered an approval.
    Confirmed,
}

/// Something could not be written down, so nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the request could not be recorded; nothing was done")]
pub struct NotRecorded;

/// The hub.
pub trait Hub: Send + Sync + fmt::Debug {
    /// All entities, and which of them this login may ask about; `None` for a login that may not ask
    /// at all. May read files of the store, so it is asked on no thread that others wait for.
    fn businesses(&self, login: &str) -> BoxFuture<'static, Option<Vec<Business>>>;

    /// Keeps the mark of a signature beyond the life of this process; whether it is the first time.
    fn first_time(&self, mark: [u8; 32]) -> BoxFuture<'static, Result<bool, NotRecorded>>;

    /// Has a model say what a message wants; `None` where none may, or none answers with one of the
    /// words it was given.
    fn guess(&self, asker: &Asker, guessing: Guessing) -> BoxFuture<'static, Option<Guess>>;

    /// Makes a call as this person, through the gate.
    fn call(&self, asker: &Asker, call: ToolCall) -> BoxFuture<'static, Called>;

    /// Takes a person's answer to an approval of theirs.
    fn confirm(
        &self,
        asker: &Asker,
        approval: &str,
        is_yes: bool,
    ) -> BoxFuture<'static, Confirmation>;

    /// Writes down that a request came.
    fn record(&self, requested: Requested) -> BoxFuture<'static, Result<(), NotRecorded>>;
}
