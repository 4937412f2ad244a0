//! An HTTP server that can break every rule: a thread per connection, and
//! bytes written by hand.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::Value;

pub(super) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Vec<Seen>>,
    news: Condvar,
    closes: AtomicUsize,
    hang_ups: AtomicUsize,
    closing: AtomicBool,
    closed: AtomicBool,
    /// The event stream that answers are put on which come with no request's.
    kept: Mutex<Option<TcpStream>>,
}

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) connection: usize,
    pub(super) verb: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

/// The answer to one request.
pub(super) struct Reply<'a> {
    stream: &'a mut TcpStream,
    shared: &'a Shared,
    address: SocketAddr,
    headers: String,
    hang_up: bool,
}

// === impl Server ===

impl Server {
    pub(super) fn start(handler: impl Fn(&Seen, &mut Reply<'_>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared::default());
        let handler = Arc::new(handler);
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for (serial, stream) in listener.incoming().enumerate() {
                if own.closing.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(stream) = stream else { break };
                stream.set_nodelay(true).expect("a socket option");
                let (handler, own) = (Arc::clone(&handler), Arc::clone(&own));
                std::thread::spawn(move || serve(serial, stream, address, &*handler, &own));
            }
            drop(listener);
            own.closed.store(true, Ordering::SeqCst);
        });
        Self { address, shared }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().expect("not poisoned").clone()
    }

    /// Streams whose reader has gone.
    pub(super) fn closes(&self) -> usize {
        self.shared.closes.load(Ordering::SeqCst)
    }

    /// Connections ended after an answer.
    pub(super) fn hang_ups(&self) -> usize {
        self.shared.hang_ups.load(Ordering::SeqCst)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.close_port(self.address);
    }
}

impl Shared {
    fn close_port(&self, address: SocketAddr) {
        self.closing.store(true, Ordering::SeqCst);
        // Wakes the listener.
        drop(TcpStream::connect(address));
    }
}

fn serve(
    serial: usize,
    mut stream: TcpStream,
    address: SocketAddr,
    handler: &dyn Fn(&Seen, &mut Reply<'_>),
    shared: &Shared,
) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    while let Some(seen) = read(serial, &mut reader) {
        {
            let mut all = shared.seen.lock().expect("not poisoned");
            all.push(seen.clone());
        }
        shared.news.notify_all();
        let mut reply = Reply {
            stream: &mut stream,
            shared,
            address,
            headers: String::new(),
            hang_up: false,
        };
        handler(&seen, &mut reply);
        if reply.hang_up {
            drop(reader);
            drop(stream);
            shared.hang_ups.fetch_add(1, Ordering::SeqCst);
            return;
        }
    }
}

fn read(connection: usize, reader: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut words = first.split_ascii_whitespace();
    let (verb, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().expect("a length"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        connection,
        verb,
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

// === impl Seen ===

impl Seen {
    pub(super) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(super) fn tool(&self) -> &str {
        self.body["params"]["name"].as_str().unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let (_, value) = found.next()?;
        assert!(found.next().is_none(), "{name} is sent once");
        Some(value)
    }
}

// === impl Reply ===

impl Reply<'_> {
    pub(super) fn header(&mut self, name: &str, value: &str) {
        self.headers += &format!("{name}: {value}\r\n");
    }

    pub(super) fn text(&mut self, status: u16, kind: &str, body: &str) {
        if !kind.is_empty() {
            self.header("Content-Type", kind);
        }
        let head = format!(
            "HTTP/1.1 {status} x\r\n{}Content-Length: {}\r\n\r\n{body}",
            self.headers,
            body.len()
        );
        self.write(&head);
    }

    pub(super) fn json(&mut self, status: u16, body: &Value) {
        self.text(status, "application/json", &body.to_string());
    }

    pub(super) fn stream(&mut self) {
        let head = format!(
            "HTTP/1.1 200 OK\r\n{}Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
            self.headers
        );
        self.write(&head);
    }

    pub(super) fn raw(&mut self, text: &str) {
        self.write(&format!("{:x}\r\n{text}\r\n", text.len()));
    }

    pub(super) fn comment(&mut self) {
        self.raw(": still here\n\n");
    }

    pub(super) fn event(&mut self, id: &str, data: &Value) {
        let id = if id.is_empty() {
            String::new()
        } else {
            format!("id: {id}\n")
        };
        self.raw(&format!("{id}data: {data}\n\n"));
    }

    pub(super) fn end(&mut self) {
        self.write("0\r\n\r\n");
    }

    /// The last event and the end in one piece, so that whoever has read the
    /// one has the other.
    pub(super) fn event_and_end(&mut self, data: &Value) {
        let text = format!("data: {data}\n\n");
        self.write(&format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len()));
    }

    /// Writes bytes and closes the connection.
    pub(super) fn cut(&mut self, bytes: &str) {
        self.write(bytes);
        self.hang_up();
    }

    pub(super) fn hang_up(&mut self) {
        self.hang_up = true;
    }

    pub(super) fn close_port(&mut self) {
        self.shared.close_port(self.address);
        self.hang_up();
    }

    /// Keeps this stream, so that answers to other requests can be put on it.
    pub(super) fn keep(&mut self) {
        let kept = self.stream.try_clone().expect("a second handle");
        *self.shared.kept.lock().expect("not poisoned") = Some(kept);
    }

    /// Puts an event on the stream that was kept.
    pub(super) fn tell(&self, text: &str) {
        let mut kept = self.shared.kept.lock().expect("not poisoned");
        let kept = kept.as_mut().expect("a stream was kept");
        let _gone = kept.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes());
    }

    /// Ends the stream that was kept.
    pub(super) fn end_kept(&self) {
        let kept = self.shared.kept.lock().expect("not poisoned").take();
        let mut kept = kept.expect("a stream was kept");
        let _gone = kept.write_all(b"0\r\n\r\n");
    }

    /// Waits for another request.
    pub(super) fn wait_for(&self, wanted: impl Fn(&Seen) -> bool) -> Seen {
        let mut all = self.shared.seen.lock().expect("not poisoned");
        loop {
            if let Some(found) = all.iter().find(|seen| wanted(seen)) {
                return found.clone();
            }
            all = self.shared.news.wait(all).expect("not poisoned");
        }
    }

    /// A request that was seen before.
    pub(super) fn earlier(&self, wanted: impl Fn(&Seen) -> bool) -> Seen {
        self.wait_for(wanted)
    }

    /// Waits until the other side has closed the connection.
    pub(super) fn wait_for_close(&mut self) {
        let mut byte = [0];
        while let Ok(1..) = self.stream.read(&mut byte) {}
        self.shared.closes.fetch_add(1, Ordering::SeqCst);
        self.hang_up();
    }

    fn write(&mut self, text: &str) {
        // The other side may have gone, which is what some tests are about.
        let _gone = self.stream.write_all(text.as_bytes());
    }
}
