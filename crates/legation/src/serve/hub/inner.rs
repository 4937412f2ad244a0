//! What every part of the hub shares.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use legation_cli::CliError;
use legation_config::servers::{Loaded, ProblemKind, ServerSpec};
use legation_config::{Environment, Settings};
use legation_console::login::Door;
use legation_core::error::chain;
use legation_core::process::GuardPath;
use legation_core::{BootId, Home, SharedClock, TaskSet};
use legation_engine::{Engine, Turns};
use legation_entra::Accounts;
use legation_events::Events;
use legation_front::Front;
use legation_gate::redaction::Redaction;
use legation_gate::spill::Spills;
use legation_gate::{Asking, Gate};
use legation_host::{Host, HostParts};
use legation_inbox::{Inbox, WatchedChats};
use legation_keystore::Keystore;
use legation_ledger::Ledger;
use legation_models::{Models, Sampling};
use legation_oauth::OAuth;
use legation_policy::{KnownTool, Policy};
use legation_servers::desk::Desk;
use legation_servers::feeds::Offers;
use legation_servers::sources::Reports;
use legation_servers::teams::{ApprovalsHere, Teams};
use legation_servers::workspace::undo::Undo;
use legation_store::Store;
use legation_telemetry::Metrics;
use tokio::sync::{Notify, watch as latest};

use super::HubOptions;
use super::aside::Aside;
use crate::serve::console::EventLog;
use crate::serve::counts::Counts;
use crate::serve::credentials::Keys;
use crate::serve::events::InForce;
use crate::serve::models::Book;
use crate::serve::natives::{Beside, Windows};
use crate::serve::{
    accounts, approvals, desk, identities, inbox, issuer, meaning, models, natives, oauth,
    telemetry, workspace,
};

/// What the hub's own tasks and the administration share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) home: Home,
    pub(crate) environment: Environment,
    pub(crate) clock: SharedClock,
    pub(crate) started: Instant,
    pub(crate) boot: BootId,
    pub(crate) host: Arc<Host>,
    /// The hub's sign-ins at servers.
    pub(crate) oauth: Arc<OAuth>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) ledger: Arc<Ledger>,
    /// Every request to a model goes through them.
    pub(crate) models: Arc<Models>,
    /// What those cost.
    pub(crate) book: Arc<Book>,
    /// What is counted of calls and models.
    pub(crate) metrics: Arc<Metrics>,
    /// What sends spans; closed last.
    pub(crate) traces: telemetry::Traces,
    pub(crate) inbox: Arc<Inbox>,
    /// Deals, letters, meetings and deadlines.
    pub(crate) desk: Desk,
    /// What goes on though whoever asked for it goes away.
    pub(crate) tasks: TaskSet,
    /// Which chats are read into it.
    pub(crate) watched: WatchedChats,
    /// What keeps accounts from being read into it.
    pub(crate) reports: Arc<Reports>,
    /// What servers offer to tell of.
    pub(crate) offers: Arc<Offers>,
    pub(crate) keystore: Arc<Keystore>,
    /// What takes back what tasks did to files.
    pub(crate) undo: Arc<Undo>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) no_auth: bool,
    pub(crate) allow_all: bool,
    /// What stands beside the files of servers.
    pub(crate) aside: Aside,
    pub(crate) folder: PathBuf,
    pub(crate) listen: Option<SocketAddr>,
    pub(super) flags: Vec<(String, String)>,
    pub(super) front: std::sync::OnceLock<Arc<Front>>,
    /// What happens in it, for those who look on.
    pub(crate) happened: Arc<EventLog>,
    /// Who may look at the console's pages.
    pub(crate) pages: Arc<Door>,
    /// How much was recorded.
    pub(crate) counts: Counts,
    /// Made after the gate, whose rules it asks.
    pub(crate) events: std::sync::OnceLock<Events>,
    pub(crate) windows: Windows,
    /// Made when the rules are in force, under which it goes on with what was left.
    pub(crate) engine: std::sync::OnceLock<Engine>,
    pub(crate) teams: Option<Teams>,
    /// Native servers that want to know of turns.
    pub(crate) turns: Vec<Arc<dyn Turns>>,
    /// Who is asked in Teams, if anybody.
    pub(crate) approvals_here: Option<ApprovalsHere>,
    problems: Mutex<Vec<String>>,
    /// The owner's servers as `mcp.json` last held them in one piece.
    known: Mutex<Vec<ServerSpec>>,
    /// The servers and tools for which the rules in force were read.
    defined: Mutex<(Vec<ServerSpec>, Vec<KnownTool>)>,
    /// What was in force when the files were last read.
    in_force: Mutex<Option<InForce>>,
    pub(super) changed: Notify,
    pub(super) ended: latest::Sender<Option<&'static str>>,
}

