//! The engine and its handle.

mod answers;
mod dispatch;
mod follow;
mod known;
mod office;
mod order;
mod reports;
mod sessions;
mod tasks;
mod worker;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_api::tasks::{Class, TaskState};
use legation_core::{
    ClientId, EntityLabels, SeatId, SessionId, SharedClock, TaskId, TaskSet, Wall,
};
use legation_gate::Gate;
use legation_keystore::Keystore;
use legation_models::Models;
use legation_store::Store;
use tokio::runtime::Handle;
use tokio::sync::{Notify, broadcast};

use crate::book::Book;
use crate::control::Control;
use crate::live::Live;
use crate::queue::Queue;
use crate::record::RunEnd;
use crate::run::{self, RunParts};
use crate::{AgentServers, EngineError, EngineSettings, Turns};
use legation_config::agents::AgentFiles;

pub use self::follow::Follow;
pub use self::reports::NewReport;

/// The longest that [`Engine::wait`] waits.
pub const WAIT_MAX: Duration = Duration::from_secs(60 * 60);
/// So long runs may take to put down what they have when the hub stops.
const STOP_MAX: Duration = Duration::from_secs(2);
/// The most that all open tasks may have been handed together, in bytes: it is held in memory.
const OPEN_BYTES_MAX: usize = 256 * 1024 * 1024;
/// How far those may be behind who want to know of tasks that are over.
const FINISHED_KEPT: usize = 1_024;

/// What an engine is made of.
#[derive(Debug)]
pub struct EngineParts {
    /// Where its book is kept.
    pub store: Arc<Store>,
    /// The keys of what is in the book.
    pub keystore: Arc<Keystore>,
    /// The time.
    pub clock: SharedClock,
    /// The way to tools.
    pub gate: Arc<Gate>,
    /// The way to models.
    pub models: Arc<Models>,
    /// Custom agents, and what folders want of whoever works in them.
    pub agents: AgentFiles,
    /// What starts the servers that those bring along.
    pub servers: Arc<dyn AgentServers>,
    /// Who wants to know of turns.
    pub turns: Vec<Arc<dyn Turns>>,
    /// How it is set.
    pub settings: EngineSettings,
    /// Whose its tasks are.
    pub tasks: TaskSet,
    /// Where they run.
    pub runtime: Handle,
}

/// Delegated work. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Engine {
    core: Arc<Core>,
}

/// An engine that whoever holds this does not keep alive.
#[derive(Debug, Clone)]
pub struct WeakEngine {
    core: Weak<Core>,
}

/// Who hands in a task.
#[derive(Debug, Clone)]
pub struct Submitter {
    /// The client, whose authority the task has at most.
    pub client: ClientId,
    /// Which running instance of it.
    pub seat: SeatId,
    /// The folder it works in.
    pub workspace: Option<PathBuf>,
    /// Who comes before whom. Only the owner's tasks are people's.
    pub class: Class,
    /// Whether it is the owner, at a terminal.
    pub is_owner: bool,
    /// Whose data its conversation holds, and so what it says.
    pub labels: EntityLabels,
}

/// Who wants to know something: a client sees its own tasks and sessions, the owner all.
#[derive(Debug, Clone)]
pub enum Asker {
    /// The owner.
    Owner,
    /// A client.
    Client {
        /// Which.
        client: ClientId,
        /// The folder it works in.
        workspace: Option<PathBuf>,
    },
}

/// Which tasks are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those that are not over.
    pub open: bool,
    /// Only this session's.
    pub session: Option<SessionId>,
    /// At most so many; 100 when not given.
    pub limit: Option<usize>,
}

/// A task that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Which.
    pub task: TaskId,
    /// Whose.
    pub client: ClientId,
    /// How it ended.
    pub state: TaskState,
    /// When.
    pub at: Wall,
    /// Whose data it holds.
    pub labels: EntityLabels,
}

/// What a run works with besides gate and models.
pub(crate) struct Seat {
    pub(crate) book: Arc<Book>,
    pub(crate) control: Control,
    pub(crate) settings: Arc<EngineSettings>,
}

/// Works on a task until it is over.
type Drive = Box<dyn Fn(Seat, TaskId) -> BoxFuture<'static, RunEnd> + Send + Sync>;
/// Forgets whose data a task held that is over.
type LetGo = Box<dyn Fn(&TaskId) + Send + Sync>;

struct Core {
    book: Arc<Book>,
    clock: SharedClock,
    settings: RwLock<Arc<EngineSettings>>,
    desk: Mutex<Desk>,
    drive: Drive,
    let_go: LetGo,
    lease: Duration,
    open_bytes_max: usize,
    tasks: TaskSet,
    runtime: Handle,
    /// Wakes the timer: the next tick may be another.
    retimed: Arc<Notify>,
    /// Tells those who wait that a task changed.
    changed: Notify,
    /// Tasks whose rows are behind; each is there once.
    stale: Mutex<std::collections::BTreeSet<TaskId>>,
    stale_any: Arc<Notify>,
    finished: broadcast::Sender<Finished>,
    /// Bytes of tasks that are being stored.
    arriving: AtomicUsize,
    /// Two who begin a folder's session at once must get the same one.
    beginning: tokio::sync::Mutex<()>,
    /// Two who answer a question at once must not both have the task go on.
    answering: tokio::sync::Mutex<()>,
}

