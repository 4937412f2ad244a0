//! The hub put together, and taken apart again.

use std::net::SocketAddr;
use std::sync::Arc;

use legation_cli::CliError;
use legation_config::settings::GithubAdded;
use legation_config::{Environment, Settings};
use legation_core::error::chain;
use legation_core::home::HomeLock;
use legation_core::{Home, SharedClock, TaskSet};
use legation_front::{Front, FrontParts, Workers};
use legation_gate::ServerSet as _;
use legation_keystore::Keystore;
use legation_ledger::{Ledger, LedgerKeys};
use legation_store::Store;

use super::admin::Admin;
use super::{
    accounts, approvals, checkpoints, console, copilot, delegate, desk, engine, events as records,
    feeds, identities, inbox, models, oauth, reload, told, workspace,
};

mod aside;
mod inner;
mod parts;
mod tasks;

pub(crate) use inner::Inner;

/// How many threads serve HTTP.
const WORKERS: usize = 2;

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
    /// Whether what rules want asked is done without asking.
    pub(crate) allow_all: bool,
    pub(crate) additional: Vec<String>,
    /// Servers that are off for this run, by name.
    pub(crate) off: Vec<String>,
    /// Whether only those of the hub's own servers are there that show what it is and did.
    pub(crate) no_builtins: bool,
    /// What flags add to GitHub's server.
    pub(crate) github: GithubAdded,
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

// === impl HubOptions ===

impl HubOptions {
    /// Whether a server of the hub's own is there.
    pub(crate) fn has_native(&self, name: &str) -> bool {
        let is_window = matches!(name, "hub" | "audit");
        (is_window || !self.no_builtins) && !self.off.iter().any(|off| off == name)
    }
}

// === impl Hub ===

