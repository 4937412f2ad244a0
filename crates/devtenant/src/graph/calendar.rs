//! Calendars: meetings, and a view over a time.

mod delta;
mod recurrence;
mod set;
mod shape;

use std::borrow::Cow;

use http::Method;
use legation_core::Wall;
use serde_json::{Map, Value, json};

use self::shape::{blank, days, in_order, instant, merge, shown, time, zone};
use super::error::Failure;
use super::{Call, Outcome, chats, odata, subscriptions};
use crate::random;
use crate::state::World;
use crate::state::calendar::{Calendar, Event, RemovedEvent};
use crate::state::directory::ObjectId;
use crate::web::Answer;

const READ: [&str; 2] = ["Calendars.Read", "Calendars.ReadWrite"];
const WRITE: [&str; 1] = ["Calendars.ReadWrite"];

pub(crate) use self::set::{Meeting, set};

/// Everything of a calendar under `/me` or `/users/{id}`.
pub(super) fn route(call: Call<'_>, name: &str, rest: &[&str]) -> Outcome {
    let method = call.ask.method.clone();
    let user = call.named_user(name)?;
    if call.caller.user.as_ref().is_some_and(|own| *own != user.id) {
        return Err(Failure::new(
            403,
            "ErrorAccessDenied",
            "Access is denied. Check credentials and try again.",
        ));
    }
    if !user.licensed {
        return Err(Failure::new(
            404,
            "MailboxNotEnabledForRESTAPI",
            "The mailbox is either inactive, soft-deleted, or is hosted on-premise.",
        ));
    }
    let owner = user.id;
    let rest = match rest {
        ["calendar", inner @ ..] => inner,
        other => other,
    };
    match (&method, rest) {
        (&Method::GET, ["calendarView"]) => view(&call, &owner),
        (&Method::GET, ["calendarView", "delta"]) => delta::delta(call, &owner),
        (&Method::GET, ["events"]) => list(&call, &owner),
        (&Method::POST, ["events"]) => create(call, &owner),
        (&Method::GET, ["events", id]) => read(&call, &owner, id),
        (&Method::PATCH, ["events", id]) => update(call, &owner, id),
        (&Method::DELETE, ["events", id]) => delete(call, &owner, id),
        _ => Err(chats::unknown(&call)),
    }
}

fn events<'c>(call: &'c Call<'_>, owner: &ObjectId) -> Result<&'c [Event], Failure> {
    let calendar = call.tenant()?.calendars.get(owner);
    Ok(calendar.map_or(&[], |calendar| calendar.events.as_slice()))
}

/// An event, or an occurrence of a series.
fn find(call: &Call<'_>, owner: &ObjectId, id: &str) -> Result<Event, Failure> {
    let events = events(call, owner)?;
    if let Some(event) = events.iter().find(|event| event.id == id) {
        return Ok(event.clone());
    }
    events
        .iter()
        .flat_map(|event| recurrence::occurrences(event, i64::MIN, i64::MAX))
        .find(|occurrence| occurrence.id == id)
        .ok_or_else(Failure::no_item)
}

fn view(call: &Call<'_>, owner: &ObjectId) -> Outcome {
    call.permit("GET /me/calendarView", &READ, &READ)?;
    call.options(&[
        "select",
        "top",
        "skip",
        "orderby",
        "filter",
        "skiptoken",
        "count",
    ])?;
    let (from, until) = window(call)?;
    // A series is shown as its occurrences, which only a view does.
    let mut found: Vec<Cow<'_, Event>> = Vec::new();
    for event in events(call, owner)? {
        if event.shown["recurrence"].is_null() {
            if event.start_ms < until && event.end_ms > from {
                found.push(Cow::Borrowed(event));
            }
            continue;
        }
        let series = recurrence::occurrences(event, from, until);
        found.extend(series.into_iter().map(Cow::Owned));
    }
    found.sort_by_key(|event| event.start_ms);
    page(call, "users('{id}')/calendarView", found)
}

/// The time that a view is over.
fn window(call: &Call<'_>) -> Result<(i64, i64), Failure> {
    let bound = |name: &str| {
        call.option(name).and_then(instant).ok_or_else(|| {
            Failure::new(
                400,
                "ErrorInvalidParameter",
                "This request requires a time window specified by the query string parameters \
                     StartDateTime and EndDateTime.",
            )
        })
    };
    let (from, until) = (bound("startDateTime")?, bound("endDateTime")?);
    if until < from {
        return Err(Failure::new(
            400,
            "ErrorInvalidParameter",
            "The end of the time window is before its start.",
        ));
    }
    Ok((from, until))
}

