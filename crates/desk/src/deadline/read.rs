//! Words into days and times.

use std::sync::LazyLock;

use jiff::ToSpan as _;
use jiff::civil::{Date, Time, Weekday};
use regex::{Captures, Regex};

/// A day that words mean, and whether they say it whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Day {
    pub(super) date: Date,
    /// Its year stands there, and it cannot be read otherwise.
    pub(super) whole: bool,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Every way in which a day is written.
pub(super) static DAY: LazyLock<Regex> = LazyLock::new(|| {
    let month = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
    let weekday = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day";
    let pattern = [
        r"(?i)\b(?:(?P<iy>\d{4})-(?P<im>\d{2})-(?P<id>\d{2})".to_owned(),
        format!(
            r"(?P<am>{month})\.?\s+(?P<ad>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<ay>\d{{4}}))?"
        ),
        format!(
            r"(?P<bd>\d{{1,2}})(?:st|nd|rd|th)?\.?\s+(?:of\s+)?(?P<bm>{month})\.?(?:,?\s+(?P<by>\d{{4}}))?"
        ),
        r"(?P<s1>\d{1,2})/(?P<s2>\d{1,2})/(?P<sy>\d{4}|\d{2})".to_owned(),
        r"(?P<p1>\d{1,2})\.(?P<p2>\d{1,2})\.(?P<py>\d{4})".to_owned(),
        r"(?:within|in)\s+(?P<n>\d{1,3})\s+(?P<unit>business\s+days?|working\s+days?|days?|weeks?|months?)".to_owned(),
        format!(r"(?P<which>next|this|coming)?\s*(?P<weekday>{weekday})"),
        r"(?P<word>today|tonight|tomorrow|end\s+of\s+(?:the\s+)?(?:day|week|month|quarter|year)|eod|eow|eom)".to_owned(),
    ]
    .join("|");
    Regex::new(&format!(r"{pattern})\b")).expect("a pattern that is tested")
});

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:(?P<h12>\d{1,2})(?::(?P<m12>\d{2}))?\s?(?P<half>[ap])\.?m\b\.?|(?P<h24>[01]?\d|2[0-3]):(?P<m24>[0-5]\d)\b|(?P<noon>noon|midday)\b|(?P<close>close\s+of\s+business|cob|end\s+of\s+(?:the\s+)?day|eod)\b)(?:\s*\(?(?P<zone>utc|gmt|et|est|edt|ct|cst|cdt|mt|mst|mdt|pt|pst|pdt|cet|cest|bst)\b\)?)?",
    )
    .expect("a pattern that is tested")
});

/// The day that a match of [`DAY`] means, seen from another. Slashes are read as the zone's people
/// write them.
pub(super) fn day(found: &Captures<'_>, today: Date, month_first: bool) -> Option<Day> {
    let number = |name: &str| found.name(name)?.as_str().parse::<i16>().ok();
    let whole = |date: Option<Date>, whole: bool| date.map(|date| Day { date, whole });
    if let Some(year) = number("iy") {
        return whole(of(year, number("im")?, number("id")?), true);
    }
    for (month, day, year) in [("am", "ad", "ay"), ("bm", "bd", "by")] {
        if let Some(month) = found.name(month) {
            let month = month_of(month.as_str())?;
            let day = number(day)?;
            return match number(year) {
                Some(year) => whole(of(year, month, day), true),
                None => whole(coming(today, month, day), false),
            };
        }
    }
    if let (Some(one), Some(two), Some(year)) = (number("s1"), number("s2"), number("sy")) {
        let year = if year < 100 { year + 2000 } else { year };
        let (month, day, sure) = match (one > 12, two > 12) {
            (true, _) => (two, one, true),
            (_, true) => (one, two, true),
            _ if month_first => (one, two, one == two),
            _ => (two, one, one == two),
        };
        return whole(of(year, month, day), sure);
    }
    if let (Some(day), Some(month), Some(year)) = (number("p1"), number("p2"), number("py")) {
        return whole(of(year, month, day), true);
    }
    if let Some(count) = number("n") {
        return whole(reckoned(today, i64::from(count), &found["unit"]), false);
    }
    if let Some(weekday) = found.name("weekday") {
        let which = found
            .name("which")
            .map(|which| which.as_str().to_lowercase());
        return whole(on(today, weekday.as_str(), which.as_deref()), false);
    }
    let word = found.name("word")?.as_str().to_lowercase();
    let word = word.split_whitespace().collect::<Vec<_>>().join(" ");
    whole(meant(today, &word.replace("of the ", "of ")), false)
}

