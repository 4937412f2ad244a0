//! Reading mailboxes, one place each.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use legation_core::error::chain;
use legation_core::{Cancel, OpContext, Wall};
use legation_entra::error::GraphMeaning;
use legation_entra::mail::{Letter, MailChange, MailPage, Mails};
use legation_entra::{Account, Class, GraphError};
use legation_inbox::Incoming;
use serde::{Deserialize, Serialize};

use super::incoming::Shelf;
use super::{MailSource, Mailbox};
use crate::accounts::Failure;
use crate::kept::{self, Kind};
use crate::sources::{self, Source};

/// How far a mailbox was read.
const PLACES: Kind = Kind {
    word: "mail inbox",
    days: 3650,
    most: 1_000,
};
/// Where in the inbox a letter is, by its id in the mailbox: of one that is
/// gone Graph says nothing else.
const SHELVES: Kind = Kind {
    word: "mail letter",
    days: 180,
    most: 20_000,
};

/// Graph may be late to show what came before; so far back is read anew when
/// it has forgotten a link.
const SLACK_MS: i64 = 24 * 3600 * 1000;
/// So much earlier than the first look a letter may be said to have come that
/// came after it.
const EARLY_MS: i64 = 60_000;
/// Letters of the first look that are kept in mind as history.
const HISTORY_MAX: usize = 200;

/// How far a mailbox was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// What was received before is history.
    begun_ms: i64,
    /// The latest letter that was seen.
    received_ms: i64,
    /// Where Graph goes on; `None` to begin anew.
    link: Option<String>,
    /// Up to where letters were listed, while Graph's link is lost: a delta
    /// that begins anew brings no more than a few thousand.
    #[serde(default)]
    listed_ms: Option<i64>,
    /// Letters from before the first look that came in the same second as its
    /// latest.
    #[serde(default)]
    history: Vec<String>,
}

/// Mailboxes, as they are read.
struct ReadMail<'a> {
    own: &'a MailSource,
    mailbox: &'a Mailbox,
}

/// One mailbox.
struct Reader<'a> {
    own: &'a MailSource,
    mailbox: &'a Mailbox,
    account: Account,
    mails: Mails,
    addresses: BTreeSet<String>,
    context: &'a OpContext,
}

pub(super) async fn run(own: &MailSource, mailboxes: &[Mailbox], cancel: &Cancel) {
    let context = &sources::context(cancel);
    let all = mailboxes.iter().map(|mailbox| async move {
        let source = Source {
            accounts: &own.accounts,
            account: &mailbox.account,
            what: "mail",
            reports: &own.reports,
            context,
        };
        source.keep_reading(&ReadMail { own, mailbox }).await;
    });
    join_all(all).await;
}

/// A failure of the mailbox's in words; asking again soon changes nothing
/// where a person has to do something.
fn failure(account: &Account, error: &GraphError) -> Failure {
    let name = account.name();
    let or_not = format!("or write inbox = \"chats\" in [accounts.{name}] of legation.toml");
    let (class, hint) = match error.meaning() {
        Some(GraphMeaning::Forbidden) => (
            Class::ConsentDenied,
            format!("have the tenant grant Mail.Read to the account, {or_not}"),
        ),
        Some(GraphMeaning::NotFound | GraphMeaning::NoLicence) => (
            Class::TeamsNotLicensed,
            format!("give the user a mailbox, {or_not}"),
        ),
        _ if error.class() == Class::ConsentDenied => (
            Class::ConsentDenied,
            format!("have the tenant grant Mail.Read to the account, {or_not}"),
        ),
        _ => return Failure::from(error),
    };
    let known = Failure::from(error);
    Failure {
        retry_after_s: known.retry_after_s,
        ..Failure::said(class, known.message, &hint)
    }
}

// === impl ReadMail ===

