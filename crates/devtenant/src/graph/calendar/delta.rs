//! Changes of a calendar within a time, since the last time.
//!
//! A link holds the time and where the client is. A series is told as what it is made from, whole,
//! and as its occurrences, of which only the times are told.

use serde_json::{Value, json};

use super::shape::{shown, zone};
use super::{READ, events, recurrence, window};
use crate::graph::error::Failure;
use crate::graph::{Call, Outcome, delta, odata};
use crate::state::calendar::Event;
use crate::state::directory::ObjectId;
use crate::web::{Answer, base64_any, base64_url};

const PAGE: usize = 10;
const PAGE_MAX: usize = 1000;

/// What a link holds.
#[derive(Debug, Clone, Copy)]
struct Position {
    /// Everything up to here was told.
    since: u64,
    /// So many of what changed at the next place were told.
    told: usize,
    /// Whether this round tells what happened, and not what is there.
    later: bool,
    /// This round ends here; more comes in the next.
    until: u64,
    /// When links were last voided.
    epoch: u64,
    window: (i64, i64),
}

// === impl Position ===

impl Position {
    fn token(&self) -> String {
        let (from, to) = self.window;
        let json = json!([
            self.since, self.told, self.later, self.until, self.epoch, from, to
        ]);
        base64_url(json.to_string().as_bytes())
    }

    fn parse(token: &str) -> Option<Self> {
        let json: Value = serde_json::from_slice(&base64_any(token)?).ok()?;
        Some(Self {
            since: json[0].as_u64()?,
            told: usize::try_from(json[1].as_u64()?).ok()?,
            later: json[2].as_bool()?,
            until: json[3].as_u64()?,
            epoch: json[4].as_u64()?,
            window: (json[5].as_i64()?, json[6].as_i64()?),
        })
    }
}

/// `/calendarView/delta`.
pub(super) fn delta(mut call: Call<'_>, owner: &ObjectId) -> Outcome {
    call.permit("GET /me/calendarView/delta", &READ, &READ)?;
    call.options(&["skiptoken", "deltatoken"])?;
    let call = &mut call;
    delta::hold(call)?;
    let position = position(call)?;
    let size = delta::page_size(call, PAGE, PAGE_MAX);
    let zone = zone(call)?;
    let mut changes = changes(call, owner, &position, &|event| shown(event, &zone))?;
    changes.sort_by_key(|(sequence, _)| *sequence);
    let first = changes.first().map(|(sequence, _)| *sequence);
    let mut changes = changes.split_off(position.told.min(changes.len()));
    let more = changes.len() > size;
    changes.truncate(size);
    let next = match changes.last().filter(|_| more) {
        Some((last, _)) => {
            // A series is many changes at one place.
            let at_last = changes
                .iter()
                .filter(|(sequence, _)| sequence == last)
                .count();
            let carried = if first == Some(*last) {
                position.told
            } else {
                0
            };
            Position {
                since: last - 1,
                told: at_last + carried,
                ..position
            }
        }
        None => Position {
            since: position.until,
            told: 0,
            later: true,
            ..position
        },
    };
    let drop = ["startdatetime", "enddatetime", "skiptoken", "deltatoken"];
    let mut body = json!({});
    call.annotate(&mut body, "Collection(event)");
    let (name, token) = match more {
        true => ("@odata.nextLink", "$skiptoken"),
        false => ("@odata.deltaLink", "$deltatoken"),
    };
    body[name] = odata::link(call.ask, &[(token, &next.token())], &drop).into();
    body["value"] = changes.into_iter().map(|(_, value)| value).collect();
    Ok(Answer::json(200, &body))
}

/// What changed within a round, with the place of each in the order of changes.
fn changes(
    call: &Call<'_>,
    owner: &ObjectId,
    position: &Position,
    show: &dyn Fn(&Event) -> Value,
) -> Result<Vec<(u64, Value)>, Failure> {
    let (from, until) = position.window;
    let in_round = |sequence: u64| sequence > position.since && sequence <= position.until;
    let mut changes = Vec::new();
    for event in events(call, owner)?
        .iter()
        .filter(|event| in_round(event.sequence))
    {
        let found = recurrence::occurrences(event, from, until);
        let is_series = found.iter().any(|one| one.id != event.id);
        if is_series {
            changes.push((event.sequence, show(event)));
        }
        changes.extend(found.iter().map(|one| {
            let mut value = show(one);
            if let Some(members) = value.as_object_mut().filter(|_| is_series) {
                let kept = ["id", "type", "seriesMasterId", "start", "end"];
                members.retain(|name, _| kept.contains(&name.as_str()));
            }
            (event.sequence, value)
        }));
    }
    if position.later {
        let calendar = call.tenant()?.calendars.get(owner);
        let removed = calendar.map_or(&[][..], |calendar| &calendar.removed);
        let touched = removed
            .iter()
            .filter(|gone| in_round(gone.sequence) && gone.start_ms < until && gone.end_ms > from);
        changes.extend(touched.map(|gone| {
            let shown = json!({"@removed": {"reason": "deleted"}, "id": gone.id});
            (gone.sequence, shown)
        }));
    }
    Ok(changes)
}

/// Where the client is: from its link, or at the beginning.
fn position(call: &Call<'_>) -> Result<Position, Failure> {
    let epoch = call.world.delta_epoch;
    let Some((token, round_ended)) = delta::link(call) else {
        return Ok(Position {
            since: 0,
            told: 0,
            later: false,
            until: call.world.sequence,
            epoch,
            window: window(call)?,
        });
    };
    let mut position = Position::parse(token).ok_or_else(delta::malformed)?;
    if position.epoch != epoch {
        return Err(delta::too_old(call));
    }
    if round_ended {
        position.until = call.world.sequence;
    }
    Ok(position)
}
