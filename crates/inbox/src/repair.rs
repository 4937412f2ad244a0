//! Mending an inbox that is damaged: every whole record stays, the rest is put
//! aside, and nobody takes as read what may be another message now.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use legation_core::Wall;
use legation_core::home::create_private_dir;

use crate::consumers::Consumers;
use crate::day::{Day, days};
use crate::error::OpenError;
use crate::index::Gone;
use crate::lock;
use crate::prune::{all_gone, write_gone};
use crate::scan::{Scan, Step};
use crate::writer::recorded;

/// What was mended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Records that are whole.
    pub records: u64,
    /// Records that are lost.
    pub lost: u64,
    /// Bytes that were put aside, in files that end in `.damaged`.
    pub aside: u64,
    /// Consumers that are offered messages again.
    pub repeated: Vec<String>,
}

/// Mends the inbox in a folder. The index is made anew at the next start.
///
/// # Errors
/// See [`OpenError`].
pub fn repair(folder: &Path) -> Result<Repaired, OpenError> {
    for path in [
        folder.to_owned(),
        folder.join("consumers"),
        folder.join("forgotten"),
    ] {
        create_private_dir(&path).map_err(OpenError::Home)?;
    }
    let _lock = lock::take(folder)
        .map_err(OpenError::io("locking", folder))?
        .map_err(|pid| OpenError::InUse { pid })?;
    let mut mending = Mending {
        folder,
        gone: all_gone(folder)?,
        last: 0,
        before: None,
        channels: BTreeMap::new(),
        lost: Vec::new(),
        done: Repaired::default(),
    };
    for day in days(folder).map_err(OpenError::io("listing", folder))? {
        let failed = OpenError::io("mending", day.path(folder));
        mending.day(day).map_err(failed)?;
    }
    mending.finish()
}

struct Mending<'a> {
    folder: &'a Path,
    gone: BTreeMap<u64, Gone>,
    last: u64,
    /// Records of each channel before the first damage.
    before: Option<BTreeMap<String, u64>>,
    channels: BTreeMap<String, u64>,
    lost: Vec<Gone>,
    done: Repaired,
}

impl Mending<'_> {
    fn day(&mut self, day: Day) -> io::Result<()> {
        let path = day.path(self.folder);
        let new = path.with_extension("mending");
        let mut whole = create(&new)?;
        let mut aside: Option<File> = None;
        let mut scan = Scan::open(self.folder, day, 0)?;
        let mut source = File::open(&path)?;
        loop {
            let (offset, len, is_whole) = match scan.step()? {
                Step::End => break,
                Step::Record(line, place) => {
                    let message = &line.message;
                    let is_whole = self.keep(message.seq.0, &message.lane());
                    (place.offset, u64::from(place.len) + 1, is_whole)
                }
                Step::Bad { offset, len, .. } => {
                    self.damage();
                    (offset, len, false)
                }
            };
            let into = if is_whole {
                &mut whole
            } else {
                self.done.aside += len;
                aside_of(&path, &mut aside)?
            };
            source.seek(SeekFrom::Start(offset))?;
            io::copy(&mut (&mut source).take(len), into)?;
        }
        whole.sync_all()?;
        if let Some(aside) = aside {
            aside.sync_all()?;
            fs::rename(&new, &path)?;
        } else {
            fs::remove_file(&new)?;
        }
        File::open(self.folder)?.sync_all()
    }

    /// Whether a whole record is the next; what should have come before it is lost.
    fn keep(&mut self, seq: u64, channel: &str) -> bool {
        if seq <= self.last || self.gone.contains_key(&seq) {
            self.damage();
            return false;
        }
        self.miss(seq);
        self.last = seq;
        *self.channels.entry(channel.to_owned()).or_default() += 1;
        self.done.records += 1;
        true
    }

    /// What should stand before a record, and behind the last that does.
    fn miss(&mut self, seq: u64) {
        for missing in self.last + 1..seq {
            match self.gone.get(&missing) {
                Some(gone) if !gone.channel.is_empty() => {
                    *self.channels.entry(gone.channel.clone()).or_default() += 1;
                }
                Some(_) => {}
                None => {
                    self.damage();
                    self.lost.push(Gone {
                        seq: missing,
                        channel: String::new(),
                        key: 0,
                    });
                }
            }
        }
    }

    fn damage(&mut self) {
        if self.before.is_none() {
            self.before = Some(self.channels.clone());
        }
    }

    fn finish(mut self) -> Result<Repaired, OpenError> {
        let folder = self.folder;
        let announced = recorded(folder).map_err(OpenError::io("reading", folder))?;
        self.miss(announced.unwrap_or_default() + 1);
        if !self.lost.is_empty() {
            let name = format!("lost-{}.jsonl", self.lost[0].seq);
            let path = folder.join("forgotten").join(name);
            write_gone(&path, &self.lost).map_err(OpenError::Home)?;
        }
        self.done.lost = self.lost.len() as u64;
        let (mut consumers, _) = Consumers::load(folder.join("consumers"), Wall(0))
            .map_err(OpenError::io("reading the consumers of", folder))?;
        consumers.clamp(self.before.as_ref().unwrap_or(&self.channels));
        for file in consumers.dirty() {
            file.write().map_err(OpenError::Home)?;
            self.done.repeated.push(file.name.as_str().to_owned());
        }
        match fs::remove_dir_all(folder.join("index")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(OpenError::io("removing the index of", folder)(error))
            }
            _ => Ok(self.done),
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    file.flush()?;
    Ok(file)
}

/// The file for what is put aside of a day, behind what an earlier repair put there.
fn aside_of<'f>(path: &Path, file: &'f mut Option<File>) -> io::Result<&'f mut File> {
    if let Some(file) = file {
        return Ok(file);
    }
    let mut options = OpenOptions::new();
    let options = options.create(true).append(true).mode(0o600);
    Ok(file.insert(options.open(path.with_extension("damaged"))?))
}
