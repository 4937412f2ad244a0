//! What delegated work did to files, kept so that it can be taken back.
//!
//! Before a file is changed, what it held is on disk: sealed under the keys of
//! the entities whose data the work holds, in a folder of the work's own below
//! `undo`. Afterwards only a digest of what the file holds now is added. Taking
//! back compares: what somebody else changed since stays as it is, and so does
//! what cannot be told apart. A version control system could do the same for
//! those who have one, but it would write into their repository.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use legation_api::tasks::UndoAnswer;
use legation_core::error::chain;
use legation_core::home::HomeError;
use legation_core::{ForTask, Home, SharedClock, TaskId};
use legation_keystore::{Keystore, KeystoreError};

use super::error::WorkspaceError;
use super::root::{Root, Seen};

mod batch;
mod history;
mod log;
mod restore;
pub(super) mod tree;

use batch::{Batch, Digest, Entry, Kind, Now, State};
use log::Log;

/// Work that is looked after at once; the rest is read anew when it goes on.
const OPEN_MAX: usize = 64;

/// The copies of all work.
#[derive(Debug)]
pub struct Undo {
    home: Home,
    keystore: Arc<Keystore>,
    clock: SharedClock,
    logs: Mutex<HashMap<TaskId, Arc<Mutex<Log>>>>,
    /// What work changed since somebody last asked. Work is asked about at the end of each of its
    /// turns.
    fresh: Mutex<HashMap<TaskId, BTreeSet<String>>>,
}

/// Nothing was taken back.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// There is nothing of that work.
    #[error("nothing is kept of what {task} did to files; nothing was taken back")]
    Nothing {
        /// Which work.
        task: TaskId,
    },
    /// What is kept cannot be read.
    #[error("what {task} did to files cannot be read; nothing was taken back")]
    Read {
        /// Which work.
        task: TaskId,
        /// Why.
        #[source]
        source: LogError,
    },
    /// Its folder is not there any more, or cannot be worked in.
    #[error("the folder {task} worked in cannot be opened; nothing was taken back")]
    Folder {
        /// Which work.
        task: TaskId,
        /// Why.
        #[source]
        source: WorkspaceError,
    },
}

/// A copy that was not kept, or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The keys cannot be used.
    #[error("the keys of its entities cannot be used")]
    Keys {
        /// Why.
        #[source]
        source: KeystoreError,
    },
    /// A key is gone, or the copy is damaged.
    #[error("a copy does not open: its key was destroyed, or it was changed")]
    Sealed,
    /// The disk refused.
    #[error("the data directory could not be used")]
    Home {
        /// Why.
        #[source]
        source: HomeError,
    },
    /// The disk refused.
    #[error("the copies could not be read")]
    Disk {
        /// The system's own words.
        #[source]
        source: std::io::Error,
    },
}

/// What a file held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Was<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) mode: u32,
}

/// Keeps what one call changes, if somebody may want it back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keeping<'u> {
    to: Option<(&'u Undo, &'u ForTask)>,
}

// === impl Undo ===

impl Undo {
    /// Copies in this data directory, under keys of this keystore.
    #[must_use]
    pub fn new(home: Home, keystore: Arc<Keystore>, clock: SharedClock) -> Self {
        Self {
            home,
            keystore,
            clock,
            logs: Mutex::default(),
            fresh: Mutex::default(),
        }
    }

    /// What taking back would come to. Reads files: not for a thread that must
    /// not wait.
    ///
    /// # Errors
    /// See [`UndoError`].
    pub fn plan(&self, task: &TaskId) -> Result<UndoAnswer, UndoError> {
        self.taken_back(task, true)
    }

    /// Takes back what work did to files, as far as nobody else changed them
    /// since. Done again it changes nothing more.
    ///
    /// # Errors
    /// See [`UndoError`].
    pub fn apply(&self, task: &TaskId) -> Result<UndoAnswer, UndoError> {
        self.taken_back(task, false)
    }

    /// The files that work changed and that are not yet taken back, relative to
    /// its folder.
    ///
    /// # Errors
    /// See [`UndoError`]; work that changed nothing is no error.
    pub fn changed_files(&self, task: &TaskId) -> Result<Vec<String>, UndoError> {
        let read = self
            .log(task)
            .map(|log| lock(&log).read_all(&self.keystore));
        match read {
            Ok(Ok(batches)) => Ok(history::changed(&batches)),
            Ok(Err(source)) | Err(source) => Err(UndoError::Read {
                task: task.clone(),
                source,
            }),
        }
    }

    /// The files that work changed since this was last asked, relative to its folder. Reads nothing.
    pub(super) fn take_fresh(&self, task: &TaskId) -> Vec<String> {
        let fresh = self.lock_fresh().remove(task);
        fresh.into_iter().flatten().collect()
    }

