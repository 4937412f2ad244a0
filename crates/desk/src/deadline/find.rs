//! Where deadlines stand.

use std::sync::LazyLock;

use jiff::civil::Date;
use regex::Regex;
use serde_json::Value;

use super::read::{DAY, day, time};
use super::{Confidence, Deadline, FoundBy, Written};
use crate::text::short;

/// Most deadlines of one text.
const MOST: usize = 100;
/// Longest sentence that is shown around one, in characters.
const CONTEXT_MAX: usize = 240;

/// What says that a date is a deadline.
static CUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:by|before|due|deadline|no later than|not later than|until|expires?|expiring|expiration|must be|submit|submitted|respond|response|reply|deliver|delivered|file[ds]?|pay|payable|payment|sign(?:ed)?|closing|closes?|within|lapses?|returned?)\b",
    )
    .expect("a pattern that is tested")
});

/// The deadlines that the rules find in a text, in its order.
#[must_use]
pub fn candidates(text: &str, written: &Written) -> Vec<Deadline> {
    let mut found = Vec::new();
    for sentence in sentences(text) {
        let words = &text[sentence.clone()];
        for caught in DAY.captures_iter(words) {
            let Some(all) = caught.get(0) else { continue };
            let Some(day) = day(&caught, written.today(), month_first(written)) else {
                continue;
            };
            let cued = CUE.is_match(words);
            let confidence = match (cued, day.whole) {
                (true, true) => Confidence::High,
                (true, false) => Confidence::Medium,
                (false, _) => Confidence::Low,
            };
            let span =
                sentence.start + trimmed_start(words, all.start())..sentence.start + all.end();
            let near = near(words, all.start(), all.end());
            found.extend(made(
                text,
                span,
                &sentence,
                (day.date, near),
                written,
                confidence,
            ));
            if found.len() == MOST {
                return found;
            }
        }
    }
    found
}

/// What a model points at, as far as it stands in the text: words it copied, and a day. Words that
/// the rules can read mean what the rules read; others stay doubtful. What the rules found is not
/// found again.
#[must_use]
pub fn from_model(
    text: &str,
    answer: &str,
    written: &Written,
    known: &[Deadline],
) -> Vec<Deadline> {
    let answer: Value = match serde_json::from_str(answer) {
        Ok(answer) => answer,
        Err(_) => return Vec::new(),
    };
    let mut found: Vec<Deadline> = Vec::new();
    for one in answer["deadlines"]
        .as_array()
        .into_iter()
        .flatten()
        .take(MOST)
    {
        let (Some(quote), Some(date)) = (one["quote"].as_str(), one["date"].as_str()) else {
            continue;
        };
        let quote = quote.trim();
        let (Some(at), Ok(date)) = (text.find(quote), date.parse::<Date>()) else {
            continue;
        };
        if quote.is_empty() || quote.len() > 300 {
            continue;
        }
        let read = DAY
            .captures(quote)
            .and_then(|caught| day(&caught, written.today(), month_first(written)));
        let (date, confidence) = match read {
            Some(read) if read.date != date => continue,
            Some(read) => (read.date, Confidence::Medium),
            None => (date, Confidence::Low),
        };
        let span = at..at + quote.len();
        let sentence = sentences(text)
            .find(|sentence| sentence.contains(&at))
            .unwrap_or_else(|| span.clone());
        let near = time(quote).map(|(time, zone, _)| (time, zone));
        let Some(mut made) = made(text, span, &sentence, (date, near), written, confidence) else {
            continue;
        };
        made.source = FoundBy::Model;
        let again = known.iter().chain(&found).any(|other| {
            other.date == made.date && other.start < made.end && made.start < other.end
        });
        if !again {
            found.push(made);
        }
    }
    found
}

type Near = Option<(jiff::civil::Time, Option<&'static str>)>;

fn made(
    text: &str,
    span: std::ops::Range<usize>,
    sentence: &std::ops::Range<usize>,
    (date, near): (Date, Near),
    written: &Written,
    confidence: Confidence,
) -> Option<Deadline> {
    let named = near.and_then(|(_, zone)| zone);
    let zone = match named {
        Some(name) => super::zone(name).ok()?,
        None => written.zone.clone(),
    };
    let time = near.map(|(time, _)| time);
    let at_ms = Written::moment(date, time, &zone)?;
    let chars = |until: usize| text[..until].chars().count();
    Some(Deadline {
        raw_text: text[span.clone()].to_owned(),
        start: chars(span.start),
        end: chars(span.end),
        date,
        time: time.map(|time| format!("{:02}:{:02}", time.hour(), time.minute())),
        timezone: zone.iana_name().unwrap_or("UTC").to_owned(),
        at_ms,
        confidence,
        context: short(&text[sentence.clone()], CONTEXT_MAX),
        source: FoundBy::Rule,
    })
}

/// A time in the same sentence, close to the day: after it first, then before.
fn near(words: &str, start: usize, end: usize) -> Near {
    let close = |range: &std::ops::Range<usize>| range.start <= 24;
    if let Some((time, zone, range)) = time(&words[end..])
        && close(&range)
    {
        return Some((time, zone));
    }
    let from = words[..start]
        .char_indices()
        .rev()
        .nth(24)
        .map_or(0, |(at, _)| at);
    time(&words[from..start])
        .map(|(time, zone, _)| (time, zone))
        // `EOD` is both a day and a time.
        .or_else(|| {
            let word = words[start..end].to_lowercase();
            let is_day_end = word.ends_with("day") && word.starts_with("end") || word == "eod";
            is_day_end.then(|| (jiff::civil::time(17, 0, 0, 0), None))
        })
}

fn trimmed_start(words: &str, start: usize) -> usize {
    let space = words[start..].len() - words[start..].trim_start().len();
    start + space
}

fn month_first(written: &Written) -> bool {
    let name = written.zone.iana_name().unwrap_or_default();
    name.starts_with("America/") || name.starts_with("US/") || name == "Pacific/Honolulu"
}

/// The sentences of a text, as ranges of bytes. A period between digits or after a short word ends
/// none.
fn sentences(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start >= text.len() {
            return None;
        }
        let bytes = text.as_bytes();
        let mut at = start;
        while at < bytes.len() {
            let next = bytes.get(at + 1).copied();
            let ends = match bytes[at] {
                b'\n' => true,
                b'!' | b'?' | b';' => next.is_none_or(|next| next.is_ascii_whitespace()),
                b'.' => {
                    let word = text[start..at].rsplit(char::is_whitespace).next();
                    let short = word.is_some_and(|word| {
                        word.len() <= 3 && !word.contains(char::is_numeric) && !word.is_empty()
                    });
                    next.is_none_or(|next| next.is_ascii_whitespace()) && !short
                }
                _ => false,
            };
            at += 1;
            if ends {
                break;
            }
        }
        let sentence = start..at;
        start = at;
        Some(sentence)
    })
}
