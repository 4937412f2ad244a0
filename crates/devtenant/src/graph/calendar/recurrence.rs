//! Series of events, by day or by week.

use jiff::civil::{Date, Weekday};
use jiff::{Timestamp, ToSpan as _};
use serde_json::Value;

use crate::graph::error::Failure;
use crate::state::calendar::Event;

/// No series is looked at further than this.
const OCCURRENCES_MAX: usize = 1000;

/// A series, taken apart.
#[derive(Debug)]
struct Series {
    weekly: bool,
    interval: i64,
    days: Vec<Weekday>,
    start: Date,
    end: Option<Date>,
    count: Option<usize>,
}

/// Refuses a recurrence that this tenant does not keep.
pub(super) fn check(value: &Value) -> Result<(), Failure> {
    if value.is_null() || parse(value).is_some() {
        return Ok(());
    }
    Err(Failure::new(
        400,
        "ErrorInvalidArgument",
        "The recurrence is not valid, or of a kind that this tenant does not keep: daily and \
         weekly are.",
    ))
}

fn parse(value: &Value) -> Option<Series> {
    let (pattern, range) = (&value["pattern"], &value["range"]);
    let weekly = match pattern["type"].as_str()? {
        "daily" => false,
        "weekly" => true,
        _ => return None,
    };
    let days: Vec<Weekday> = pattern["daysOfWeek"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|day| weekday(day.as_str()?))
        .collect::<Option<_>>()?;
    let series = Series {
        weekly,
        interval: pattern["interval"]
            .as_i64()
            .filter(|interval| *interval > 0)?,
        days,
        start: range["startDate"].as_str()?.parse().ok()?,
        end: match range["type"].as_str()? {
            "endDate" => Some(range["endDate"].as_str()?.parse().ok()?),
            _ => None,
        },
        count: match range["type"].as_str()? {
            "numbered" => Some(usize::try_from(range["numberOfOccurrences"].as_u64()?).ok()?),
            _ => None,
        },
    };
    (!weekly || !series.days.is_empty()).then_some(series)
}

fn weekday(name: &str) -> Option<Weekday> {
    Some(match name {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

/// The event itself, or the occurrences of its series, as far as they touch a time. Occurrences
/// begin at the same time of day by the clocks of the zone that the series was made in.
pub(super) fn occurrences(event: &Event, from_ms: i64, until_ms: i64) -> Vec<Event> {
    let touches = |start: i64, end: i64| start < until_ms && end > from_ms;
    let Some(series) = parse(&event.shown["recurrence"]) else {
        let single = touches(event.start_ms, event.end_ms);
        return single.then(|| event.clone()).into_iter().collect();
    };
    let Ok(start) = Timestamp::from_millisecond(event.start_ms) else {
        return Vec::new();
    };
    let zone = match event.is_all_day() {
        true => jiff::tz::TimeZone::UTC,
        false => zone(event),
    };
    let time = start.to_zoned(zone.clone()).time();
    let lasts = event.end_ms - event.start_ms;
    let mut out = Vec::new();
    for date in series.dates() {
        let Ok(begins) = date.to_datetime(time).to_zoned(zone.clone()) else {
            break;
        };
        let begins = begins.timestamp().as_millisecond();
        if begins >= until_ms {
            break;
        }
        let called_off = event.skipped.iter().any(|day| *day == date.to_string());
        if touches(begins, begins + lasts) && !called_off {
            let mut one = event.clone();
            one.id = format!("{}.{date}", event.id);
            (one.start_ms, one.end_ms) = (begins, begins + lasts);
            one.shown.insert("type".to_owned(), "occurrence".into());
            one.shown
                .insert("seriesMasterId".to_owned(), event.id.as_str().into());
            one.shown.insert("recurrence".to_owned(), Value::Null);
            out.push(one);
        }
    }
    out
}

/// The zone by whose clocks a series goes.
fn zone(event: &Event) -> jiff::tz::TimeZone {
    let range = &event.shown["recurrence"]["range"]["recurrenceTimeZone"];
    let named = range.as_str().filter(|name| !name.is_empty());
    let named = named.or_else(|| event.shown["originalStartTimeZone"].as_str());
    named
        .and_then(super::shape::zone_of)
        .unwrap_or(jiff::tz::TimeZone::UTC)
}

// === impl Series ===

impl Series {
    /// The days it falls on, in order.
    fn dates(&self) -> Vec<Date> {
        let mut out = Vec::new();
        let mut day = self.start;
        let mut passed: i64 = 0;
        // A week begins on Sunday, as Graph has it unless told otherwise.
        let offset = i64::from(self.start.weekday().to_sunday_zero_offset());
        while out.len() < self.count.unwrap_or(OCCURRENCES_MAX).min(OCCURRENCES_MAX) {
            if self.end.is_some_and(|end| day > end) {
                break;
            }
            let falls = if self.weekly {
                ((passed + offset) / 7) % self.interval == 0 && self.days.contains(&day.weekday())
            } else {
                passed % self.interval == 0
            };
            if falls {
                out.push(day);
            }
            let Ok(next) = day.checked_add(1.day()) else {
                break;
            };
            day = next;
            passed += 1;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{check, parse};
    use serde_json::json;

    #[test]
    fn series_fall_on_their_days() {
        for (pattern, range, days) in [
            (
                json!({"type": "daily", "interval": 2}),
                json!({"type": "numbered", "startDate": "2026-12-01", "numberOfOccurrences": 3}),
                vec!["2026-12-01", "2026-12-03", "2026-12-05"],
            ),
            (
                json!({"type": "weekly", "interval": 1, "daysOfWeek": ["tuesday", "friday"]}),
                json!({"type": "endDate", "startDate": "2026-12-01", "endDate": "2026-12-11"}),
                vec!["2026-12-01", "2026-12-04", "2026-12-08", "2026-12-11"],
            ),
            (
                json!({"type": "weekly", "interval": 2, "daysOfWeek": ["monday"]}),
                json!({"type": "endDate", "startDate": "2026-12-01", "endDate": "2026-12-31"}),
                vec!["2026-12-14", "2026-12-28"],
            ),
        ] {
            let value = json!({"pattern": pattern, "range": range});
            let series = parse(&value).expect("a series");
            let found: Vec<String> = series.dates().iter().map(ToString::to_string).collect();
            assert_eq!(found, days, "{value}");
        }
        let endless = json!({
            "pattern": {"type": "daily", "interval": 1},
            "range": {"type": "noEnd", "startDate": "2026-12-01"},
        });
        assert_eq!(parse(&endless).expect("a series").dates().len(), 1000);
        let monthly = json!({"pattern": {"type": "absoluteMonthly", "interval": 1}, "range": {}});
        assert!(check(&monthly).is_err());
    }
}
