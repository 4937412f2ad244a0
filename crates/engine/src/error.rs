//! What can go wrong, and what to do then.

use legation_api::tasks::{Class, TaskState};
use legation_core::TaskId;
use legation_keystore::KeystoreError;
use legation_store::{DatabaseError, StoreError};

/// The book could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The store failed.
    #[error("the book of tasks could not be used")]
    Store {
        /// Why.
        #[from]
        source: StoreError,
    },
    /// A key to seal with could not be had.
    #[error("what belongs into the book of tasks could not be sealed; nothing was stored")]
    Key {
        /// Why.
        #[from]
        source: KeystoreError,
    },
    /// A body does not open.
    #[error("{what} cannot be read any more: a key of its data is gone, or it was changed")]
    Unreadable {
        /// What.
        what: String,
    },
    /// It is not there.
    #[error("there is no such {what}; nothing was done")]
    Gone {
        /// `task`, `session` or `report`.
        what: &'static str,
    },
    /// The system has no randomness to name something by.
    #[error("no name could be made; nothing was stored")]
    NoName,
    /// Runs of an earlier lease have not ended.
    #[error("tasks that another hub may have are still being put down; none was begun")]
    AtWork,
    /// The work was cut short.
    #[error("the hub is stopping; whether it was stored is not known")]
    Stopping,
}

/// The engine was not opened.
#[derive(Debug, thiserror::Error)]
#[error("delegated tasks could not be read; the hub did not start")]
pub struct EngineError {
    /// Why.
    #[from]
    pub source: BookError,
}

/// A task was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// Nothing is delegated here.
    #[error("delegation is switched off; the task was not taken")]
    Off,
    /// The hub ends.
    #[error("the hub is stopping; the task was not taken")]
    Stopping,
    /// There is nothing to do.
    #[error("the task has no message; it was not taken")]
    Empty,
    /// It is too long.
    #[error("the task has {bytes} bytes and may have {most}; it was not taken")]
    TooLong {
        /// How many it has.
        bytes: usize,
        /// How many it may have.
        most: usize,
    },
    /// The queue is full.
    #[error(
        "{} tasks of this kind are open already, which is as many as there may be; this one was not taken",
        most
    )]
    Full {
        /// Which queue.
        class: Class,
        /// How many there may be.
        most: usize,
    },
    /// All open tasks together have too much to hold.
    #[error(
        "the open tasks together were handed {most} bytes, which is as much as there may be; this one was not taken"
    )]
    TooMuch {
        /// How much there may be.
        most: usize,
    },
    /// The session is not there, or not the caller's.
    #[error("there is no session {session:?}; the task was not taken")]
    NoSession {
        /// As given.
        session: String,
    },
    /// It could not be stored.
    #[error("the task could not be stored and was not taken")]
    Book {
        /// Why.
        #[from]
        source: BookError,
    },
}

/// A task could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// There is none, or it is another client's.
    #[error("there is no task {id:?}; nothing was done")]
    Unknown {
        /// As given.
        id: String,
    },
    /// The beginning of an id fits several.
    #[error("more than one task begins with {id:?}; nothing was done")]
    Ambiguous {
        /// As given.
        id: String,
    },
    /// It cannot be done in the task's state.
    #[error("task {id} is {}, so {what}; nothing was done", state.as_str())]
    NotNow {
        /// Which task.
        id: TaskId,
        /// Where it stands.
        state: TaskState,
        /// What does not go.
        what: &'static str,
    },
    /// Only the owner may.
    #[error("only the owner may {what}; nothing was done")]
    NotYours {
        /// What was tried.
        what: &'static str,
    },
    /// The answer is none of those that can be given.
    #[error("{answer:?} is no answer to the question of task {id}; nothing was done")]
    NoAnswer {
        /// Which task.
        id: TaskId,
        /// As given.
        answer: String,
    },
    /// The book failed.
    #[error("the task could not be read or changed")]
    Book {
        /// Why.
        #[from]
        source: BookError,
    },
}

/// A session could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is none, or it is not the caller's.
    #[error("there is no session {id:?}; nothing was done")]
    Unknown {
        /// As given.
        id: String,
    },
    /// A task of it is open.
    #[error("a task of session {id} is not over; nothing was deleted")]
    Busy {
        /// Which.
        id: String,
    },
    /// The book failed.
    #[error("the session could not be read or changed")]
    Book {
        /// Why.
        #[from]
        source: BookError,
    },
}

const FREE_SPACE: &str = "free some disk space; nothing that was acknowledged is lost";

// === impl BookError ===

impl BookError {
    /// Whether another hub has taken over what was to be stored.
    pub(crate) fn is_taken_over(&self) -> bool {
        matches!(
            self,
            Self::Store {
                source: StoreError::Failed {
                    source: DatabaseError::Fenced,
                    ..
                }
            }
        )
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Store {
                source: StoreError::Full { .. },
            } => FREE_SPACE.to_owned(),
            Self::Store { source } => source.hint().to_owned(),
            Self::Key { source } => source.hint().to_owned(),
            Self::Unreadable { .. } => {
                "put the keys back from a backup, or delete the session".to_owned()
            }
            Self::Gone { .. } => "see `legation task list` and `legation session list`".to_owned(),
            Self::NoName | Self::AtWork | Self::Stopping => "try again".to_owned(),
        }
    }
}

// === impl EngineError ===

impl EngineError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        self.source.hint()
    }
}

// === impl SubmitError ===

impl SubmitError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Off => "set `delegate.enabled = true` in legation.toml".to_owned(),
            Self::Stopping => "hand it in again when the hub runs".to_owned(),
            Self::Empty => "say what is to be done".to_owned(),
            Self::TooLong { .. } => {
                "hand over fewer files: the task can read those of its folder itself".to_owned()
            }
            Self::Full { .. } | Self::TooMuch { .. } => {
                "wait until some are over, or call some off with `legation task cancel`".to_owned()
            }
            Self::NoSession { .. } => {
                "see `legation session list`, or leave the session out".to_owned()
            }
            Self::Book { source } => source.hint(),
        }
    }
}

// === impl TaskError ===

impl TaskError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { .. } => "see `legation task list`".to_owned(),
            Self::Ambiguous { .. } => "give more of its id".to_owned(),
            Self::NotNow { .. } => "see `legation task show`".to_owned(),
            Self::NotYours { .. } => "use `legation task` as the owner".to_owned(),
            Self::NoAnswer { .. } => "answer `again`, `skip` or `failed`".to_owned(),
            Self::Book { source } => source.hint(),
        }
    }
}

// === impl SessionError ===

impl SessionError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { .. } => "see `legation session list`".to_owned(),
            Self::Busy { .. } => "wait for its tasks, or call them off".to_owned(),
            Self::Book { source } => source.hint(),
        }
    }
}
