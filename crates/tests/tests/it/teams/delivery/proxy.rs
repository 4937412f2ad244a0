//! A proxy with one address before hubs with many, which cuts answers off.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Proxy {
    address: String,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    /// Where the hub is now.
    hub: Mutex<String>,
    /// Which of the answers to pulls is cut: each `every`-th.
    every: u64,
    pulls: AtomicU64,
    cut: AtomicU64,
}

// === impl Proxy ===

impl Proxy {
    pub(super) async fn start(base: &str, every: u64) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let state = Arc::new(State {
            hub: Mutex::new(String::new()),
            every,
            pulls: AtomicU64::new(0),
            cut: AtomicU64::new(0),
        });
        let proxy = Self { address, state };
        proxy.point_to(base);
        let state = Arc::clone(&proxy.state);
        Handle::current().spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let state = Arc::clone(&state);
                Handle::current().spawn(async move {
                    // A connection that breaks is what it is here for.
                    drop(state.carry(client).await);
                });
            }
        });
        Ok(proxy)
    }

    /// The hub is somewhere else now.
    pub(super) fn point_to(&self, base: &str) {
        let address = base.trim_start_matches("http://");
        *self.state.hub.lock().unwrap() = address.to_owned();
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// How many answers were cut off.
    pub(super) fn cut(&self) -> u64 {
        self.state.cut.load(Ordering::Relaxed)
    }
}

// === impl State ===

impl State {
    /// Carries one connection. Requests of a connection follow each other, so that
    /// the next bytes of the hub's are of the answer to the last request.
    async fn carry(&self, mut client: TcpStream) -> anyhow::Result<()> {
        let there = self.hub.lock().unwrap().clone();
        let here = client.local_addr()?.to_string();
        let mut hub = TcpStream::connect(&there).await?;
        let (mut up, mut down) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
        let mut cuts = false;
        loop {
            tokio::select! {
                read = client.read(&mut up) => {
                    let read = read?;
                    anyhow::ensure!(read > 0, "the client closed");
                    let text = String::from_utf8_lossy(&up[..read]);
                    // Who has nothing yet cannot say what it has: its first answer is not lost.
                    if text.contains("\"inbox-pull\"") && text.contains("\"since_id\"") {
                        let number = self.pulls.fetch_add(1, Ordering::Relaxed) + 1;
                        cuts = number.is_multiple_of(self.every);
                    }
                    // The hub serves nobody who names another host; no body names this one.
                    let text = text.replace(&here, &there);
                    hub.write_all(text.as_bytes()).await?;
                }
                read = hub.read(&mut down) => {
                    let read = read?;
                    anyhow::ensure!(read > 0, "the hub closed");
                    if cuts {
                        self.cut.fetch_add(1, Ordering::Relaxed);
                        client.write_all(&down[..read / 2]).await?;
                        return Ok(());
                    }
                    client.write_all(&down[..read]).await?;
                }
            }
        }
    }
}
