//! How much an inbox holds on disk, as its files say: for those who look after it,
//! with or without a hub.

use std::fs;
use std::io;
use std::path::Path;

use crate::day::days;

/// What is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes of all files.
    pub bytes: u64,
    /// How many days have files.
    pub days: usize,
    /// The first of them, `YYYY-MM-DD`.
    pub oldest: Option<String>,
    /// Readers with a place of their own.
    pub readers: usize,
}

// === impl Footprint ===

impl Footprint {
    /// Looks at the files of an inbox; nothing where there is none.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let days = match days(folder) {
            Ok(days) => days,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let mut readers = 0;
        let bytes = size(folder, &mut |path| {
            let is_readers = path.parent().is_some_and(|at| at.ends_with("consumers"));
            readers += usize::from(is_readers && path.extension().is_some_and(|ext| ext == "json"));
        })?;
        Ok(Self {
            bytes,
            days: days.len(),
            oldest: days.first().map(|day| day.name()),
            readers,
        })
    }
}

/// The bytes of all files below a folder, each of which is told of. What goes away
/// meanwhile holds nothing.
fn size(folder: &Path, seen: &mut impl FnMut(&Path)) -> io::Result<u64> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut bytes = 0;
    for entry in entries {
        let path = entry?.path();
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            bytes += size(&path, seen)?;
        } else {
            seen(&path);
            bytes += metadata.len();
        }
    }
    Ok(bytes)
}
