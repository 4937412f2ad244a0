//! A hundred servers of every kind of transport and era, ten of them broken in a way each.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::process::program;
use super::servers::era_name;
use crate::fixture::{self, Era, Files, Fixture};
use crate::hostile::{self, Fault};

/// How many of each kind work.
const PIPES: usize = 30;
const REMOTE: usize = 30;
const STREAMS: usize = 15;
const SOCKETS: usize = 15;

/// The servers that work.
pub const GOOD: usize = PIPES + REMOTE + STREAMS + SOCKETS;

/// The servers that do not, each with words of what is to be said of it.
pub const BROKEN: [(&str, &str); 10] = [
    ("ends-at-once", "cannot find my configuration"),
    ("never-answers", "within"),
    ("no-json", "in answer to initialize"),
    ("other-protocol", "1999-01-01"),
    ("status-500", "500"),
    ("refuses", "refused"),
    ("hangs-in-tls", "took more than"),
    ("no-program", "no-such-program"),
    ("floods-stderr", "noise"),
    ("dies-when-ready", "I have ended although"),
];

/// The servers; those of this process end when it is dropped.
#[derive(Debug)]
pub struct Hundred {
    /// Their entries, as in `mcpServers`.
    pub servers: Value,
    /// The names of those that work.
    pub good: Vec<String>,
    /// The names of those of them that are programs.
    pub programs: Vec<String>,
    hold: PathBuf,
    serving: Vec<AbortHandle>,
}

fn era(number: usize) -> Era {
    [Era::Legacy, Era::Modern, Era::Both][number % 3]
}

fn new_fixture(era: Era, name: &str) -> Arc<Fixture> {
    Fixture::new(era, name.to_owned(), Vec::new(), Files::default())
}

// === impl Hundred ===

impl Hundred {
    /// Starts those that are no programs; `folder` is theirs, with a short path.
    pub async fn start(folder: &Path) -> anyhow::Result<Self> {
        let mut all = Self {
            servers: json!({}),
            good: Vec::new(),
            programs: Vec::new(),
            hold: folder.join("hold"),
            serving: Vec::new(),
        };
        all.pipes()?;
        for number in 0..REMOTE {
            all.remote(number).await?;
        }
        for number in 0..STREAMS {
            all.stream(number).await?;
        }
        for number in 0..SOCKETS {
            all.socket(number, folder)?;
        }
        all.broken().await?;
        Ok(all)
    }

    /// Has programs that are started from now on wait before they say anything.
    pub fn hold(&self) -> std::io::Result<()> {
        std::fs::write(&self.hold, "")
    }

    /// Lets them go on.
    pub fn release(&self) -> std::io::Result<()> {
        std::fs::remove_file(&self.hold)
    }

    fn add(&mut self, name: String, mut entry: Value) {
        // What a server offers is not what is looked at here: two tools are enough.
        entry["tools"] = json!(["echo", "stats"]);
        self.servers[&name] = entry;
        self.good.push(name);
    }

    fn serve<F>(&mut self, serving: F)
    where
        F: Future<Output = std::io::Result<()>> + Send + 'static,
    {
        let task = Handle::current().spawn(async move {
            let _ended = serving.await;
        });
        self.serving.push(task.abort_handle());
    }

    fn pipes(&mut self) -> anyhow::Result<()> {
        let fixture = program("fixture-server")?;
        for number in 0..PIPES {
            let name = format!("pipe{number}");
            let arguments = json!(["--era", era_name(era(number)), "--hold", self.hold]);
            let entry = json!({"command": fixture, "args": arguments, "instance": "shared"});
            self.programs.push(name.clone());
            self.add(name, entry);
        }
        Ok(())
    }

    async fn remote(&mut self, number: usize) -> anyhow::Result<()> {
        let name = format!("remote{number}");
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        self.serve(fixture::http::serve(
            new_fixture(era(number), &name),
            listener,
        ));
        self.add(name, json!({"type": "http", "url": url}));
        Ok(())
    }

    async fn stream(&mut self, number: usize) -> anyhow::Result<()> {
        let name = format!("stream{number}");
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/sse", listener.local_addr()?);
        self.serve(fixture::sse::serve(
            new_fixture(Era::Legacy, &name),
            listener,
        ));
        self.add(name, json!({"type": "sse", "url": url}));
        Ok(())
    }

    fn socket(&mut self, number: usize, folder: &Path) -> anyhow::Result<()> {
        let name = format!("socket{number}");
        let path = folder.join(format!("{number}.sock"));
        let listener = UnixListener::bind(&path)?;
        let fixture = new_fixture(era(number), &name);
        self.serve(on_socket(fixture, listener));
        let url = format!("unix://{}:/mcp", path.display());
        self.add(name, json!({"type": "http", "url": url}));
        Ok(())
    }

    async fn broken(&mut self) -> anyhow::Result<()> {
        let hostile = program("hostile-server")?;
        let child = |fault: &str| json!({"command": hostile, "args": ["--fault", fault]});
        let mut remote = Vec::new();
        for fault in [Fault::NotJson, Fault::Status500] {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let url = format!("http://{}/mcp", listener.local_addr()?);
            remote.push(json!({"type": "http", "url": url}));
            self.serve(async move {
                let served = hostile::http::serve(fault, listener).await;
                served.map_err(std::io::Error::other)
            });
        }
        // Nothing listens where somebody did.
        let gone = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
        let silent = TcpListener::bind("127.0.0.1:0").await?;
        let hangs = silent.local_addr()?;
        self.serve(async move {
            let mut open = Vec::new();
            loop {
                open.push(silent.accept().await?);
            }
        });
        let [not_json, status] = <[Value; 2]>::try_from(remote).unwrap_or_default();
        for (name, entry) in [
            ("ends-at-once", child("exit-early")),
            ("never-answers", child("silent")),
            ("no-json", not_json),
            ("other-protocol", child("other-protocol")),
            ("status-500", status),
            (
                "refuses",
                json!({"type": "http", "url": format!("http://{gone}/mcp")}),
            ),
            (
                "hangs-in-tls",
                json!({"type": "http", "url": format!("https://{hangs}/mcp")}),
            ),
            ("no-program", json!({"command": "no-such-program"})),
            ("floods-stderr", child("drown")),
            ("dies-when-ready", child("die-ready")),
        ] {
            self.servers[name] = entry;
        }
        Ok(())
    }
}

impl Drop for Hundred {
    fn drop(&mut self) {
        for task in &self.serving {
            task.abort();
        }
    }
}

/// Serves a fixture on a Unix socket, under whatever host it is asked.
async fn on_socket(fixture: Arc<Fixture>, listener: UnixListener) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let fixture = Arc::clone(&fixture);
        Handle::current().spawn(async move {
            let service = service_fn(move |mut request| {
                let fixture = Arc::clone(&fixture);
                async move {
                    let headers: &mut http::HeaderMap = http::Request::headers_mut(&mut request);
                    headers.insert("host", http::HeaderValue::from_static("127.0.0.1"));
                    Ok::<_, Infallible>(fixture::http::handle(&fixture, request).await)
                }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            let _closed = connection
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
