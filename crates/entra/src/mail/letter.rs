//! Letters as they are read.

use legation_core::Wall;

use super::noise::{self, Noise};
use super::wire::{WireBody, WireLetter, WireRecipient};
use crate::base::plain;
use crate::html::Html;

/// A letter that was received, without its words ([`super::Mails::words`]).
/// Everything in it is what its sender wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Its id in the mailbox; it stays when the letter is moved.
    pub id: String,
    /// The id it has everywhere (RFC 5322, `Message-ID`), without brackets;
    /// the mailbox's where it came without one.
    pub message_id: String,
    /// Which conversation it is part of.
    pub conversation: String,
    /// Its subject.
    pub subject: String,
    /// From whom it claims to be.
    pub from: Option<Address>,
    /// To whom.
    pub to: Vec<Address>,
    /// To whom besides.
    pub cc: Vec<Address>,
    /// Whom to answer, where that is somebody else.
    pub reply_to: Vec<Address>,
    /// When it came, to the second.
    pub received: Wall,
    /// Whether something is attached that is not a picture in the text.
    pub has_attachments: bool,
    /// What it is where no person wrote it to be read.
    pub noise: Option<Noise>,
}

/// An address as a letter has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The name beside it; anybody can write any.
    pub name: String,
    /// `somebody@example.com`
    pub address: String,
}

const NAME_MAX: usize = 200;
const SUBJECT_MAX: usize = 500;

// === impl Letter ===

impl Letter {
    /// Reads what Graph answers. Without a time, or not sent yet, it is none: a
    /// change may be told with the changed members alone.
    pub(super) fn from_wire(wire: WireLetter) -> Option<Self> {
        match wire.is_draft {
            Some(true) => None,
            _ => Self::draft_or_not(wire),
        }
    }

    /// The same of one that may be a draft.
    pub(super) fn draft_or_not(wire: WireLetter) -> Option<Self> {
        if wire.id.is_empty() {
            return None;
        }
        let received = wire.received_date_time.as_deref().and_then(Wall::parse)?;
        let noise = noise::of(&wire);
        let from = wire.from.or(wire.sender).and_then(Address::from_wire);
        let message_id = wire.internet_message_id.unwrap_or_default();
        let message_id = message_id.trim().trim_matches(['<', '>']);
        Some(Self {
            message_id: match message_id {
                "" => wire.id.clone(),
                known => known.to_owned(),
            },
            conversation: wire.conversation_id.unwrap_or_default(),
            subject: plain(&wire.subject.unwrap_or_default(), SUBJECT_MAX),
            from,
            to: all(wire.to_recipients),
            cc: all(wire.cc_recipients),
            reply_to: all(wire.reply_to),
            received,
            has_attachments: wire.has_attachments == Some(true),
            noise,
            id: wire.id,
        })
    }

    /// Whether it comes from one of these addresses, which are in small letters.
    #[must_use]
    pub fn is_from(&self, addresses: &std::collections::BTreeSet<String>) -> bool {
        let from = self.from.as_ref();
        from.is_some_and(|from| addresses.contains(&from.address.to_lowercase()))
    }
}

/// What a body says, without markup.
pub(super) fn text(body: Option<WireBody>) -> String {
    let Some(body) = body else {
        return String::new();
    };
    let content = body.content.unwrap_or_default();
    match body.content_type.as_deref() {
        Some(kind) if kind.eq_ignore_ascii_case("text") => content,
        _ => Html::parse(&content).to_text(&|_| None),
    }
}

fn all(list: Option<Vec<WireRecipient>>) -> Vec<Address> {
    let list = list.unwrap_or_default().into_iter();
    list.filter_map(Address::from_wire).collect()
}

// === impl Address ===

impl Address {
    fn from_wire(wire: WireRecipient) -> Option<Self> {
        let wire = wire.email_address?;
        let address = plain(&wire.address?, NAME_MAX);
        Some(Self {
            name: plain(&wire.name.unwrap_or_default(), NAME_MAX),
            address,
        })
    }
}
