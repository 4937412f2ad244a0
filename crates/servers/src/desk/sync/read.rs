//! Making rows agree with a calendar or an inbox.

use std::collections::HashMap;

use legation_core::{OpContext, Wall};
use legation_desk::{Event, Letter, Person};
use legation_entra::calendar::{self, When};
use legation_entra::mail::{self, Folder, LIST_MAX, ListedLetter};
use legation_entra::{Account, Class};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Mark, ROWS_MAX, What, owners_zone};
use crate::accounts::Failure;
use crate::desk::Shared;
use crate::desk::book::{BookError, Entry, Kind, Wanted};
use crate::desk::{calendar as listing, mail as mailbox};

const DAY_MS: i64 = 24 * 3600 * 1000;
/// Days of a calendar that are kept, before today and after.
const BEFORE: i64 = 2;
const AFTER: i64 = 45;
const EVENTS_MAX: usize = 10_000;
/// Days of letters that are kept, and how many.
const MONTH: i64 = 30;
const LETTERS_MAX: usize = 1_000;

/// Reads a calendar, where it is not as it was.
pub(super) async fn calendar(
    shared: &Shared,
    context: &OpContext,
    account: &Account,
) -> Result<(), Failure> {
    let calendar = account.calendar();
    // From midnight in UTC, so that the time stays the same for a day.
    let today = shared.now_ms().div_euclid(DAY_MS) * DAY_MS;
    let (from, until) = (today - BEFORE * DAY_MS, today + AFTER * DAY_MS);
    let known = mark(shared, account, What::Calendar, (from, until)).await?;
    let window = (Wall(from), Wall(until));
    let failed = |error: calendar::CalendarError| listing::failure(account, &error);
    let link = known.as_ref().and_then(|mark| mark.link.clone());
    let touched = calendar.touched(context, window, link).await;
    let touched = touched.map_err(failed)?;
    let mut is_cut = known.is_some_and(|mark| mark.is_cut);
    // What does not end was changed: the view has it as it is by now.
    if touched.is_changed || !touched.is_whole {
        let view = calendar.view(context, window.0, window.1, EVENTS_MAX).await;
        let view = view.map_err(failed)?;
        is_cut = !view.is_whole;
        let zone = owners_zone(shared);
        let mut entries = Vec::with_capacity(view.events.len());
        for event in view.events {
            entries.extend(event_entry(account, event, &zone));
        }
        agree(shared, account, Kind::Event, entries).await?;
    }
    let mark = Mark {
        read_ms: shared.now_ms(),
        from_ms: from,
        until_ms: until,
        is_cut,
        link: Some(touched.link),
    };
    keep(shared, account, What::Calendar, mark).await?;
    match touched.is_whole {
        true => Ok(()),
        false => Err(failed(calendar::CalendarError::Endless {
            pages: calendar::CHANGE_PAGES_MAX,
        })),
    }
}

/// Reads an inbox, where it is not as it was.
pub(super) async fn inbox(
    shared: &Shared,
    context: &OpContext,
    account: &Account,
) -> Result<(), Failure> {
    let mails = account.mails();
    let today = shared.now_ms().div_euclid(DAY_MS) * DAY_MS;
    let (from, until) = (today - MONTH * DAY_MS, today + DAY_MS);
    let known = mark(shared, account, What::Inbox, (from, until)).await?;
    let failed = |error: mail::MailError| mailbox::failure(account, &error);
    let link = known.as_ref().and_then(|mark| mark.link.clone());
    let touched = mails.touched(context, Wall(from), link).await;
    let touched = touched.map_err(failed)?;
    let mut is_cut = known.is_some_and(|mark| mark.is_cut);
    if touched.is_changed {
        let mut letters: Vec<ListedLetter> = Vec::new();
        loop {
            let wanted = mail::Wanted {
                folder: Folder::INBOX,
                is_unread: false,
                from: None,
                since: Some(Wall(from)),
                most: LIST_MAX,
                skip: letters.len(),
            };
            let page = mails.listed(context, &wanted).await.map_err(failed)?;
            let is_last = !page.has_more || page.letters.is_empty();
            letters.extend(page.letters);
            is_cut = !is_last && letters.len() >= LETTERS_MAX;
            if is_last || is_cut {
                break;
            }
        }
        // One that came between two pages moves the others down by one.
        letters.sort_by(|a, b| a.letter.id.cmp(&b.letter.id));
        letters.dedup_by(|a, b| a.letter.id == b.letter.id);
        let entries = letters.into_iter().map(|one| letter_entry(account, one));
        agree(shared, account, Kind::Letter, entries.collect()).await?;
    }
    let mark = Mark {
        read_ms: shared.now_ms(),
        from_ms: from,
        until_ms: until,
        is_cut,
        link: Some(touched.link),
    };
    keep(shared, account, What::Inbox, mark).await
}

/// How it was read last, if that was over the same time.
async fn mark(
    shared: &Shared,
    account: &Account,
    what: What,
    window: (i64, i64),
) -> Result<Option<Mark>, Failure> {
    let id = what.mark(account.name());
    let found = shared.book.get::<Mark>(Kind::Mark, &id).await;
    let found = found.map_err(|error| unkept(&error))?;
    let found = found.filter(|found| found.entity == *account.entity());
    let found = found.map(|found| found.body);
    Ok(found.filter(|mark| (mark.from_ms, mark.until_ms) == window))
}

