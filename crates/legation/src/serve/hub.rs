//! The hub put together, and taken apart again.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use legation_cli::{CliError, Exit};
use legation_config::servers::{Loaded, ProblemKind, ServerSpec};
use legation_config::watch::{self, Watch};
use legation_config::{Environment, Settings};
use legation_core::error::chain;
use legation_core::home::HomeLock;
use legation_core::process::GuardPath;
use legation_core::{BootId, Cancel, Home, Secret, SharedClock, TaskSet};
use legation_front::{Front, FrontParts, FrontSettings, Workers};
use legation_gate::rate::RateLimits;
use legation_gate::redaction::Redaction;
use legation_gate::{Asking, Gate, HubEvent, ListKind, ServerSet as _};
use legation_host::{Host, HostParts};
use legation_keystore::Keystore;
use legation_ledger::{Ledger, LedgerKeys};
use legation_policy::{KnownTool, Policy};
use legation_store::{DatabaseUrl, Store, StoreOptions};
use tokio::net::TcpSocket;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{Notify, watch as latest};

use super::admin::Admin;
use super::checkpoints;
use super::credentials::Keys;
use super::natives;
use super::reload;

/// How many threads serve HTTP.
const WORKERS: usize = 2;
/// How often a hub without clients looks whether it still has none.
const IDLE_LOOK: Duration = Duration::from_secs(1);
/// How long a hub may take to end: calls that were called off have five seconds, servers a few more.
const ENDING: Duration = Duration::from_secs(15);
/// How often a hub that waits for another's end looks.
const LOCK_LOOK: Duration = Duration::from_millis(20);

/// What a hub is started with.
#[derive(Debug)]
pub(crate) struct HubOptions {
    pub(crate) home: Home,
    pub(crate) environment: Environment,
    pub(crate) clock: SharedClock,
    pub(crate) settings: Settings,
    /// The settings that flags gave, for reading the layers again.
    pub(crate) flags: Vec<(String, String)>,
    pub(crate) no_auth: bool,
    pub(crate) additional: Vec<String>,
    /// Whether a bridge started it: `idle_exit_ms` applies, and it serves
    /// bridges even where the HTTP address is taken.
    pub(crate) detached: bool,
}

/// A running hub.
#[derive(Debug)]
pub(crate) struct Hub {
    inner: Arc<Inner>,
    address: Option<SocketAddr>,
    store: Arc<Store>,
    tasks: TaskSet,
    workers: Arc<Workers>,
    /// Given up last: another hub may start then.
    lock: HomeLock,
}

/// What the hub's own tasks and the administration share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) home: Home,
    pub(crate) environment: Environment,
    pub(crate) clock: SharedClock,
    pub(crate) started: Instant,
    pub(crate) boot: BootId,
    pub(crate) host: Arc<Host>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) keystore: Arc<Keystore>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) no_auth: bool,
    pub(crate) additional: Vec<String>,
    pub(crate) folder: PathBuf,
    pub(crate) listen: Option<SocketAddr>,
    flags: Vec<(String, String)>,
    front: std::sync::OnceLock<Arc<Front>>,
    problems: Mutex<Vec<String>>,
    /// The owner's servers as `mcp.json` last held them in one piece.
    known: Mutex<Vec<ServerSpec>>,
    /// The servers and tools for which the rules in force were read.
    defined: Mutex<(Vec<ServerSpec>, Vec<KnownTool>)>,
    changed: Notify,
    ended: latest::Sender<Option<&'static str>>,
}

// === impl Hub ===

