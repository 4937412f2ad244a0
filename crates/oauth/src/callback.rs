//! Where a browser comes back to: a port of this machine that is open while somebody
//! signs in (RFC 8252, section 7.3).

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::authorize::Attempt;

const PATH: &str = "/callback";
/// How long a connection may take to say what it wants.
const HEAD_LIMIT: Duration = Duration::from_secs(5);
/// The longest request.
const HEAD_MAX: usize = 16 * 1024;
/// How long is waited after a connection that could not be taken.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections at once: browsers open some in advance.
const CONNECTIONS_MAX: usize = 16;

/// A port that waits for a browser.
#[derive(Debug)]
pub(crate) struct Callback {
    listener: TcpListener,
    port: u16,
}

/// A browser that came back and waits for a page.
#[derive(Debug)]
pub(crate) struct Visitor {
    pub(crate) query: String,
    stream: TcpStream,
}

// === impl Callback ===

impl Callback {
    /// Listens on this port, or on any.
    pub(crate) async fn bind(port: Option<u16>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The address, as it is registered and sent.
    pub(crate) fn redirect(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the browser of this sign-in. Whoever else comes is sent away, and
    /// the wait goes on: any page could send a request here.
    pub(crate) async fn visitor(&self, attempt: &Attempt) -> Visitor {
        let mut readers = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if readers.len() < CONNECTIONS_MAX => {
                    match accepted {
                        Ok((stream, _)) => readers.push(self.read(stream, attempt)),
                        // Out of descriptors: asked at once it would say so again.
                        Err(_) => tokio::time::sleep(PAUSE).await,
                    }
                }
                Some(read) = readers.next(), if !readers.is_empty() => {
                    if let Some(visitor) = read {
                        return visitor;
                    }
                }
            }
        }
    }

    async fn read(&self, mut stream: TcpStream, attempt: &Attempt) -> Option<Visitor> {
        let head = tokio::time::timeout(HEAD_LIMIT, head(&mut stream)).await;
        let head = head.ok()??;
        let refused = match self.query(&head) {
            Some(query) if attempt.is_of(query) => {
                let query = query.to_owned();
                return Some(Visitor { query, stream });
            }
            Some(_) => ("400 Bad Request", "This address belongs to no sign-in."),
            None => ("404 Not Found", "There is nothing here."),
        };
        answer(&mut stream, refused.0, refused.1).await;
        None
    }

    /// The query of a request for the one page there is, under the name it has.
    fn query<'a>(&self, head: &'a str) -> Option<&'a str> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        let (path, query) = target.split_once('?')?;
        let hosts: Vec<&str> = lines
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
            .map(|(_, value)| value.trim())
            .collect();
        let here = format!("127.0.0.1:{}", self.port);
        (method == "GET" && path == PATH && hosts == [here.as_str()]).then_some(query)
    }
}

// === impl Visitor ===

impl Visitor {
    /// Shows how it ended.
    pub(crate) async fn show(mut self, signed_in: bool) {
        let text = if signed_in {
            "You are signed in. You can close this window."
        } else {
            "You are not signed in. The hub says why; you can close this window."
        };
        answer(&mut self.stream, "200 OK", text).await;
    }
}

async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    while !text.windows(4).any(|end| end == b"\r\n\r\n") {
        if text.len() > HEAD_MAX || stream.read_buf(&mut text).await.ok()? == 0 {
            return None;
        }
    }
    String::from_utf8(text).ok()
}

/// Nothing of the request is on the page, and nothing on it runs.
async fn answer(stream: &mut TcpStream, status: &str, text: &str) {
    let page = format!(
        "<!doctype html><meta charset=utf-8><title>Legation</title><p style=\"font:1.2em \
         sans-serif;margin:3em\">{text}"
    );
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nx-content-type-options: \
         nosniff\r\ncontent-security-policy: default-src 'none'; style-src 'unsafe-inline'; \
         frame-ancestors 'none'\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    // A browser that is gone needs no page.
    let write = async {
        drop(stream.write_all(answer.as_bytes()).await);
        drop(stream.shutdown().await);
    };
    drop(tokio::time::timeout(HEAD_LIMIT, write).await);
}