/// The servers that the owner configured.
fn host(
    options: &HubOptions,
    store: &Arc<Store>,
    guard: GuardPath,
    oauth: &Arc<OAuth>,
) -> Arc<Host> {
    Host::new(HostParts {
        home: options.home.clone(),
        settings: options.settings.clone(),
        environment: options.environment.clone(),
        store: Arc::clone(store),
        clock: options.clock.clone(),
        guard,
        version: crate::VERSION,
        oauth: Some(Arc::clone(oauth)),
        runtime: tokio::runtime::Handle::current(),
    })
}

/// Who may look at the pages of a hub of this data directory.
fn pages(options: &HubOptions) -> Result<Arc<Door>, CliError> {
    let name = options.home.root().display().to_string();
    let door = Door::new(&name).map_err(|error| CliError::failed(&error))?;
    Ok(Arc::new(door))
}

/// A gate that redacts, and puts aside what is too large.
fn with_vault(
    gate: Gate,
    (store, keystore): (&Arc<Store>, &Arc<Keystore>),
    clock: &SharedClock,
) -> Gate {
    let (store, keystore) = (Arc::clone(store), Arc::clone(keystore));
    gate.with_redaction(Redaction::new(
        store.clone(),
        keystore.clone(),
        clock.clone(),
    ))
    .with_spills(Spills::new(store, keystore, clock.clone()))
}

/// The native servers, and what they and the hub share.
struct Around {
    inbox: Arc<Inbox>,
    watched: WatchedChats,
    undo: Arc<Undo>,
    desk: Desk,
    beside: Beside,
}

fn around(
    options: &HubOptions,
    (host, ledger, accounts): (&Arc<Host>, &Arc<Ledger>, &Arc<Accounts>),
    (store, keystore): (&Arc<Store>, &Arc<Keystore>),
    (windows, tasks, boot): (&Windows, &TaskSet, &BootId),
    guard: GuardPath,
) -> Result<Around, CliError> {
    let (settings, clock) = (&options.settings, &options.clock);
    let inbox = inbox::open(options, keystore, ledger, windows)?;
    let watched = WatchedChats::at(options.home.watched_chats());
    let (workspace, undo) = workspace::open(
        &options.home,
        keystore,
        clock,
        (settings, &options.environment),
        guard,
    );
    let meant = meaning::of(settings, (store, clock), (windows, tasks));
    windows.open_meaning(meant);
    let desk = desk::open(windows, ledger, accounts, (store, keystore), clock);
    let beside = natives::beside(
        (host, ledger),
        accounts,
        (store, clock),
        (&inbox, &watched),
        (windows, tasks, boot),
        (
            &settings.external,
            vec![Arc::new(workspace), Arc::new(desk.clone())],
        ),
        &|name| options.has_native(name),
    );
    Ok(Around {
        inbox,
        watched,
        undo,
        desk,
        beside,
    })
}

/// What happens from here on, which natives may look at too.
fn log(windows: &Windows, boot: &BootId, clock: &SharedClock) -> Arc<EventLog> {
    let happened = Arc::new(EventLog::new(boot, clock));
    windows.open_log(&happened);
    happened
}

