//! What the inbox holds and for how long, for `legation status` and `legation doctor`.

use legation_config::InboxSettings;
use legation_inbox::Footprint;
use serde::Serialize;

use crate::table::counted;
use crate::{CliError, Context};

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Standing {
    /// Bytes of all its files.
    bytes: u64,
    /// Days that have messages, and the first of them.
    days: usize,
    oldest: Option<String>,
    /// How many days they are kept; `null` for ever.
    retention_days: Option<u32>,
    /// Whether messages go that nobody has read.
    takes_unread: bool,
    /// Readers with a place of their own.
    readers: usize,
    /// After how many days without use they are forgotten; `null` for never.
    reader_days: Option<u32>,
}

/// Looks at the files.
pub(crate) fn standing(context: &Context) -> Result<Standing, CliError> {
    let settings = crate::commands::config::settings(context)?.inbox;
    let found = Footprint::of(&context.home.inbox()).map_err(|error| CliError::failed(&error))?;
    Ok(Standing::new(found, settings))
}

// === impl Standing ===

impl Standing {
    fn new(found: Footprint, settings: InboxSettings) -> Self {
        Self {
            bytes: found.bytes,
            days: found.days,
            oldest: found.oldest,
            retention_days: settings.retention_days,
            takes_unread: settings.takes_unread,
            readers: found.readers,
            reader_days: settings.reader_days,
        }
    }

    /// In one line.
    pub(crate) fn words(&self) -> String {
        let held = match &self.oldest {
            None => "no messages".to_owned(),
            Some(oldest) => format!(
                "{} in {} since {oldest}",
                size(self.bytes),
                counted(self.days, "day")
            ),
        };
        let kept = match (self.retention_days, self.takes_unread) {
            (None, _) => "kept for ever".to_owned(),
            (Some(days), true) => format!("kept for {days} days"),
            (Some(days), false) => format!("kept for {days} days once read"),
        };
        let readers = match (self.readers, self.reader_days) {
            (0, _) => String::new(),
            (count, None) => format!("; {}", counted(count, "reader")),
            (count, Some(days)) => format!(
                "; {}, forgotten after {days} days without use",
                counted(count, "reader")
            ),
        };
        format!("{held}, {kept}{readers}")
    }
}

/// `2.1 MB`
fn size(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    for (unit, name) in units {
        if bytes >= unit {
            let tenths = bytes * 10 / unit;
            return format!("{}.{} {name}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests {
    use legation_config::InboxSettings;
    use legation_inbox::Footprint;

    use super::{Standing, size};

    #[test]
    fn what_there_is_and_for_how_long_is_one_line() {
        let settings = |retention_days, takes_unread, reader_days| InboxSettings {
            retention_days,
            takes_unread,
            reader_days,
        };
        let found = |readers| Footprint {
            bytes: 2_140_000,
            days: 3,
            oldest: Some("2026-11-19".to_owned()),
            readers,
        };
        for (found, settings, words) in [
            (
                Footprint::default(),
                settings(None, false, Some(90)),
                "no messages, kept for ever",
            ),
            (
                found(1),
                settings(Some(30), true, None),
                "2.1 MB in 3 days since 2026-11-19, kept for 30 days; 1 reader",
            ),
            (
                found(4),
                settings(Some(30), false, Some(90)),
                "2.1 MB in 3 days since 2026-11-19, kept for 30 days once read; 4 readers, forgotten after 90 days without use",
            ),
        ] {
            assert_eq!(Standing::new(found, settings).words(), words);
        }
        for (bytes, words) in [(7, "7 bytes"), (1_999, "1.9 kB"), (5_000_000_000, "5.0 GB")] {
            assert_eq!(size(bytes), words);
        }
    }
}