impl Hub {
    /// Starts a hub, in the order in which what comes later needs what came
    /// before; nothing answers until everything is there.
    pub(crate) async fn start(options: HubOptions) -> Result<Self, CliError> {
        let failed = |error: &dyn std::error::Error| CliError::failed(error);
        let lock = take_lock(&options).await?;
        raise_file_limit();
        let store = Arc::new(open_store(&options)?);
        let keystore = Keystore::open(&options.home.keys())
            .map_err(|error| failed(&error).with_hint(error.hint()))?;
        let keystore = Arc::new(keystore);
        let asking = asking(&options, &store, &keystore)?;
        let keys = LedgerKeys::kept_in(Arc::clone(&keystore));
        let ledger = Ledger::open(Arc::clone(&store), keys, options.clock.clone())
            .map_err(|error| failed(&error).with_hint(error.hint()))?;
        let ledger = Arc::new(ledger);
        let listener = match bind(options.settings.listen) {
            Ok(listener) => Some(listener),
            Err(error) if options.detached => {
                tracing::error!(error = error.message, "the hub runs without HTTP");
                None
            }
            Err(error) => return Err(error),
        };
        let listen = listener
            .as_ref()
            .map(TcpListener::local_addr)
            .transpose()
            .map_err(|error| failed(&error))?;
        let (inner, settings) = Inner::new(&options, (&store, keystore), ledger, listen, asking)?;
        let front = Front::new(FrontParts {
            gate: Arc::clone(&inner.gate),
            authenticator: Arc::clone(&inner.keys) as _,
            admin: Arc::new(Admin::new(&inner)),
            settings: front_settings(&settings, options.no_auth),
            clock: options.clock.clone(),
            version: crate::VERSION.into(),
            boot: inner.boot.clone(),
        })
        .map_err(|error| failed(&error))?;
        // Servers connect from here on, and what they define may matter to rules.
        let events = inner.host.events();
        reload::everything(&inner).await;
        let workers = Arc::new(Workers::start(WORKERS).map_err(|error| failed(&error))?);
        check_socket_path(&options.home)?;
        let socket = legation_front::bind(&options.home.socket(), &lock)
            .map_err(|error| failed(&error).with_hint(error.hint()))?;
        let tasks = TaskSet::new();
        if let Some(listener) = listener {
            run_http(&tasks, &front, listener, &workers);
        }
        let served = Arc::clone(&front);
        tasks.spawn("socket listener", async move {
            served.serve_socket(socket).await
        });
        run_flusher(&tasks, &inner.ledger);
        let (home, environment) = (&options.home, &options.environment);
        checkpoints::run(&tasks, &inner.ledger, &settings, home, environment);
        let watch = watch_files(&inner);
        run_reloads(&tasks, &inner, watch, events);
        if let Some(limit) = settings.idle_exit.filter(|_| options.detached) {
            run_idle_exit(&tasks, &inner, &front, limit);
        }
        inner.front.get_or_init(|| front);
        tracing::info!(?listen, home = %options.home.root().display(), "the hub runs");
        Ok(Self {
            inner,
            address: listen,
            store,
            tasks,
            workers,
            lock,
        })
    }

    /// Where it answers HTTP, if it does.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Waits until somebody told it to stop; returns who.
    pub(crate) async fn ended(&self) -> &'static str {
        let mut ended = self.inner.ended.subscribe();
        loop {
            if let Some(reason) = *ended.borrow_and_update() {
                return reason;
            }
            if ended.changed().await.is_err() {
                return "nothing is left to run";
            }
        }
    }

    /// Stops it: calls under way get five seconds and are then called off, servers
    /// end, the last records are on disk.
    pub(crate) async fn stop(self) {
        // No socket means that somebody wanted the hub to end: bridges wait for the next one then, or
        // for their clients to speak, where they would at once replace a hub that only crashed.
        if let Err(error) = std::fs::remove_file(self.inner.home.socket()) {
            tracing::warn!(%error, "the socket stays behind");
        }
        if let Some(front) = self.inner.front.get() {
            front.shutdown().await;
        }
        self.tasks.shutdown().await;
        if let Some(workers) = Arc::into_inner(self.workers) {
            // Joining threads blocks, and the calls they end still need this runtime.
            drop(tokio::task::spawn_blocking(move || workers.join()).await);
        }
        self.inner.host.shutdown().await;
        if let Err(error) = self.inner.ledger.flush().await {
            tracing::error!(error = %chain(&error), "the last records could not be written");
        }
        checkpoints::close(&self.inner.ledger).await;
        tracing::info!("the hub has stopped");
        drop(self.inner);
        drop(self.store);
        drop(self.lock);
    }
}

/// Opens the store where the settings say it is.
fn open_store(options: &HubOptions) -> Result<Store, CliError> {
    let opened = match &options.settings.store_url {
        None => Store::open(&options.home.state_db(), StoreOptions::default()),
        Some(url) => {
            let variable = |name: &str| options.environment.get(name).map(Secret::new);
            let url = DatabaseUrl::parse(url.reveal(), variable)
                .map_err(|error| CliError::usage(&error).with_hint(error.hint()))?;
            Store::connect(&url)
        }
    };
    opened.map_err(|error| CliError::failed(&error).with_hint(error.hint()))
}

// === impl Inner ===