impl sources::Read for ReadMail<'_> {
    async fn read(&self, source: &Source<'_>, account: Account) -> Failure {
        let mut reader = Reader {
            own: self.own,
            mailbox: self.mailbox,
            mails: account.mails(),
            account,
            addresses: BTreeSet::new(),
            context: source.context,
        };
        loop {
            if let Err(failure) = reader.look().await {
                return failure;
            }
            source.worked();
            if sources::is_over(source.context, self.mailbox.every).await {
                let message = "the hub stops".to_owned();
                return Failure::said(Class::Cancelled, message, "");
            }
        }
    }
}

// === impl Reader ===

impl Reader<'_> {
    /// Brings everything that came since into the inbox.
    async fn look(&mut self) -> Result<(), Failure> {
        if self.addresses.is_empty() {
            let own = self.mails.own_addresses(self.context).await;
            self.addresses = own.map_err(|error| failure(&self.account, &error))?;
        }
        let client = &self.context.caller.principal.client;
        let name = kept::name(client, self.account.name(), &["mail"]);
        let known: Option<Place> = self.own.kept.get(PLACES, &name).await?;
        let mut place = match known {
            Some(place) => place,
            None => {
                let place = self.begin().await?;
                self.own.kept.put(PLACES, &name, &place).await?;
                place
            }
        };
        loop {
            let before = place.clone();
            let more = match place.listed_ms {
                Some(listed) => self.list(&mut place, Wall(listed)).await?,
                None => self.go_on(&mut place).await?,
            };
            if place != before {
                // Only what is on disk has been read.
                self.own.kept.put(PLACES, &name, &place).await?;
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// The first look: of what is there only the newest letter comes in.
    async fn begin(&self) -> Result<Place, Failure> {
        let now = self.mails.services_time();
        let newest = self.mails.newest(self.context).await;
        let newest = newest.map_err(|error| failure(&self.account, &error))?;
        // An empty inbox has no history. When a letter came is told by other clocks,
        // and to the second.
        let begun = match &newest {
            Some(letter) => letter.received,
            None => Wall(now.0 - now.0.rem_euclid(1_000) - EARLY_MS),
        };
        let is_history = |letter: &Letter| {
            let newest = newest.as_ref();
            newest.is_some_and(|newest| letter.received <= newest.received)
        };
        let mut history = Vec::new();
        let mut wanted: Vec<Letter> = newest.iter().cloned().collect();
        let mut link = None;
        loop {
            let page = self.page(begun, link).await?;
            for change in page.changes {
                let MailChange::Here(letter) = change else {
                    continue;
                };
                if wanted.iter().any(|one| one.message_id == letter.message_id) {
                    continue;
                }
                match is_history(&letter) {
                    true => history.push(letter.message_id),
                    // It came just now.
                    false => wanted.push(*letter),
                }
            }
            link = Some(page.link);
            if page.is_last {
                break;
            }
        }
        history.truncate(HISTORY_MAX);
        wanted.sort_by_key(|letter| letter.received);
        self.keep(wanted).await?;
        Ok(Place {
            begun_ms: begun.0,
            received_ms: begun.0,
            link,
            listed_ms: None,
            history,
        })
    }

    async fn page(&self, since: Wall, link: Option<String>) -> Result<MailPage, Failure> {
        let page = self.mails.changes(self.context, since, link).await;
        page.map_err(|error| failure(&self.account, &error))
    }

    /// Takes a page of changes; whether there are more.
    async fn go_on(&self, place: &mut Place) -> Result<bool, Failure> {
        let since = place.received_ms - SLACK_MS;
        let since = Wall(since.max(place.begun_ms));
        let page = self.page(since, place.link.clone()).await?;
        if page.is_resync {
            tracing::warn!(
                account = self.account.name(),
                "the mailbox is listed anew: the service does not know its place any more"
            );
            place.listed_ms = Some(since.0);
            place.link = None;
            return Ok(true);
        }
        let (mut letters, mut gone) = (Vec::new(), Vec::new());
        for change in page.changes {
            match change {
                MailChange::Here(letter) => letters.push(*letter),
                MailChange::Gone { id } => gone.push(id),
            }
        }
        self.take(place, letters).await?;
        self.take_back(gone).await?;
        place.link = Some(page.link);
        Ok(!page.is_last)
    }

    /// Takes a page of the list of letters, after the link was lost.
    async fn list(&self, place: &mut Place, from: Wall) -> Result<bool, Failure> {
        let page = self.mails.received_since(self.context, from).await;
        let (letters, more) = page.map_err(|error| failure(&self.account, &error))?;
        let last = letters.last().map_or(from, |letter| letter.received);
        self.take(place, letters).await?;
        // Times are to the second: what shares the last one comes again.
        let next = if last > from { last.0 } else { from.0 + 1_000 };
        place.listed_ms = more.then_some(next);
        Ok(true)
    }

    async fn take(&self, place: &mut Place, mut letters: Vec<Letter>) -> Result<(), Failure> {
        let latest = letters.iter().map(|letter| letter.received.0).max();
        letters.retain(|letter| {
            letter.received.0 >= place.begun_ms && !place.history.contains(&letter.message_id)
        });
        letters.sort_by_key(|letter| letter.received);
        self.keep(letters).await?;
        place.received_ms = place.received_ms.max(latest.unwrap_or_default());
        Ok(())
    }

    /// Brings letters into the inbox, but for noise and what one wrote oneself.
    async fn keep(&self, letters: Vec<Letter>) -> Result<(), Failure> {
        let is_wanted = |letter: &Letter| {
            let is_noise = |kind| self.mailbox.leave_out.contains(&kind);
            !letter.noise.is_some_and(is_noise) && !letter.is_from(&self.addresses)
        };
        let of = (self.account.name(), self.account.entity());
        let (mut all, mut shelves) = (Vec::new(), Vec::new());
        for letter in letters.into_iter().filter(is_wanted) {
            let shelf = Shelf::of(&letter, self.account.name());
            let name = self.shelf_name(&letter.id);
            let kept = &self.own.kept;
            if kept.get::<Shelf>(SHELVES, &name).await?.is_some() {
                // Read, flagged, or told again.
                continue;
            }
            let words = self.mails.words(self.context, &letter.id).await;
            let words = words.map_err(|error| failure(&self.account, &error))?;
            let attachments = self.attachments(&letter).await?;
            shelves.push((name, shelf.clone()));
            all.push(shelf.received(letter, (words.as_deref(), &attachments), of));
        }
        self.append(all).await?;
        for (name, shelf) in shelves {
            self.own.kept.add(SHELVES, &name, &shelf).await?;
        }
        Ok(())
    }

    async fn attachments(&self, letter: &Letter) -> Result<Vec<String>, Failure> {
        if !letter.has_attachments {
            return Ok(Vec::new());
        }
        match self.mails.attachments(self.context, &letter.id).await {
            Ok(names) => Ok(names),
            // It was deleted meanwhile; its words are here all the same.
            Err(error) if error.meaning() == Some(GraphMeaning::NotFound) => Ok(Vec::new()),
            Err(error) => Err(failure(&self.account, &error)),
        }
    }

    /// Records that letters were deleted which are in the inbox.
    async fn take_back(&self, gone: Vec<String>) -> Result<(), Failure> {
        let of = (self.account.name(), self.account.entity());
        for id in gone {
            let name = self.shelf_name(&id);
            let kept = &self.own.kept;
            let Some(shelf) = kept.get::<Shelf>(SHELVES, &name).await? else {
                continue;
            };
            let deleted = self.mails.is_deleted(self.context, &id).await;
            if !deleted.map_err(|error| failure(&self.account, &error))? {
                continue;
            }
            let now = self.mails.services_time();
            self.append(vec![shelf.deleted(&id, now, of)]).await?;
        }
        Ok(())
    }

    async fn append(&self, all: Vec<Incoming>) -> Result<(), Failure> {
        if all.is_empty() {
            return Ok(());
        }
        let kept = self.own.inbox.append(all).await;
        kept.map(drop).map_err(|error| {
            let message = format!("{}; the mailbox is read again", chain(&error));
            Failure::said(Class::Local, message, error.hint())
        })
    }

    fn shelf_name(&self, id: &str) -> String {
        let client = &self.context.caller.principal.client;
        kept::name(client, self.account.name(), &["letter", id])
    }
}
