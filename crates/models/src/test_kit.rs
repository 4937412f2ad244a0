//! Model servers that say what a test wants, over real sockets.

pub(crate) mod gate;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_core::{
    Caller, Cancel, ClientId, OpContext, Principal, SeatId, SharedClock, SystemClock, Via,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use crate::client::ModelClient;
use crate::delta::{Answer, Delta};
use crate::endpoint::Endpoint;
use crate::error::ModelError;
use crate::limits::{Limits, Timeouts};
use crate::resume::GoOn;
use crate::target::{Dialect, Target};

/// What a server does next.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Writes.
    Send(Vec<u8>),
    /// Writes byte by byte.
    Drip(Vec<u8>),
    /// Writes for ever, until the client goes.
    Flood(Vec<u8>),
    /// Waits until the client goes.
    Hang,
    /// Ends the connection so that the client hears an error.
    Cut,
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

type Script = dyn Fn(&Seen) -> Vec<Step> + Send + Sync;

/// A running server; stopped when dropped.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// One permit for each connection that the client closed.
    closed: Arc<Semaphore>,
    task: AbortHandle,
}

// === impl Server ===

impl Server {
    pub(crate) async fn start(script: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let closed = Arc::new(Semaphore::new(0));
        let script: Arc<Script> = Arc::new(script);
        let (all, gone) = (Arc::clone(&seen), Arc::clone(&closed));
        let task = Handle::current().spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (all, gone) = (Arc::clone(&all), Arc::clone(&gone));
                let script = Arc::clone(&script);
                Handle::current().spawn(async move {
                    serve(socket, &all, &gone, &*script).await;
                });
            }
        });
        Self {
            port,
            seen,
            closed,
            task: task.abort_handle(),
        }
    }

    /// A server that says the same to everybody.
    pub(crate) async fn saying(steps: Vec<Step>) -> Self {
        Self::start(move |_| steps.clone()).await
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("not poisoned").clone()
    }

    /// Waits until the client has closed a connection.
    pub(crate) async fn closed(&self) {
        let closed = self.closed.acquire();
        let closed = tokio::time::timeout(Duration::from_secs(20), closed).await;
        closed.expect("the client closes").expect("open").forget();
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn target(&self, dialect: Dialect) -> Target {
        let path = if dialect == Dialect::Anthropic {
            ""
        } else {
            "/v1"
        };
        Target {
            provider: "tested".to_owned(),
            dialect,
            endpoint: Endpoint::parse(&self.url(path)).expect("an address"),
            model: "small".to_owned(),
            is_local: false,
            go_on: GoOn::Never,
            timeouts: Timeouts::remote(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

async fn serve(mut socket: TcpStream, all: &Mutex<Vec<Seen>>, gone: &Semaphore, script: &Script) {
    socket.set_nodelay(true).expect("a socket");
    let Some(seen) = read(&mut socket).await else {
        return;
    };
    let steps = script(&seen);
    all.lock().expect("not poisoned").push(seen);
    for step in steps {
        let written = match step {
            Step::Send(bytes) => socket.write_all(&bytes).await,
            Step::Drip(bytes) => drip(&mut socket, &bytes).await,
            Step::Flood(bytes) => loop {
                if let Err(error) = socket.write_all(&bytes).await {
                    break Err(error);
                }
            },
            Step::Hang => {
                let mut byte = [0];
                match socket.read(&mut byte).await {
                    Ok(1) => panic!("a client says nothing more"),
                    _ => Err(std::io::ErrorKind::BrokenPipe.into()),
                }
            }
            Step::Cut => {
                // Closed with something unread, it ends with a reset.
                socket.set_zero_linger().expect("a socket");
                return;
            }
        };
        if written.is_err() {
            gone.add_permits(1);
            return;
        }
    }
}

async fn drip(socket: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes {
        socket.write_all(&[*byte]).await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Reads one request (its body has a length).
async fn read(socket: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head");
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().expect("a length"));
    while bytes.len() < end + 4 + length {
        socket.read_buf(&mut bytes).await.ok()?;
    }
    Some(Seen {
        method,
        path,
        headers,
        body: serde_json::from_slice(&bytes[end + 4..]).unwrap_or_default(),
    })
}

/// The head of an event stream that ends with its connection.
pub(crate) fn head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n"
        .to_vec()
}

/// An answer of one piece.
pub(crate) fn plain(status: u16, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::Send(
        format!(
            "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
        )
        .into_bytes(),
    )]
}

/// An event stream of these data.
pub(crate) fn events(data: &[&str]) -> Vec<u8> {
    data.iter()
        .flat_map(|data| format!("data: {data}\n\n").into_bytes())
        .collect()
}

/// A whole stream of these data.
pub(crate) fn stream(data: &[&str]) -> Vec<Step> {
    vec![Step::Send([head(), events(data)].concat())]
}

pub(crate) fn ctx() -> OpContext {
    let caller = Caller {
        principal: Principal {
            client: ClientId::new("tester"),
            via: Via::Admin,
        },
        seat: SeatId::new("test"),
        workspace: None,
    };
    OpContext::new(caller, Cancel::new())
}

pub(crate) fn clock() -> SharedClock {
    SystemClock::shared()
}

pub(crate) fn client() -> ModelClient {
    ModelClient::new(clock(), Limits::default())
}

/// Everything that comes, and how it ends where it fails.
pub(crate) async fn collect(
    stream: &mut crate::client::ModelStream,
) -> (Answer, Vec<Delta>, Option<ModelError>) {
    let (mut answer, mut all) = (Answer::default(), Vec::new());
    while let Some(delta) = stream.next().await {
        match delta {
            Ok(delta) => {
                answer.push(delta.clone());
                all.push(delta);
            }
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing follows an error");
                return (answer, all, Some(error));
            }
        }
    }
    assert!(matches!(all.last(), Some(Delta::Done(_))), "{all:?}");
    (answer, all, None)
}
