//! What the server does at the turns of delegated work.
//!
//! At the end of a turn it says which files were changed in it, by commands too: whoever looks at the
//! work sees them without taking anything back. At the beginning of one it looks whether the folder
//! is still there. Work whose folder somebody removed would go on in nothing, turn for turn, so it is
//! stopped; work that never had a folder there may be a question that needs none, and goes on.

use std::collections::BTreeSet;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use legation_core::TaskId;
use legation_engine::{Turn, Turns};

use super::undo::Undo;

/// Work whose folder is remembered at once; what is forgotten is only not stopped.
const THERE_MAX: usize = 4_096;

/// Hears of turns.
pub(super) struct Watch {
    undo: Option<Arc<Undo>>,
    there: Arc<There>,
}

/// The work whose folder was there once.
#[derive(Default)]
struct There(Mutex<BTreeSet<TaskId>>);

// === impl Watch ===

impl Watch {
    pub(super) fn new(undo: Option<Arc<Undo>>) -> Self {
        Self {
            undo,
            there: Arc::default(),
        }
    }
}

impl Turns for Watch {
    fn began(&self, turn: &Turn) {
        let Some(folder) = turn.workspace.clone() else {
            return;
        };
        let (there, turn) = (Arc::clone(&self.there), turn.clone());
        let undo = self.undo.clone().filter(|_| turn.number > 1);
        // A disk may take its time, and a turn does not wait for it.
        drop(tokio::task::spawn_blocking(move || {
            if there.is_new(&turn, &folder)
                && let Some(Ok(before)) = undo.map(|undo| undo.changed_files(&turn.task))
            {
                // An earlier hub's turns ended without a word where it was killed.
                turn.handle.changed(before);
            }
        }));
    }

    fn ended(&self, turn: &Turn) {
        if let Some(undo) = &self.undo {
            let changed = undo.take_fresh(&turn.task);
            if !changed.is_empty() {
                turn.handle.changed(changed);
            }
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

// === impl There ===

impl There {
    /// Looks whether the folder of a turn is there, and stops it where it is there no more; whether
    /// its work is seen for the first time.
    fn is_new(&self, turn: &Turn, folder: &Path) -> bool {
        let found = std::fs::metadata(folder);
        let mut there = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match found {
            Ok(_) => {
                if there.len() >= THERE_MAX && !there.contains(&turn.task) {
                    there.pop_first();
                }
                there.insert(turn.task.clone())
            }
            Err(error) if error.kind() == ErrorKind::NotFound && there.remove(&turn.task) => {
                drop(there);
                let folder = folder.display();
                let reason = format!("the folder it worked in, {folder}, is not there any more");
                turn.handle.abort(&reason);
                false
            }
            // What cannot be seen at the moment may be there.
            Err(_) => false,
        }
    }
}
