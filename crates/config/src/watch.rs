//! Noticing that files changed.
//!
//! Whoever is told re-reads everything and compares; what exactly happened to
//! a file is never asked, so a lost or doubled event does no harm. Files are
//! watched one by one rather than through their folder: the data directory
//! also holds the store, whose every commit would wake the watcher. A slow
//! look at all of them covers what events miss: files that do not exist yet,
//! network folders, exhausted watches.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use legation_core::Home;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::Environment;
use crate::governance;

/// How long a file must be quiet before it is read: an editor writes in
/// several steps.
const QUIET: Duration = Duration::from_millis(150);

/// How often all files are looked at without an event.
const LOOK: Duration = Duration::from_secs(2);

/// How many events in a row one wait takes in. A file that never rests is
/// read between two of its changes.
const MAX_BURST: usize = 256;

/// A larger file is compared by size and time only.
const MAX_HASHED: u64 = 4 << 20;

/// Nudges and orders that may wait. More nudges than this say nothing new.
const QUEUE: usize = 64;

/// Watches files until it is dropped.
#[derive(Debug)]
pub struct Watch {
    orders: SyncSender<Order>,
    thread: Option<JoinHandle<()>>,
}

/// The thread that watches could not be started.
#[derive(Debug, Error)]
#[error("changes of configuration files will not be noticed")]
pub struct WatchError {
    /// Why.
    #[source]
    pub source: io::Error,
}

enum Order {
    /// Something happened to a file.
    Nudge,
    /// Watch these files from now on.
    Files(BTreeMap<PathBuf, Seen>),
    Stop,
}

/// What a file looked like.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Absent,
    Present {
        stat: Stat,
        content: Option<[u8; 32]>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Stat {
    len: u64,
    modified: Option<SystemTime>,
    inode: u64,
    /// Whether others may write it, which makes a governance file unusable.
    is_open: bool,
    /// Whether the name is a symbolic link.
    is_link: bool,
}

/// The state of the watching thread.
struct Watcher {
    orders: Receiver<Order>,
    /// Absent where the system has no watches left; then only looking helps.
    events: Option<RecommendedWatcher>,
    files: BTreeMap<PathBuf, Seen>,
}

/// The files of the data directory that are read again when they change.
pub fn home_files(home: &Home) -> Vec<PathBuf> {
    let mut files = vec![
        home.settings(),
        home.servers(),
        home.trust(),
        home.clients(),
        home.token(),
    ];
    files.extend(governance::home_files(home));
    files.extend(crate::servers::plugin_files(home));
    files.push(crate::switches::path(home));
    files
}

/// The file of the servers that everybody on this machine is given.
pub fn defaults_file(environment: &Environment) -> PathBuf {
    crate::servers::defaults_file(environment)
}

/// The files that may configure servers for `folder`, which need not exist.
pub fn workspace_files(folder: &Path) -> Vec<PathBuf> {
    let folder = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    crate::servers::workspace_files(&folder)
        .iter()
        .filter_map(|source| source.file().map(Path::to_path_buf))
        .collect()
}

// === impl Watch ===

impl Watch {
    /// Watches `files`, which need not exist, and calls `on_change` with those
    /// whose content changed, appeared or disappeared. It is called on a
    /// thread of this watch, one call at a time, and may send to any channel.
    ///
    /// # Errors
    ///
    /// [`WatchError`] when the thread cannot be started. A system without
    /// watches is no error: files are then looked at every two seconds.
    pub fn start(
        files: Vec<PathBuf>,
        on_change: impl FnMut(Vec<PathBuf>) + Send + 'static,
    ) -> Result<Self, WatchError> {
        let (orders, received) = sync_channel(QUEUE);
        let nudges = orders.clone();
        let events = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let is_read = event.is_ok_and(|event| event.kind.is_access());
            if !is_read {
                // A full queue holds a nudge already, and a watch that is
                // gone needs none.
                drop(nudges.try_send(Order::Nudge));
            }
        });
        let events = events
            .inspect_err(|error| tracing::warn!(%error, "files are only looked at now and then"))
            .ok();
        let mut watcher = Watcher {
            orders: received,
            events,
            files: BTreeMap::new(),
        };
        // Armed after they were seen: what happens in between, the first look
        // finds.
        watcher.set_files(see_all(files));
        let thread = std::thread::Builder::new()
            .name("config-watch".to_owned())
            .spawn(move || watcher.run(on_change))
            .map_err(|source| WatchError { source })?;
        Ok(Self {
            orders,
            thread: Some(thread),
        })
    }

    /// Watches `files` from now on, and no others. Whoever reads them after
    /// this returns hears of every later change: what they are now is seen
    /// here, and files that were watched before keep what was seen of them.
    pub fn set_files(&self, files: Vec<PathBuf>) {
        // The thread ends only when this is dropped.
        drop(self.orders.send(Order::Files(see_all(files))));
    }

    /// Looks at all files now.
    pub fn nudge(&self) {
        // A full queue holds a nudge already.
        drop(self.orders.try_send(Order::Nudge));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.orders.send(Order::Stop));
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that watches configuration files panicked");
        }
    }
}

