//! `[desk]`: what the desk forgets.

use super::layers::Values;

/// What the desk forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeskSettings {
    /// `keep_days`: what was dealt with; `None` keeps it.
    pub keep_days: Option<u32>,
    /// `keep_open_days`: what nobody dealt with; `None` keeps it.
    pub keep_open_days: Option<u32>,
}

pub(super) fn read(values: &Values) -> DeskSettings {
    let days = |key: &str| Some(super::small(values, key)).filter(|days| *days > 0);
    DeskSettings {
        keep_days: days("desk.keep_days"),
        keep_open_days: days("desk.keep_open_days"),
    }
}