/// The queue and the runs.
#[derive(Debug)]
struct Desk {
    queue: Queue,
    runs: HashMap<TaskId, Control>,
    is_stopping: bool,
    /// It stops for good.
    is_closed: bool,
}

// === impl Engine ===

impl Engine {
    /// Opens the book, and goes on with what is in it.
    ///
    /// # Errors
    /// [`EngineError`] when the book cannot be read; nothing runs then.
    pub async fn open(parts: EngineParts) -> Result<Self, EngineError> {
        let EngineParts {
            store,
            keystore,
            clock,
            gate,
            models,
            agents,
            servers,
            turns,
            settings,
            tasks,
            runtime,
        } = parts;
        let agents = Arc::new(agents);
        let turns: Arc<[Arc<dyn Turns>]> = turns.into();
        let time = clock.clone();
        let holds = Arc::clone(&gate);
        let let_go: LetGo = Box::new(move |task| run::let_go(&holds, task));
        let drive: Drive = Box::new(move |seat, task| {
            let parts = RunParts {
                gate: Arc::clone(&gate),
                models: Arc::clone(&models),
                agents: Arc::clone(&agents),
                servers: Arc::clone(&servers),
                turns: Arc::clone(&turns),
                clock: time.clone(),
                book: seat.book,
                control: seat.control,
                settings: seat.settings,
            };
            Box::pin(run::drive(parts, task))
        });
        let base = Base {
            store,
            keystore,
            clock,
            settings,
            tasks,
            runtime,
            let_go,
            lease: office::LEASE,
            open_bytes_max: OPEN_BYTES_MAX,
        };
        Self::open_with(base, drive).await
    }

    async fn open_with(base: Base, drive: Drive) -> Result<Self, EngineError> {
        let Base {
            store,
            keystore,
            clock,
            settings,
            tasks,
            runtime,
            let_go,
            lease,
            open_bytes_max,
        } = base;
        let book = Book::open(store, keystore, clock.clone(), Live::new()).await?;
        let queue = Queue::new(settings.queue());
        let core = Arc::new(Core {
            book: Arc::new(book),
            clock,
            settings: RwLock::new(Arc::new(settings)),
            desk: Mutex::new(Desk {
                queue,
                runs: HashMap::new(),
                is_stopping: false,
                is_closed: false,
            }),
            drive,
            let_go,
            lease,
            open_bytes_max,
            tasks,
            runtime,
            retimed: Arc::default(),
            changed: Notify::new(),
            stale: Mutex::default(),
            stale_any: Arc::default(),
            finished: broadcast::Sender::new(FINISHED_KEPT),
            arriving: AtomicUsize::new(0),
            beginning: tokio::sync::Mutex::default(),
            answering: tokio::sync::Mutex::default(),
        });
        core.enter_office().await?;
        core.run_office();
        core.run_timer();
        core.run_keeper();
        Ok(Self { core })
    }

    /// For those whom the engine needs itself.
    #[must_use]
    pub fn downgrade(&self) -> WeakEngine {
        WeakEngine {
            core: Arc::downgrade(&self.core),
        }
    }

    /// Whether a task is worked on or waits for its turn.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let open = self.core.book.all_open();
        open.iter()
            .any(|task| task.state != TaskState::InputRequired)
    }

    /// Puts other settings in force; what runs goes on under those it began with.
    pub fn set_settings(&self, settings: EngineSettings) {
        let queue = settings.queue();
        {
            let mut held = self
                .core
                .settings
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            *held = Arc::new(settings);
        }
        self.core.desk().queue.set(queue);
        self.core.tick();
    }

    /// Tasks that are over, as they end. A reader that is too slow misses some, and is told so.
    #[must_use]
    pub fn finished(&self) -> broadcast::Receiver<Finished> {
        self.core.finished.subscribe()
    }

    /// Has every run put down what it has, and waits for it, for two seconds at most; the next hub
    /// goes on with them. Nothing is taken or begun from here on.
    pub async fn stop(&self) {
        self.core.desk().is_closed = true;
        self.core.put_down().await;
        self.core.book.leave_office().await;
    }
}

// === impl WeakEngine ===

impl WeakEngine {
    /// The engine, while somebody else holds it.
    #[must_use]
    pub fn upgrade(&self) -> Option<Engine> {
        self.core.upgrade().map(|core| Engine { core })
    }
}

/// [`EngineParts`] without the ways out, which tests have no use for.
struct Base {
    store: Arc<Store>,
    keystore: Arc<Keystore>,
    clock: SharedClock,
    settings: EngineSettings,
    tasks: TaskSet,
    runtime: Handle,
    let_go: LetGo,
    /// So long its tasks stay its own when it is not heard of.
    lease: Duration,
    /// How much all open tasks may have been handed together.
    open_bytes_max: usize,
}

// === impl Core ===

impl Core {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settings(&self) -> Arc<EngineSettings> {
        let held = self.settings.read();
        Arc::clone(&held.unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // Timer and keeper see that it is gone.
        self.retimed.notify_one();
        self.stale_any.notify_one();
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core")
            .field("desk", &self.desk())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
