//! Names of hosts, looked up by the system on threads of their own.
//!
//! The system's lookup blocks, for half a minute where a server of names is silent. On
//! the threads that everybody's files are read on, a few dead names would hold up all
//! who wait for a file.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::oneshot;

use super::{Found, Lookup};

/// Names that are looked up at once, and those that wait for it.
const THREADS: usize = 4;
const WAITING_MAX: usize = 256;

/// As the system does it.
#[derive(Debug, Default)]
pub struct SystemLookup {
    /// Where its threads take names from; they end with it, and begin with the first.
    names: OnceLock<SyncSender<Wanted>>,
}

/// A name, and who wants to know where it leads.
#[derive(Debug)]
struct Wanted {
    host: String,
    port: u16,
    tell: oneshot::Sender<io::Result<Vec<SocketAddr>>>,
}

// === impl SystemLookup ===

impl SystemLookup {
    fn names(&self) -> &SyncSender<Wanted> {
        self.names.get_or_init(|| {
            let (names, wanted) = sync_channel(WAITING_MAX);
            let wanted = Arc::new(Mutex::new(wanted));
            for _ in 0..THREADS {
                let wanted = Arc::clone(&wanted);
                std::thread::spawn(move || look_up(&wanted));
            }
            names
        })
    }
}

impl Lookup for SystemLookup {
    fn lookup(&self, host: &str, port: u16) -> Found {
        let (tell, told) = oneshot::channel();
        let wanted = Wanted {
            host: host.to_owned(),
            port,
            tell,
        };
        let sent = self.names().try_send(wanted);
        Box::pin(async move {
            match sent {
                Ok(()) => told
                    .await
                    .unwrap_or_else(|_| Err(io::ErrorKind::Other.into())),
                Err(TrySendError::Full(_)) => Err(io::Error::new(
                    io::ErrorKind::WouldBlock,
                    "too many names are being looked up",
                )),
                Err(TrySendError::Disconnected(_)) => Err(io::ErrorKind::Other.into()),
            }
        })
    }
}

fn look_up(wanted: &Mutex<Receiver<Wanted>>) {
    loop {
        let next = {
            let wanted = wanted.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.recv()
        };
        let Ok(Wanted { host, port, tell }) = next else {
            return;
        };
        // Who waited for it may have given up.
        if !tell.is_closed() {
            let found = (host.as_str(), port).to_socket_addrs();
            drop(tell.send(found.map(Iterator::collect)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lookup as _, SystemLookup};

    #[tokio::test]
    async fn names_lead_somewhere_or_are_an_error() {
        let lookup = SystemLookup::default();
        let found = lookup.lookup("127.0.0.1", 443).await.unwrap();
        assert_eq!(found, ["127.0.0.1:443".parse().unwrap()]);
        // Reserved, so that it leads nowhere (RFC 6761, section 6.4).
        assert!(lookup.lookup("nowhere.invalid", 443).await.is_err());
    }
}
