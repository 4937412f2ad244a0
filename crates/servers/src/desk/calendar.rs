//! Events of an account's calendar, read and held.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use legation_core::{OpContext, Wall};
use legation_desk::{SourceId, SourceKind};
use legation_entra::Account;
use legation_entra::calendar::{CalendarError, Event, NewEntry, NewTime, Response, When};
use legation_gate::Outcome;
use legation_wire::json::Object;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::mail::{Who, ready, said};
use super::{Shared, arguments};
use crate::accounts::{Failure, outcome};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    profile_id: String,
    #[serde(default)]
    days: Option<i64>,
    #[serde(default)]
    from: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HoldArguments {
    profile_id: String,
    subject: String,
    start: String,
    end: String,
    #[serde(default)]
    timezone: Option<String>,
    #[serde(default)]
    location: String,
    #[serde(default)]
    attendees: Vec<String>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    transaction_id: Option<String>,
}

#[derive(Serialize)]
struct Listed {
    profile_id: String,
    entity: String,
    timezone: String,
    read_only: bool,
    days: i64,
    events: Vec<Row>,
    /// Whether there are more than were read.
    truncated: bool,
}

/// An event, as agents see it.
#[derive(Serialize)]
struct Row {
    id: String,
    source: SourceId,
    subject: String,
    /// In the owner's zone; a date for one of whole days.
    start: String,
    end: String,
    all_day: bool,
    is_recurring: bool,
    location: String,
    organizer: Option<Who>,
    attendees: Vec<Who>,
    show_as: &'static str,
    response: &'static str,
    is_cancelled: bool,
    is_private: bool,
    is_online: bool,
    preview: String,
    web_link: String,
}

#[derive(Serialize)]
struct Held {
    profile_id: String,
    entity: String,
    event_created: bool,
    event_id: String,
    show_as: &'static str,
    /// Never: the owner invites whom the hold names.
    invitations_sent: bool,
    event: Row,
}

const DAYS: i64 = 7;
/// As many as are told in one answer.
const EVENTS_MAX: usize = 10_000;
const DAY_MS: i64 = 24 * 3600 * 1000;
/// What stands in the place of a subject that is kept from others.
const PRIVATE: &str = "Private";

/// `calendar_list`.
pub(super) async fn list(shared: &Shared, context: &OpContext, arguments: &Object) -> Outcome {
    outcome(listed(shared, context, arguments).await)
}

/// `calendar_event_create`.
pub(super) async fn create(shared: &Shared, context: &OpContext, arguments: &Object) -> Outcome {
    outcome(held(shared, context, arguments).await)
}

async fn listed(
    shared: &Shared,
    context: &OpContext,
    arguments: &Object,
) -> Result<Listed, Failure> {
    let wanted: ListArguments = arguments::read(arguments)?;
    let days = wanted.days.unwrap_or(DAYS).clamp(1, 30);
    let (zone_name, zone) = zone(shared, None)?;
    let first = match &wanted.from {
        Some(text) => text
            .parse::<Date>()
            .map_err(|_| arguments::bad("`from` must be a date such as 2026-11-23"))?,
        None => today(shared.now_ms(), &zone),
    };
    let account = ready(shared, context, &wanted.profile_id).await?;
    let (from, until) = span(first, days, &zone)
        .ok_or_else(|| arguments::bad("`from` is no day that calendars know"))?;
    let view = read(context, &account, (from, until), &zone, EVENTS_MAX).await;
    let view = view.map_err(|error| failure(&account, &error))?;
    let rows = view
        .0
        .into_iter()
        .map(|event| Row::of(account.name(), event, &zone));
    Ok(Listed {
        entity: account.entity().to_string(),
        timezone: zone_name,
        read_only: true,
        days,
        events: rows.collect(),
        truncated: !view.1,
        profile_id: wanted.profile_id,
    })
}

