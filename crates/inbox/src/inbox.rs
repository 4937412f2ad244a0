//! The inbox of a hub that runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use arc_swap::ArcSwap;
use legation_core::{EntityId, SharedClock};
use legation_keystore::Keystore;
use tokio::sync::{oneshot, watch};

use crate::consumer::ConsumerName;
use crate::error::{AppendError, OpenError, ReadError};
use crate::lock::Lock;
use crate::message::{Incoming, Message, Seq, of_lane};
use crate::seal::Seals;
use crate::writer::{Append, Command, Writer};

pub(crate) mod load;
mod pull;
mod shared;

pub use pull::{HandedOut, Pull, Pulled};
pub(crate) use shared::{Shared, Tail};

/// Requests that may wait to be written.
const WAITING_MAX: usize = 1_024;

/// A reader is given no more records at once when they have this many bytes of text.
const BYTES_MAX: usize = 1024 * 1024;

/// What an inbox is opened with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where its files are.
    pub folder: PathBuf,
    /// The keys of sealed bodies.
    pub keystore: Arc<Keystore>,
    /// The time.
    pub clock: SharedClock,
    /// What the rules want of it.
    pub governor: Arc<dyn Governor>,
}

/// What the rules want of an inbox.
pub trait Governor: Send + Sync + fmt::Debug {
    /// Whether bodies of an entity must not lie on the disk as they are.
    fn must_seal(&self, entity: &EntityId) -> bool;

    /// Whether messages are recorded now; where they are not, a later process
    /// records them before it announces anything.
    fn records(&self) -> bool;

    /// Records messages that are on disk. Called on the inbox's own thread, and
    /// again until it succeeds; nothing is announced before.
    ///
    /// # Errors
    /// When they could not be recorded, in words.
    fn record(&self, messages: &[Message]) -> Result<(), String>;
}

/// Unread messages of one channel and entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Where they came from.
    pub channel: String,
    /// Whose data they are.
    pub entity: Option<EntityId>,
    /// How many.
    pub count: u64,
}

/// A process without rules and without a ledger: what is an entity's is sealed,
/// and the next one that has a ledger records what came in.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ungoverned;

/// What became of one message that was brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// Its place.
    pub seq: Seq,
    /// It was there before.
    pub duplicate: bool,
}

/// The inbox. It is the only one of its folder.
#[derive(Debug)]
pub struct Inbox {
    pub(crate) shared: Arc<Shared>,
    commands: SyncSender<Command>,
    thread: Mutex<Option<JoinHandle<()>>>,
    _lock: Lock,
}

// === impl Inbox ===

