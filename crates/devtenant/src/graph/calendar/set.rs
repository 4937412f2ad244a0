//! Meetings that people set, without asking Graph.

use serde_json::{Value, json};

use super::put;
use super::shape::blank;
use crate::random;
use crate::state::World;
use crate::state::calendar::Event;
use crate::state::directory::ObjectId;

/// A meeting as somebody sets it.
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    pub(crate) subject: String,
    pub(crate) text: String,
    /// The moments; of days that are taken whole, midnights as if they were in UTC.
    pub(crate) times: (i64, i64),
    pub(crate) all_day: bool,
    pub(crate) place: String,
    /// Names or addresses.
    pub(crate) attendees: Vec<String>,
    /// Who calls for it; its owner where nobody is named.
    pub(crate) organizer: Option<String>,
    /// Graph's `recurrence`, or null.
    pub(crate) recurrence: Value,
    /// The zone by whose clocks it repeats.
    pub(crate) zone: String,
    /// Other members that Graph shows: `sensitivity`, `showAs`, `categories`, `isCancelled`.
    pub(crate) more: Value,
}

/// Puts a meeting into a calendar; its id.
pub(crate) fn set(
    world: &mut World,
    tenant_id: &str,
    owner: &ObjectId,
    meeting: &Meeting,
    now: i64,
) -> Option<String> {
    let tenant = world.tenant(tenant_id)?;
    let user = tenant.user(owner.as_str())?;
    let person = |name: &str| match tenant.user(name) {
        Some(user) => json!({"emailAddress": {"name": user.name, "address": user.upn}}),
        None => json!({"emailAddress": {"name": name, "address": name}}),
    };
    let caller = meeting.organizer.as_deref().unwrap_or(&user.upn);
    let is_own = meeting.organizer.is_none();
    let mut shown = blank(now, &person(caller));
    let attendees = meeting.attendees.iter().map(|name| {
        let mut one = person(name);
        one["type"] = "required".into();
        one["status"] = json!({"response": "none", "time": "0001-01-01T00:00:00Z"});
        one
    });
    let kind = match meeting.recurrence.is_null() {
        true => "singleInstance",
        false => "seriesMaster",
    };
    let zone = match meeting.zone.as_str() {
        "" => "UTC",
        zone => zone,
    };
    let preview: String = meeting.text.chars().take(255).collect();
    let members = json!({
        "subject": meeting.subject,
        "bodyPreview": preview,
        "body": {"contentType": "text", "content": meeting.text},
        "isAllDay": meeting.all_day,
        "location": {"displayName": meeting.place, "locationType": "default", "uniqueIdType": "unknown"},
        "attendees": attendees.collect::<Vec<_>>(),
        "recurrence": meeting.recurrence,
        "type": kind,
        "originalStartTimeZone": zone,
        "originalEndTimeZone": zone,
        "isOrganizer": is_own,
    });
    let more = meeting.more.as_object().cloned().unwrap_or_default();
    shown.extend(members.as_object().cloned().unwrap_or_default());
    shown.extend(more);
    if !is_own {
        shown.insert(
            "responseStatus".to_owned(),
            json!({"response": "notResponded", "time": "0001-01-01T00:00:00Z"}),
        );
    }
    let event = Event {
        id: format!("AAMk{}", random::opaque()),
        start_ms: meeting.times.0,
        end_ms: meeting.times.1,
        transaction: None,
        sequence: world.next(),
        skipped: Vec::new(),
        shown,
    };
    let id = event.id.clone();
    put(world, tenant_id, owner, event, now);
    Some(id)
}
