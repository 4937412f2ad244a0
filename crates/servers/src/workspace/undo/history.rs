//! What batches come to: for every file, what it held before the work and what
//! the work left.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::Changes;
use super::batch::{Batch, Kind, Now, State};

/// What work did to one file.
#[derive(Debug, Clone, Default)]
pub(super) struct Change {
    /// What it held before the first change.
    pub(super) first: Option<State>,
    /// What the last change left.
    pub(super) last: Option<Now>,
    /// What it held when it was last looked at.
    pub(super) pending: Option<State>,
    /// Whether a change was begun of which nobody knows how it ended.
    pub(super) unfinished: bool,
    /// Whether somebody else changed it between two changes.
    pub(super) shared: bool,
    /// Whether it is a folder that was not there.
    pub(super) folder: bool,
}

/// Changes by the folder that was worked in.
pub(super) fn by_folder(batches: &[Batch]) -> BTreeMap<PathBuf, Changes> {
    let mut folders: BTreeMap<PathBuf, Changes> = BTreeMap::new();
    for batch in batches {
        let changes = folders.entry(batch.folder.clone()).or_default();
        for entry in &batch.entries {
            let change = changes.entry(entry.path.clone()).or_default();
            change.add(batch.kind, &entry.state);
        }
    }
    // Of what a command may have changed whose end nobody saw, nothing is sure.
    for folder in unseen(batches).running {
        let changes = folders.entry(folder).or_default();
        for change in changes.values_mut() {
            change.unfinished |= matches!(
                change.pending,
                Some(State::File { .. } | State::Link { .. })
            );
        }
    }
    folders
}

/// Folders in which commands began whose end nobody saw.
#[derive(Default)]
struct Unseen {
    /// The last of a folder.
    running: BTreeSet<PathBuf>,
    /// Any but the last.
    before: BTreeSet<PathBuf>,
}

fn unseen(batches: &[Batch]) -> Unseen {
    let mut unseen = Unseen::default();
    for batch in batches {
        match batch.kind {
            Kind::Snapshot => {
                if !unseen.running.insert(batch.folder.clone()) {
                    unseen.before.insert(batch.folder.clone());
                }
            }
            Kind::Ended => {
                unseen.running.remove(&batch.folder);
            }
            Kind::Before | Kind::After | Kind::Note => {}
        }
    }
    unseen
}

/// The files that were changed.
pub(super) fn changed(batches: &[Batch]) -> Vec<String> {
    let folders = by_folder(batches);
    let changes = folders.values().flatten();
    let changed = changes.filter(|(_, change)| {
        let before = change.first.as_ref().and_then(State::as_now);
        change.unfinished || (change.first.is_some() && before != change.last)
    });
    let names: BTreeSet<String> = changed
        .map(|(path, _)| path.display().to_string())
        .collect();
    names.into_iter().collect()
}

/// What was said of commands whose changes are not known, once each.
pub(super) fn notes(batches: &[Batch]) -> Vec<(String, String)> {
    let notes = batches
        .iter()
        .filter_map(|batch| Some((batch.folder.display().to_string(), batch.note.clone()?)));
    let unseen = unseen(batches);
    let folders = unseen.running.into_iter().chain(unseen.before);
    let ended = folders.map(|folder| {
        (
            folder.display().to_string(),
            super::tree::NOT_SEEN.to_owned(),
        )
    });
    let notes: BTreeSet<_> = notes.chain(ended).collect();
    notes.into_iter().collect()
}

// === impl Change ===

impl Change {
    fn add(&mut self, kind: Kind, state: &State) {
        match state {
            State::NoFolder => self.folder = true,
            State::Now(now) => {
                if self.first.is_none() {
                    self.first = self.pending.take();
                }
                self.last = Some(*now);
                self.unfinished = false;
            }
            before => {
                // What was known and is not what was left is somebody else's.
                let found = before.as_now();
                if self.last.is_some() && found.is_some() && found != self.last {
                    self.shared = true;
                }
                self.pending = Some(before.clone());
                self.unfinished = kind == Kind::Before;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::batch::{Digest, Entry};
    use super::*;

    #[test]
    fn a_command_whose_end_nobody_saw_is_named() {
        let folder = Path::new("/w");
        let file = |bytes: &[u8]| State::File {
            mode: 0o644,
            bytes: bytes.to_vec(),
        };
        let entries = vec![Entry::new(Path::new("a"), file(b"one"))];
        let mut batches = vec![Batch::new(Kind::Snapshot, folder, entries)];
        assert!(by_folder(&batches)[folder][Path::new("a")].unfinished);
        assert_eq!(notes(&batches).len(), 1);
        let now = State::Now(Now::Holds(Digest::of(b"two")));
        let entries = vec![Entry::new(Path::new("a"), now)];
        batches.push(Batch::new(Kind::Ended, folder, entries));
        assert!(!by_folder(&batches)[folder][Path::new("a")].unfinished);
        assert_eq!(notes(&batches), []);
    }
}
