//! Reading the volume, beside its writer or without one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use legation_core::EntityId;

use super::frame::{Frame, HEAD};
use super::places::{Place, Places};
use super::walk::{Step, Walk};
use crate::LedgerRow;

/// The volume, for reading.
#[derive(Debug)]
pub(crate) struct VolumeReader {
    file: Option<File>,
    places: Arc<Places>,
    /// Where it ends, while somebody writes it.
    end: Option<Arc<AtomicU64>>,
    /// Where the last reading ended: who reads on need not seek.
    stopped: Mutex<Place>,
}

/// Whether a row ends at this place, as far as the next one, or the end, can tell.
pub(super) fn fits(file: &File, place: Place, length: u64) -> io::Result<bool> {
    if place.end >= length {
        return Ok(place.end == length);
    }
    let mut head = [0; HEAD];
    let left = usize::try_from(length - place.end).unwrap_or(HEAD);
    let head = &mut head[..left.min(HEAD)];
    file.read_exact_at(head, place.end)?;
    if head.iter().all(|byte| *byte == 0) {
        return Ok(true);
    }
    let is_frame = Frame::length(head).is_some() && head.len() == HEAD;
    Ok(is_frame && head[16..24] == (place.position + 1).to_le_bytes())
}

// === impl VolumeReader ===

impl VolumeReader {
    /// Opens one that nobody writes; it may not be there yet.
    pub(crate) fn open(path: &Path, stored: Vec<Place>) -> io::Result<Self> {
        let file = match File::open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            file,
            places: Arc::new(Places::new(stored)),
            end: None,
            stopped: Mutex::new(Place::START),
        })
    }

    pub(super) fn beside(file: File, places: Arc<Places>, end: Arc<AtomicU64>) -> Self {
        Self {
            file: Some(file),
            places,
            end: Some(end),
            stopped: Mutex::new(Place::START),
        }
    }

    /// Up to `count` rows after a position.
    pub(crate) fn after(
        &self,
        position: i64,
        count: usize,
        names: &dyn Fn(i64) -> EntityId,
    ) -> io::Result<Vec<LedgerRow>> {
        let Some((file, length)) = self.file()? else {
            return Ok(Vec::new());
        };
        let from = self.place(file, position, length)?;
        let mut walk = Walk::new(file, from, length);
        let (mut rows, mut seen) = (Vec::new(), from);
        while rows.len() < count
            && let Some(step) = walk.next()?
        {
            if let Step::Row(found) = &step {
                seen = Place {
                    position: found.position,
                    end: found.end,
                };
                self.places.pass(seen);
            }
            let row = of_step(&step, names);
            if row.position > position {
                rows.push(row);
            }
        }
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        Ok(rows)
    }

    /// The last `count` rows, in order.
    pub(crate) fn last(
        &self,
        count: usize,
        names: &dyn Fn(i64) -> EntityId,
    ) -> io::Result<Vec<LedgerRow>> {
        let end = self.end()?;
        let back = i64::try_from(count).unwrap_or(i64::MAX);
        self.after(end.saturating_sub(back).max(0), usize::MAX, names)
    }

    /// The last row's position.
    fn end(&self) -> io::Result<i64> {
        let Some((file, length)) = self.file()? else {
            return Ok(0);
        };
        let from = self.place(file, i64::MAX, length)?;
        let mut walk = Walk::new(file, from, length);
        let mut last = from.position;
        while let Some(step) = walk.next()? {
            last = match step {
                Step::Row(found) => found.position,
                Step::Broken { position, .. } => position,
            };
        }
        Ok(last)
    }

    /// A place up to a position from which to read.
    fn place(&self, file: &File, position: i64, length: u64) -> io::Result<Place> {
        let stopped = *self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = self.places.before(position);
        let is_nearer = stopped.position <= position && stopped.position > kept.position;
        let place = if is_nearer { stopped } else { kept };
        // Somebody may have changed the file; then it is read from its beginning.
        if place != Place::START && !fits(file, place, length)? {
            return Ok(Place::START);
        }
        Ok(place)
    }

    fn file(&self) -> io::Result<Option<(&File, u64)>> {
        let Some(file) = &self.file else {
            return Ok(None);
        };
        let length = match &self.end {
            Some(end) => end.load(Ordering::Acquire),
            None => file.metadata()?.len(),
        };
        Ok(Some((file, length)))
    }
}

fn of_step(step: &Step<'_>, names: &dyn Fn(i64) -> EntityId) -> LedgerRow {
    match step {
        Step::Row(found) => LedgerRow {
            position: found.position,
            entity: names(found.frame.entity()),
            seq: found.frame.seq(),
            at_ms: found.frame.at_ms(),
            prev: found.frame.prev().to_vec(),
            hash: found.frame.hash().to_vec(),
            bytes: found.frame.record().to_vec(),
            is_sound: found.is_sound,
        },
        Step::Broken {
            position, bytes, ..
        } => LedgerRow {
            position: *position,
            entity: names(0),
            seq: 0,
            at_ms: 0,
            prev: Vec::new(),
            hash: Vec::new(),
            bytes: bytes.to_vec(),
            is_sound: false,
        },
    }
}
