//! What went wrong with a letter, a folder or a draft.

use std::time::Duration;

use super::Folder;
use crate::error::{Class, GraphError, GraphMeaning};

/// What went wrong with a letter, a folder or a draft. No address is in it.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// Graph did not do it.
    #[error("the mailbox could not be used")]
    Graph {
        /// Why.
        #[source]
        source: GraphError,
    },
    /// There is no letter of that id in the mailbox.
    #[error("there is no such letter in this mailbox; nothing was changed")]
    NoLetter,
    /// There is no folder of that name or id in the mailbox.
    #[error("there is no such folder in this mailbox; nothing was changed")]
    NoFolder,
    /// A folder's name that can be none.
    #[error("that is no folder that letters are filed in; nothing was changed")]
    FolderName,
    /// The letter is longer than is read.
    #[error("the letter is longer than is read")]
    TooLong,
    /// A recipient that is no address.
    #[error("recipient {number} is no mail address; no draft was made")]
    BadAddress {
        /// Which one, counted from 1.
        number: usize,
    },
    /// More recipients than a draft may have.
    #[error("a draft may have {most} recipients and this has {number}; no draft was made")]
    Recipients {
        /// How many.
        number: usize,
        /// The most there may be.
        most: usize,
    },
    /// There is nothing in the draft.
    #[error("the draft says nothing; no draft was made")]
    Empty,
    /// It says more than a draft may.
    #[error("the draft has {bytes} bytes and may have {most}; no draft was made")]
    DraftTooLong {
        /// Its size.
        bytes: usize,
        /// The most there may be.
        most: usize,
    },
    /// What the service made is no draft in the drafts' folder.
    #[error("the service made something else than a draft of what was asked for")]
    NoDraft,
    /// Nobody knows whether it was done.
    #[error("{what} may have been done or not")]
    Uncertain {
        /// What.
        what: &'static str,
        /// Why it is not known.
        #[source]
        source: GraphError,
    },
}

// === impl MailError ===

impl MailError {
    /// A failure of reading or moving a letter.
    pub(super) fn at_letter(source: GraphError) -> Self {
        match source.meaning() {
            Some(GraphMeaning::NotFound) => Self::NoLetter,
            // An id that Graph cannot read is of nothing that is there.
            Some(GraphMeaning::BadRequest) if source.is_about_an_id() => Self::NoLetter,
            _ if source.is_answer_too_large() => Self::TooLong,
            _ => Self::Graph { source },
        }
    }

    /// A failure of looking into a folder.
    pub(super) fn at_folder(folder: &Folder, source: GraphError) -> Self {
        let is_named = !matches!(folder, Folder::Known(_));
        match source.meaning() {
            Some(GraphMeaning::NotFound) if is_named => Self::NoFolder,
            Some(GraphMeaning::BadRequest) if is_named && source.is_about_an_id() => Self::NoFolder,
            _ => Self::Graph { source },
        }
    }

    /// What Graph said, where it was asked.
    #[must_use]
    pub fn graph(&self) -> Option<&GraphError> {
        match self {
            Self::Graph { source } | Self::Uncertain { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Its class.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Graph { source } | Self::Uncertain { source, .. } => source.class(),
            Self::NoLetter | Self::NoFolder => Class::ItemNotFound,
            Self::TooLong
            | Self::FolderName
            | Self::BadAddress { .. }
            | Self::Recipients { .. }
            | Self::Empty
            | Self::DraftTooLong { .. }
            | Self::NoDraft => Class::Mailbox,
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
            Self::NoLetter => {
                "list the letters again: it was deleted, or it is in another account's mailbox"
            }
            Self::NoFolder => "name another folder, or have your human make it",
            Self::FolderName => {
                "name inbox, archive, drafts, sentitems, deleteditems or junkemail, /a/path of folders, or a folder's id"
            }
            Self::TooLong => "have your human open it",
            Self::BadAddress { .. } => "write one address for each recipient, without a name",
            Self::Recipients { .. } => "write to fewer people at once",
            Self::Empty => "write a subject or a text",
            Self::DraftTooLong { .. } => "write less, or a link to it",
            Self::NoDraft => "look into the mailbox, and report it",
            Self::Uncertain { .. } => {
                "look into the mailbox first; with the same key it is not done twice"
            }
        };
        hint.to_owned()
    }
}