/// A time near a day, and the zone it names.
pub(super) fn time(text: &str) -> Option<(Time, Option<&'static str>, std::ops::Range<usize>)> {
    let found = TIME.captures(text)?;
    let number = |name: &str| found.name(name)?.as_str().parse::<i8>().ok();
    let time = if let Some(hour) = number("h12") {
        let late = found["half"].eq_ignore_ascii_case("p");
        let hour = match (hour, late) {
            (1..=11, true) => hour + 12,
            (12, false) => 0,
            (1..=12, _) => hour,
            _ => return None,
        };
        Time::new(hour, number("m12").unwrap_or(0), 0, 0).ok()?
    } else if let Some(hour) = number("h24") {
        Time::new(hour, number("m24")?, 0, 0).ok()?
    } else if found.name("noon").is_some() {
        Time::new(12, 0, 0, 0).ok()?
    } else {
        Time::new(17, 0, 0, 0).ok()?
    };
    let zone = found.name("zone").and_then(|zone| zone_of(zone.as_str()));
    let range = found.get(0)?.range();
    Some((time, zone, range))
}

/// The zone of letters that people write after a time. The ones of America change with the
/// season whatever letters are used: `EST` in July is a slip.
fn zone_of(letters: &str) -> Option<&'static str> {
    Some(match letters.to_lowercase().as_str() {
        "utc" | "gmt" => "UTC",
        "et" | "est" | "edt" => "America/New_York",
        "ct" | "cst" | "cdt" => "America/Chicago",
        "mt" | "mst" | "mdt" => "America/Denver",
        "pt" | "pst" | "pdt" => "America/Los_Angeles",
        "cet" | "cest" => "Europe/Berlin",
        "bst" => "Europe/London",
        _ => return None,
    })
}

fn of(year: i16, month: i16, day: i16) -> Option<Date> {
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    Date::new(year, month, day).ok()
}

fn month_of(name: &str) -> Option<i16> {
    let name = name.to_lowercase();
    let at = MONTHS.iter().position(|month| name.starts_with(month))?;
    i16::try_from(at + 1).ok()
}

/// The next such day. One that was a few weeks ago is meant as gone by, not as next year's.
fn coming(today: Date, month: i16, day: i16) -> Option<Date> {
    let this = of(today.year(), month, day)?;
    let long_ago = today.checked_sub(60.days()).ok()?;
    match this < long_ago {
        true => of(today.year() + 1, month, day),
        false => Some(this),
    }
}

fn reckoned(today: Date, count: i64, unit: &str) -> Option<Date> {
    let unit = unit.to_lowercase();
    if unit.starts_with("week") {
        return today.checked_add(count.weeks()).ok();
    }
    if unit.starts_with("month") {
        return today.checked_add(count.months()).ok();
    }
    if !unit.starts_with("business") && !unit.starts_with("working") {
        return today.checked_add(count.days()).ok();
    }
    let mut day = today;
    let mut left = count;
    while left > 0 {
        day = day.tomorrow().ok()?;
        if !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday) {
            left -= 1;
        }
    }
    Some(day)
}

/// A weekday from today on; `next` is the one of the week after this.
fn on(today: Date, name: &str, which: Option<&str>) -> Option<Date> {
    let wanted = [
        ("mon", Weekday::Monday),
        ("tue", Weekday::Tuesday),
        ("wed", Weekday::Wednesday),
        ("thu", Weekday::Thursday),
        ("fri", Weekday::Friday),
        ("sat", Weekday::Saturday),
        ("sun", Weekday::Sunday),
    ]
    .into_iter()
    .find(|(begins, _)| name.to_lowercase().starts_with(begins))?
    .1;
    if which == Some("next") {
        let monday =
            today.checked_add((8 - i64::from(today.weekday().to_monday_one_offset())).days());
        let steps = i64::from(wanted.to_monday_zero_offset());
        return monday.ok()?.checked_add(steps.days()).ok();
    }
    let steps = i64::from(today.weekday().until(wanted));
    today.checked_add(steps.days()).ok()
}

fn meant(today: Date, word: &str) -> Option<Date> {
    match word {
        "today" | "tonight" | "eod" | "end of day" => Some(today),
        "tomorrow" => today.tomorrow().ok(),
        "eow" | "end of week" => on(today, "friday", None),
        "eom" | "end of month" => Some(today.last_of_month()),
        "end of quarter" => {
            let month = (i16::from(today.month()) - 1) / 3 * 3 + 3;
            Some(of(today.year(), month, 1)?.last_of_month())
        }
        "end of year" => of(today.year(), 12, 31),
        _ => None,
    }
}