fn list(call: &Call<'_>, owner: &ObjectId) -> Outcome {
    call.permit("GET /me/events", &READ, &READ)?;
    call.options(&[
        "select",
        "top",
        "skip",
        "orderby",
        "filter",
        "skiptoken",
        "count",
    ])?;
    let found = events(call, owner)?
        .iter()
        .rev()
        .map(Cow::Borrowed)
        .collect();
    page(call, "users('{id}')/events", found)
}

fn page(call: &Call<'_>, context: &str, mut found: Vec<Cow<'_, Event>>) -> Outcome {
    if call.option("filter").is_some() {
        return Err(Failure::new(
            400,
            "ErrorInvalidUrlQueryFilter",
            "The query filter is not supported.",
        ));
    }
    if let Some(order) = call.option("orderby") {
        match odata::order(order) {
            ("start/dateTime", down) => {
                found.sort_by_key(|event| event.start_ms);
                if down {
                    found.reverse();
                }
            }
            (property, _) => {
                return Err(Failure::new(
                    400,
                    "ErrorInvalidProperty",
                    format!("The property '{property}' cannot be used for ordering."),
                ));
            }
        }
    }
    let zone = zone(call)?;
    call.list_of(context, found.len(), call.top(10, 1000)?, |from, size| {
        let page = found.iter().skip(from).take(size);
        page.map(|event| shown(event, &zone)).collect()
    })
}

fn read(call: &Call<'_>, owner: &ObjectId, id: &str) -> Outcome {
    call.permit("GET /me/events/{id}", &READ, &READ)?;
    call.options(&["select"])?;
    let shown = shown(&find(call, owner, id)?, &zone(call)?);
    Ok(call.entity(200, "users('{id}')/events/$entity", shown))
}

fn create(call: Call<'_>, owner: &ObjectId) -> Outcome {
    call.permit("POST /me/events", &WRITE, &WRITE)?;
    let body = call.body()?;
    let (start, end) = match body["isAllDay"] == true {
        true => days(&body["start"], &body["end"])?,
        false => (time(&body["start"])?, time(&body["end"])?),
    };
    in_order(start, end)?;
    let transaction = body["transactionId"].as_str().map(str::to_owned);
    let zone = zone(&call)?;
    // The same key again is the same meeting.
    if let Some(key) = &transaction {
        let same = events(&call, owner)?
            .iter()
            .find(|event| event.transaction.as_ref() == Some(key));
        if let Some(event) = same {
            let shown = shown(event, &zone);
            return Ok(call.entity(201, "users('{id}')/events/$entity", shown));
        }
    }
    let now = call.now_ms();
    let user = call.named_user(owner.as_str())?;
    let organizer = json!({"emailAddress": {"name": user.name, "address": user.upn}});
    let mut shown_members = blank(now, &organizer);
    merge(&mut shown_members, &body)?;
    shown_members.insert("transactionId".to_owned(), transaction.clone().into());
    for (name, time) in [
        ("originalStartTimeZone", "start"),
        ("originalEndTimeZone", "end"),
    ] {
        let zone = body[time]["timeZone"].as_str().unwrap_or("UTC");
        shown_members.insert(name.to_owned(), zone.into());
    }
    let event = Event {
        id: format!("AAMk{}", random::opaque()),
        start_ms: start,
        end_ms: end,
        transaction,
        sequence: call.world.next(),
        skipped: Vec::new(),
        shown: shown_members,
    };
    let tenant = call.caller.tenant.clone();
    let invited = addresses(&event.shown);
    let shown = shown(&event, &zone);
    put(call.world, &tenant, owner, event.clone(), now);
    for address in invited {
        let guest = call.tenant()?.user(&address).map(|user| user.id.clone());
        if let Some(guest) = guest.filter(|guest| guest != owner) {
            let mut copy = event.clone();
            copy.id = format!("AAMk{}", random::opaque());
            copy.transaction = None;
            copy.shown.insert("transactionId".to_owned(), Value::Null);
            copy.shown.insert("isOrganizer".to_owned(), false.into());
            copy.shown.insert(
                "responseStatus".to_owned(),
                json!({"response": "notResponded", "time": "0001-01-01T00:00:00Z"}),
            );
            put(call.world, &tenant, &guest, copy, now);
        }
    }
    Ok(call.entity(201, "users('{id}')/events/$entity", shown))
}

