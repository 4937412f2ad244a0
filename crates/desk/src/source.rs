//! What a line of a brief rests on.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Where something can be read again: `mail/ACCOUNT/ID` with `mail_read`, `event/ACCOUNT/ID` with
/// `calendar_list`, `deal/ID` with `deal_detail`, `triage/ID` with `triage_list`, `deadline/ID`
/// with the deal or item it belongs to, `filing/ID` with the item, `inbox/SEQ` with the inbox,
/// `audit/CALL` with the record, and `config/FILE` for what a file says.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId {
    kind: SourceKind,
    /// The account, for kinds that have one; else empty.
    account: Box<str>,
    id: Box<str>,
}

/// What kind of thing a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceKind {
    /// A letter in a mailbox.
    Mail,
    /// An event in a calendar.
    Event,
    /// A deal.
    Deal,
    /// An item of triage.
    Triage,
    /// A deadline.
    Deadline,
    /// A filing that was suggested.
    Filing,
    /// A message of the inbox.
    Inbox,
    /// A record of the ledger.
    Audit,
    /// A governance file.
    Config,
}

// === impl SourceId ===

impl SourceId {
    /// Something in an account.
    #[must_use]
    pub fn in_account(kind: SourceKind, account: &str, id: &str) -> Self {
        Self {
            kind,
            account: account.into(),
            id: id.into(),
        }
    }

    /// Something of the hub's own.
    #[must_use]
    pub fn own(kind: SourceKind, id: &str) -> Self {
        Self::in_account(kind, "", id)
    }

    /// What kind of thing it is.
    #[must_use]
    pub fn kind(&self) -> SourceKind {
        self.kind
    }

    /// The account; empty for what is of the hub's own.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.account
    }

    /// Its id there.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Reads what `Display` writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once('/')?;
        let kind = SourceKind::parse(kind)?;
        let (account, id) = match kind.has_account() {
            true => rest.split_once('/')?,
            false => ("", rest),
        };
        let named = !id.is_empty() && (!kind.has_account() || !account.is_empty());
        named.then(|| Self::in_account(kind, account, id))
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.as_str())?;
        if self.kind.has_account() {
            write!(f, "/{}", self.account)?;
        }
        write!(f, "/{}", self.id)
    }
}

impl fmt::Debug for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceId({self})")
    }
}

impl Serialize for SourceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SourceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("no source is named so"))
    }
}

// === impl SourceKind ===

impl SourceKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Mail,
        Self::Event,
        Self::Deal,
        Self::Triage,
        Self::Deadline,
        Self::Filing,
        Self::Inbox,
        Self::Audit,
        Self::Config,
    ];

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Event => "event",
            Self::Deal => "deal",
            Self::Triage => "triage",
            Self::Deadline => "deadline",
            Self::Filing => "filing",
            Self::Inbox => "inbox",
            Self::Audit => "audit",
            Self::Config => "config",
        }
    }

    /// The kind with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether it lies in an account.
    #[must_use]
    pub fn has_account(self) -> bool {
        matches!(self, Self::Mail | Self::Event)
    }
}
