//! A day of the calendar, as a file writes it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error as _};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A day, `YYYY-MM-DD`, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

// === impl Date ===

impl Date {
    /// Reads `YYYY-MM-DD`, and only a day that exists.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_shaped = bytes.len() == 10
            && bytes.iter().enumerate().all(|(at, byte)| match at {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        if !is_shaped {
            return None;
        }
        let date = Self {
            year: text[..4].parse().ok()?,
            month: text[5..7].parse().ok()?,
            day: text[8..].parse().ok()?,
        };
        ((1..=12).contains(&date.month) && (1..=date.days_in_month()).contains(&date.day))
            .then_some(date)
    }

    /// The first moment after this day, in milliseconds since 1970.
    pub fn end_ms(self) -> i64 {
        (self.days() + 1) * DAY_MS
    }

    fn days_in_month(self) -> u8 {
        let is_leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        match self.month {
            4 | 6 | 9 | 11 => 30,
            2 if is_leap => 29,
            2 => 28,
            _ => 31,
        }
    }

    /// Days since 1970-01-01, counted in years that begin in March, so that
    /// the leap day is the last of them.
    fn days(self) -> i64 {
        let (year, month) = (i64::from(self.year), i64::from(self.month));
        let (year, month) = if month > 2 {
            (year, month - 3)
        } else {
            (year - 1, month + 9)
        };
        let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        before + (month * 153 + 2) / 5 + i64::from(self.day) - 1 - 719_468
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            D::Error::custom(format!("{text:?} is not a day of the form YYYY-MM-DD"))
        })
    }
}

impl JsonSchema for Date {
    fn schema_name() -> Cow<'static, str> {
        "Date".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A day, YYYY-MM-DD.",
            "format": "date",
        })
    }
}