impl Inner {
    pub(super) fn new(
        options: &HubOptions,
        (store, keystore): (&Arc<Store>, Arc<Keystore>),
        ledger: Arc<Ledger>,
        listen: Option<SocketAddr>,
        (asking, tasks): (Asking, &TaskSet),
    ) -> Result<(Arc<Self>, Settings), CliError> {
        let settings = options.settings.clone();
        let (metrics, traces) = telemetry::begin(&settings, &options.environment)?;
        let keys = Arc::new(Keys::new(issuer::of(options, listen)?));
        let clock = &options.clock;
        let guard = GuardPath::this_program().map_err(|error| CliError::failed(&error))?;
        let oauth = oauth::of(options, clock);
        let host = host(options, store, guard.clone(), &oauth);
        let accounts = Arc::new(identities::told_to(&ledger, accounts::of(options, store)));
        let boot = BootId::random().map_err(|error| CliError::failed(&error))?;
        let windows = Windows::default();
        let around = around(
            options,
            (&host, &ledger, &accounts),
            (store, &keystore),
            (&windows, tasks, &boot),
            guard,
        )?;
        let Beside {
            servers,
            teams,
            turns,
        } = around.beside;
        let chats = (&windows, teams.as_ref());
        let approvals_here = approvals::here(&settings, store, &keystore, &asking, chats)?;
        // Until every file is read, which is before anybody is served.
        let rules = Policy::unavailable();
        let known = keys.known(options.no_auth);
        let gate = Gate::new(servers, Arc::clone(&ledger), rules, known, asking);
        let gate = Arc::new(with_vault(gate, (store, &keystore), clock));
        windows.open(&gate);
        let (models, book) = models::of(options, (store, tasks), &gate);
        windows.open_models(&models);
        gate.set_sampler(Arc::new(Sampling::new(Arc::clone(&models))));
        let inner = Arc::new(Self {
            happened: log(&windows, &boot, clock),
            pages: pages(options)?,
            counts: Counts::new(tasks),
            home: options.home.clone(),
            environment: options.environment.clone(),
            clock: clock.clone(),
            started: clock.now(),
            boot,
            host,
            oauth,
            gate,
            ledger,
            models,
            book,
            metrics,
            traces,
            inbox: around.inbox,
            desk: around.desk,
            tasks: tasks.clone(),
            watched: around.watched,
            reports: Arc::default(),
            offers: Arc::default(),
            keystore,
            undo: around.undo,
            keys,
            accounts,
            no_auth: options.no_auth,
            allow_all: options.allow_all,
            aside: Aside::of(options),
            folder: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            listen,
            flags: options.flags.clone(),
            front: std::sync::OnceLock::new(),
            events: std::sync::OnceLock::new(),
            engine: std::sync::OnceLock::new(),
            windows,
            teams,
            turns,
            approvals_here,
            problems: Mutex::new(Vec::new()),
            known: Mutex::new(Vec::new()),
            defined: Mutex::new((Vec::new(), Vec::new())),
            in_force: Mutex::new(None),
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
        problems.extend(self.inbox.problems());
        problems.extend(self.reports.problems());
        problems.extend(self.windows.meaning_problem());
        problems.extend(self.gate.asking().approvals.reported());
        problems
    }

    /// Notes what is in force from here on; what was before.
    pub(crate) fn set_in_force(&self, now: InForce) -> Option<InForce> {
        let in_force = self.in_force.lock();
        in_force
            .unwrap_or_else(PoisonError::into_inner)
            .replace(now)
    }

    pub(crate) fn set_problems(&self, problems: Vec<String>) {
        *self.problems.lock().unwrap_or_else(PoisonError::into_inner) = problems;
    }

    /// What the rules in force were read for.
    pub(crate) fn defined(&self) -> (Vec<ServerSpec>, Vec<KnownTool>) {
        let defined = self.defined.lock();
        defined.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the rules in force were read for these definitions.
    pub(crate) fn is_defined(&self, known: &[KnownTool]) -> bool {
        let defined = self.defined.lock();
        defined.unwrap_or_else(PoisonError::into_inner).1 == known
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
