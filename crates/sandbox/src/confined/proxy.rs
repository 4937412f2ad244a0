//! The way out to the hosts that are named.
//!
//! The command has a network of its own with nothing on it but loopback. There an HTTP
//! proxy listens, and programs are told of it in the variables that most of them follow;
//! what the owner named of this machine itself listens beside it, at its own address, for
//! programs that know no proxy, such as clients of databases. Names are looked up on this
//! side: the command has no server of names.
//!
//! Whoever is answered may be hostile. Heads are short and come soon, connections are
//! counted, what is silent for long is closed; and who answers has given up every
//! capability and the calls that the command has not, so that a fault here is a fault of
//! an ordinary program.

mod door;
mod said;
mod serve;
mod watched;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use legation_core::net::SystemLookup;
use legation_net::proxy::Proxies;

use self::door::Door;
use self::said::Said;
use super::{NoWall, capabilities, control, syscalls};
use crate::spec::Named;

/// By which programs know their proxy.
const VARIABLES: [&str; 6] = [
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
];
/// What the command reaches by itself: its own loopback.
const WITHOUT: &str = "localhost,127.0.0.1,::1";

/// Starts the thread that answers, in the network of this process. It waits for the sockets
/// that [`listen`] sends.
///
/// # Errors
/// The thread could not be started, or not give up its rights.
pub(super) fn start(control: OwnedFd, named: Named) -> Result<(), NoWall> {
    let what = "starting the way out";
    let (ready, is_ready) = sync_channel(1);
    std::thread::Builder::new()
        .name("way-out".into())
        .spawn(move || run(&control, named, &ready))
        .map_err(NoWall::new(what))?;
    is_ready.recv().map_err(NoWall::new(what))?
}

/// In the inner process, in the network of the command: listens there, and sends the sockets
/// to the thread. Gives back the proxy's address.
///
/// # Errors
/// The system's; an address of this machine that it has not, such as `::1`, is one where it is
/// named as an address, and left out where `localhost` stands for it.
pub(super) fn listen(control: &OwnedFd, named: &Named) -> io::Result<SocketAddr> {
    let mut listeners = Vec::new();
    for address in named.hosts.of_this_machine() {
        match TcpListener::bind(address) {
            Ok(listener) => listeners.push(listener),
            Err(_) if address.is_ipv6() && named.hosts.names("localhost", address.port()) => {}
            Err(error) => {
                let why = format!("{address}: {error}");
                return Err(io::Error::new(error.kind(), why));
            }
        }
    }
    let proxy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = proxy.local_addr()?;
    listeners.push(proxy);
    let descriptors: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
    control::send(control, &descriptors)?;
    Ok(address)
}

/// By which the command's programs find the proxy at that address.
pub(super) fn variables(address: SocketAddr) -> impl Iterator<Item = (&'static str, String)> {
    let proxy = VARIABLES.map(|name| (name, format!("http://{address}")));
    let without = ["no_proxy", "NO_PROXY"].map(|name| (name, WITHOUT.to_owned()));
    // Node goes by all of these only where it is asked to.
    let node = ("NODE_USE_ENV_PROXY", "1".to_owned());
    proxy.into_iter().chain(without).chain([node])
}

fn run(control: &OwnedFd, named: Named, ready: &SyncSender<Result<(), NoWall>>) {
    let confined = capabilities::give_up()
        .map_err(NoWall::new("giving up capabilities"))
        .and_then(|()| syscalls::forbid());
    let is_confined = confined.is_ok();
    if ready.send(confined).is_err() || !is_confined {
        return;
    }
    if let Err(error) = answer(control, named) {
        let why = legation_core::error::chain(&error);
        said::say(&format!(
            "legation: the way out of the sandbox is closed: {why}\n"
        ));
    }
}

fn answer(control: &OwnedFd, named: Named) -> io::Result<()> {
    let mut listeners: Vec<TcpListener> = control::receive(control)?
        .into_iter()
        .map(TcpListener::from)
        .collect();
    // The inner process ended before it listened, and has said why.
    let Some(proxy) = listeners.pop() else {
        return Ok(());
    };
    let variables = named.proxies;
    let door = Door {
        hosts: named.hosts,
        lookup: Arc::new(SystemLookup::default()),
        proxies: Proxies::of_environment(|name| {
            let found = variables.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        }),
        said: Said::new(named.rule, said::say),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve::serve(proxy, listeners, Arc::new(door)))
}

#[cfg(test)]
mod tests;
