//! An HTTP proxy that ends TLS itself, so that clients that cannot be told another address reach
//! this tenant under Microsoft's own names.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use legation_core::TaskSet;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::certs::REAL_HOSTS;
use crate::listen;
use crate::say::say;
use crate::server::Shared;

const HEAD_MAX: usize = 8 * 1024;
const HEAD_PATIENCE: Duration = Duration::from_secs(10);

/// Accepts connections until it is ended.
pub(crate) async fn run(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    own: SocketAddr,
    shared: Arc<Shared>,
    tasks: TaskSet,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
                tasks.spawn("connect", async move {
                    // Who sends no CONNECT within reason is let go.
                    let opened =
                        tokio::time::timeout(HEAD_PATIENCE, open(stream, own, &shared)).await;
                    if let Ok(Ok(stream)) = opened {
                        listen::connection(stream, acceptor, shared).await;
                    }
                });
            }
            Err(error) => {
                say(&format!("cannot accept a connection: {error}"));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Reads the CONNECT request and agrees to it, or refuses every host that is not Microsoft's or
/// this server: a tenant is no way into the network.
async fn open(mut stream: TcpStream, own: SocketAddr, shared: &Shared) -> Result<TcpStream> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= HEAD_MAX {
            bail!("the request has no end");
        }
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.split_whitespace();
    let (method, target) = (words.next(), words.next().context("no target")?);
    let refused = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    if method != Some("CONNECT") {
        stream
            .write_all(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .await?;
        bail!("not a CONNECT");
    }
    let host = target.rsplit_once(':').map_or(target, |(host, _)| host);
    let local = target == own.to_string() || target == format!("localhost:{}", own.port());
    if !REAL_HOSTS.contains(&host) && !local {
        shared.report().unknown(&format!("CONNECT {target}"));
        stream.write_all(refused.as_bytes()).await?;
        bail!("not served");
    }
    stream
        .write_all(b"HTTP/1.1 200 Connection Established\r\n\r\n")
        .await?;
    Ok(stream)
}
