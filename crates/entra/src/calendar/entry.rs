//! Entries that hold a time.
//!
//! Nobody is invited by one: Graph sends invitations by itself as soon as an
//! event has attendees, so an entry has none. Its owner invites whom it names.

use http::Method;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use legation_core::{OpContext, Wall};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::wire::WireEvent;
use super::{CalendarError, ENTRY_SCOPES, Event, UTC, view, with_scopes};
use crate::account::Account;
use crate::error::GraphMeaning;
use crate::graph::{Graph, GraphCall};
use crate::html::Html;

/// A calendar that entries are made in.
#[derive(Clone, Debug)]
pub struct Entries {
    graph: Graph,
}

/// An entry that is to be made.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// What it is about.
    pub subject: String,
    /// More about it, as text.
    pub text: String,
    /// When.
    pub when: NewTime,
    /// Where.
    pub place: String,
    /// What it is known by: made again with the same key it is the same entry.
    pub key: String,
}

/// When an entry is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewTime {
    /// From one time of day to another, by the clocks of a zone.
    Times {
        /// When it begins.
        start: DateTime,
        /// When it is over.
        end: DateTime,
        /// The zone's name in the IANA database.
        zone: String,
    },
    /// Whole days.
    Days {
        /// The first of them.
        first: Date,
        /// The day after the last.
        end: Date,
    },
}

/// An entry that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The entry.
    pub event: Event,
    /// Whether it had been made before with this key.
    pub was_there: bool,
}

const SUBJECT_MAX: usize = 255;
const TEXT_BYTES_MAX: usize = 64 << 10;
const DAYS_MAX: i64 = 60;
/// Events around an entry among which it is looked for.
const LOOK_MAX: usize = 500;
const DAY_MS: i64 = 24 * 3600 * 1000;

// === impl Account ===

impl Account {
    /// The calendar of whoever acts, to make entries in.
    #[must_use]
    pub fn entries(&self) -> Entries {
        Entries {
            graph: with_scopes(self, &ENTRY_SCOPES),
        }
    }
}

// === impl Entries ===

impl Entries {
    /// Makes an entry, once for each key. It is tentative, and asks nobody.
    ///
    /// # Errors
    /// See [`CalendarError`].
    pub async fn make(&self, ctx: &OpContext, new: &NewEntry) -> Result<Made, CalendarError> {
        let (start, end) = new.check()?;
        let key = self.transaction(&new.key);
        // Where it was made before, Graph answers with what there is, or that there is one.
        if let Some(event) = self.find(ctx, (start, end), &key).await? {
            return Ok(Made {
                event,
                was_there: true,
            });
        }
        let mut call = GraphCall::new(Method::POST, "/me/events");
        call.prefer = vec![UTC];
        call.body = Some(new.to_wire(&key));
        // The key makes it the same event however often it is sent.
        let answer = match self.graph.call(ctx, &call).await {
            Ok(answer) => answer,
            Err(error) if error.meaning() == Some(GraphMeaning::Conflict) => {
                return match self.find(ctx, (start, end), &key).await? {
                    Some(event) => Ok(Made {
                        event,
                        was_there: true,
                    }),
                    None => Err(CalendarError::Graph { source: error }),
                };
            }
            Err(source) if source.is_ambiguous() => {
                return Err(CalendarError::Uncertain { source });
            }
            Err(source) => return Err(CalendarError::Graph { source }),
        };
        let event: WireEvent = answer
            .json()
            .map_err(|source| CalendarError::Uncertain { source })?;
        let event = Event::from_wire(event).ok_or(CalendarError::NoEvent)?;
        Ok(Made {
            event,
            was_there: false,
        })
    }

    async fn find(
        &self,
        ctx: &OpContext,
        (start, end): (Wall, Wall),
        key: &str,
    ) -> Result<Option<Event>, CalendarError> {
        let found = view(&self.graph, ctx, start, end, LOOK_MAX).await?;
        let mut events = found.events.into_iter();
        Ok(events.find(|event| event.key.as_deref() == Some(key)))
    }

    /// What Graph knows a key by, which tells nothing of it.
    fn transaction(&self, key: &str) -> String {
        let mut digest = Sha256::new();
        for part in [self.graph.account().name(), key] {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        format!(
            "legation-{}",
            legation_core::id::hex(&digest.finalize()[..16])
        )
    }
}

// === impl NewEntry ===

impl NewEntry {
    /// The moments between which it is; a day taken whole is one in UTC, as
    /// views have it.
    fn check(&self) -> Result<(Wall, Wall), CalendarError> {
        if self.subject.trim().is_empty() {
            return Err(CalendarError::NoSubject);
        }
        if self.text.len() > TEXT_BYTES_MAX {
            return Err(CalendarError::TextTooLong {
                bytes: self.text.len(),
                most: TEXT_BYTES_MAX,
            });
        }
        let (start, end) = self.when.moments()?;
        if end <= start {
            return Err(CalendarError::Order);
        }
        if end.0 - start.0 > DAYS_MAX * DAY_MS {
            return Err(CalendarError::TooLong { days: DAYS_MAX });
        }
        Ok((start, end))
    }

    fn to_wire(&self, key: &str) -> Value {
        let (start, end) = match &self.when {
            NewTime::Times { start, end, zone } => (local(*start, zone), local(*end, zone)),
            NewTime::Days { first, end } => (
                local(first.at(0, 0, 0, 0), "UTC"),
                local(end.at(0, 0, 0, 0), "UTC"),
            ),
        };
        json!({
            "subject": crate::base::plain(&self.subject, SUBJECT_MAX),
            "body": { "contentType": "html", "content": Html::from_text(&self.text).to_html() },
            "start": start,
            "end": end,
            "isAllDay": matches!(self.when, NewTime::Days { .. }),
            "location": { "displayName": crate::base::plain(&self.place, SUBJECT_MAX) },
            "showAs": "tentative",
            "responseRequested": false,
            "transactionId": key,
        })
    }
}

fn local(at: DateTime, zone: &str) -> Value {
    json!({ "dateTime": at.strftime("%Y-%m-%dT%H:%M:%S").to_string(), "timeZone": zone })
}

// === impl NewTime ===

impl NewTime {
    /// When it begins and ends.
    ///
    /// # Errors
    /// [`CalendarError::NoTime`] for a zone that is not known and a time that a
    /// clock there never shows.
    pub fn moments(&self) -> Result<(Wall, Wall), CalendarError> {
        let wall = |zoned: jiff::Zoned| Wall(zoned.timestamp().as_millisecond());
        match self {
            Self::Times { start, end, zone } => {
                let zone = TimeZone::get(zone).map_err(|_| CalendarError::NoTime)?;
                let at = |time: &DateTime| {
                    let at = zone.clone().into_ambiguous_zoned(*time);
                    // Of a time that is there twice it is the first.
                    match at.offset() {
                        AmbiguousOffset::Gap { .. } => Err(CalendarError::NoTime),
                        _ => at.earlier().map(wall).map_err(|_| CalendarError::NoTime),
                    }
                };
                Ok((at(start)?, at(end)?))
            }
            Self::Days { first, end } => {
                let at = |day: &Date| day.to_zoned(TimeZone::UTC).map(wall);
                let both = at(first).and_then(|first| Ok((first, at(end)?)));
                both.map_err(|_| CalendarError::NoTime)
            }
        }
    }
}
