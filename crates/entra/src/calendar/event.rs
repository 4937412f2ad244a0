//! Events as they are read. Everything in one is what its organizer wrote.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use legation_core::Wall;

use super::wire::{WireEvent, WirePerson, WireStatus, WireTime};
use crate::base::plain;
use crate::mail::Address;

/// What is in a calendar on a day, or for days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its id in the calendar.
    pub id: String,
    /// The id it has in every calendar it is in (RFC 5545, `UID`).
    pub uid: String,
    /// What repeats, where this is one of a series: the id of that.
    pub series: Option<String>,
    /// Whether it repeats.
    pub repeats: Repeats,
    /// What it is about.
    pub subject: String,
    /// The first words of its text.
    pub preview: String,
    /// When it is.
    pub when: When,
    /// Where.
    pub place: String,
    /// Who calls for it.
    pub organizer: Option<Address>,
    /// Who is asked to come; of very many the first.
    pub attendees: Vec<Attendee>,
    /// How the time is shown to others.
    pub shown: Shown,
    /// Whether its owner keeps it from others: `private`, `personal` or
    /// `confidential`.
    pub is_private: bool,
    /// Whether its owner marked it as personal.
    pub is_personal: bool,
    /// Whether it was called off.
    pub is_cancelled: bool,
    /// Whether it is the calendar's owner who calls for it.
    pub is_own: bool,
    /// What the owner answered.
    pub response: Response,
    /// Whether it is held online.
    pub is_online: bool,
    /// Where a person can open it.
    pub web_link: String,
    /// When it was changed last.
    pub changed: Option<Wall>,
    /// The key it was made with, where it has one.
    pub key: Option<String>,
}

/// When an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// From one moment to another.
    Times {
        /// When it begins.
        start: Wall,
        /// When it is over.
        end: Wall,
    },
    /// Whole days, wherever one is.
    Days {
        /// The first of them.
        first: Date,
        /// The day after the last.
        end: Date,
    },
}

/// Who is asked to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attendee {
    /// The address.
    pub address: Address,
    /// What was answered.
    pub response: Response,
    /// Whether it would also do without.
    pub is_optional: bool,
    /// Whether it is a room or a thing.
    pub is_resource: bool,
}

/// What somebody answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// Nothing, or nothing was asked.
    None,
    /// Nobody needs to: it is the organizer.
    Organizer,
    /// Perhaps.
    Tentative,
    /// Comes.
    Accepted,
    /// Does not come.
    Declined,
}

/// How a time is shown to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Nothing is on.
    Free,
    /// Something may be on.
    Tentative,
    /// Something is on.
    Busy,
    /// Out of office.
    Away,
    /// Working from elsewhere.
    Elsewhere,
}

/// Whether an event repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// It does not.
    Never,
    /// It is one of a series.
    OneOfSeries,
    /// It is one of a series, and different from the others.
    Exception,
    /// It is what a series is made from.
    Series,
}

const TEXT_MAX: usize = 500;
const PREVIEW_MAX: usize = 255;
const NAME_MAX: usize = 200;
/// An invitation to everybody holds up nothing else.
const ATTENDEES_MAX: usize = 100;
const CATEGORY: &str = "personal";

// === impl Event ===

impl Event {
    /// Reads what Graph answers; what has no times is none.
    pub(super) fn from_wire(wire: WireEvent) -> Option<Self> {
        if wire.id.is_empty() {
            return None;
        }
        let when = When::from_wire(wire.start?, wire.end?, wire.is_all_day == Some(true))?;
        let attendees = wire.attendees.unwrap_or_default().into_iter();
        let categories = wire.categories.unwrap_or_default();
        let sensitivity = wire.sensitivity.unwrap_or_default();
        let is_private = ["private", "personal", "confidential"].contains(&sensitivity.as_str());
        let is_personal = sensitivity == CATEGORY
            || categories
                .iter()
                .any(|one| one.eq_ignore_ascii_case(CATEGORY));
        Some(Self {
            uid: plain(&wire.ical_uid.unwrap_or_default(), TEXT_MAX),
            series: wire.series_master_id.filter(|id| !id.is_empty()),
            repeats: Repeats::from_wire(wire.kind.as_deref()),
            subject: plain(&wire.subject.unwrap_or_default(), TEXT_MAX),
            preview: plain(&wire.body_preview.unwrap_or_default(), PREVIEW_MAX),
            when,
            place: plain(
                &wire
                    .location
                    .and_then(|place| place.display_name)
                    .unwrap_or_default(),
                TEXT_MAX,
            ),
            organizer: wire.organizer.and_then(|one| address(&one)),
            attendees: attendees
                .take(ATTENDEES_MAX)
                .filter_map(Attendee::from_wire)
                .collect(),
            shown: Shown::from_wire(wire.show_as.as_deref()),
            is_private,
            is_personal,
            is_cancelled: wire.is_cancelled == Some(true),
            is_own: wire.is_organizer == Some(true),
            response: Response::from_wire(wire.response_status.as_ref()),
            is_online: wire.is_online_meeting == Some(true),
            web_link: crate::base::link(wire.web_link),
            changed: wire
                .last_modified_date_time
                .as_deref()
                .and_then(Wall::parse),
            key: wire.transaction_id.filter(|key| !key.is_empty()),
            id: wire.id,
        })
    }
}