    fn note_fresh(&self, task: &TaskId, files: impl Iterator<Item = String>) {
        let mut fresh = self.lock_fresh();
        fresh.entry(task.clone()).or_default().extend(files);
    }

    /// Removes the copies of work: it is over and nobody wants it back.
    pub fn forget(&self, task: &TaskId) {
        self.lock().remove(task);
        self.lock_fresh().remove(task);
        let folder = log::folder(&self.home, task);
        if let Err(error) = std::fs::remove_dir_all(&folder)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, %task, "copies of files could not be removed");
        }
    }

    /// Removes the copies of work that did nothing for so long.
    pub fn sweep(&self, kept: Duration) {
        let Ok(folders) = std::fs::read_dir(self.home.undo()) else {
            return;
        };
        let now_ms = self.clock.wall().0;
        let kept_ms = i64::try_from(kept.as_millis()).unwrap_or(i64::MAX);
        for folder in folders.flatten() {
            let changed = folder.metadata().and_then(|found| found.modified());
            let Ok(since) = changed.map(|at| at.duration_since(std::time::UNIX_EPOCH)) else {
                continue;
            };
            let changed_ms = since.map_or(0, |since| {
                i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
            });
            if now_ms.saturating_sub(changed_ms) > kept_ms {
                let name = folder.file_name().to_string_lossy().into_owned();
                self.forget(&TaskId::new(name));
            }
        }
    }

    fn taken_back(&self, task: &TaskId, only_plan: bool) -> Result<UndoAnswer, UndoError> {
        let read = |source| UndoError::Read {
            task: task.clone(),
            source,
        };
        let log = self.log(task).map_err(read)?;
        // Held until it is done: two who take back at once would see each other's files.
        let mut log = lock(&log);
        let batches = log.read_all(&self.keystore).map_err(read)?;
        if batches.is_empty() {
            return Err(UndoError::Nothing { task: task.clone() });
        }
        let mut answer = UndoAnswer::default();
        let mut folders = Vec::new();
        for (folder, changes) in history::by_folder(&batches) {
            let root =
                Root::open(&folder, self.home.root()).map_err(|source| UndoError::Folder {
                    task: task.clone(),
                    source,
                })?;
            folders.push((root, changes));
        }
        // Nothing is taken back before it is known that all of it can be tried.
        for (root, changes) in folders {
            restore::run(&root, changes, only_plan, &mut answer);
        }
        answer.kept.extend(history::notes(&batches));
        if !only_plan {
            log.forget_snapshot();
        }
        Ok(answer)
    }

    fn log(&self, task: &TaskId) -> Result<Arc<Mutex<Log>>, LogError> {
        let mut logs = self.lock();
        if let Some(log) = logs.get(task) {
            return Ok(Arc::clone(log));
        }
        if logs.len() >= OPEN_MAX {
            logs.retain(|_, log| Arc::strong_count(log) > 1);
        }
        let log = Arc::new(Mutex::new(Log::open(&self.home, task)?));
        logs.insert(task.clone(), Arc::clone(&log));
        Ok(log)
    }

    fn add(&self, task: &ForTask, batch: &Batch) -> Result<(), LogError> {
        let log = self.log(&task.id)?;
        lock(&log).add(&self.keystore, &task.labels, batch)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, Arc<Mutex<Log>>>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_fresh(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, BTreeSet<String>>> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl UndoError ===

impl UndoError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Nothing { .. } => {
                "The task changed no file, or it is so long over that its copies were removed."
            }
            Self::Read { .. } => "Look into the hub's log; the files stay as they are.",
            Self::Folder { .. } => "Put the folder back where it was, then try again.",
        }
    }
}

// === impl Keeping ===

impl<'u> Keeping<'u> {
    /// For a call; one that is made for no work keeps nothing.
    pub(super) fn new(undo: Option<&'u Undo>, task: Option<&'u ForTask>) -> Self {
        Self { to: undo.zip(task) }
    }

    /// Keeps what a file holds, on disk when this returns; `None` where there is
    /// none.
    pub(super) fn before(
        &self,
        root: &Root,
        path: &Path,
        was: Option<Was<'_>>,
    ) -> Result<(), WorkspaceError> {
        let state = was.map_or(State::Absent, |was| State::File {
            mode: was.mode,
            bytes: was.bytes.to_vec(),
        });
        self.add(root, Kind::Before, path, vec![(path.to_owned(), state)])
    }

    /// Notes which folders above a file are not there yet.
    pub(super) fn folders(&self, root: &Root, path: &Path) -> Result<(), WorkspaceError> {
        let above = path.ancestors().skip(1);
        let missing = above.filter(|above| {
            !above.as_os_str().is_empty()
                && matches!(root.folder(above), Err(WorkspaceError::Missing { .. }))
        });
        let entries: Vec<(PathBuf, State)> = missing
            .map(|folder| (folder.to_owned(), State::NoFolder))
            .collect();
        self.add(root, Kind::Before, path, entries)
    }