impl Inner {
    fn new(
        options: &HubOptions,
        (store, keystore): (&Arc<Store>, Arc<Keystore>),
        ledger: Arc<Ledger>,
        listen: Option<SocketAddr>,
        asking: Asking,
    ) -> Result<(Arc<Self>, Settings), CliError> {
        let failed = |error: &dyn std::error::Error| CliError::failed(error);
        let settings = options.settings.clone();
        let keys = Arc::new(Keys::default());
        let host = Host::new(HostParts {
            home: options.home.clone(),
            settings: settings.clone(),
            environment: options.environment.clone(),
            store: Arc::clone(store),
            clock: options.clock.clone(),
            guard: GuardPath::this_program().map_err(|error| failed(&error))?,
            version: crate::VERSION,
            runtime: tokio::runtime::Handle::current(),
        });
        let (servers, windows) = natives::beside(&host, &ledger);
        let gate = Gate::new(
            servers,
            Arc::clone(&ledger),
            // Until every file is read, which is before anybody is served.
            Policy::unavailable(),
            keys.known(options.no_auth),
            asking,
        )
        .with_redaction(Redaction::new(
            Arc::clone(store),
            Arc::clone(&keystore),
            options.clock.clone(),
        ));
        let gate = Arc::new(gate);
        windows.open(&gate);
        let inner = Arc::new(Self {
            home: options.home.clone(),
            environment: options.environment.clone(),
            clock: options.clock.clone(),
            started: options.clock.now(),
            boot: BootId::random()
                .map_err(|error| CliError::new(Exit::Failed, error.to_string()))?,
            host,
            gate,
            ledger,
            keystore,
            keys,
            no_auth: options.no_auth,
            additional: options.additional.clone(),
            folder: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            listen,
            flags: options.flags.clone(),
            front: std::sync::OnceLock::new(),
            problems: Mutex::new(Vec::new()),
            known: Mutex::new(Vec::new()),
            defined: Mutex::new((Vec::new(), Vec::new())),
            changed: Notify::new(),
            ended: latest::Sender::new(None),
        });
        Ok((inner, settings))
    }

    /// Ends the hub; the first reason counts.
    pub(crate) fn end(&self, reason: &'static str) {
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            ended.get_or_insert(reason);
            first
        });
    }

    /// Has every file read again, soon.
    pub(crate) fn reload(&self) {
        self.changed.notify_one();
    }

    /// What is wrong at the moment.
    pub(crate) fn problems(&self) -> Vec<String> {
        let problems = self.problems.lock();
        let mut problems = problems.unwrap_or_else(PoisonError::into_inner).clone();
        problems.extend(self.ledger.problems());
        problems
    }

    pub(crate) fn set_problems(&self, problems: Vec<String>) {
        *self.problems.lock().unwrap_or_else(PoisonError::into_inner) = problems;
    }

    /// What the rules in force were read for.
    pub(crate) fn defined(&self) -> (Vec<ServerSpec>, Vec<KnownTool>) {
        let defined = self.defined.lock();
        defined.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_defined(&self, servers: &[ServerSpec], known: Vec<KnownTool>) {
        let defined = (servers.to_vec(), known);
        *self.defined.lock().unwrap_or_else(PoisonError::into_inner) = defined;
    }

    /// A file that an editor saved by halves, or with a comma too many, takes no
    /// server away: those it held last stay until it can be read again.
    pub(crate) fn keep_known(&self, user: &mut Loaded) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if user.files_are_whole() {
            known.clone_from(&user.servers);
            return;
        }
        user.servers.clone_from(&known);
        if known.is_empty() {
            return;
        }
        for problem in &mut user.problems {
            if problem.kind == ProblemKind::File {
                problem
                    .message
                    .push_str("; the servers it held before stay as they were");
            }
        }
    }

    /// The settings as their layers are now, or what is wrong with them. But for
    /// the views a hub keeps those it started with.
    pub(crate) fn settings(&self) -> Result<Settings, String> {
        let flags: Vec<(&str, String)> = self
            .flags
            .iter()
            .map(|(key, value)| (key.as_str(), value.clone()))
            .collect();
        Settings::load(&self.home, &self.environment, &flags).map_err(|error| {
            format!(
                "the next start will fail: {} ({})",
                chain(&error),
                error.hint()
            )
        })
    }
}

/// What the gate remembers between calls.
fn asking(
    options: &HubOptions,
    store: &Arc<Store>,
    keystore: &Keystore,
) -> Result<Asking, CliError> {
    let key = keystore
        .key("approvals")
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))?;
    let rate = options.settings.rate;
    let limits = RateLimits {
        client_per_minute: rate.client_per_minute,
        server_per_minute: rate.server_per_minute,
        tool_per_minute: rate.tool_per_minute,
        poll_per_minute: rate.poll_per_minute,
        burst_s: rate.burst_s,
    };
    Asking::open(store, &key, &options.clock, limits).map_err(|error| CliError::failed(&error))
}