fn addresses(shown: &Map<String, Value>) -> Vec<String> {
    let attendees = shown["attendees"].as_array().into_iter().flatten();
    attendees
        .filter_map(|one| one["emailAddress"]["address"].as_str().map(str::to_owned))
        .collect()
}

/// Whether a series is one that is kept here.
pub(crate) fn check(value: &Value) -> Result<(), String> {
    recurrence::check(value).map_err(|failure| failure.message)
}

/// Puts a meeting into a calendar and tells subscribers.
fn put(world: &mut World, tenant_id: &str, owner: &ObjectId, event: Event, now: i64) {
    let Some(tenant) = world.tenant_mut(tenant_id) else {
        return;
    };
    let id = event.id.clone();
    let calendar = tenant
        .calendars
        .entry(owner.clone())
        .or_insert_with(|| Calendar {
            id: format!("AQMk{}", random::opaque()),
            events: Vec::new(),
            removed: Vec::new(),
        });
    calendar.events.push(event);
    tell(world, tenant_id, owner, &id, "created", now);
}

fn tell(world: &mut World, tenant: &str, owner: &ObjectId, id: &str, change: &str, now: i64) {
    let object = json!({
        "@odata.type": "#Microsoft.Graph.Event",
        "@odata.id": format!("Users/{owner}/Events/{id}"),
        "id": id,
    });
    let resources = ["/me/events".to_owned(), format!("/users/{owner}/events")];
    let concerned = std::slice::from_ref(owner);
    subscriptions::changed(world, tenant, &resources, concerned, change, &object, now);
}

fn update(mut call: Call<'_>, owner: &ObjectId, id: &str) -> Outcome {
    call.permit("PATCH /me/events/{id}", &WRITE, &WRITE)?;
    let body = call.body()?;
    let zone = zone(&call)?;
    let mut event = find(&call, owner, id)?;
    merge(&mut event.shown, &body)?;
    if event.is_all_day() && body.get("start").is_some() {
        (event.start_ms, event.end_ms) = days(&body["start"], &body["end"])?;
    } else {
        if body.get("start").is_some() {
            event.start_ms = time(&body["start"])?;
        }
        if body.get("end").is_some() {
            event.end_ms = time(&body["end"])?;
        }
    }
    in_order(event.start_ms, event.end_ms)?;
    event.sequence = call.world.next();
    let now = call.now_ms();
    event.shown.insert(
        "lastModifiedDateTime".to_owned(),
        Wall(now).to_string().into(),
    );
    let shown = shown(&event, &zone);
    if let Some(calendar) = call.tenant_mut()?.calendars.get_mut(owner) {
        for stored in calendar.events.iter_mut().filter(|stored| stored.id == id) {
            *stored = event.clone();
        }
    }
    let tenant = call.caller.tenant.clone();
    tell(call.world, &tenant, owner, id, "updated", now);
    Ok(call.entity(200, "users('{id}')/events/$entity", shown))
}

fn delete(mut call: Call<'_>, owner: &ObjectId, id: &str) -> Outcome {
    call.permit("DELETE /me/events/{id}", &WRITE, &WRITE)?;
    let event = find(&call, owner, id)?;
    let now = call.now_ms();
    let sequence = call.world.next();
    let gone = |event: &Event| RemovedEvent {
        id: event.id.clone(),
        start_ms: event.start_ms,
        end_ms: event.end_ms,
        sequence,
    };
    if let Some(calendar) = call.tenant_mut()?.calendars.get_mut(owner) {
        let master = event.shown["seriesMasterId"].as_str().unwrap_or_default();
        for series in calendar.events.iter_mut().filter(|one| one.id == master) {
            // Its id ends with the day.
            let day = id.rsplit('.').next().unwrap_or_default();
            series.skipped.push(day.to_owned());
            series.sequence = sequence;
        }
        let all = recurrence::occurrences(&event, i64::MIN, i64::MAX);
        calendar.removed.extend(all.iter().map(gone));
        if all.iter().all(|one| one.id != event.id) {
            calendar.removed.push(gone(&event));
        }
        calendar.events.retain(|event| event.id != id);
    }
    let tenant = call.caller.tenant.clone();
    tell(call.world, &tenant, owner, id, "deleted", now);
    Ok(Answer::empty(204))
}
