//! The tree of failures.

use std::fmt;

/// What kind of failure something is. The names are what agents, people and
/// records see; they do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Signing in failed in a way that has no name of its own.
    Auth,
    /// Nobody entered the code in time.
    DeviceCodeTimeout,
    /// Somebody, or the tenant's rules, did not agree to what was asked for.
    ConsentDenied,
    /// The person's token could not be exchanged for one to act with.
    OboExchange,
    /// The tenant has no agent identities, or not this one.
    AgentIdNotAvailable,
    /// What was kept of an earlier sign-in is no longer accepted.
    TokenExpired,
    /// Teams or Graph refused in a way that has no name of its own.
    Teams,
    /// The user has no licence for Teams.
    TeamsNotLicensed,
    /// There is no such chat, or not for this user.
    ChatNotFound,
    /// The message is larger than Teams takes.
    MessageTooLong,
    /// A mailbox or calendar refused in a way that has no name of its own.
    Mailbox,
    /// There is no such letter, folder or event, or not in this mailbox.
    ItemNotFound,
    /// Too much was asked; it says when to come again.
    RateLimit,
    /// No answer, or none that could be read.
    Unreachable,
    /// It was called off.
    Cancelled,
    /// This machine: settings, keystore, broker.
    Local,
}

// === impl Class ===

impl Class {
    /// Every class.
    pub const ALL: [Self; 16] = [
        Self::Auth,
        Self::DeviceCodeTimeout,
        Self::ConsentDenied,
        Self::OboExchange,
        Self::AgentIdNotAvailable,
        Self::TokenExpired,
        Self::Teams,
        Self::TeamsNotLicensed,
        Self::ChatNotFound,
        Self::MessageTooLong,
        Self::Mailbox,
        Self::ItemNotFound,
        Self::RateLimit,
        Self::Unreachable,
        Self::Cancelled,
        Self::Local,
    ];

    /// The name agents and records see.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "AuthError",
            Self::DeviceCodeTimeout => "DeviceCodeTimeout",
            Self::ConsentDenied => "ConsentDenied",
            Self::OboExchange => "OBOExchangeError",
            Self::AgentIdNotAvailable => "AgentIDNotAvailable",
            Self::TokenExpired => "TokenExpiredError",
            Self::Teams => "TeamsError",
            Self::TeamsNotLicensed => "TeamsNotLicensed",
            Self::ChatNotFound => "ChatNotFound",
            Self::MessageTooLong => "MessageTooLong",
            Self::Mailbox => "MailboxError",
            Self::ItemNotFound => "ItemNotFound",
            Self::RateLimit => "RateLimitError",
            Self::Unreachable => "ConnectionError",
            Self::Cancelled => "Cancelled",
            Self::Local => "ConfigurationError",
        }
    }

    /// The class above it: every failure of signing in is an `AuthError`, every
    /// failure of Teams a `TeamsError`, and one of mail or calendar a `MailboxError`.
    #[must_use]
    pub fn parent(self) -> Option<Self> {
        match self {
            Self::DeviceCodeTimeout
            | Self::ConsentDenied
            | Self::OboExchange
            | Self::AgentIdNotAvailable
            | Self::TokenExpired => Some(Self::Auth),
            Self::TeamsNotLicensed | Self::ChatNotFound | Self::MessageTooLong => Some(Self::Teams),
            Self::ItemNotFound => Some(Self::Mailbox),
            Self::Auth
            | Self::Teams
            | Self::Mailbox
            | Self::RateLimit
            | Self::Unreachable
            | Self::Cancelled
            | Self::Local => None,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
