//! A registry on loopback that answers whatever a test says.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use legation_core::net::{Found, Lookup};
use legation_net::proxy::Proxies;

use crate::registry::Registry;

/// An answer: status, more header lines, and the body.
pub(super) type Answer = (u16, String, Vec<u8>);

/// The stand-in. Its thread ends with the process of the test.
pub(super) struct Stand {
    pub(super) base: String,
}

/// Names that lead where a test says, and addresses that lead to themselves.
#[derive(Debug)]
struct Names;

// === impl Stand ===

impl Stand {
    /// One that answers each target of a request.
    pub(super) fn new(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = Arc::clone(&answer);
                thread::spawn(move || serve(&stream, &*answer));
            }
        });
        Self {
            base: format!("http://{address}"),
        }
    }

    pub(super) fn registry(&self) -> Registry {
        Registry::with_lookup(&self.base, Proxies::Direct, Arc::new(Names)).expect("an address")
    }
}

fn serve(stream: &TcpStream, answer: &dyn Fn(&str) -> Answer) {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().and_then(Result::ok).unwrap_or_default();
    while lines
        .next()
        .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
    {}
    let target = first.split(' ').nth(1).unwrap_or_default();
    let (status, more, body) = answer(target);
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{more}\r\n",
        body.len()
    );
    let mut stream = stream;
    // Who reads no further has closed it.
    drop(
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&body)),
    );
}

pub(super) fn json(value: &serde_json::Value) -> Answer {
    (200, String::new(), value.to_string().into_bytes())
}

// === impl Names ===

impl Lookup for Names {
    fn lookup(&self, host: &str, port: u16) -> Found {
        let address = match host {
            "inside.example" => "10.0.0.7",
            other => other,
        };
        let found = format!("{address}:{port}").parse();
        Box::pin(async move { found.map(|one| vec![one]).map_err(std::io::Error::other) })
    }
}
