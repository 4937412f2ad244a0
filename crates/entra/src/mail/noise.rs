//! Mail that no person wrote to be read: told by what it says of itself.

use super::wire::WireLetter;

/// What such a letter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Noise {
    /// A program answered (RFC 3834).
    AutoReply,
    /// An invitation, or an answer to one.
    Calendar,
    /// It went to a list or to many (RFC 2919, RFC 2369).
    Bulk,
    /// Nobody reads what is answered.
    NoReply,
}

/// How addresses begin that nobody reads.
const NOBODY: [&str; 6] = [
    "noreply",
    "no-reply",
    "no_reply",
    "donotreply",
    "do-not-reply",
    "do_not_reply",
];
/// Where Microsoft tells of what the chat itself brings.
const NOTIFIERS: [&str; 3] = [
    "teams.mail.microsoft",
    "email.teams.microsoft.com",
    "communication.microsoft.com",
];
/// Exchange marks an answer of its own so where the header is not given.
const AUTOMATIC: &str = "automatic reply:";

/// What a letter is, if it is noise.
pub(super) fn of(wire: &WireLetter) -> Option<Noise> {
    let kind = wire.odata_type.as_deref().unwrap_or_default();
    if kind.to_lowercase().contains("eventmessage") {
        return Some(Noise::Calendar);
    }
    let header = |name: &str| {
        let headers = wire.internet_message_headers.as_deref().unwrap_or_default();
        let mut named = headers.iter().filter(|header| {
            let found = header.name.as_deref();
            found.is_some_and(|found| found.eq_ignore_ascii_case(name))
        });
        let value = named.next()?.value.as_deref().unwrap_or_default();
        Some(value.trim().to_lowercase())
    };
    let precedence = header("Precedence").unwrap_or_default();
    let subject = wire.subject.as_deref().unwrap_or_default().to_lowercase();
    let is_answer = header("Auto-Submitted").is_some_and(|how| !how.starts_with("no"))
        || header("X-Autoreply").is_some()
        || header("X-Autorespond").is_some()
        || precedence == "auto_reply"
        || subject.starts_with(AUTOMATIC);
    if is_answer {
        return Some(Noise::AutoReply);
    }
    let is_bulk = header("List-Id").is_some()
        || header("List-Unsubscribe").is_some()
        || matches!(&*precedence, "bulk" | "list" | "junk");
    if is_bulk {
        return Some(Noise::Bulk);
    }
    is_nobody(wire).then_some(Noise::NoReply)
}

fn is_nobody(wire: &WireLetter) -> bool {
    let from = wire.from.as_ref().or(wire.sender.as_ref());
    let address = from.and_then(|from| from.email_address.as_ref()?.address.as_deref());
    let address = address.unwrap_or_default().to_lowercase();
    let (local, domain) = address.split_once('@').unwrap_or((&address, ""));
    NOBODY.iter().any(|word| local.starts_with(word)) || NOTIFIERS.contains(&domain)
}

// === impl Noise ===

impl Noise {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::AutoReply, Self::Calendar, Self::Bulk, Self::NoReply];

    /// The word in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AutoReply => "auto-replies",
            Self::Calendar => "calendar",
            Self::Bulk => "bulk",
            Self::NoReply => "no-reply",
        }
    }

    /// The kind a word means.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}
