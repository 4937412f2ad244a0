//! What can go wrong, one type for each thing that is tried.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use legation_core::home::HomeError;
use legation_keystore::KeystoreError;

/// The inbox cannot be opened; nothing in it was changed but for a half line at
/// its end.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("the inbox is in use by {}; it was not opened", owner(*.pid))]
    InUse {
        /// Which process, if it said so.
        pid: Option<u32>,
    },
    /// A record that was kept is damaged or gone.
    #[error("the inbox is damaged: {}, byte {offset}: {what}; nothing was changed", path.display())]
    Damaged {
        /// The day file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// A file or folder could not be made.
    #[error("the inbox could not be opened")]
    Home(#[source] HomeError),
    /// A file could not be read or written.
    #[error("the inbox could not be opened: {what} {} failed", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

/// Messages were not kept; none of them is announced, and their source must
/// bring them again.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The disk did not take them.
    #[error("the messages were not kept: {what} failed")]
    Write {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        #[source]
        source: Arc<io::Error>,
    },
    /// A body that must be sealed could not be.
    #[error("the messages were not kept: one of them could not be sealed")]
    Seal(#[source] Arc<KeystoreError>),
    /// Too many wait already.
    #[error("the messages were not kept: too many wait to be written")]
    Busy,
    /// There are as many channels as there may be.
    #[error("the message was not kept: {channel} would be one channel too many")]
    Channels {
        /// The new one.
        channel: String,
    },
    /// The entity's name is too long for the name of a file.
    #[error("the message was not kept: the name of its entity is longer than {most} bytes")]
    Entity {
        /// How long one may be, in bytes.
        most: usize,
    },
    /// The inbox is closed.
    #[error("the messages were not kept: the inbox is closed")]
    Closed,
}

/// Something of the inbox could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such message.
    #[error("there is no message {id:?} in the inbox; nothing was marked as read")]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// A record is damaged, or its file is gone.
    #[error("record {seq} of the inbox cannot be read: {what}")]
    Damaged {
        /// Which record.
        seq: u64,
        /// What is wrong.
        what: String,
    },
    /// A file could not be read.
    #[error("the inbox could not be read: {}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There are as many consumers as there may be, of all or of one client.
    #[error("there are {most} readers already; nothing was read")]
    Consumers {
        /// How many there may be.
        most: usize,
    },
    /// The hub is stopping.
    #[error("the inbox was closed; nothing was read")]
    Closed,
}

// === impl OpenError ===

impl OpenError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::InUse { .. } => "end that process, or use the hub that runs",
            Self::Damaged { .. } => {
                "run `legation inbox repair`: it keeps every record that is whole and puts the rest aside"
            }
            Self::Home(_) | Self::Io { .. } => "check the disk and who owns the folder",
        }
    }

    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }
}

// === impl AppendError ===

impl AppendError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Write { .. } => "make room on the disk; sources bring the messages again",
            Self::Seal(_) => "check the folder of keys; `legation doctor` says what is wrong",
            Self::Busy => "bring them again in a moment",
            Self::Channels { .. } => "use one of the channels there are",
            Self::Entity { .. } => "give the entity a shorter name",
            Self::Closed => "start the hub",
        }
    }

    pub(crate) fn write(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write {
            what,
            source: Arc::new(source),
        }
    }
}

// === impl ReadError ===

impl ReadError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "leave `since_id` out to get what is unread",
            Self::Damaged { .. } => "stop the hub and run `legation inbox repair`",
            Self::Io { .. } => "check the disk and who owns the folder",
            Self::Consumers { .. } => "use a consumer there is, or leave `consumer` out",
            Self::Closed => "call again once the hub runs",
        }
    }
}

fn owner(pid: Option<u32>) -> String {
    pid.map_or_else(
        || "another process".to_owned(),
        |pid| format!("process {pid}"),
    )
}