/// What is in a calendar between two moments, by the owner's clocks: days taken whole are days
/// there, wherever UTC's midnight is.
pub(super) async fn read(
    context: &OpContext,
    account: &Account,
    (from, until): (Wall, Wall),
    zone: &TimeZone,
    most: usize,
) -> Result<(Vec<Event>, bool), CalendarError> {
    // A day begins up to fourteen hours apart.
    let around = (Wall(from.0 - DAY_MS), Wall(until.0 + DAY_MS));
    let view = account
        .calendar()
        .view(context, around.0, around.1, most)
        .await?;
    let touches = |event: &Event| {
        let (start, end) = (event.when.start(zone), event.when.end(zone));
        let (Some(start), Some(end)) = (start, end) else {
            return false;
        };
        start < until && (end > from || (start == end && start >= from))
    };
    let mut events: Vec<Event> = view.events.into_iter().filter(touches).collect();
    events.sort_by_key(|event| (event.when.start(zone), event.id.clone()));
    Ok((events, view.is_whole))
}

async fn held(shared: &Shared, context: &OpContext, arguments: &Object) -> Result<Held, Failure> {
    let wanted: HoldArguments = arguments::read(arguments)?;
    let (zone_name, zone) = zone(shared, wanted.timezone.as_deref())?;
    let when = when(&wanted, &zone_name, &zone)?;
    for (at, address) in wanted.attendees.iter().enumerate() {
        if !legation_entra::mail::is_address(address) {
            let at = at + 1;
            return Err(arguments::bad(&format!("attendee {at} is no mail address")));
        }
    }
    let account = ready(shared, context, &wanted.profile_id).await?;
    let entry = NewEntry {
        text: text(&wanted),
        key: key(context, &wanted),
        subject: wanted.subject,
        when,
        place: wanted.location,
    };
    let made = account.entries().make(context, &entry).await;
    let made = made.map_err(|error| failure(&account, &error))?;
    shared.changed.notify_waiters();
    Ok(Held {
        entity: account.entity().to_string(),
        event_created: !made.was_there,
        event_id: made.event.id.clone(),
        show_as: made.event.shown.as_str(),
        invitations_sent: false,
        event: Row::of(account.name(), made.event, &zone),
        profile_id: wanted.profile_id,
    })
}

/// What it says, and whom its owner may want to invite: an event with attendees would ask them at
/// once.
fn text(wanted: &HoldArguments) -> String {
    let mut text = wanted.body.trim_end().to_owned();
    if !wanted.attendees.is_empty() {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str("To be invited: ");
        text.push_str(&wanted.attendees.join(", "));
    }
    text
}

/// What makes a repeated call the same hold: the caller's own key, else everything it says.
fn key(context: &OpContext, wanted: &HoldArguments) -> String {
    let client = context.caller.principal.client.as_str();
    let mut digest = Sha256::new();
    let mut add = |part: &str| {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    };
    add(client);
    match &wanted.transaction_id {
        Some(key) => add(key),
        None => {
            for part in [
                &wanted.subject,
                &wanted.start,
                &wanted.end,
                &wanted.location,
            ] {
                add(part);
            }
            add(wanted.timezone.as_deref().unwrap_or_default());
            add(&text(wanted));
        }
    }
    legation_core::id::hex(&digest.finalize())
}

/// Two dates are whole days; two times are times, with an offset or by the clocks of the zone.
fn when(wanted: &HoldArguments, zone_name: &str, zone: &TimeZone) -> Result<NewTime, Failure> {
    let wrong = || {
        arguments::bad(
            "`start` and `end` must both be dates, or both be times such as 2026-11-23T09:00:00 or 2026-11-23T09:00:00Z",
        )
    };
    let day = |text: &str| {
        text.trim()
            .parse::<Date>()
            .ok()
            .filter(|_| text.trim().len() == 10)
    };
    match (day(&wanted.start), day(&wanted.end)) {
        // The last day as people say it, or the day after as calendars have it: one day is one
        // day either way.
        (Some(first), Some(last)) => {
            let end = match last > first {
                true => last,
                false => last.tomorrow().map_err(|_| wrong())?,
            };
            return Ok(NewTime::Days { first, end });
        }
        (None, None) => {}
        _ => return Err(wrong()),
    }
    let local = |text: &str| -> Result<DateTime, Failure> {
        if let Ok(stamp) = text.parse::<Timestamp>() {
            return Ok(stamp.to_zoned(zone.clone()).datetime());
        }
        text.parse::<DateTime>().map_err(|_| wrong())
    };
    Ok(NewTime::Times {
        start: local(&wanted.start)?,
        end: local(&wanted.end)?,
        zone: zone_name.to_owned(),
    })
}