impl Inbox {
    /// Opens the inbox. A half line that a crash left at its end is cut off and
    /// put aside; [`Inbox::problems`] says so.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(options: Options) -> Result<Self, OpenError> {
        let loaded = load::load(&options)?;
        let shared = Arc::new(Shared {
            folder: options.folder,
            index: loaded.index,
            seals: Seals(options.keystore),
            clock: options.clock,
            governor: options.governor,
            tail: ArcSwap::default(),
            announced: watch::Sender::new(0),
            consumers: Mutex::new(loaded.consumers),
            problems: Mutex::new(loaded.problems),
            stopping: AtomicBool::new(false),
        });
        let (commands, waiting) = std::sync::mpsc::sync_channel(WAITING_MAX);
        let mut writer = Writer::new(Arc::clone(&shared), loaded.end);
        let folder = shared.folder.clone();
        writer
            .begin()
            .map_err(OpenError::io("writing the state of", &folder))?;
        let thread = std::thread::Builder::new()
            .name("inbox".to_owned())
            .spawn(move || writer.run(&waiting))
            .map_err(OpenError::io("starting the writer of", &folder))?;
        Ok(Self {
            shared,
            commands,
            thread: Mutex::new(Some(thread)),
            _lock: loaded.lock,
        })
    }

    /// Keeps messages: on disk, recorded and announced on return, in this order.
    /// One that is there already is not kept again. All or none of them are kept.
    ///
    /// # Errors
    /// See [`AppendError`].
    pub async fn append(&self, messages: Vec<Incoming>) -> Result<Vec<Added>, AppendError> {
        let told = self.submit(messages)?;
        told.await.unwrap_or(Err(AppendError::Closed))
    }

    /// [`Inbox::append`] for programs without a runtime.
    ///
    /// # Errors
    /// See [`AppendError`].
    pub fn append_blocking(&self, messages: Vec<Incoming>) -> Result<Vec<Added>, AppendError> {
        let told = self.submit(messages)?;
        told.blocking_recv().unwrap_or(Err(AppendError::Closed))
    }

    fn submit(
        &self,
        messages: Vec<Incoming>,
    ) -> Result<oneshot::Receiver<Result<Vec<Added>, AppendError>>, AppendError> {
        let (tell, told) = oneshot::channel();
        let append = Append { messages, tell };
        match self.commands.try_send(Command::Append(append)) {
            Ok(()) => Ok(told),
            Err(TrySendError::Full(_)) => Err(AppendError::Busy),
            Err(TrySendError::Disconnected(_)) => Err(AppendError::Closed),
        }
    }

    /// The last record that was announced, and every later one.
    #[must_use]
    pub fn announced(&self) -> watch::Receiver<u64> {
        self.shared.announced.subscribe()
    }

    /// How many messages a consumer has not read, by channel and entity.
    #[must_use]
    pub fn unread_of(&self, consumer: &ConsumerName) -> Vec<Unread> {
        let tail = self.shared.tail();
        // Every call's result says how many there are.
        if tail.channels.is_empty() {
            return Vec::new();
        }
        let consumers = self.shared.consumers();
        let lanes = tail.channels.iter().map(|(lane, total)| {
            let (channel, entity) = of_lane(lane);
            Unread {
                channel: channel.to_owned(),
                entity,
                count: consumers.unread(consumer, lane, *total),
            }
        });
        lanes.filter(|unread| unread.count > 0).collect()
    }

    /// The newest record with an id.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn by_id(&self, id: &str) -> Result<Message, ReadError> {
        let unknown = || ReadError::Unknown { id: id.to_owned() };
        let seq = self.shared.seq_of(id)?;
        self.shared.message(seq)?.ok_or_else(unknown)
    }

    /// The records after one, oldest first, at most so many, and no more once they
    /// have a megabyte of text; those that retention took out are left out.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn after(&self, seq: Seq, most: usize) -> Result<Vec<Message>, ReadError> {
        let last = self.shared.tail().seq;
        self.gather(seq.0 + 1..=last, most)
    }

    /// The records before one, newest first, at most so many, and no more once they
    /// have a megabyte of text; without one the last there are.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn before(&self, seq: Option<Seq>, most: usize) -> Result<Vec<Message>, ReadError> {
        let last = self.shared.tail().seq;
        let end = seq.map_or(last, |seq| seq.0.saturating_sub(1).min(last));
        self.gather((1..=end).rev(), most)
    }

    fn gather(
        &self,
        seqs: impl Iterator<Item = u64>,
        most: usize,
    ) -> Result<Vec<Message>, ReadError> {
        let mut messages = Vec::new();
        let mut bytes = 0;
        for seq in seqs {
            if messages.len() >= most || bytes >= BYTES_MAX {
                break;
            }
            if let Some(message) = self.shared.message(seq)? {
                bytes += message.text.len();
                messages.push(message);
            }
        }
        Ok(messages)
    }

    /// How many messages nobody has read.
    #[must_use]
    pub fn unread_by_all(&self) -> u64 {
        let tail = self.shared.tail();
        let consumers = self.shared.consumers();
        let lanes = tail.channels.iter();
        lanes
            .map(|(lane, total)| consumers.unread_by_all(lane, *total))
            .sum()
    }

    /// The last records of an entity, or of nobody's, newest first, at most so
    /// many.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn recent(
        &self,
        entity: Option<&EntityId>,
        most: usize,
    ) -> Result<Vec<Message>, ReadError> {
        let tail = self.shared.tail();
        let mut seqs = Vec::new();
        for (lane, total) in &tail.channels {
            if of_lane(lane).1.as_ref() == entity {
                let from = total.saturating_sub(most as u64);
                let count = usize::try_from(total - from).unwrap_or(most);
                seqs.extend(self.shared.members(lane, from, count)?);
            }
        }
        seqs.sort_unstable_by(|one, other| other.cmp(one));
        let mut messages = Vec::new();
        for seq in seqs.into_iter().take(most) {
            messages.extend(self.shared.message(seq)?);
        }
        Ok(messages)
    }

    /// How many messages a consumer has not read.
    #[must_use]
    pub fn unread(&self, consumer: &ConsumerName) -> u64 {
        self.unread_of(consumer)
            .iter()
            .map(|unread| unread.count)
            .sum()
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// What was found wrong and mended, in words.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        lock(&self.shared.problems).clone()
    }

    /// Takes out whole days before one, but for those with messages that a
    /// consumer has not read, unless told to.
    ///
    /// # Errors
    /// When a file could not be read or written, in words.
    pub fn prune_blocking(
        &self,
        before: legation_core::Wall,
        unread_too: bool,
    ) -> Result<crate::Pruned, String> {
        let (tell, told) = oneshot::channel();
        let prune = Command::Prune {
            before,
            unread_too,
            tell,
        };
        let closed = || "the inbox is closed; nothing was taken out".to_owned();
        self.commands.send(prune).map_err(|_| closed())?;
        told.blocking_recv().unwrap_or_else(|_| Err(closed()))
    }

    /// Writes what is to be written and ends the writer; blocks until it has.
    pub fn close(&self) {
        self.shared.stopping.store(true, Ordering::Release);
        // A full queue wakes the writer as well as another command would.
        drop(self.commands.try_send(Command::Wake));
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the writer of the inbox panicked");
        }
    }

    pub(crate) fn wake(&self) {
        // A full queue: the writer looks for changes after what is in it.
        drop(self.commands.try_send(Command::Wake));
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.close();
    }
}

// === impl Ungoverned ===

impl Governor for Ungoverned {
    fn must_seal(&self, _entity: &EntityId) -> bool {
        true
    }

    fn records(&self) -> bool {
        false
    }

    fn record(&self, _messages: &[Message]) -> Result<(), String> {
        Err("there is no ledger here".to_owned())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
