//! A disk that has lost power.
//!
//! What was synced is there. Of everything else since, any part may be there:
//! each write whole, torn at a sector, or not at all, whatever its order; each
//! new name, removal and cut likewise.

use std::collections::BTreeMap;

use crate::random::Random;
use crate::trace::Operation;

/// The sizes at which writes tear: a sector, and a page of the page cache.
const SECTORS: [usize; 2] = [512, 4_096];

/// What the disk holds for certain, and what it may hold.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    /// Names that are durable, and those as the running program sees them.
    names: BTreeMap<String, usize>,
    seen: BTreeMap<String, usize>,
    /// Changes of names since the folder was synced, with when they were made.
    changes: Vec<(usize, String, Option<usize>)>,
}

#[derive(Debug, Default)]
struct File {
    durable: Vec<u8>,
    pending: Vec<(usize, Change)>,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { size: usize },
}

/// How much of what was not synced is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing.
    None,
    /// Everything.
    All,
    /// What was done first.
    First,
    /// All but one.
    AllButOne,
    /// Any part.
    Any,
    /// Any part, and torn.
    Torn,
}

/// Files by name.
pub(crate) type Image = BTreeMap<String, Vec<u8>>;

impl Disk {
    /// Does the operation that is the `index`-th of its run.
    pub(crate) fn apply(&mut self, index: usize, operation: &Operation) {
        match operation {
            Operation::Create { file } => {
                if !self.seen.contains_key(file) {
                    self.files.push(File::default());
                    let inode = self.files.len() - 1;
                    self.seen.insert(file.clone(), inode);
                    self.changes.push((index, file.clone(), Some(inode)));
                }
            }
            Operation::Unlink { file } => {
                self.seen.remove(file);
                self.changes.push((index, file.clone(), None));
            }
            Operation::Write {
                file,
                offset,
                bytes,
            } => {
                let (offset, bytes) = (*offset, bytes.clone());
                self.change(index, file, Change::Write { offset, bytes });
            }
            Operation::Truncate { file, size } => {
                self.change(index, file, Change::Truncate { size: *size });
            }
            Operation::Sync { file, begun } => {
                if let Some(inode) = self.seen.get(file) {
                    self.files[*inode].sync(*begun);
                }
            }
            Operation::SyncFolder { begun } => {
                let (done, left) = std::mem::take(&mut self.changes)
                    .into_iter()
                    .partition(|change| change.0 < *begun);
                self.changes = left;
                let done: Vec<_> = done;
                for (_, name, inode) in done {
                    rename(&mut self.names, name, inode);
                }
            }
            Operation::Fact(_) => {}
        }
    }

    fn change(&mut self, index: usize, file: &str, change: Change) {
        // A file whose name is gone is nobody's any more.
        if let Some(inode) = self.seen.get(file) {
            self.files[*inode].pending.push((index, change));
        }
    }

    /// How many changes are not synced.
    pub(crate) fn pending(&self) -> usize {
        let files = self.files.iter().map(|file| file.pending.len());
        files.sum::<usize>() + self.changes.len()
    }

    /// The files after the power has failed.
    pub(crate) fn image(&self, fate: Fate, random: &mut Random) -> Image {
        let mut luck = Luck {
            fate,
            kept: random.below(self.pending() + 1),
            odds: [20, 50, 80][random.below(3)],
            asked: 0,
            random,
        };
        let mut names = self.names.clone();
        for (_, name, inode) in &self.changes {
            if luck.keeps() {
                rename(&mut names, name.clone(), *inode);
            }
        }
        let mut image = Image::new();
        for (name, inode) in names {
            let file = &self.files[inode];
            let mut bytes = file.durable.clone();
            for (_, change) in &file.pending {
                luck.let_happen(&mut bytes, change);
            }
            image.insert(name, bytes);
        }
        image
    }
}

fn rename(names: &mut BTreeMap<String, usize>, name: String, inode: Option<usize>) {
    match inode {
        Some(inode) => names.insert(name, inode),
        None => names.remove(&name),
    };
}

impl File {
    fn sync(&mut self, begun: usize) {
        let left = self.pending.partition_point(|(index, _)| *index < begun);
        for (_, change) in self.pending.drain(..left) {
            change.happen(&mut self.durable);
        }
    }
}

impl Change {
    fn happen(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write {
                offset,
                bytes: more,
            } => put(bytes, *offset, more),
            Self::Truncate { size } => bytes.resize(*size, 0),
        }
    }
}

/// Writes, with zeros where there was nothing before.
fn put(bytes: &mut Vec<u8>, offset: usize, more: &[u8]) {
    let end = offset + more.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(more);
}

struct Luck<'a> {
    fate: Fate,
    /// For [`Fate::First`] how many are there, for [`Fate::AllButOne`] which is not.
    kept: usize,
    odds: usize,
    asked: usize,
    random: &'a mut Random,
}

impl Luck<'_> {
    /// Whether the next change is there.
    fn keeps(&mut self) -> bool {
        self.asked += 1;
        match self.fate {
            Fate::None => false,
            Fate::All => true,
            Fate::First => self.asked <= self.kept,
            Fate::AllButOne => self.asked != self.kept,
            Fate::Any | Fate::Torn => self.random.chance(self.odds),
        }
    }

    fn let_happen(&mut self, bytes: &mut Vec<u8>, change: &Change) {
        match change {
            Change::Write {
                offset,
                bytes: more,
            } if self.fate == Fate::Torn => {
                let sector = SECTORS[self.random.below(SECTORS.len())];
                let mut from = 0;
                while from < more.len() {
                    // Sectors lie where they lie on the disk.
                    let end = (offset + from + 1).next_multiple_of(sector) - offset;
                    let end = end.min(more.len());
                    if self.keeps() {
                        put(bytes, offset + from, &more[from..end]);
                    }
                    from = end;
                }
            }
            change => {
                if self.keeps() {
                    change.happen(bytes);
                }
            }
        }
    }
}