/// The zone a caller names, or the owner's.
pub(super) fn zone(shared: &Shared, named: Option<&str>) -> Result<(String, TimeZone), Failure> {
    let name = match named {
        Some(name) => name.to_owned(),
        None => owners_zone(shared)?,
    };
    match TimeZone::get(&name) {
        Ok(zone) => Ok((name, zone)),
        Err(_) => Err(arguments::bad(
            "`timezone` must be a name of the IANA database such as Europe/Berlin",
        )),
    }
}

/// UTC where the profile names none.
fn owners_zone(shared: &Shared) -> Result<String, Failure> {
    let rules = shared.rules()?;
    let profile = rules.governance().profile.good();
    let named = profile.and_then(|profile| profile.operator.timezone.clone());
    Ok(named.unwrap_or_else(|| "UTC".to_owned()))
}

/// The day it is by the clocks of a zone.
pub(super) fn today(now_ms: i64, zone: &TimeZone) -> Date {
    let now = Timestamp::from_millisecond(now_ms).unwrap_or_default();
    now.to_zoned(zone.clone()).date()
}

/// The moments between which some days are.
pub(super) fn span(first: Date, days: i64, zone: &TimeZone) -> Option<(Wall, Wall)> {
    let midnight = |day: Date| {
        let zoned = day.to_zoned(zone.clone()).ok()?;
        Some(Wall(zoned.timestamp().as_millisecond()))
    };
    let end = first.checked_add(days.days()).ok()?;
    Some((midnight(first)?, midnight(end)?))
}

/// A failure of the calendar's in words.
pub(super) fn failure(account: &Account, error: &CalendarError) -> Failure {
    let scopes = "Calendars.Read, and Calendars.ReadWrite for holds";
    said(
        account,
        error,
        (error.class(), error.hint()),
        error.graph(),
        scopes,
    )
}

// === impl Row ===

impl Row {
    fn of(account: &str, event: Event, zone: &TimeZone) -> Self {
        let event = veiled(event);
        let (start, end) = shown(&event.when, zone);
        Self {
            source: SourceId::in_account(SourceKind::Event, account, &event.id),
            start,
            end,
            all_day: matches!(event.when, When::Days { .. }),
            is_recurring: event.series.is_some(),
            organizer: event.organizer.as_ref().map(Who::of),
            attendees: event
                .attendees
                .iter()
                .map(|one| Who::of(&one.address))
                .collect(),
            show_as: event.shown.as_str(),
            response: event.response.as_str(),
            is_cancelled: event.is_cancelled,
            is_private: event.is_private,
            is_online: event.is_online,
            subject: event.subject,
            location: event.place,
            preview: event.preview,
            web_link: event.web_link,
            id: event.id,
        }
    }
}

/// What anybody may know of an event: of one that its owner keeps from others, when it is and how
/// that time is shown. Whoever asks, be it the console's session: a link to the console can be
/// opened by whatever runs as its owner, and the owner has a calendar of their own to look into.
pub(super) fn veiled(event: Event) -> Event {
    if !event.is_private {
        return event;
    }
    Event {
        id: event.id,
        uid: event.uid,
        series: event.series,
        repeats: event.repeats,
        subject: PRIVATE.to_owned(),
        preview: String::new(),
        when: event.when,
        place: String::new(),
        organizer: None,
        attendees: Vec::new(),
        shown: event.shown,
        is_private: true,
        is_personal: event.is_personal,
        is_cancelled: event.is_cancelled,
        is_own: event.is_own,
        response: Response::None,
        is_online: false,
        web_link: event.web_link,
        changed: event.changed,
        key: event.key,
    }
}

fn shown(when: &When, zone: &TimeZone) -> (String, String) {
    let local = |at: Wall| {
        let stamp = Timestamp::from_millisecond(at.0).unwrap_or_default();
        let zoned = stamp.to_zoned(zone.clone());
        zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    };
    match when {
        When::Times { start, end } => (local(*start), local(*end)),
        When::Days { first, end } => (first.to_string(), end.to_string()),
    }
}
