//! What was read from mailboxes and calendars, as the desk works with it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::source::{SourceId, SourceKind};

/// Somebody at an address. Either part may be empty.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// What they are called.
    #[serde(default)]
    pub name: String,
    /// Where they are written to.
    #[serde(default)]
    pub address: String,
}

/// A letter. Its texts are plain: no markup, no hidden characters.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// The account.
    pub account: String,
    /// Its id in the mailbox.
    pub id: String,
    /// The folder it lies in.
    #[serde(default)]
    pub folder: String,
    /// The conversation it belongs to.
    #[serde(default)]
    pub conversation: String,
    /// Who wrote it.
    pub from: Person,
    /// To whom.
    #[serde(default)]
    pub to: Vec<Person>,
    /// Its subject.
    pub subject: String,
    /// The beginning of its text.
    #[serde(default)]
    pub preview: String,
    /// When it came, in milliseconds since 1970.
    pub received_ms: i64,
    /// Whether it was read.
    #[serde(default)]
    pub is_read: bool,
    /// Whether something is attached.
    #[serde(default)]
    pub has_attachments: bool,
    /// Whether its sender calls it important.
    #[serde(default)]
    pub is_important: bool,
}

/// An event of a calendar: one occurrence of it, where it recurs.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The account.
    pub account: String,
    /// Its id in the calendar.
    pub id: String,
    /// What it is about.
    pub subject: String,
    /// Who called it.
    #[serde(default)]
    pub organizer: Person,
    /// Who is invited.
    #[serde(default)]
    pub attendees: Vec<Person>,
    /// Where.
    #[serde(default)]
    pub location: String,
    /// When it begins, in milliseconds since 1970.
    pub start_ms: i64,
    /// When it ends.
    pub end_ms: i64,
    /// Its first day and the day after its last, where it has no times: days are the same in
    /// every time zone.
    #[serde(default)]
    pub days: Option<(String, String)>,
    /// Whether it is only held: shown as tentative.
    #[serde(default)]
    pub is_tentative: bool,
    /// Whether it was called off.
    #[serde(default)]
    pub is_cancelled: bool,
    /// Whether its owner marked it private.
    #[serde(default)]
    pub is_private: bool,
}

// === impl Person ===

impl Person {
    /// What to call them: their name, else their address.
    #[must_use]
    pub fn called(&self) -> &str {
        match self.name.trim() {
            "" => &self.address,
            name => name,
        }
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Person(***)")
    }
}

// === impl Letter ===

impl Letter {
    /// Where it can be read again.
    #[must_use]
    pub fn source(&self) -> SourceId {
        SourceId::in_account(SourceKind::Mail, &self.account, &self.id)
    }
}

impl fmt::Debug for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Letter")
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}

// === impl Event ===

impl Event {
    /// Where it can be read again.
    #[must_use]
    pub fn source(&self) -> SourceId {
        SourceId::in_account(SourceKind::Event, &self.account, &self.id)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}
