//! All files of a folder, before and after a command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use legation_core::Cancel;
use rustix::fs::FileType;

use super::super::error::WorkspaceError;
use super::super::root::{Root, Seen, Stands};
use super::super::text;
use super::super::walk::{Next, Walk};
use super::batch::State;

/// Most files of a folder whose commands can be taken back.
const FILES_MAX: usize = 5_000;
/// Longest file that is copied.
const COPIED_MAX: u64 = 1 << 20;
/// Most bytes of all copies.
const COPIES_MAX: u64 = 64 << 20;

/// What is said where a folder is too large.
pub(in super::super) const TOO_MUCH: &str =
    "a command ran here, and there are too many files to know what it changed";
/// What is said where the folder could not be looked at afterwards.
pub(in super::super) const NOT_SEEN: &str =
    "a command ran here, and nobody could look at what it changed";

/// The files and links of a folder as they were at one time, without those that ignore
/// files leave out.
#[derive(Debug)]
pub(in super::super) struct Tree {
    files: BTreeMap<PathBuf, Seen>,
    /// The ignore files that say what is left out.
    rules: BTreeMap<PathBuf, Seen>,
    whole: bool,
}

// === impl Tree ===

impl Tree {
    /// Looks at every file.
    pub(super) fn look(root: &Root, cancel: &Cancel) -> Result<Self, WorkspaceError> {
        let mut files = BTreeMap::new();
        let mut copies = 0;
        let mut whole = true;
        let mut walk = Walk::new(root, cancel, false);
        walk.run(Path::new("."), |path, kind| {
            if !matches!(kind, FileType::RegularFile | FileType::Symlink) {
                return Next::GoOn;
            }
            if let Some(seen) = root.seen_there(path) {
                if seen.bytes <= COPIED_MAX {
                    copies += seen.bytes;
                }
                files.insert(path.to_owned(), seen);
            }
            whole = files.len() <= FILES_MAX && copies <= COPIES_MAX;
            if whole { Next::GoOn } else { Next::Stop }
        })?;
        Ok(Self {
            whole: whole && !walk.cut,
            rules: walk.rules,
            files,
        })
    }

    /// Whether every file is known.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    pub(super) fn files(&self) -> &BTreeMap<PathBuf, Seen> {
        &self.files
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// The folders in which a file that only the later look shows may have been
    /// there before: an ignore file that changed may have hidden it.
    pub(super) fn doubtful(&self, now: &Self) -> Vec<PathBuf> {
        let changed = self
            .rules
            .iter()
            .filter(|(rules, seen)| now.rules.get(*rules) != Some(*seen))
            .map(|(rules, _)| ruled(rules));
        // A new one may show again what one above it hides, but not in a folder that is new itself.
        let added = now
            .rules
            .keys()
            .filter(|rules| !self.rules.contains_key(*rules))
            .map(|rules| ruled(rules))
            .filter(|folder| self.files.keys().any(|file| file.starts_with(folder)));
        changed.chain(added).map(Path::to_owned).collect()
    }

    /// What is not as it was. Where not every file is known, only what is known
    /// of both times.
    pub(super) fn changes(&self, now: &Self) -> Vec<PathBuf> {
        let both = self.whole && now.whole;
        let mut changed: Vec<PathBuf> = now
            .files
            .iter()
            .filter(|(path, seen)| match self.files.get(*path) {
                Some(before) => before != *seen,
                None => both,
            })
            .map(|(path, _)| path.clone())
            .collect();
        if both {
            let gone = self
                .files
                .keys()
                .filter(|path| !now.files.contains_key(*path));
            changed.extend(gone.cloned());
        }
        changed.sort_unstable();
        changed
    }
}

/// What was there of a file that is new at the later look.
pub(super) fn state_of_new(path: &Path, doubtful: &[PathBuf]) -> State {
    if doubtful.iter().any(|folder| path.starts_with(folder)) {
        return State::Unkept {
            why: "a command changed an ignore file, so nobody knows whether it was there before"
                .to_owned(),
        };
    }
    State::Absent
}

/// The folder that an ignore file is about.
fn ruled(rules: &Path) -> &Path {
    if rules.starts_with(".git") {
        return Path::new("");
    }
    rules.parent().unwrap_or(Path::new(""))
}

/// What a file holds, as far as a copy of it is kept.
pub(super) fn state_of(root: &Root, path: &Path, seen: Seen) -> State {
    let unkept = |why: &str| State::Unkept {
        why: why.to_owned(),
    };
    if seen.bytes > COPIED_MAX {
        return unkept("a command changed it, and of files longer than 1 MiB no copy is kept");
    }
    match root.stands(path) {
        Stands::Link(target) => State::Link { target },
        Stands::File(bytes) if text::decode(&bytes).is_some() => State::File {
            mode: seen.mode,
            bytes,
        },
        Stands::File(_) => {
            unkept("a command changed it, and of files that are no text no copy is kept")
        }
        Stands::Nothing | Stands::Other => {
            unkept("a command changed it, and it could not be read before")
        }
    }
}
