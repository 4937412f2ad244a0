//! Opening the volume to write it: finding its end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::places::{Place, Places};
use super::reader::fits;
use super::walk::{Step, Walk};
use super::{Notes, Room, Volume, Written};
use crate::OpenError;
use crate::sqlite::connection::prepare_file;

/// What was found from the last known place on.
struct Ending {
    last: Place,
    /// Places on the way.
    passed: Vec<Place>,
    /// What follows is no row.
    torn: bool,
}

impl Volume {
    /// Opens or makes the file (mode 0600). `stored` are places that the database knows, which are on disk. What follows them
    /// and is damaged was torn by a power failure and is cut off; if there is a row behind it, a copy is left beside the file.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub(crate) fn open(path: &Path, stored: Vec<Place>, room: Room) -> Result<Self, OpenError> {
        let is_new = !path.exists();
        prepare_file(path)?;
        let fail = |what| OpenError::file(what, path);
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(fail("opening"))?;
        if is_new && let Some(folder) = path.parent() {
            // The name has to be on disk before anything that is said to be.
            let folder = File::open(folder).and_then(|folder| folder.sync_all());
            folder.map_err(fail("making"))?;
        }
        let length = file.metadata().map_err(fail("looking at"))?.len();
        let places = Places::new(stored.clone());
        let ending = ending(&file, &stored, length).map_err(fail("reading"))?;
        let mut length = length;
        if ending.torn {
            cut(&file, path, ending.last, length).map_err(fail("cutting off the end of"))?;
            length = ending.last.end;
        }
        places.cut(ending.last);
        let fresh = ending
            .passed
            .into_iter()
            .filter(|place| places.pass(*place));
        let notes = Notes {
            marks: Vec::new(),
            places: fresh.collect(),
        };
        Ok(Self {
            path: path.to_owned(),
            written: std::sync::Mutex::new(Written {
                file,
                last: ending.last,
                durable: stored
                    .last()
                    .map_or(0, |place| place.end.min(ending.last.end)),
                room: length.max(ending.last.end),
                ahead: room.ahead,
                limit: room.limit,
                failed: false,
                notes,
                buffer: Vec::new(),
            }),
            places: Arc::new(places),
            end: Arc::new(AtomicU64::new(ending.last.end)),
        })
    }
}

fn ending(file: &File, stored: &[Place], length: u64) -> io::Result<Ending> {
    let durable = stored.last().copied().unwrap_or(Place::START);
    let mut from = Place::START;
    for place in stored.iter().rev() {
        if fits(file, *place, length)? {
            from = *place;
            break;
        }
    }
    if from != durable {
        tracing::error!(
            row = durable.position,
            "the ledger's file is not as it was left: row {} does not end where it did; run `legation audit verify`",
            durable.position
        );
    }
    let mut ending = Ending {
        last: from,
        passed: Vec::new(),
        torn: false,
    };
    let mut walk = Walk::new(file, from, length);
    while let Some(step) = walk.next()? {
        let (offset, sound) = match &step {
            Step::Row(found) => (found.offset, found.is_sound),
            Step::Broken { offset, .. } => (*offset, false),
        };
        if !sound && offset >= durable.end {
            ending.torn = true;
            break;
        }
        if let Step::Row(found) = step {
            ending.last = Place {
                position: found.position,
                end: found.end,
            };
            ending.passed.push(ending.last);
        }
    }
    Ok(ending)
}

/// Ends the file behind a row.
fn cut(file: &File, path: &Path, last: Place, length: u64) -> io::Result<()> {
    let mut walk = Walk::new(file, last, length);
    let mut rows = 0;
    while let Some(step) = walk.next()? {
        rows += usize::from(matches!(step, Step::Row(found) if found.is_sound));
    }
    if rows > 0 {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".cut-{}", last.position + 1));
        let copy = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&name);
        match copy {
            Ok(mut copy) => {
                let mut rest = file;
                rest.seek(SeekFrom::Start(last.end))?;
                io::copy(&mut rest.take(length - last.end), &mut copy)?;
                copy.sync_all()?;
            }
            // What was cut off there before is more telling.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    tracing::warn!(
        row = last.position,
        rows,
        "what stands behind row {} of the ledger was never said to be on disk and is damaged: it was cut off, as after a power failure",
        last.position
    );
    file.set_len(last.end)?;
    file.sync_all()
}
