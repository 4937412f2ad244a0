//! A month of letters and meetings in the mailbox of each tenant's first person, and what comes
//! next. Days are counted from the tenant's own today, so that it is always now.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use jiff::ToSpan as _;
use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use legation_core::Wall;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::graph::{calendar, mail};
use crate::state::World;
use crate::state::directory::ObjectId;

const DATA: &str = include_str!("desk.json");
/// Days of the month that was.
const MONTH: i64 = 30;
/// What is older was read.
const READ_BEFORE: i64 = -1;

/// What a tenant gets.
#[derive(Deserialize)]
struct Month {
    zone: String,
    /// Sender, subject and text of what comes every working day.
    routine: Vec<[String; 3]>,
    letters: Vec<SeedLetter>,
    meetings: Vec<SeedMeeting>,
}

#[derive(Deserialize)]
struct SeedLetter {
    day: i64,
    at: Time,
    /// `Name <address>`
    from: String,
    subject: String,
    /// `{+5}` is the date five days from now.
    body: String,
    #[serde(default)]
    html: bool,
    #[serde(default)]
    important: bool,
    /// Whether it was read however new it is.
    #[serde(default)]
    read: bool,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    attachments: Vec<String>,
}

#[derive(Deserialize)]
struct SeedMeeting {
    day: i64,
    #[serde(default)]
    at: Option<Time>,
    #[serde(default)]
    minutes: i64,
    /// Of one that takes days whole.
    #[serde(default)]
    days: i64,
    subject: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    zone: Option<String>,
    #[serde(default)]
    place: String,
    #[serde(default)]
    attendees: Vec<String>,
    #[serde(default)]
    organizer: Option<String>,
    #[serde(default)]
    weekly: Vec<String>,
    #[serde(default)]
    interval: Option<i64>,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    cancelled: bool,
    #[serde(default)]
    show: Option<String>,
}

/// Where and when it is put.
struct Put<'w> {
    world: &'w mut World,
    tenant: String,
    owner: ObjectId,
    now: i64,
    today: Date,
    zone: TimeZone,
    zone_name: String,
    /// What everything bears, with a space before it; mostly nothing.
    mark: String,
    letters: usize,
    meetings: usize,
}

/// Fills the mailboxes of the tenants that there is a month for; how many letters and meetings
/// each got. Everything bears the mark with the tenant's name behind it, where there is one.
pub(crate) fn fill(world: &mut World, wall: Wall, mark: Option<&str>) -> Result<Value> {
    let months: BTreeMap<String, Month> =
        serde_json::from_str(DATA).context("the month of the desk cannot be read")?;
    let mut filled = json!({});
    for (name, month) in months {
        let Some(tenant) = world.tenant(&name) else {
            continue;
        };
        let now = tenant.now(wall).0;
        let zone = TimeZone::get(&month.zone)?;
        let today = jiff::Timestamp::from_millisecond(now)?
            .to_zoned(zone.clone())
            .date();
        let mut put = Put {
            tenant: tenant.id.clone(),
            owner: tenant.handed_out.human.clone(),
            world,
            now,
            today,
            zone,
            zone_name: month.zone.clone(),
            mark: mark.map_or_else(String::new, |mark| format!(" {mark}-{name}")),
            letters: 0,
            meetings: 0,
        };
        put.routine(&month.routine)?;
        for letter in &month.letters {
            put.letter(letter)?;
        }
        for meeting in &month.meetings {
            put.meeting(meeting)?;
        }
        filled[&name] = json!({"letters": put.letters, "meetings": put.meetings});
    }
    Ok(filled)
}

// === impl Put ===

