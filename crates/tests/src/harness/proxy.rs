//! An HTTP proxy that knows one user, and for which every host is this machine.

use std::sync::{Arc, Mutex};

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;

use crate::fixture::lock;

/// The password of the user `user`, which must be seen nowhere.
pub const SECRET: &str = "hush-hush-hush-7";
/// `user:hush-hush-hush-7`
const LINE: &str = "proxy-authorization: Basic dXNlcjpodXNoLWh1c2gtaHVzaC03\r\n";

/// The proxy; it ends with the runtime.
#[derive(Debug)]
pub struct Proxy {
    /// Its port on 127.0.0.1.
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

// === impl Proxy ===

impl Proxy {
    /// Starts it.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let asked = Arc::default();
        let kept = Arc::clone(&asked);
        Handle::current().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let asked = Arc::clone(&kept);
                Handle::current().spawn(async move {
                    let _closed = pass(stream, &asked).await;
                });
            }
        });
        Ok(Self { port, asked })
    }

    /// Its address as this user.
    #[must_use]
    pub fn url(&self, user: &str) -> String {
        format!("http://{user}:{SECRET}@127.0.0.1:{}", self.port)
    }

    /// What it was asked for, as `CONNECT HOST:PORT`, or with another verb for a request that it
    /// passes on.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        lock(&self.asked).clone()
    }
}

async fn pass(mut stream: TcpStream, asked: &Mutex<Vec<String>>) -> anyhow::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let text = String::from_utf8(head.clone())?;
    let mut words = text.split_ascii_whitespace();
    let (verb, target) = (
        words.next().context("a verb")?,
        words.next().context("a target")?,
    );
    let place = target.strip_prefix("http://").unwrap_or(target);
    let place = place.split('/').next().unwrap_or(place).to_owned();
    lock(asked).push(format!("{verb} {place}"));
    if !text.contains(LINE) {
        let refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
        return Ok(stream.write_all(refusal).await?);
    }
    let port: u16 = place.rsplit_once(':').context("a port")?.1.parse()?;
    let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
    if verb == "CONNECT" {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    } else {
        server.write_all(&head).await?;
    }
    tokio::io::copy_bidirectional(&mut stream, &mut server).await?;
    Ok(())
}