async fn keep(shared: &Shared, account: &Account, what: What, mark: Mark) -> Result<(), Failure> {
    let entry = Entry {
        id: what.mark(account.name()),
        entity: account.entity().clone(),
        account: account.name().to_owned(),
        state: String::new(),
        key: None,
        at_ms: mark.read_ms,
        until_ms: mark.read_ms,
        changed_ms: mark.read_ms,
        version: 1,
        body: mark,
    };
    let put = shared.book.put(Kind::Mark, &[entry]).await;
    put.map_err(|error| unkept(&error))
}

/// Makes the rows of an account what was found: writes what is otherwise, and removes what is gone.
async fn agree<T>(
    shared: &Shared,
    account: &Account,
    kind: Kind,
    found: Vec<Entry<T>>,
) -> Result<(), Failure>
where
    T: PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    let wanted = Wanted {
        account: Some(account.name().to_owned()),
        ..Wanted::of(account.entity(), ROWS_MAX)
    };
    let known: Vec<Entry<T>> = shared
        .book
        .list(kind, wanted)
        .await
        .map_err(|error| unkept(&error))?;
    let mut known: HashMap<String, Entry<T>> = known
        .into_iter()
        .map(|entry| (entry.id.clone(), entry))
        .collect();
    let is_same = |entry: &Entry<T>, before: &Entry<T>| {
        entry.body == before.body
            && (entry.at_ms, entry.until_ms) == (before.at_ms, before.until_ms)
    };
    let found = found.into_iter().filter(|entry| {
        let before = known.remove(&entry.id);
        !before.is_some_and(|before| is_same(entry, &before))
    });
    let otherwise: Vec<Entry<T>> = found.collect();
    for part in otherwise.chunks(500) {
        let put = shared.book.put(kind, part).await;
        put.map_err(|error| unkept(&error))?;
    }
    for id in known.into_keys() {
        let removed = shared.book.remove(kind, &id).await;
        removed.map_err(|error| unkept(&error))?;
    }
    Ok(())
}

fn event_entry(
    account: &Account,
    event: calendar::Event,
    zone: &jiff::tz::TimeZone,
) -> Option<Entry<Event>> {
    // What nobody may be told is not kept either.
    let event = listing::veiled(event);
    let (start, end) = (event.when.start(zone)?.0, event.when.end(zone)?.0);
    let days = match event.when {
        When::Days { first, end } => Some((first.to_string(), end.to_string())),
        When::Times { .. } => None,
    };
    let body = Event {
        account: account.name().to_owned(),
        subject: clean(&event.subject),
        organizer: event.organizer.as_ref().map(person).unwrap_or_default(),
        attendees: event
            .attendees
            .iter()
            .map(|one| person(&one.address))
            .collect(),
        location: clean(&event.place),
        start_ms: start,
        end_ms: end,
        days,
        is_tentative: event.shown == calendar::Shown::Tentative,
        is_cancelled: event.is_cancelled,
        is_private: event.is_private,
        id: event.id,
    };
    let state = if body.is_cancelled { "cancelled" } else { "" };
    Some(entry(account, body.id.clone(), state, (start, end), body))
}

fn letter_entry(account: &Account, one: ListedLetter) -> Entry<Letter> {
    let body = letter(account, one);
    let state = if body.is_read { "read" } else { "unread" };
    let at = body.received_ms;
    entry(account, body.id.clone(), state, (at, at), body)
}

/// A letter as the desk works with it.
pub(in crate::desk) fn letter(account: &Account, one: ListedLetter) -> Letter {
    let letter = one.letter;
    Letter {
        account: account.name().to_owned(),
        folder: one.folder,
        conversation: letter.conversation,
        from: letter.from.as_ref().map(person).unwrap_or_default(),
        to: letter.to.iter().map(person).collect(),
        subject: clean(&letter.subject),
        preview: clean(&one.preview),
        received_ms: letter.received.0,
        is_read: one.is_read,
        has_attachments: letter.has_attachments,
        is_important: one.is_important,
        id: letter.id,
    }
}

fn entry<T>(
    account: &Account,
    id: String,
    state: &str,
    (at_ms, until_ms): (i64, i64),
    body: T,
) -> Entry<T> {
    let account_name = account.name().to_owned();
    Entry {
        id: format!("{account_name}/{id}"),
        entity: account.entity().clone(),
        account: account_name,
        state: state.to_owned(),
        key: None,
        at_ms,
        until_ms,
        changed_ms: at_ms,
        version: 1,
        body,
    }
}

fn person(address: &mail::Address) -> Person {
    Person {
        name: clean(&address.name),
        address: clean(&address.address),
    }
}

/// What others wrote, without what a reader would not see.
fn clean(text: &str) -> String {
    legation_filter::hidden::strip(text).into_owned()
}

fn unkept(error: &BookError) -> Failure {
    let message = legation_core::error::chain(error);
    Failure::said(Class::Local, message, error.hint())
}