// === impl When ===

impl When {
    fn from_wire(start: WireTime, end: WireTime, is_all_day: bool) -> Option<Self> {
        if is_all_day {
            // Midnight in whatever zone it is told in.
            let (first, end) = (
                civil(&start.date_time)?.date(),
                civil(&end.date_time)?.date(),
            );
            let end = match end > first {
                true => end,
                false => first.tomorrow().ok()?,
            };
            return Some(Self::Days { first, end });
        }
        let (start, end) = (moment(&start)?, moment(&end)?);
        Some(Self::Times {
            start,
            end: end.max(start),
        })
    }

    /// The first moment of it, for who is in this zone.
    #[must_use]
    pub fn start(&self, zone: &TimeZone) -> Option<Wall> {
        match self {
            Self::Times { start, .. } => Some(*start),
            Self::Days { first, .. } => midnight(*first, zone),
        }
    }

    /// The moment when it is over, for who is in this zone.
    #[must_use]
    pub fn end(&self, zone: &TimeZone) -> Option<Wall> {
        match self {
            Self::Times { end, .. } => Some(*end),
            Self::Days { end, .. } => midnight(*end, zone),
        }
    }
}

/// A day begins at midnight, or when midnight is skipped as soon as it can.
fn midnight(day: Date, zone: &TimeZone) -> Option<Wall> {
    let zoned = day.to_zoned(zone.clone()).ok()?;
    Some(Wall(zoned.timestamp().as_millisecond()))
}

fn civil(text: &str) -> Option<DateTime> {
    text.trim_end_matches('Z').parse().ok()
}

/// A time of Graph's. It is told in UTC, as that was asked for; any other zone
/// has a name that this table knows, or the time cannot be read.
fn moment(time: &WireTime) -> Option<Wall> {
    if let Ok(stamp) = time.date_time.parse::<jiff::Timestamp>() {
        return Some(Wall(stamp.as_millisecond()));
    }
    let zone = match time.time_zone.as_deref() {
        None | Some("UTC" | "Etc/UTC" | "Etc/GMT" | "tzone://Microsoft/Utc") => TimeZone::UTC,
        Some(other) => TimeZone::get(other).ok()?,
    };
    let zoned = civil(&time.date_time)?.to_zoned(zone).ok()?;
    Some(Wall(zoned.timestamp().as_millisecond()))
}

// === impl Attendee ===

impl Attendee {
    fn from_wire(wire: WirePerson) -> Option<Self> {
        Some(Self {
            address: address(&wire)?,
            response: Response::from_wire(wire.status.as_ref()),
            is_optional: wire.kind.as_deref() == Some("optional"),
            is_resource: wire.kind.as_deref() == Some("resource"),
        })
    }
}

fn address(wire: &WirePerson) -> Option<Address> {
    let wire = wire.email_address.as_ref()?;
    let text = |text: &Option<String>| plain(text.as_deref().unwrap_or_default(), NAME_MAX);
    let (name, address) = (text(&wire.name), text(&wire.address));
    (!name.is_empty() || !address.is_empty()).then_some(Address { name, address })
}

// === impl Response ===

impl Response {
    fn from_wire(wire: Option<&WireStatus>) -> Self {
        match wire.and_then(|status| status.response.as_deref()) {
            Some("organizer") => Self::Organizer,
            Some("tentativelyAccepted") => Self::Tentative,
            Some("accepted") => Self::Accepted,
            Some("declined") => Self::Declined,
            _ => Self::None,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Organizer => "organizer",
            Self::Tentative => "tentative",
            Self::Accepted => "accepted",
            Self::Declined => "declined",
        }
    }
}

// === impl Shown ===

impl Shown {
    fn from_wire(wire: Option<&str>) -> Self {
        match wire {
            Some("free") => Self::Free,
            Some("tentative") => Self::Tentative,
            Some("oof") => Self::Away,
            Some("workingElsewhere") => Self::Elsewhere,
            // What is not known takes the time up.
            _ => Self::Busy,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Tentative => "tentative",
            Self::Busy => "busy",
            Self::Away => "away",
            Self::Elsewhere => "elsewhere",
        }
    }
}

// === impl Repeats ===

impl Repeats {
    fn from_wire(wire: Option<&str>) -> Self {
        match wire {
            Some("occurrence") => Self::OneOfSeries,
            Some("exception") => Self::Exception,
            Some("seriesMaster") => Self::Series,
            _ => Self::Never,
        }
    }
}
