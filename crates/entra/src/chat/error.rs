//! What went wrong in a chat.

use std::time::Duration;

use super::Sent;
use crate::account::Acting;
use crate::error::{Class, GraphError, SignInError};

/// What went wrong in a chat.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// Graph did not do it.
    #[error("the chat could not be used")]
    Graph {
        /// Why.
        #[source]
        source: GraphError,
    },
    /// There is no token.
    #[error("the chat could not be used")]
    SignIn {
        /// Why.
        #[source]
        source: SignInError,
    },
    /// The settings name no human.
    #[error("the account `{account}` names no `human` to talk to")]
    NoHuman {
        /// The account.
        account: Box<str>,
    },
    /// Agent and human would be one user.
    #[error("{} has no chat with its human: both are the same user", acting.as_str())]
    Alone {
        /// Who acts.
        acting: Acting,
    },
    /// A chat of two that has others in it, or nobody.
    #[error("the chat {chat} is not between the agent and one person; it was not used")]
    Members {
        /// Which one.
        chat: Box<str>,
    },
    /// There is nothing in the message.
    #[error("the message is empty; nothing was sent")]
    Empty,
    /// It is larger than Teams takes.
    #[error("the message has {bytes} bytes and Teams takes {most}; nothing was sent")]
    TooLong {
        /// Its size.
        bytes: usize,
        /// The most there may be.
        most: usize,
    },
    /// A card that is none.
    #[error("the card cannot be sent: {why}")]
    Card {
        /// What is wrong with it.
        why: &'static str,
    },
    /// Nobody knows whether it was sent.
    #[error("the message may have been sent or not: {} of its parts were for certain", sent.len())]
    Uncertain {
        /// The parts that were sent for certain.
        sent: Vec<Sent>,
        /// Why it is not known.
        #[source]
        source: GraphError,
    },
    /// Some of it was sent, the rest not.
    #[error("only {} of {parts} parts of the message were sent", sent.len())]
    Partly {
        /// Those that were sent.
        sent: Vec<Sent>,
        /// How many there are.
        parts: usize,
        /// Why no more.
        #[source]
        source: GraphError,
    },
}

// === impl ChatError ===

impl ChatError {
    /// Its class.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Graph { source }
            | Self::Uncertain { source, .. }
            | Self::Partly { source, .. } => source.class(),
            Self::SignIn { source } => source.class(),
            Self::NoHuman { .. } | Self::Alone { .. } => Class::Local,
            Self::Members { .. } | Self::Empty | Self::Card { .. } => Class::Teams,
            Self::TooLong { .. } => Class::MessageTooLong,
        }
    }

    /// How long to wait before it is tried again, where that is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Graph { source }
            | Self::Uncertain { source, .. }
            | Self::Partly { source, .. } => source.retry_after(),
            Self::SignIn { source } => source.retry_after(),
            _ => None,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Graph { source } | Self::Partly { source, .. } => source.hint(),
            Self::SignIn { source } => source.hint(),
            Self::NoHuman { account } => {
                format!("write `human` in [accounts.{account}] of legation.toml")
            }
            Self::Alone { .. } => {
                "give the agent a user of its own: `legation identity provision`".to_owned()
            }
            Self::Members { .. } => {
                "look at the chat's members in Teams; nothing is said where others listen"
                    .to_owned()
            }
            Self::Empty => "write something".to_owned(),
            Self::TooLong { .. } => "send less, or a link to it".to_owned(),
            Self::Card { .. } => "send an Adaptive Card as a JSON object".to_owned(),
            Self::Uncertain { .. } => {
                "send it again with the same key: what was sent is found then and not sent twice"
                    .to_owned()
            }
        }
    }
}
