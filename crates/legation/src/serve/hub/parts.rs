//! What a hub is put together from, each with what to say where it cannot be had.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use legation_cli::{CliError, Exit};
use legation_config::Settings;
use legation_core::home::HomeLock;
use legation_core::{Home, Secret};
use legation_front::{Discovery, FrontSettings};
use legation_gate::Asking;
use legation_gate::rate::RateLimits;
use legation_keystore::Keystore;
use legation_store::{DatabaseUrl, Store, StoreOptions};
use tokio::net::{TcpSocket, UnixListener};

use super::HubOptions;
use crate::serve::credentials::Keys;
use crate::serve::issuer;

/// How long a hub may take to end: calls that were called off have five seconds, servers a few more.
const ENDING: Duration = Duration::from_secs(15);
/// How often a hub that waits for another's end looks.
const LOCK_LOOK: Duration = Duration::from_millis(20);
/// Connections that may wait to be accepted: agents come in crowds.
const BACKLOG: u32 = 4096;

/// Opens the store where the settings say it is.
pub(super) fn open_store(options: &HubOptions) -> Result<Store, CliError> {
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

/// What the gate remembers between calls.
pub(super) fn asking(
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
pub(super) async fn take_lock(options: &HubOptions) -> Result<HomeLock, CliError> {
    let until = options.clock.now() + ENDING;
    loop {
        let lock = options.home.lock();
        if let Some(lock) = lock.map_err(|error| CliError::failed(&error))? {
            return Ok(lock);
        }
        let ending = options.detached && !options.home.socket().exists();
        if !ending || options.clock.now() >= until {
            let home = options.home.root().display();
            let owner = options.home.owner();
            let owner = owner.map_or_else(String::new, |pid| format!(" (process {pid})"));
            return Err(CliError::new(
                Exit::Failed,
                format!("another hub{owner} owns {home}; this one did not start"),
            )
            .with_hint("see `legation status`, or stop it with `legation stop`"));
        }
        tokio::time::sleep(LOCK_LOOK).await;
    }
}

/// What is listened on, and where that is. A hub that nobody looks at does without.
pub(super) fn listener(
    options: &HubOptions,
) -> Result<Option<(TcpListener, SocketAddr)>, CliError> {
    match bind(options.settings.listen) {
        Ok(listener) => {
            let at = listener.local_addr();
            Ok(Some((
                listener,
                at.map_err(|error| CliError::failed(&error))?,
            )))
        }
        Err(error) if options.detached => {
            tracing::error!(error = error.message, "the hub runs without HTTP");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

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

/// The socket that bridges and the owner's commands come to.
pub(super) fn socket(home: &Home, lock: &HomeLock) -> Result<UnixListener, CliError> {
    check_socket_path(home)?;
    legation_front::bind(&home.socket(), lock)
        .map_err(|error| CliError::failed(&error).with_hint(error.hint()))
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

pub(super) fn front_settings(
    settings: &Settings,
    no_auth: bool,
    keys: &Keys,
) -> Result<FrontSettings, CliError> {
    let discovery = &settings.discovery;
    let discovery = Discovery::new(
        discovery.clients.iter().map(AsRef::as_ref),
        discovery.always.iter().map(AsRef::as_ref),
    )
    .map_err(|error| CliError::failed(&error))?;
    Ok(FrontSettings {
        no_auth,
        resource: keys.issuer().map(issuer::resource),
        connections_max: settings.limits.connections,
        body_max: settings.limits.client_message_bytes,
        header_timeout: settings.limits.request_read,
        body_timeout: settings.limits.request_read,
        discovery,
        ..FrontSettings::default()
    })
}

/// Every client is a socket, and every server three pipes.
pub(super) fn raise_file_limit() {
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
