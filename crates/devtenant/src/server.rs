//! The tenant as a running server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use legation_core::home::{create_private_dir, write_private};
use legation_core::{Secret, SharedClock, TaskSet, Wall};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::certs::{Certs, Signer};
use crate::env_file;
use crate::report::Report;
use crate::say::say;
use crate::state::World;
use crate::state::seed;
use crate::web::{Answer, Ask};
use crate::{connect, control, desk, entra, graph, listen, page, random};

/// How long changes are gathered before the state is written.
const SETTLE: Duration = Duration::from_millis(100);

/// How a tenant is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where Entra and Graph answer, on loopback; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where the CONNECT listener answers, on loopback.
    pub proxy: SocketAddr,
    /// Keys, state and the control token.
    pub dir: PathBuf,
    /// Where to write what clients need to know; one file a tenant.
    pub env_file: Option<PathBuf>,
    /// The command that acts as the human, for the templates of the environment file.
    pub control_command: Vec<String>,
    /// Whether a new state has a month of letters and meetings in it.
    pub with_desk: bool,
}

/// A running tenant. Dropping it ends it; [`Server::stop`] also writes its last changes.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    tasks: TaskSet,
    address: SocketAddr,
    proxy: SocketAddr,
}

/// What every request needs.
pub(crate) struct Shared {
    world: Mutex<World>,
    report: Mutex<Report>,
    pub(crate) signer: Signer,
    clock: SharedClock,
    pub(crate) control_token: Secret,
    pub(crate) changed: Notify,
    /// Wakes the sender of change notifications.
    pub(crate) noticed: Notify,
    state_file: PathBuf,
}

// === impl Server ===

impl Server {
    /// Starts listening.
    ///
    /// # Errors
    /// When an address is not on loopback or taken, or the directory cannot be used.
    pub async fn start(options: Options, clock: SharedClock) -> Result<Self> {
        for address in [options.listen, options.proxy] {
            if !address.ip().is_loopback() {
                bail!(
                    "{address} is not on loopback; a development tenant signs in whoever asks, so \
                     it listens nowhere else"
                );
            }
        }
        create_private_dir(&options.dir)?;
        let certs = Certs::at(&options.dir);
        let tls = certs.server(&clock)?;
        let signer = certs.signer(&clock)?;
        let (cert, key, pem) = certs.credential("blueprint", &clock)?;
        let state_file = options.dir.join("state.json");
        let world = world(&state_file, &options, &clock, &pem)?;
        let listener = bind(options.listen).await?;
        let proxy_listener = bind(options.proxy).await?;
        let (address, proxy) = (listener.local_addr()?, proxy_listener.local_addr()?);
        let origin = format!("https://{address}");
        let control_token = control_token(&options.dir, &origin)?;
        let shared = Arc::new(Shared {
            world: Mutex::new(world),
            report: Mutex::new(Report::default()),
            signer,
            clock,
            control_token,
            changed: Notify::new(),
            noticed: Notify::new(),
            state_file,
        });
        shared.save()?;
        if let Some(file) = &options.env_file {
            let given = env_file::Given {
                origin: &origin,
                proxy,
                authority_file: &certs.authority(),
                cert: &cert,
                key: &key,
                control: &options.control_command,
                dir: &options.dir,
            };
            env_file::write(file, &shared.world(), &given)?;
        }
        let tasks = TaskSet::new();
        let acceptor = tokio_rustls::TlsAcceptor::from(tls);
        tasks.spawn(
            "listener",
            listen::run(
                listener,
                acceptor.clone(),
                Arc::clone(&shared),
                tasks.clone(),
            ),
        );
        tasks.spawn(
            "connect listener",
            connect::run(
                proxy_listener,
                acceptor,
                address,
                Arc::clone(&shared),
                tasks.clone(),
            ),
        );
        tasks.spawn("state writer", keep(Arc::clone(&shared)));
        tasks.spawn("notices", graph::notices::run(Arc::clone(&shared)));
        Ok(Self {
            shared,
            tasks,
            address,
            proxy,
        })
    }

    /// Where Entra and Graph answer.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the CONNECT listener answers.
    #[must_use]
    pub fn proxy(&self) -> SocketAddr {
        self.proxy
    }

    /// Ends everything and writes the last changes.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub async fn stop(self) -> Result<()> {
        self.tasks.shutdown().await;
        self.shared.save()
    }
}

// === impl Shared ===

impl Shared {
    pub(crate) fn now(&self) -> Wall {
        self.clock.wall()
    }

    pub(crate) fn report(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self) -> Result<()> {
        let bytes = self.world().to_bytes()?;
        write_private(&self.state_file, &bytes)
            .with_context(|| "the tenant's last changes are only in memory")?;
        Ok(())
    }

    /// Answers one request.
    pub(crate) fn answer(&self, ask: &Ask) -> Answer {
        let first = ask.parts.first().map(String::as_str).unwrap_or_default();
        if matches!(first, "control" | "human") {
            let world = &mut self.world();
            let answer = match first {
                "human" => desk::answer(self, world, ask),
                _ => control::answer(self, world, ask),
            };
            self.after(ask);
            return answer;
        }
        let mut world = self.world();
        let what = format!("{} {}", ask.method, ask.path);
        if let Some(answer) = world.interrupt(self, &what, ask) {
            return answer;
        }
        let answer = match first {
            "v1.0" | "beta" | "oidc" => graph::answer(self, &mut world, ask),
            "device" | "deviceauth" => page::answer(self, &mut world, ask),
            "" => page::welcome(&world),
            _ => entra::answer(self, &mut world, ask),
        };
        let cut = world.cuts_after(&what);
        drop(world);
        self.after(ask);
        if cut { Answer::cut() } else { answer }
    }

    /// A request that may have changed something was answered.
    fn after(&self, ask: &Ask) {
        if ask.method != http::Method::GET {
            self.changed.notify_one();
            self.noticed.notify_one();
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("state_file", &self.state_file)
            .finish_non_exhaustive()
    }
}

/// What was kept, or a new state.
fn world(file: &Path, options: &Options, clock: &SharedClock, pem: &str) -> Result<World> {
    if let Some(world) = World::load(file)? {
        return Ok(world);
    }
    let mut world = seed::world(clock.wall().0, pem);
    if options.with_desk {
        seed::desk::fill(&mut world, clock.wall(), None)?;
    }
    Ok(world)
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; choose another with --listen"))
}

/// The control API's token and address, in a file that only its owner reads.
fn control_token(dir: &Path, origin: &str) -> Result<Secret> {
    let token = random::opaque();
    let text = json!({"url": origin, "token": token}).to_string();
    write_private(&dir.join("control.json"), text.as_bytes())?;
    Ok(Secret::new(token))
}

/// Writes the state a moment after it changed. A file written whole a moment late loses that
/// moment when the machine dies, which a development tenant may.
async fn keep(shared: Arc<Shared>) {
    loop {
        shared.changed.notified().await;
        tokio::time::sleep(SETTLE).await;
        if let Err(error) = shared.save() {
            say(&format!("error: {error:#}"));
        }
    }
}
