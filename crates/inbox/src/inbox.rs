//! The inbox of a hub that runs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

use legation_core::{EntityId, SharedClock};
use legation_keystore::Keystore;
use tokio::sync::{oneshot, watch};

use crate::consumer::{ConsumerName, Consumers};
use crate::error::{AppendError, OpenError, ReadError};
use crate::index::Index;
use crate::line::{self, Line};
use crate::lock::Lock;
use crate::message::{Incoming, Message, Seq, of_lane};
use crate::seal::Seals;
use crate::writer::{Append, Command, Writer};

pub(crate) mod load;
mod pull;

pub use pull::{Pull, Pulled};

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

/// What the writer and the readers share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) folder: PathBuf,
    pub(crate) index: Index,
    pub(crate) seals: Seals,
    pub(crate) clock: SharedClock,
    pub(crate) governor: Arc<dyn Governor>,
    tail: RwLock<Tail>,
    announced: watch::Sender<u64>,
    consumers: Mutex<Consumers>,
    problems: Mutex<Vec<String>>,
    pub(crate) stopping: AtomicBool,
}

/// What readers may see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) seq: u64,
    /// Records of each lane.
    pub(crate) channels: BTreeMap<String, u64>,
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
            tail: RwLock::new(Tail::default()),
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

// === impl Shared ===

impl Shared {
    pub(crate) fn tail(&self) -> Tail {
        self.tail
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Lets readers see what is on disk, and tells those who wait.
    pub(crate) fn publish(&self, tail: Tail) {
        let seq = tail.seq;
        *self.tail.write().unwrap_or_else(PoisonError::into_inner) = tail;
        self.announced.send_replace(seq);
    }

    /// Notes up to where the last process announced.
    pub(crate) fn announced_before(&self, seq: u64) {
        self.announced.send_replace(seq);
    }

    pub(crate) fn consumers(&self) -> MutexGuard<'_, Consumers> {
        lock(&self.consumers)
    }

    pub(crate) fn problem(&self, problem: String) {
        tracing::warn!(problem, "the inbox mended itself");
        let mut problems = lock(&self.problems);
        if problems.len() < 64 && !problems.contains(&problem) {
            problems.push(problem);
        }
    }

    pub(crate) fn members(
        &self,
        channel: &str,
        from: u64,
        most: usize,
    ) -> Result<Vec<u64>, ReadError> {
        let path = self.folder.join("index");
        let members = self.index.members(channel, from, most);
        members.map_err(|source| ReadError::Io { path, source })
    }

    pub(crate) fn seq_of(&self, id: &str) -> Result<u64, ReadError> {
        let path = self.folder.join("index");
        let seq = self.index.by_id(id, self.tail().seq);
        let seq = seq.map_err(|source| ReadError::Io { path, source })?;
        seq.ok_or_else(|| ReadError::Unknown { id: id.to_owned() })
    }

    /// A record; `None` when retention took it out.
    pub(crate) fn message(&self, seq: u64) -> Result<Option<Message>, ReadError> {
        Ok(self.line(seq)?.map(|line| line.open(&self.seals)))
    }

    pub(crate) fn line(&self, seq: u64) -> Result<Option<Line>, ReadError> {
        let fail = |what: String| ReadError::Damaged { seq, what };
        let place = self
            .index
            .find(seq)
            .map_err(|error| fail(error.to_string()))?;
        let Some(place) = place else {
            return Ok(None);
        };
        let name = place.day.name();
        let bytes = self.index.bytes(place);
        let bytes = bytes.map_err(|error| fail(format!("{name}.jsonl: {error}")))?;
        let line = line::decode(&bytes).map_err(|bad| fail(format!("{name}.jsonl: {bad}")))?;
        if line.message.seq.0 != seq {
            return Err(fail(format!("{name}.jsonl holds another record there")));
        }
        Ok(Some(line))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
