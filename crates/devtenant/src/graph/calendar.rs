//! Calendars: meetings, and a view over a time.

use http::Method;
use legation_core::Wall;
use serde_json::{Map, Value, json};

use super::error::Failure;
use super::{Call, Outcome, chats, odata, subscriptions};
use crate::random;
use crate::state::World;
use crate::state::calendar::{Calendar, Event};
use crate::state::directory::ObjectId;
use crate::web::Answer;

const READ: [&str; 2] = ["Calendars.Read", "Calendars.ReadWrite"];
const WRITE: [&str; 1] = ["Calendars.ReadWrite"];
/// What a client can set beside the times.
const SETTABLE: [&str; 17] = [
    "subject",
    "body",
    "location",
    "locations",
    "attendees",
    "importance",
    "sensitivity",
    "showAs",
    "isAllDay",
    "isReminderOn",
    "reminderMinutesBeforeStart",
    "categories",
    "responseRequested",
    "allowNewTimeProposals",
    "hideAttendees",
    "isOnlineMeeting",
    "onlineMeetingProvider",
];

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

fn find<'c>(call: &'c Call<'_>, owner: &ObjectId, id: &str) -> Result<&'c Event, Failure> {
    events(call, owner)?
        .iter()
        .find(|event| event.id == id)
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
    let mut found: Vec<&Event> = events(call, owner)?
        .iter()
        .filter(|event| event.start_ms < until && event.end_ms > from)
        .collect();
    found.sort_by_key(|event| event.start_ms);
    page(call, "users('{id}')/calendarView", &found)
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
    let found: Vec<&Event> = events(call, owner)?.iter().rev().collect();
    page(call, "users('{id}')/events", &found)
}

fn page(call: &Call<'_>, context: &str, found: &[&Event]) -> Outcome {
    let mut found = found.to_vec();
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
    let shown = found.iter().map(|event| shown(event, &zone)).collect();
    call.list(context, shown, call.top(10, 1000)?)
}

fn read(call: &Call<'_>, owner: &ObjectId, id: &str) -> Outcome {
    call.permit("GET /me/events/{id}", &READ, &READ)?;
    call.options(&["select"])?;
    let shown = shown(find(call, owner, id)?, &zone(call)?);
    Ok(call.entity(200, "users('{id}')/events/$entity", shown))
}

