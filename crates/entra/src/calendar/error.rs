//! What went wrong with a calendar.

use std::time::Duration;

use crate::error::{Class, GraphError, GraphMeaning};

/// What went wrong with a calendar.
#[derive(Debug, thiserror::Error)]
pub enum CalendarError {
    /// Graph did not do it.
    #[error("the calendar could not be used")]
    Graph {
        /// Why.
        #[source]
        source: GraphError,
    },
    /// Its changes go on and on.
    #[error(
        "the calendar's changes did not end after {pages} pages; what was read is kept, and the next look goes on from there"
    )]
    Endless {
        /// How many were read.
        pages: usize,
    },
    /// There is no event of that id.
    #[error("there is no such event in this calendar")]
    NoEvent,
    /// The end is not after the start.
    #[error("the end is not after the start; nothing was done")]
    Order,
    /// The entry has no subject.
    #[error("the entry has no subject; none was made")]
    NoSubject,
    /// A time that does not exist or a zone that is not known.
    #[error("there is no such time there; no entry was made")]
    NoTime,
    /// It is longer than an entry is.
    #[error("the entry takes more than {days} days; none was made")]
    TooLong {
        /// The most there may be.
        days: i64,
    },
    /// It says more than an entry may.
    #[error("the entry's text has {bytes} bytes and may have {most}; none was made")]
    TextTooLong {
        /// Its size.
        bytes: usize,
        /// The most there may be.
        most: usize,
    },
    /// Nobody knows whether it was made.
    #[error("the entry may have been made or not")]
    Uncertain {
        /// Why it is not known.
        #[source]
        source: GraphError,
    },
}

// === impl CalendarError ===

impl CalendarError {
    pub(super) fn at_event(source: GraphError) -> Self {
        match source.meaning() {
            Some(GraphMeaning::NotFound) => Self::NoEvent,
            Some(GraphMeaning::BadRequest) if source.is_about_an_id() => Self::NoEvent,
            _ => Self::Graph { source },
        }
    }

    /// What Graph said, where it was asked.
    #[must_use]
    pub fn graph(&self) -> Option<&GraphError> {
        match self {
            Self::Graph { source } | Self::Uncertain { source } => Some(source),
            _ => None,
        }
    }

    /// Its class.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Graph { source } | Self::Uncertain { source } => source.class(),
            Self::NoEvent => Class::ItemNotFound,
            Self::Endless { .. }
            | Self::Order
            | Self::NoSubject
            | Self::NoTime
            | Self::TooLong { .. }
            | Self::TextTooLong { .. } => Class::Mailbox,
        }
    }

    /// How long to wait before it is tried again, where that is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.graph().and_then(GraphError::retry_after)
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        let hint = match self {
            Self::Graph { source } => return source.hint(),
            Self::Endless { .. } => {
                "nothing, where it ends by itself; else something writes to this calendar all the time"
            }
            Self::NoEvent => "list the calendar again: it was deleted, or is another account's",
            Self::Order => "give an end after the start",
            Self::NoSubject => "say what it is about",
            Self::NoTime => {
                "write a local time such as 2026-11-23T09:00:00 and a zone such as Europe/Berlin; a clock that is set forward skips an hour"
            }
            Self::TooLong { .. } => "make shorter ones",
            Self::TextTooLong { .. } => "write less",
            Self::Uncertain { .. } => "make it again with the same key: it is not made twice",
        };
        hint.to_owned()
    }
}
