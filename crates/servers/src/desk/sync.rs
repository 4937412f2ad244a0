//! What the desk reads from calendars and mailboxes in the background, for briefs that need not
//! wait for anybody.
//!
//! Graph's changes say only whether something is different; then everything within the time is
//! listed, and rows are made to agree with it. Applying each change by itself was rejected:
//! changes of a series come in parts, and a row that was missed once would stay wrong.

mod read;

use std::time::Duration;

use futures_util::future::join_all;
use jiff::tz::TimeZone;
use legation_core::{Cancel, EntityId};
use legation_desk::{Event, Letter};
use legation_entra::Account;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::book::{Book, BookError, Entry, Kind, Wanted};
use super::{Desk, Shared, calendar};
use crate::accounts::Failure;
use crate::sources::{self, Read, Reports, Source};

pub(super) use read::letter as letter_of;

/// What is read of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Its calendar.
    Calendar,
    /// Its inbox.
    Inbox,
}

/// How a calendar or an inbox was read last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// When it was found to be as the rows have it.
    pub(super) read_ms: i64,
    /// Between which moments.
    pub(super) from_ms: i64,
    pub(super) until_ms: i64,
    /// Whether there is more than is kept.
    pub(super) is_cut: bool,
    /// Where changes are asked for from.
    link: Option<String>,
}

/// What is known of a calendar or an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was never read.
    Never,
    /// It was read, but not lately.
    Stale {
        /// When last.
        read_ms: i64,
    },
    /// It is as the rows have it.
    Fresh {
        /// When last.
        read_ms: i64,
    },
}

/// One of the two of an account, as it is read.
struct Reader<'a> {
    shared: &'a Shared,
    what: What,
}

/// How often it is looked whether something changed.
const PACE: Duration = Duration::from_secs(120);
/// What was not read for so long may be otherwise by now.
const STALE_MS: i64 = 15 * 60 * 1000;
/// The name under which the desk reads for itself.
const READER: &str = "desk";
/// Rows of an account of a kind that are looked at.
const ROWS_MAX: usize = 20_000;

// === impl What ===

impl What {
    /// Both.
    pub(super) const ALL: [Self; 2] = [Self::Calendar, Self::Inbox];

    /// What people call it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Calendar => "calendar for the desk",
            Self::Inbox => "inbox for the desk",
        }
    }

    pub(super) fn mark(self, account: &str) -> String {
        match self {
            Self::Calendar => format!("{account}/calendar"),
            Self::Inbox => format!("{account}/inbox"),
        }
    }
}

#[cfg(test)]
impl Mark {
    /// Read at that moment.
    pub(super) fn read_at(read_ms: i64) -> Self {
        Self {
            read_ms,
            from_ms: 0,
            until_ms: 0,
            is_cut: false,
            link: None,
        }
    }
}

// === impl Desk ===

impl Desk {
    /// Reads calendars and inboxes of these accounts whenever something changed in them, until it
    /// is called off; `reports` hears what cannot be read.
    pub async fn sync(&self, accounts: &[Box<str>], reports: &Reports, cancel: &Cancel) {
        let context = &sources::context_as(cancel, READER);
        let shared = &*self.shared;
        let both = |account| What::ALL.map(|what| (account, what));
        let all = accounts
            .iter()
            .flat_map(both)
            .map(|(account, what)| async move {
                let source = Source {
                    accounts: &shared.accounts,
                    account,
                    what: what.as_str(),
                    reports,
                    context,
                };
                source.keep_reading(&Reader { shared, what }).await;
            });
        join_all(all).await;
    }
}

// === impl Reader ===

impl Read for Reader<'_> {
    async fn read(&self, source: &Source<'_>, account: Account) -> Failure {
        loop {
            let nudged = self.shared.changed.notified();
            let done = match self.what {
                What::Calendar => read::calendar(self.shared, source.context, &account).await,
                What::Inbox => read::inbox(self.shared, source.context, &account).await,
            };
            if let Err(failure) = done {
                return failure;
            }
            source.worked();
            let over = tokio::select! {
                over = sources::is_over(source.context, PACE) => over,
                () = nudged => false,
            };
            if over {
                let message = "the hub stops".to_owned();
                return Failure::said(legation_entra::Class::Cancelled, message, "");
            }
        }
    }
}

// === what was read ===

/// How an account's calendar or inbox stands.
pub(super) async fn standing(
    shared: &Shared,
    account: &str,
    what: What,
) -> Result<Standing, BookError> {
    let mark = shared
        .book
        .get::<Mark>(Kind::Mark, &what.mark(account))
        .await?;
    Ok(match mark {
        None => Standing::Never,
        Some(mark) => {
            let read_ms = mark.body.read_ms;
            match shared.now_ms() - read_ms > STALE_MS {
                true => Standing::Stale { read_ms },
                false => Standing::Fresh { read_ms },
            }
        }
    })
}

/// Events of an entity that touch a time, earliest first.
pub(super) async fn events(
    shared: &Shared,
    entity: &EntityId,
    (from_ms, to_ms): (i64, i64),
    limit: usize,
) -> Result<Vec<Event>, BookError> {
    let wanted = Wanted {
        from_ms,
        to_ms,
        ..Wanted::of(entity, limit)
    };
    bodies(&shared.book, Kind::Event, wanted).await
}

/// Letters of an entity's inboxes that came within a time, newest first.
pub(super) async fn letters(
    shared: &Shared,
    entity: &EntityId,
    (from_ms, to_ms): (i64, i64),
    limit: usize,
) -> Result<Vec<Letter>, BookError> {
    let wanted = Wanted {
        from_ms,
        to_ms,
        newest_first: true,
        ..Wanted::of(entity, limit)
    };
    bodies(&shared.book, Kind::Letter, wanted).await
}

async fn bodies<T: DeserializeOwned + Send + 'static>(
    book: &Book,
    kind: Kind,
    wanted: Wanted,
) -> Result<Vec<T>, BookError> {
    let entries: Vec<Entry<T>> = book.list(kind, wanted).await?;
    Ok(entries.into_iter().map(|entry| entry.body).collect())
}

/// The owner's zone, by whose clocks days taken whole are put in order.
fn owners_zone(shared: &Shared) -> TimeZone {
    calendar::zone(shared, None).map_or(TimeZone::UTC, |(_, zone)| zone)
}

#[cfg(test)]
mod tests;
