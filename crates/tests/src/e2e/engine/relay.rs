//! A relay between the hub and the engine that remembers what passed, and when.
//!
//! The hub makes a connection for each request, so a connection is an exchange. Threads and not
//! tasks: the moment at which the hub lets go of an answer is what is measured.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::harness::process::now;

/// How long the engine may take to answer a question of the test's own.
const PATIENCE: Duration = Duration::from_secs(120);

/// Listens until the test ends.
pub(super) struct Relay {
    /// `http://HOST:PORT`, for the hub.
    pub(super) url: String,
    engine: SocketAddr,
    exchanges: Arc<Mutex<Vec<Exchange>>>,
}

/// One request and as much of its answer as came.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    /// When the connection was made.
    pub(super) began: Instant,
    pub(super) request: Vec<u8>,
    /// When the first word of the answer came: the engine sends the head while it reads the prompt.
    pub(super) first: Option<Instant>,
    pub(super) answer: Vec<u8>,
    /// When the hub let go of it.
    pub(super) let_go: Option<Instant>,
}

// === impl Relay ===

impl Relay {
    /// A relay to the engine at an address of the form `http://HOST:PORT`.
    pub(super) fn start(engine: &str) -> anyhow::Result<Self> {
        let engine = engine.trim_start_matches("http://").parse()?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let exchanges = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&exchanges);
        std::thread::spawn(move || {
            // Who is not served sees it.
            for hub in listener.incoming().flatten() {
                serve(hub, engine, &kept).ok();
            }
        });
        Ok(Self {
            url,
            engine,
            exchanges,
        })
    }

    /// A place after everything that passed so far, which is forgotten.
    pub(super) fn mark(&self) -> usize {
        let mut exchanges = lock(&self.exchanges);
        for exchange in exchanges.iter_mut() {
            exchange.request = Vec::new();
            exchange.answer = Vec::new();
        }
        exchanges.len()
    }

    /// The place after everything that passed so far.
    pub(super) fn place(&self) -> usize {
        lock(&self.exchanges).len()
    }

    /// What passed since.
    pub(super) fn since(&self, mark: usize) -> Vec<Exchange> {
        lock(&self.exchanges)[mark..].to_vec()
    }

    /// The tokens of a text, by their ids, as the engine splits it.
    pub(super) fn tokens(&self, text: &str) -> anyhow::Result<Vec<u64>> {
        let body = serde_json::json!({ "content": text }).to_string();
        let mut socket = TcpStream::connect(self.engine)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        write!(
            socket,
            "POST /tokenize HTTP/1.1\r\nHost: engine\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer)?;
        let answer = String::from_utf8(answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("half an answer")?;
        ensure!(head.starts_with("HTTP/1.1 200"), "{answer}");
        let value: Value = serde_json::from_str(body).with_context(|| answer.clone())?;
        let ids = value["tokens"].as_array().context("no tokens")?;
        let ids: Option<Vec<u64>> = ids.iter().map(Value::as_u64).collect();
        ids.context("tokens without ids")
    }
}

// === impl Exchange ===

impl Exchange {
    /// What was asked, where it was a model's turn.
    pub(super) fn asked(&self) -> Option<Value> {
        let text = std::str::from_utf8(&self.request).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let is_turn = head.starts_with("POST") && head.contains("/chat/completions");
        is_turn.then(|| serde_json::from_str(body).ok())?
    }

    /// Whether the answer came to its end.
    pub(super) fn is_whole(&self) -> bool {
        let mark = b"[DONE]";
        self.answer.windows(mark.len()).any(|part| part == mark)
    }

    /// Whether a word has come.
    fn says_something(&self) -> bool {
        let mark = br#""content":""#;
        self.answer.windows(mark.len()).any(|part| part == mark)
    }

    /// How many tokens of the prompt the engine evaluated, and how many it still had.
    pub(super) fn evaluated(&self) -> Option<(u64, u64)> {
        let text = String::from_utf8_lossy(&self.answer);
        let mut chunks = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let timings = chunks.find_map(|chunk| {
            let chunk: Value = serde_json::from_str(chunk).ok()?;
            chunk.get("timings").cloned()
        })?;
        Some((timings["prompt_n"].as_u64()?, timings["cache_n"].as_u64()?))
    }
}

/// Passes one connection on, both ways, each on a thread of its own.
fn serve(
    hub: TcpStream,
    engine: SocketAddr,
    exchanges: &Arc<Mutex<Vec<Exchange>>>,
) -> std::io::Result<()> {
    let engine = TcpStream::connect(engine)?;
    engine.set_nodelay(true)?;
    hub.set_nodelay(true)?;
    let place = {
        let mut exchanges = lock(exchanges);
        exchanges.push(Exchange {
            began: now(),
            request: Vec::new(),
            first: None,
            answer: Vec::new(),
            let_go: None,
        });
        exchanges.len() - 1
    };
    let (from_hub, to_engine) = (hub.try_clone()?, engine.try_clone()?);
    let kept = Arc::clone(exchanges);
    std::thread::spawn(move || {
        pass(&from_hub, &to_engine, |bytes| {
            kept_in(&kept, place, |exchange| {
                exchange.request.extend_from_slice(bytes);
            });
        });
        let at = now();
        kept_in(&kept, place, |exchange| exchange.let_go = Some(at));
        // Whatever the engine still says is nobody's.
        to_engine.shutdown(Shutdown::Both).ok();
    });
    let kept = Arc::clone(exchanges);
    std::thread::spawn(move || {
        pass(&engine, &hub, |bytes| {
            let at = now();
            kept_in(&kept, place, |exchange| {
                exchange.answer.extend_from_slice(bytes);
                if exchange.first.is_none() && exchange.says_something() {
                    exchange.first = Some(at);
                }
            });
        });
        hub.shutdown(Shutdown::Write).ok();
    });
    Ok(())
}

/// Passes bytes on until either side has enough.
fn pass(mut from: &TcpStream, mut to: &TcpStream, mut seen: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        seen(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

fn kept_in(exchanges: &Mutex<Vec<Exchange>>, place: usize, change: impl FnOnce(&mut Exchange)) {
    if let Some(exchange) = lock(exchanges).get_mut(place) {
        change(exchange);
    }
}

fn lock(exchanges: &Mutex<Vec<Exchange>>) -> MutexGuard<'_, Vec<Exchange>> {
    exchanges.lock().unwrap_or_else(PoisonError::into_inner)
}
