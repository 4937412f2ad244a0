//! What an event looks like, which of it a client can set, and the times in it.

use legation_core::Wall;
use serde_json::{Map, Value, json};

use super::recurrence;
use crate::graph::Call;
use crate::graph::error::Failure;
use crate::random;
use crate::state::calendar::Event;

/// The name a client gave a zone, and the zone.
pub(super) type Zone = (String, jiff::tz::TimeZone);

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

pub(super) fn blank(now: i64, organizer: &Value) -> Map<String, Value> {
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

pub(super) fn merge(shown: &mut Map<String, Value>, body: &Value) -> Result<(), Failure> {
    for (name, value) in body.as_object().into_iter().flatten() {
        if name.starts_with('@') || ["start", "end", "transactionId", "id"].contains(&name.as_str())
        {
            continue;
        }
        if name == "recurrence" {
            recurrence::check(value)?;
            let kind = if value.is_null() {
                "singleInstance"
            } else {
                "seriesMaster"
            };
            shown.insert("type".to_owned(), kind.into());
        } else if !SETTABLE.contains(&name.as_str()) {
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

pub(super) fn in_order(start: i64, end: i64) -> Result<(), Failure> {
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
pub(super) fn time(value: &Value) -> Result<i64, Failure> {
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

/// The days that an event takes whole: from midnight to midnight, wherever one is.
pub(super) fn days(start: &Value, end: &Value) -> Result<(i64, i64), Failure> {
    let midnight = |value: &Value| {
        let text = value["dateTime"].as_str().unwrap_or_default();
        let local = text.trim_end_matches('Z').parse::<jiff::civil::DateTime>();
        let local = local
            .ok()
            .filter(|at| at.time() == jiff::civil::Time::midnight());
        let zoned = local.and_then(|at| at.to_zoned(jiff::tz::TimeZone::UTC).ok());
        zoned
            .map(|at| at.timestamp().as_millisecond())
            .ok_or_else(|| {
                Failure::new(
                    400,
                    "ErrorInvalidRequest",
                    "The Event.Start and Event.End properties of an all-day event need to be set \
                     to midnight.",
                )
            })
    };
    if start["timeZone"] != end["timeZone"] {
        return Err(Failure::new(
            400,
            "ErrorInvalidRequest",
            "The times of an all-day event need to be in the same time zone.",
        ));
    }
    Ok((midnight(start)?, midnight(end)?))
}

/// A bound of a view: with an offset, or in UTC.
pub(super) fn instant(text: &str) -> Option<i64> {
    if let Ok(stamp) = text.replace(' ', "+").parse::<jiff::Timestamp>() {
        return Some(stamp.as_millisecond());
    }
    let local: jiff::civil::DateTime = text.parse().ok()?;
    let zoned = local.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_millisecond())
}

/// Names of zones that Windows has of its own; a handful for tests of clients that write them.
pub(super) fn zone_of(name: &str) -> Option<jiff::tz::TimeZone> {
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
pub(super) fn zone(call: &Call<'_>) -> Result<Zone, Failure> {
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

pub(super) fn shown(event: &Event, zone: &Zone) -> Value {
    let clock = match event.is_all_day() {
        true => jiff::tz::TimeZone::UTC,
        false => zone.1.clone(),
    };
    let at = |ms: i64| {
        let stamp = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
        let local = stamp.to_zoned(clock.clone()).datetime();
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
