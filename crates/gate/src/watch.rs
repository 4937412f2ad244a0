//! Who looks on while calls are under way, and what they see: which call of whom, never
//! what it carries.

use std::fmt;

use legation_core::{ClientId, ServerName};

/// Looks on while calls are under way. Called where the call runs, so it must be quick.
pub trait Watcher: Send + Sync + fmt::Debug {
    /// Whether anybody looks; nothing is put together otherwise.
    fn looks(&self) -> bool;

    /// Something happened in a call.
    fn saw(&self, call: &Watched<'_>, what: Sight);
}

/// A call that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Watched<'a> {
    /// Its id in the records.
    pub call: &'a str,
    /// Whose it is.
    pub client: &'a ClientId,
    /// At which server.
    pub server: &'a ServerName,
    /// The tool, prompt or resource, where its name says nothing of its content.
    pub item: Option<&'a str>,
}

/// What happened in a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sight {
    /// It is about to be made.
    Started,
    /// It went on so far.
    Progress {
        /// How far.
        progress: f64,
        /// Of how much, where its server says.
        total: Option<f64>,
    },
    /// So many bytes of its result are there already.
    Partial(u64),
    /// Its server asks the client something.
    Asked(Question, u64),
    /// That question is answered, or will not be.
    Answered(Question, u64),
    /// It is over: in a word how, and whether it did what it should.
    Over(&'static str, bool),
}

/// What a server can ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// A person.
    Elicitation,
    /// The client's model.
    Sampling,
    /// Anything else.
    Other,
}