fn create(call: Call<'_>, owner: &ObjectId) -> Outcome {
    call.permit("POST /me/events", &WRITE, &WRITE)?;
    let body = call.body()?;
    let (start, end) = (time(&body["start"])?, time(&body["end"])?);
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
    let event = Event {
        id: format!("AAMk{}", random::opaque()),
        start_ms: start,
        end_ms: end,
        transaction,
        sequence: call.world.next(),
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

/// A meeting that the human sets.
pub(crate) fn set(
    world: &mut World,
    tenant: &str,
    owner: &ObjectId,
    subject: &str,
    times: (i64, i64),
    now: i64,
) -> Option<String> {
    let user = world.tenant(tenant)?.user(owner.as_str())?;
    let organizer = json!({"emailAddress": {"name": user.name, "address": user.upn}});
    let mut shown = blank(now, &organizer);
    shown.insert("subject".to_owned(), subject.into());
    let event = Event {
        id: format!("AAMk{}", random::opaque()),
        start_ms: times.0,
        end_ms: times.1,
        transaction: None,
        sequence: world.next(),
        shown,
    };
    let id = event.id.clone();
    put(world, tenant, owner, event, now);
    Some(id)
}

fn update(mut call: Call<'_>, owner: &ObjectId, id: &str) -> Outcome {
    call.permit("PATCH /me/events/{id}", &WRITE, &WRITE)?;
    let body = call.body()?;
    let zone = zone(&call)?;
    let mut event = find(&call, owner, id)?.clone();
    if body.get("start").is_some() {
        event.start_ms = time(&body["start"])?;
    }
    if body.get("end").is_some() {
        event.end_ms = time(&body["end"])?;
    }
    in_order(event.start_ms, event.end_ms)?;
    merge(&mut event.shown, &body)?;
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
    find(&call, owner, id)?;
    let now = call.now_ms();
    if let Some(calendar) = call.tenant_mut()?.calendars.get_mut(owner) {
        calendar.events.retain(|event| event.id != id);
    }
    let tenant = call.caller.tenant.clone();
    tell(call.world, &tenant, owner, id, "deleted", now);
    Ok(Answer::empty(204))
}

fn blank(now: i64, organizer: &Value) -> Map<String, Value> {
    let at = Wall(now).to_string();
    let shown = json!({
        "createdDateTime": at,
        "lastModifiedDateTime": at,
        "changeKey": random::opaque(),
        "categories": [],
        "transactionId": null,
        "originalStartTimeZone": "UTC",
        "originalEndTimeZone": "UTC",
        "iCalUId": random::opaque(),
        "reminderMinutesBeforeStart": 15,
        "isReminderOn": true,
        "hasAttachments": false,
        "subject": "",
        "bodyPreview": "",
        "importance": "normal",
        "sensitivity": "normal",
        "isAllDay": false,
        "isCancelled": false,
        "isOrganizer": true,
        "responseRequested": true,
        "seriesMasterId": null,
        "showAs": "busy",
        "type": "singleInstance",
        "webLink": "https://outlook.office365.com/owa/?path=/calendar/item",
        "onlineMeetingUrl": null,
        "isOnlineMeeting": false,
        "onlineMeetingProvider": "unknown",
        "allowNewTimeProposals": true,
        "isDraft": false,
        "hideAttendees": false,
        "recurrence": null,
        "onlineMeeting": null,
        "responseStatus": {"response": "organizer", "time": "0001-01-01T00:00:00Z"},
        "body": {"contentType": "html", "content": ""},
        "location": {"displayName": "", "locationType": "default", "uniqueIdType": "unknown"},
        "locations": [],
        "attendees": [],
        "organizer": organizer,
    });
    match shown {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn merge(shown: &mut Map<String, Value>, body: &Value) -> Result<(), Failure> {
    for (name, value) in body.as_object().into_iter().flatten() {
        if name.starts_with('@') || ["start", "end", "transactionId", "id"].contains(&name.as_str())
        {
            continue;
        }
        if name == "recurrence" && !value.is_null() {
            return Err(Failure::new(
                400,
                "ErrorInvalidArgument",
                "Recurring events are not kept by this tenant.",
            ));
        }
        if !SETTABLE.contains(&name.as_str()) && name != "recurrence" {
            return Err(Failure::new(
                400,
                "ErrorInvalidPropertySet",
                format!("The property '{name}' cannot be set."),
            ));
        }
        shown.insert(name.clone(), value.clone());
    }
    let preview = shown["body"]["content"].as_str().unwrap_or_default();
    let preview: String = preview.chars().take(255).collect();
    shown.insert("bodyPreview".to_owned(), preview.into());
    if let Some(attendees) = shown.get_mut("attendees").and_then(Value::as_array_mut) {
        for attendee in attendees {
            if attendee.get("status").is_none() {
                attendee["status"] = json!({"response": "none", "time": "0001-01-01T00:00:00Z"});
            }
        }
    }
    Ok(())
}

fn in_order(start: i64, end: i64) -> Result<(), Failure> {
    if end >= start {
        return Ok(());
    }
    Err(Failure::new(
        400,
        "ErrorPropertyValidationFailure",
        "At least one property failed validation: the end is before the start.",
    ))
}

/// A time with the zone beside it.
fn time(value: &Value) -> Result<i64, Failure> {
    let bad = || {
        Failure::new(
            400,
            "ErrorInvalidArgument",
            "A time needs dateTime and a known timeZone.",
        )
    };
    let text = value["dateTime"].as_str().ok_or_else(bad)?;
    let zone = value["timeZone"].as_str().unwrap_or("UTC");
    if let Ok(stamp) = text.parse::<jiff::Timestamp>() {
        return Ok(stamp.as_millisecond());
    }
    let local: jiff::civil::DateTime = text.parse().map_err(|_| bad())?;
    let zoned = local
        .to_zoned(zone_of(zone).ok_or_else(bad)?)
        .map_err(|_| bad())?;
    Ok(zoned.timestamp().as_millisecond())
}

/// A bound of a view: with an offset, or in UTC.
fn instant(text: &str) -> Option<i64> {
    if let Ok(stamp) = text.replace(' ', "+").parse::<jiff::Timestamp>() {
        return Some(stamp.as_millisecond());
    }
    let local: jiff::civil::DateTime = text.parse().ok()?;
    let zoned = local.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_millisecond())
}

/// Names of zones that Windows has of its own; a handful for tests of clients that write them.
fn zone_of(name: &str) -> Option<jiff::tz::TimeZone> {
    let iana = match name {
        "UTC" | "Etc/GMT" | "tzone://Microsoft/Utc" => return Some(jiff::tz::TimeZone::UTC),
        "Pacific Standard Time" => "America/Los_Angeles",
        "Eastern Standard Time" => "America/New_York",
        "Central Standard Time" => "America/Chicago",
        "GMT Standard Time" => "Europe/London",
        "W. Europe Standard Time" => "Europe/Berlin",
        "Tokyo Standard Time" => "Asia/Tokyo",
        other => other,
    };
    jiff::tz::TimeZone::get(iana).ok()
}

/// The zone in which the client wants to read times.
fn zone(call: &Call<'_>) -> Result<(String, jiff::tz::TimeZone), Failure> {
    let wanted = call
        .ask
        .headers
        .get_all("prefer")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split([',', ';']))
        .find_map(|part| part.trim().strip_prefix("outlook.timezone="))
        .map_or("UTC", |name| name.trim_matches('"'));
    let zone = zone_of(wanted).ok_or_else(|| {
        Failure::new(
            400,
            "TimeZoneNotSupportedException",
            format!(
                "A valid TimeZone value must be specified. The following TimeZone value is not \
                     supported: '{wanted}'."
            ),
        )
    })?;
    Ok((wanted.to_owned(), zone))
}

fn shown(event: &Event, zone: &(String, jiff::tz::TimeZone)) -> Value {
    let at = |ms: i64| {
        let stamp = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
        let local = stamp.to_zoned(zone.1.clone()).datetime();
        json!({
            "dateTime": local.strftime("%Y-%m-%dT%H:%M:%S.0000000").to_string(),
            "timeZone": zone.0,
        })
    };
    let mut out = Map::new();
    out.insert("id".to_owned(), event.id.as_str().into());
    out.extend(event.shown.clone());
    out.insert("start".to_owned(), at(event.start_ms));
    out.insert("end".to_owned(), at(event.end_ms));
    Value::Object(out)
}