    /// Notes what a file holds now. Where that fails, taking back leaves the file
    /// alone.
    pub(super) fn after(&self, root: &Root, path: &Path, now: Option<&[u8]>) {
        if let Some((undo, task)) = self.to {
            undo.note_fresh(&task.id, std::iter::once(path.display().to_string()));
        }
        let now = now.map_or(Now::Absent, |bytes| Now::Holds(Digest::of(bytes)));
        let state = State::Now(now);
        let noted = self.add(root, Kind::After, path, vec![(path.to_owned(), state)]);
        if let Err(error) = noted {
            tracing::error!(error = %chain(&error), "a change cannot be taken back");
        }
    }

    /// Looks at everything in the folder before a command may change it.
    pub(super) fn before_command(
        &self,
        root: &Root,
        cancel: &legation_core::Cancel,
    ) -> Result<Option<tree::Tree>, WorkspaceError> {
        let Some((undo, task)) = self.to else {
            return Ok(None);
        };
        let tree = tree::Tree::look(root, cancel)?;
        let failed = |error: &LogError| WorkspaceError::Undo {
            path: ".".to_owned(),
            why: chain(error),
        };
        if !tree.is_whole() {
            let note = tree::TOO_MUCH.to_owned();
            let batch = Batch::note(root.path(), note);
            undo.add(task, &batch).map_err(|error| failed(&error))?;
            return Ok(Some(tree));
        }
        let log = undo.log(&task.id).map_err(|error| failed(&error))?;
        let fresh = lock(&log).not_kept(root.path(), tree.files());
        let mut entries = Vec::with_capacity(fresh.len());
        let mut kept: Vec<(PathBuf, Seen)> = Vec::with_capacity(fresh.len());
        for (path, seen) in fresh {
            entries.push(Entry::new(&path, tree::state_of(root, &path, seen)));
            kept.push((path, seen));
        }
        // Also where nothing is fresh: it says that a command begins.
        let batch = Batch::new(Kind::Snapshot, root.path(), entries);
        let mut log = lock(&log);
        log.add(&undo.keystore, &task.labels, &batch)
            .map_err(|error| failed(&error))?;
        log.kept(root.path(), kept);
        drop(log);
        Ok(Some(tree))
    }

    /// Notes what a command changed; returns the files.
    pub(super) fn after_command(
        &self,
        root: &Root,
        before: &tree::Tree,
        cancel: &legation_core::Cancel,
    ) -> Vec<String> {
        let Some((undo, task)) = self.to else {
            return Vec::new();
        };
        let note = |text: &str| {
            let batch = Batch::note(root.path(), text.to_owned());
            if let Err(error) = undo.add(task, &batch) {
                tracing::error!(error = %chain(&error), "a change cannot be taken back");
            }
        };
        let Ok(now) = tree::Tree::look(root, cancel) else {
            note(tree::NOT_SEEN);
            return Vec::new();
        };
        let changes = before.changes(&now);
        let names = changes.iter().map(|path| path.display().to_string());
        let names: Vec<String> = names.collect();
        undo.note_fresh(&task.id, names.iter().cloned());
        if before.is_whole() && !now.is_whole() {
            note(tree::TOO_MUCH);
        }
        if !before.is_whole() {
            return names;
        }
        let doubtful = before.doubtful(&now);
        let mut entries = Vec::with_capacity(changes.len() * 2);
        for path in &changes {
            if !before.has(path) {
                entries.push(Entry::new(path, tree::state_of_new(path, &doubtful)));
            }
            entries.push(Entry::new(path, State::Now(restore::now_of(root, path))));
        }
        let batch = Batch::new(Kind::Ended, root.path(), entries);
        if let Err(error) = undo.add(task, &batch) {
            tracing::error!(error = %chain(&error), "changes of a command cannot be taken back");
        }
        names
    }

    fn add(
        &self,
        root: &Root,
        kind: Kind,
        path: &Path,
        entries: Vec<(PathBuf, State)>,
    ) -> Result<(), WorkspaceError> {
        let Some((undo, task)) = self.to else {
            return Ok(());
        };
        if entries.is_empty() {
            return Ok(());
        }
        let entries = entries
            .into_iter()
            .map(|(path, state)| Entry::new(&path, state))
            .collect();
        let batch = Batch::new(kind, root.path(), entries);
        undo.add(task, &batch)
            .map_err(|error| WorkspaceError::Undo {
                path: path.display().to_string(),
                why: chain(&error),
            })
    }
}

fn lock(log: &Mutex<Log>) -> std::sync::MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What changed, by path.
type Changes = BTreeMap<PathBuf, history::Change>;