impl Hub {
    /// Starts a hub, in the order in which what comes later needs what came
    /// before; nothing answers until everything is there.
    pub(crate) async fn start(options: HubOptions) -> Result<Self, CliError> {
        let failed = |error: &dyn std::error::Error| CliError::failed(error);
        legation_net::trust::trust_files(&options.settings.ca_files)
            .map_err(|error| failed(&error).with_hint(error.hint()))?;
        let lock = parts::take_lock(&options).await?;
        parts::raise_file_limit();
        let store = Arc::new(parts::open_store(&options)?);
        let keystore = Keystore::open(&options.home.keys())
            .map_err(|error| failed(&error).with_hint(error.hint()))?;
        let keystore = Arc::new(keystore);
        let asking = parts::asking(&options, &store, &keystore)?;
        let keys = LedgerKeys::kept_in(Arc::clone(&keystore));
        let ledger = Ledger::open(Arc::clone(&store), keys, options.clock.clone())
            .map_err(|error| failed(&error).with_hint(error.hint()))?;
        let ledger = Arc::new(ledger);
        let (listener, listen) = parts::listener(&options)?.unzip();
        let tasks = TaskSet::new();
        let (inner, settings) = Inner::new(
            &options,
            (&store, keystore),
            ledger,
            listen,
            (asking, &tasks),
        )?;
        let (events, journal) = told::open(&inner, &settings, (&store, &tasks))?;
        inner.events.get_or_init(|| events.clone());
        let feed = inbox::feed(&inner);
        let admin = Arc::new(Admin::new(&inner));
        let front = Front::new(FrontParts {
            gate: Arc::clone(&inner.gate),
            authenticator: Arc::clone(&inner.keys) as _,
            events: Some(events),
            feed,
            web: console::handler(&inner, &admin, (&store, &tasks)),
            admin,
            settings: parts::front_settings(&settings, options.no_auth, &inner.keys)?,
            clock: options.clock.clone(),
            version: crate::VERSION.into(),
            boot: inner.boot.clone(),
        })
        .map_err(|error| failed(&error))?;
        // Servers connect from here on, and what they define may matter to rules.
        let events = inner.host.events();
        console::run(&tasks, &inner);
        reload::everything(&inner).await;
        desk::learn(&inner).await?;
        engine::open(&inner, &settings, (&store, &tasks), &journal).await?;
        let workers = Arc::new(Workers::start(WORKERS).map_err(|error| failed(&error))?);
        let socket = parts::socket(&options.home, &lock)?;
        if let Some(listener) = listener {
            tasks::run_http(&tasks, &front, listener, &workers);
        }
        tasks::run_socket(&tasks, &front, socket);
        delegate::serve_socket(&tasks, &front, &settings.external, &lock)?;
        tasks::run_flusher(&tasks, &inner.ledger);
        watch_over(&tasks, &inner, (&settings, &store), &options);
        let watch = tasks::watch_files(&inner);
        tasks::run_reloads(&tasks, &inner, watch, events);
        if let Some(limit) = settings.idle_exit.filter(|_| options.detached) {
            tasks::run_idle_exit(&tasks, &inner, &front, limit);
        }
        copilot::open((&tasks, &store), &inner, &settings, options.detached).await?;
        inner
            .windows
            .open_front(&front, &options.home, &options.clock);
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

    /// A link that lets one browser in, where the hub answers browsers.
    pub(crate) fn console_link(&self) -> Option<String> {
        super::admin::console::link(&self.inner)
            .ok()
            .map(|link| link.url)
    }

    /// What `--allow-all` comes to here.
    pub(crate) fn warning_of_allow_all(&self) -> &'static str {
        if self.inner.gate.rules().allows_bypass() {
            "WARNING: --allow-all: what your rules want asked is done without asking"
        } else {
            reload::ALLOW_ALL_OFF
        }
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

    /// Stops it: tasks go on with the next hub, calls under way get five seconds and are then called off, servers
    /// end, the last records are on disk.
    pub(crate) async fn stop(self) {
        // No socket means that somebody wanted the hub to end: bridges wait for the next one then, or
        // for their clients to speak, where they would at once replace a hub that only crashed.
        if let Err(error) = std::fs::remove_file(self.inner.home.socket()) {
            tracing::warn!(%error, "the socket stays behind");
        }
        // Tasks put down what they have while calls get their time.
        let tasks = async {
            if let Some(engine) = self.inner.engine.get() {
                engine.stop().await;
            }
        };
        let calls = async {
            if let Some(front) = self.inner.front.get() {
                front.shutdown().await;
            }
        };
        tokio::join!(tasks, calls);
        self.tasks.shutdown().await;
        if let Some(teams) = &self.inner.teams {
            // An agent that is not there must not be shown as if it were.
            teams.close().await;
        }
        if let Some(workers) = Arc::into_inner(self.workers) {
            // Joining threads blocks, and the calls they end still need this runtime.
            drop(tokio::task::spawn_blocking(move || workers.join()).await);
        }
        self.inner.host.shutdown().await;
        self.inner.oauth.close().await;
        models::close(&self.inner.book).await;
        // Its writer records what is left in the ledger, which needs this runtime.
        let inbox = Arc::clone(&self.inner.inbox);
        drop(tokio::task::spawn_blocking(move || inbox.close()).await);
        // What cannot be recorded is in the log.
        drop(self.inner.gate.settle().await);
        if let Err(error) = self.inner.ledger.flush().await {
            tracing::error!(error = %chain(&error), "the last records could not be written");
        }
        checkpoints::close(&self.inner.ledger).await;
        self.inner.traces.close().await;
        tracing::info!("the hub has stopped");
        drop(self.inner);
        drop(self.store);
        drop(self.lock);
    }
}

/// What a hub does besides answering, from its start to its end.
fn watch_over(
    tasks: &TaskSet,
    inner: &Arc<Inner>,
    (settings, store): (&Settings, &Arc<Store>),
    options: &HubOptions,
) {
    accounts::open(tasks, &inner.accounts);
    oauth::watch(tasks, inner);
    identities::watch(tasks, &inner.accounts, &options.home);
    records::run(tasks, inner);
    inbox::run(tasks, inner);
    inbox::keep_up(tasks, inner, settings.inbox);
    feeds::run(tasks, inner, store);
    desk::run(tasks, inner, settings);
    workspace::sweep(tasks, &inner.undo);
    inbox::watch_chats(tasks, inner, settings);
    approvals::run(tasks, inner);
    inbox::read_mail(tasks, inner, store, settings);
    let (home, environment) = (&options.home, &options.environment);
    checkpoints::run(tasks, &inner.ledger, settings, home, environment);
}
