//! Days of UTC, counted.

use std::fmt;

use legation_core::Wall;

/// A day of UTC: so many after 1 January 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i64);

const DAY_MS: i64 = 86_400_000;

// === impl Day ===

impl Day {
    /// The day of a moment.
    #[must_use]
    pub fn of(at: Wall) -> Self {
        Self(at.0.div_euclid(DAY_MS))
    }

    /// The first day of its month.
    #[must_use]
    pub fn month_start(self) -> Self {
        let (_, _, day) = self.civil();
        Self(self.0 - i64::from(day) + 1)
    }

    /// Year, month and day of the month, by the calendar that starts its years
    /// in March, so that the day that not every year has comes last.
    fn civil(self) -> (i64, u32, u32) {
        let days = self.0 + 719_468;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let (month, later) = if month < 10 {
            (month + 3, 0)
        } else {
            (month - 9, 1)
        };
        let small = |number: i64| u32::try_from(number).unwrap_or_default();
        (era * 400 + year + later, small(month), small(day))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (ms, text, first) in [
            (0, "1970-01-01", "1970-01-01"),
            (-1, "1969-12-31", "1969-12-01"),
            (951_782_400_000, "2000-02-29", "2000-02-01"),
            (951_868_799_999, "2000-02-29", "2000-02-01"),
            (951_868_800_000, "2000-03-01", "2000-03-01"),
            (4_107_542_400_000, "2100-03-01", "2100-03-01"),
            (1_798_761_599_999, "2026-12-31", "2026-12-01"),
        ] {
            let day = Day::of(Wall(ms));
            assert_eq!(day.to_string(), text);
            assert_eq!(day.month_start().to_string(), first, "{text}");
        }
    }
}