/// Takes the data directory. A hub that a bridge started waits for one that is
/// just ending, which is one that has the directory and no socket any more.
async fn take_lock(options: &HubOptions) -> Result<HomeLock, CliError> {
    let until = options.clock.now() + ENDING;
    loop {
        let lock = options.home.lock();
        if let Some(lock) = lock.map_err(|error| CliError::failed(&error))? {
            return Ok(lock);
        }
        let ending = options.detached && !options.home.socket().exists();
        if !ending || options.clock.now() >= until {
            let home = options.home.root().display();
            return Err(CliError::new(
                Exit::Failed,
                format!("another hub owns {home}; this one did not start"),
            )
            .with_hint("see `legation status`, or stop it with `legation stop`"));
        }
        tokio::time::sleep(LOCK_LOOK).await;
    }
}

/// Connections that may wait to be accepted: agents come in crowds.
const BACKLOG: u32 = 4096;

fn bind(address: SocketAddr) -> Result<TcpListener, CliError> {
    let listen = || {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // The connections of a hub that just ended must not keep the next one from starting.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)?.into_std()
    };
    let bound = listen();
    bound.map_err(|error| {
        CliError::new(Exit::Failed, format!("{address} cannot be listened on: {error}; the hub did not start"))
            .with_hint("another program may use the port: choose one with --listen, or `listen` in legation.toml")
    })
}

/// A socket's name is a short fixed field of the system's.
fn check_socket_path(home: &Home) -> Result<(), CliError> {
    const SUN_PATH_MAX: usize = 107;
    let path = home.socket();
    if path.as_os_str().len() <= SUN_PATH_MAX {
        return Ok(());
    }
    let message = format!(
        "the socket {} cannot be made: its path is longer than {SUN_PATH_MAX} bytes; the hub did not start",
        path.display()
    );
    Err(CliError::new(Exit::Usage, message)
        .with_hint("set LEGATION_HOME, or --home, to a folder with a shorter path"))
}

fn front_settings(settings: &Settings, no_auth: bool) -> FrontSettings {
    FrontSettings {
        no_auth,
        connections_max: settings.limits.connections,
        body_max: settings.limits.client_message_bytes,
        header_timeout: settings.limits.request_read,
        body_timeout: settings.limits.request_read,
        ..FrontSettings::default()
    }
}

/// Every client is a socket, and every server three pipes.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

fn run_http(tasks: &TaskSet, front: &Arc<Front>, listener: TcpListener, workers: &Arc<Workers>) {
    let (front, workers) = (Arc::clone(front), Arc::clone(workers));
    tasks.spawn("http listener", async move {
        if let Err(error) = front.serve_http(listener, &workers).await {
            tracing::error!(%error, "HTTP is not served");
        }
    });
}

fn run_flusher(tasks: &TaskSet, ledger: &Arc<Ledger>) {
    let ledger = Arc::clone(ledger);
    tasks.spawn("ledger flusher", async move {
        ledger.run_flusher(Cancel::new()).await
    });
}

/// Reads the files again whenever one of them, the folders that clients work
/// in, or a definition that rules speak of changed.
fn run_reloads(
    tasks: &TaskSet,
    inner: &Arc<Inner>,
    watch: Option<Watch>,
    mut events: broadcast::Receiver<HubEvent>,
) {
    let inner = Arc::clone(inner);
    tasks.spawn("reload", async move {
        let mut folders = inner.host.folders();
        loop {
            let alive = tokio::select! {
                () = inner.changed.notified() => true,
                changed = folders.changed() => changed.is_ok(),
                event = events.recv() => match event {
                    Ok(HubEvent::ListChanged { kind: ListKind::Tools, .. })
                    | Err(RecvError::Lagged(_)) if reload::is_due(&inner) => true,
                    Ok(_) | Err(RecvError::Lagged(_)) => continue,
                    Err(RecvError::Closed) => false,
                },
            };
            if !alive {
                return;
            }
            if let Some(watch) = &watch {
                watch.set_files(reload::files(&inner));
            }
            reload::everything(&inner).await;
        }
    });
}

fn run_idle_exit(tasks: &TaskSet, inner: &Arc<Inner>, front: &Arc<Front>, limit: Duration) {
    let (inner, front) = (Arc::clone(inner), Arc::clone(front));
    tasks.spawn("idle exit", async move {
        let mut since = inner.clock.now();
        loop {
            tokio::time::sleep(IDLE_LOOK.min(limit)).await;
            let now = inner.clock.now();
            if front.connections() > 0 {
                since = now;
            } else if now.duration_since(since) >= limit {
                return inner.end("no client was there for long");
            }
        }
    });
}

fn watch_files(inner: &Arc<Inner>) -> Option<Watch> {
    let told = Arc::downgrade(inner);
    let started = Watch::start(watch::home_files(&inner.home), move |_| {
        if let Some(inner) = told.upgrade() {
            inner.reload();
        }
    });
    match started {
        Ok(watch) => Some(watch),
        Err(error) => {
            tracing::warn!(error = %chain(&error), "changed files take effect at `legation mcp reload` only");
            None
        }
    }
}
