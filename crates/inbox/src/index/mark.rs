//! Up to where the index is on disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The shape of the index's files.
pub(super) const FORMAT: u32 = 1;

/// Up to where the index is on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(super) format: u32,
    /// The last record.
    pub(crate) seq: u64,
    /// The days there are, oldest first.
    pub(crate) days: Vec<DayMark>,
    /// Slots used of each table of names.
    pub(super) names: Vec<u64>,
    /// Records of each lane.
    pub(crate) channels: BTreeMap<String, u64>,
}

/// One day file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DayMark {
    pub(crate) day: u32,
    /// Its first record.
    pub(crate) first: u64,
    /// How much of it is in the index, in bytes.
    pub(crate) bytes: u64,
}

// === impl Mark ===

impl Mark {
    /// Reads the mark; `None` when there is none that can be used.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        let text = fs::read(mark_path(folder)).ok()?;
        let mark: Self = serde_json::from_slice(&text).ok()?;
        (mark.format == FORMAT).then_some(mark)
    }
}

pub(super) fn mark_path(folder: &Path) -> PathBuf {
    folder.join("index").join("mark.json")
}
