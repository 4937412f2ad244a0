//! Taking checkpoints to where the hub cannot change them any more.
//!
//! A place that fails is tried again and keeps nothing else from working: what
//! was missed is taken there later, from the store. How far each place has come
//! is a counter in the store, so that a start does not begin anew.

mod command;
mod folder;
mod git;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use legation_core::home::HomeError;
use legation_core::id::hex;
use legation_core::process::RunError;
use legation_core::{SharedClock, Wall};
use legation_store::{CheckpointRow, Store, StoreError};
use sha2::{Digest as _, Sha256};

/// Where checkpoints go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file each, in this folder.
    Folder(PathBuf),
    /// A commit each, pushed to the branch `main` of this remote.
    Git(String),
    /// This program with its arguments; the file's path comes last.
    Command(Vec<String>),
}

/// How checkpoints are published.
#[derive(Debug, Clone)]
pub struct PublishSettings {
    /// Where they go.
    pub places: Vec<Place>,
    /// A folder for the clone of a Git remote and for files that are handed
    /// to commands.
    pub staging: PathBuf,
    /// The environment of Git and of commands.
    pub env: Vec<(OsString, OsString)>,
}

/// A checkpoint did not get where it should.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A file could not be written.
    #[error("the checkpoint's file was not written")]
    File {
        /// Why.
        #[source]
        source: HomeError,
    },
    /// A folder could not be read.
    #[error("the folder {} cannot be read", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: std::io::Error,
    },
    /// The folder knows of more records than the ledger has.
    #[error(
        "the folder holds a checkpoint of {there} records, but the ledger has {here}: an older ledger was put back, or its end was cut off"
    )]
    Ahead {
        /// Records that the newest file there covers.
        there: u64,
        /// Records of the checkpoint that was to go there.
        here: u64,
    },
    /// A program could not be run.
    #[error("{program} was not run to its end")]
    Run {
        /// Which.
        program: String,
        /// Why.
        #[source]
        source: RunError,
    },
    /// A program failed.
    #[error("{program} {exit}: {stderr}")]
    Failed {
        /// Which.
        program: String,
        /// How it ended.
        exit: String,
        /// The end of what it said.
        stderr: String,
    },
    /// The store failed.
    #[error("the store did not give the checkpoints")]
    Store {
        /// Why.
        #[source]
        source: StoreError,
    },
}

/// Takes checkpoints to their places.
#[derive(Debug)]
pub(crate) struct Publisher {
    settings: PublishSettings,
    store: Arc<Store>,
    clock: SharedClock,
    working: Mutex<()>,
    /// What is wrong, by place.
    troubles: Mutex<Vec<Option<Trouble>>>,
}

#[derive(Debug)]
struct Trouble {
    since: Wall,
    what: String,
}

/// Most checkpoints that are taken to one place at a time.
const AT_ONCE: usize = 256;

// === impl Publisher ===

impl Publisher {
    pub(crate) fn new(settings: PublishSettings, store: Arc<Store>, clock: SharedClock) -> Self {
        Self {
            troubles: Mutex::new(settings.places.iter().map(|_| None).collect()),
            working: Mutex::default(),
            settings,
            store,
            clock,
        }
    }

    /// Takes whatever is missing to every place; false when one failed. Blocks
    /// for `timeout` a place at most, about.
    pub(crate) fn publish(&self, timeout: Duration) -> bool {
        // One who comes while another is at it leaves it to that one: whatever
        // is missing then is taken next time.
        let Ok(_working) = self.working.try_lock() else {
            return false;
        };
        let mut done = true;
        for (index, place) in self.settings.places.iter().enumerate() {
            let trouble = self.bring_up(place, timeout).err().map(|error| {
                let what = legation_core::error::chain(&error);
                tracing::error!(
                    place = place.label(),
                    error = what,
                    "a checkpoint was not exported; it is tried again"
                );
                what
            });
            done &= trouble.is_none();
            let mut troubles = self.troubles();
            let old = troubles[index].take();
            let since = old.map_or_else(|| self.clock.wall(), |trouble| trouble.since);
            troubles[index] = trouble.map(|what| Trouble { since, what });
        }
        done
    }

    /// What is wrong at the moment, a line each.
    pub(crate) fn problems(&self) -> Vec<String> {
        let troubles = self.troubles();
        let places = self.settings.places.iter().zip(&*troubles);
        places
            .filter_map(|(place, trouble)| {
                let Trouble { since, what } = trouble.as_ref()?;
                let label = place.label();
                Some(format!(
                    "checkpoints of the ledger have not been exported to {label} since {since}: {what}; calls go on"
                ))
            })
            .collect()
    }

    fn bring_up(&self, place: &Place, timeout: Duration) -> Result<(), PublishError> {
        let store = |source| PublishError::Store { source };
        let counter = place.counter();
        let done = self.store.counter_get(&counter).map_err(store)?;
        let mut rows = self.store.checkpoint_list(None, done).map_err(store)?;
        rows.sort_unstable_by_key(|row| row.size);
        let Some(newest) = rows.last().map(|row| row.size) else {
            return match place {
                // That nothing is new here says nothing about what is there.
                Place::Folder(folder) => folder::compare(folder, done),
                Place::Git(_) | Place::Command(_) => Ok(()),
            };
        };
        for rows in rows.chunks(AT_ONCE) {
            self.take(place, rows, timeout)?;
        }
        self.store
            .counter_add(&counter, newest - done)
            .map_err(store)?;
        Ok(())
    }

    fn take(
        &self,
        place: &Place,
        rows: &[CheckpointRow],
        timeout: Duration,
    ) -> Result<(), PublishError> {
        match place {
            Place::Folder(folder) => folder::take(folder, rows),
            Place::Git(remote) => git::take(&self.settings, remote, rows, timeout),
            Place::Command(command) => command::take(&self.settings, command, rows, timeout),
        }
    }

    fn troubles(&self) -> MutexGuard<'_, Vec<Option<Trouble>>> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Place ===

impl Place {
    /// What it is called in messages. A remote may hold a password.
    fn label(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Git(remote) => match remote.rsplit_once('@') {
                Some((_, host)) => format!("the Git remote …@{host}"),
                None => format!("the Git remote {remote}"),
            },
            Self::Command(command) => {
                format!("`{}`", command.first().map_or("", String::as_str))
            }
        }
    }

    fn counter(&self) -> String {
        let text = match self {
            Self::Folder(folder) => format!("folder {}", folder.display()),
            Self::Git(remote) => format!("git {remote}"),
            Self::Command(command) => format!("command {command:?}"),
        };
        format!("checkpoint_export.{}", hex(&Sha256::digest(text)[..8]))
    }
}

/// The name of a checkpoint's file: sizes sort, and two checkpoints of one size
/// do not overwrite each other.
fn file_name(row: &CheckpointRow) -> String {
    format!("{:012}-{}.checkpoint", row.size, hex(&row.root[..4]))
}