impl Put<'_> {
    fn day(&self, offset: i64) -> Result<Date> {
        Ok(self.today.checked_add(offset.days())?)
    }

    fn moment(&self, day: Date, at: Time, zone: &TimeZone) -> Result<i64> {
        let zoned = day.to_datetime(at).to_zoned(zone.clone())?;
        Ok(zoned.timestamp().as_millisecond())
    }

    fn routine(&mut self, kinds: &[[String; 3]]) -> Result<()> {
        for offset in -MONTH..0 {
            let day = self.day(offset)?;
            if matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday) {
                continue;
            }
            for (from, subject, body) in kinds.iter().map(|[a, b, c]| (a, b, c)) {
                let said = |text: &str| text.replace("{0}", &spoken(day));
                let letter = SeedLetter {
                    day: offset,
                    at: jiff::civil::time(7, 45, 0, 0),
                    from: from.clone(),
                    subject: said(subject),
                    body: said(body),
                    html: false,
                    important: false,
                    read: true,
                    headers: match body.contains("subscribed") {
                        true => BTreeMap::from([("Precedence".to_owned(), "bulk".to_owned())]),
                        false => BTreeMap::new(),
                    },
                    attachments: Vec::new(),
                };
                self.letter(&letter)?;
            }
        }
        Ok(())
    }

    fn letter(&mut self, letter: &SeedLetter) -> Result<()> {
        let day = self.day(letter.day)?;
        // Nothing comes from later than now: in the early morning it came just before.
        let at = self
            .moment(day, letter.at, &self.zone)?
            .min(self.now - 60_000);
        let (name, address) = letter.from.split_once(" <").context("a sender")?;
        let address = address.trim_end_matches('>');
        self.letters += 1;
        let domain = address.rsplit('@').next().unwrap_or_default();
        let arrived = mail::Letter {
            from: address.to_owned(),
            subject: format!("{}{}", letter.subject, self.mark),
            body: format!("{}{}", self.dated(&letter.body)?, self.mark),
            html: letter.html,
            message_id: Some(format!("<desk.{}.{at}@{domain}>", self.letters)),
            headers: letter.headers.clone().into_iter().collect(),
            attachments: letter.attachments.clone(),
            invites: false,
        };
        let id = mail::deliver(self.world, &self.tenant, &self.owner, &arrived, at);
        let id = id.context("the person has no mailbox")?;
        let tenant = self.world.tenant_mut(&self.tenant).context("the tenant")?;
        let mailbox = tenant.mail.get_mut(&self.owner).context("the mailbox")?;
        for mail in mailbox.mails.iter_mut().filter(|mail| mail.id == id) {
            let is_read = letter.read || letter.day < READ_BEFORE;
            mail.shown.insert("isRead".to_owned(), is_read.into());
            if letter.important {
                mail.shown.insert("importance".to_owned(), "high".into());
            }
            for sender in ["from", "sender"] {
                let called = format!("{name}{}", self.mark);
                mail.shown[sender]["emailAddress"]["name"] = called.into();
            }
        }
        Ok(())
    }

    fn meeting(&mut self, meeting: &SeedMeeting) -> Result<()> {
        let named = meeting
            .zone
            .clone()
            .unwrap_or_else(|| self.zone_name.clone());
        let zone = TimeZone::get(&named)?;
        let mut day = self.day(meeting.day)?;
        while !meeting.weekly.is_empty() && !meeting.weekly.contains(&word(day.weekday())) {
            day = day.tomorrow()?;
        }
        let times = match meeting.at {
            Some(at) => {
                let start = self.moment(day, at, &zone)?;
                (start, start + meeting.minutes * 60_000)
            }
            None => {
                let midnight = |day: Date| self.moment(day, Time::midnight(), &TimeZone::UTC);
                (
                    midnight(day)?,
                    midnight(day.checked_add(meeting.days.days())?)?,
                )
            }
        };
        let mut more = json!({});
        if meeting.private {
            more["sensitivity"] = "private".into();
            more["categories"] = json!(["Personal"]);
        }
        if meeting.cancelled {
            more["isCancelled"] = true.into();
        }
        if let Some(show) = &meeting.show {
            more["showAs"] = show.as_str().into();
        }
        let set = calendar::Meeting {
            subject: format!("{}{}", meeting.subject, self.mark),
            text: format!("{}{}", meeting.text, self.mark),
            times,
            all_day: meeting.at.is_none(),
            place: format!("{}{}", meeting.place, self.mark),
            attendees: meeting.attendees.clone(),
            organizer: meeting.organizer.clone(),
            recurrence: match meeting.weekly.is_empty() {
                true => Value::Null,
                false => json!({
                    "pattern": {
                        "type": "weekly",
                        "interval": meeting.interval.unwrap_or(1),
                        "daysOfWeek": meeting.weekly,
                        "firstDayOfWeek": "sunday",
                    },
                    "range": {
                        "type": "noEnd",
                        "startDate": day.to_string(),
                        "endDate": "0001-01-01",
                        "recurrenceTimeZone": named,
                        "numberOfOccurrences": 0,
                    },
                }),
            },
            zone: named,
            more,
        };
        self.meetings += 1;
        calendar::set(self.world, &self.tenant, &self.owner, &set, self.now)
            .context("the person is gone")?;
        Ok(())
    }

    /// A text with its dates.
    fn dated(&self, text: &str) -> Result<String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let (inside, after) = after.split_once('}').unwrap_or((after, ""));
            match inside.parse::<i64>() {
                Ok(offset) => out.push_str(&spoken(self.day(offset)?)),
                Err(_) => out.push_str(&format!("{{{inside}}}")),
            }
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// As people write a date.
fn spoken(day: Date) -> String {
    day.strftime("%B %-d, %Y").to_string()
}

fn word(day: Weekday) -> String {
    let word = match day {
        Weekday::Monday => "monday",
        Weekday::Tuesday => "tuesday",
        Weekday::Wednesday => "wednesday",
        Weekday::Thursday => "thursday",
        Weekday::Friday => "friday",
        Weekday::Saturday => "saturday",
        Weekday::Sunday => "sunday",
    };
    word.to_owned()
}