// === impl Watcher ===

impl Watcher {
    fn run(mut self, mut on_change: impl FnMut(Vec<PathBuf>)) {
        loop {
            let is_event = match self.orders.recv_timeout(LOOK) {
                Ok(order) => {
                    if !self.take(order) || !self.settle() {
                        return;
                    }
                    true
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let changed = self.look(is_event);
            if !changed.is_empty() {
                on_change(changed);
            }
        }
    }

    /// Whether to go on.
    fn take(&mut self, order: Order) -> bool {
        match order {
            Order::Nudge => true,
            Order::Files(files) => {
                self.set_files(files);
                true
            }
            Order::Stop => false,
        }
    }

    /// Waits until nothing happens for a moment; whether to go on.
    fn settle(&mut self) -> bool {
        for _ in 0..MAX_BURST {
            match self.orders.recv_timeout(QUIET) {
                Ok(order) => {
                    if !self.take(order) {
                        return false;
                    }
                }
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
        true
    }

    fn set_files(&mut self, files: BTreeMap<PathBuf, Seen>) {
        let mut before = std::mem::take(&mut self.files);
        for (file, seen) in files {
            let seen = before.remove(&file).unwrap_or_else(|| {
                self.arm(&file);
                seen
            });
            self.files.insert(file, seen);
        }
        for file in before.keys() {
            self.disarm(file);
        }
    }

    /// The files that are not as they were, and remembers how they are.
    fn look(&mut self, is_event: bool) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        let mut replaced = Vec::new();
        for (file, seen) in &mut self.files {
            let now = match seen {
                // A look without an event reads no file that seems the same.
                Seen::Present { stat, .. } if !is_event && stat_of(file).as_ref() == Some(stat) => {
                    continue;
                }
                Seen::Present { .. } | Seen::Absent => see(file),
            };
            if now.inode() != seen.inode() {
                replaced.push(file.clone());
            }
            if !now.same_content(seen) {
                changed.push(file.clone());
            }
            *seen = now;
        }
        for file in replaced {
            // A watch belongs to the file that was, not to its name.
            self.disarm(&file);
            self.arm(&file);
        }
        changed
    }

    fn arm(&mut self, file: &Path) {
        if let Some(events) = &mut self.events
            && file.exists()
            && let Err(error) = events.watch(file, RecursiveMode::NonRecursive)
        {
            tracing::debug!(%error, file = %file.display(), "looked at now and then");
        }
    }

    fn disarm(&mut self, file: &Path) {
        if let Some(events) = &mut self.events {
            // A file that was never watched, or is gone, has no watch to end.
            drop(events.unwatch(file));
        }
    }
}

fn stat_of(file: &Path) -> Option<Stat> {
    let metadata = fs::metadata(file).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let inode = 0;
    #[cfg(unix)]
    let is_open = std::os::unix::fs::MetadataExt::mode(&metadata) & 0o022 != 0;
    #[cfg(not(unix))]
    let is_open = false;
    Some(Stat {
        len: metadata.len(),
        modified: metadata.modified().ok(),
        inode,
        is_open,
        is_link: fs::symlink_metadata(file).is_ok_and(|own| own.is_symlink()),
    })
}

fn see_all(files: Vec<PathBuf>) -> BTreeMap<PathBuf, Seen> {
    files
        .into_iter()
        .map(|file| {
            let seen = see(&file);
            (file, seen)
        })
        .collect()
}

fn see(file: &Path) -> Seen {
    let Some(stat) = stat_of(file) else {
        return Seen::Absent;
    };
    let is_small_file =
        fs::metadata(file).is_ok_and(|now| now.is_file() && now.len() <= MAX_HASHED);
    let content = is_small_file
        .then(|| fs::read(file).ok())
        .flatten()
        .map(|bytes| Sha256::digest(&bytes).into());
    Seen::Present { stat, content }
}

// === impl Seen ===

impl Seen {
    fn inode(&self) -> Option<u64> {
        match self {
            Self::Absent => None,
            Self::Present { stat, .. } => Some(stat.inode),
        }
    }

    /// A file that was only touched, or replaced by an equal one, is the same,
    /// unless others may write it now, or no longer, or it became a link, or
    /// no longer is one: governance files are read by these as well as by what they hold.
    fn same_content(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Present {
                    content: Some(one),
                    stat,
                },
                Self::Present {
                    content: Some(other),
                    stat: other_stat,
                },
            ) => {
                one == other
                    && stat.is_open == other_stat.is_open
                    && stat.is_link == other_stat.is_link
            }
            _ => self == other,
        }
    }
}

#[cfg(test)]
mod tests;
