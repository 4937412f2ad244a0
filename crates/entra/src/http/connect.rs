//! Reaching a host, through a proxy if there is one.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{HttpError, Origin, Url};

/// Time for name, connection, proxy and TLS together.
const CONNECT: Duration = Duration::from_secs(15);
/// The largest answer of a proxy to CONNECT.
const PROXY_HEAD_MAX: usize = 8 << 10;

pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

pub(super) struct Connector {
    tls: TlsConnector,
    proxy: Option<Url>,
}

// === impl Connector ===

impl Connector {
    pub(super) fn new(tls: Arc<ClientConfig>, proxy: Option<Url>) -> Self {
        Self {
            tls: TlsConnector::from(tls),
            proxy,
        }
    }

    pub(super) async fn connect(&self, origin: &Origin) -> Result<Box<dyn Io>, HttpError> {
        let late = || HttpError::Connect {
            origin: origin.to_string(),
            source: io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no connection within {} s", CONNECT.as_secs()),
            ),
        };
        let reach = Box::pin(self.reach(origin));
        match tokio::time::timeout(CONNECT, reach).await {
            Ok(result) => result,
            Err(_) => Err(late()),
        }
    }

    async fn reach(&self, origin: &Origin) -> Result<Box<dyn Io>, HttpError> {
        let fail = |source| HttpError::Connect {
            origin: origin.to_string(),
            source,
        };
        let first = self.proxy.as_ref().map_or(origin, Url::origin);
        let tcp = TcpStream::connect((first.host(), first.port()))
            .await
            .map_err(fail)?;
        tcp.set_nodelay(true).map_err(fail)?;
        let mut stream: Box<dyn Io> = Box::new(tcp);
        if first.is_tls() {
            stream = self.secure(first, stream).await.map_err(fail)?;
        }
        if self.proxy.is_none() {
            return Ok(stream);
        }
        let status = tunnel(&mut stream, origin).await.map_err(fail)?;
        if !status.starts_with('2') {
            return Err(HttpError::Proxy {
                origin: origin.to_string(),
                status,
            });
        }
        if origin.is_tls() {
            stream = self.secure(origin, stream).await.map_err(fail)?;
        }
        Ok(stream)
    }

    async fn secure(&self, origin: &Origin, stream: Box<dyn Io>) -> io::Result<Box<dyn Io>> {
        let name = ServerName::try_from(origin.host().to_owned())
            .map_err(|_| io::Error::other("no certificate could hold this host's name"))?;
        let stream = self.tls.connect(name, stream).await?;
        Ok(Box::new(stream))
    }
}

/// CONNECT (RFC 9110 section 9.3.6); the status of the answer.
async fn tunnel(stream: &mut Box<dyn Io>, origin: &Origin) -> io::Result<String> {
    let host = match origin.host().contains(':') {
        true => format!("[{}]:{}", origin.host(), origin.port()),
        false => format!("{}:{}", origin.host(), origin.port()),
    };
    let request = format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= PROXY_HEAD_MAX {
            return Err(io::Error::other("the proxy's answer is too long"));
        }
        // Byte by byte: what follows belongs to the host behind it.
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().next().unwrap_or_default();
    let status = line.split_once(' ').map_or("", |(_, status)| status);
    Ok(crate::base::plain(status, 80))
}
