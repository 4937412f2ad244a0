//! TLS to a database on another machine, with those whom the process trusts.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use legation_core::error::chain;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

/// Makes a connection's TLS; without certificates every attempt fails.
#[derive(Clone)]
pub(super) struct Tls {
    config: Result<Arc<ClientConfig>, String>,
}

/// TLS to one host. It is made for every connection, for those that do without
/// TLS too, so what it lacks shows only when it is used.
pub(super) struct TlsTo {
    config: Result<Arc<ClientConfig>, String>,
    host: Option<ServerName<'static>>,
}

/// An encrypted connection.
pub(super) struct Encrypted<S>(client::TlsStream<S>);

// === impl Tls ===

impl Tls {
    /// Reads the system's certificates, once a process and only where a
    /// connection is encrypted.
    pub(super) fn wanted(mode: SslMode) -> Self {
        static SYSTEM: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
        let config = match mode {
            SslMode::Disable => Err("the connection is not encrypted".to_owned()),
            _ => SYSTEM.get_or_init(build).clone(),
        };
        Self { config }
    }
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = TlsTo;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<TlsTo> {
        Ok(TlsTo {
            config: self.config.clone(),
            host: ServerName::try_from(host.to_owned()).ok(),
        })
    }
}

impl<S> TlsConnect<S> for TlsTo
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let config = self.config.map_err(io::Error::other)?;
            let host = self.host.ok_or_else(|| {
                io::Error::other("the host name is none that a certificate could hold")
            })?;
            let connector = TlsConnector::from(config);
            connector.connect(host, stream).await.map(Encrypted)
        })
    }
}

fn build() -> Result<Arc<ClientConfig>, String> {
    legation_net::trust::client_config(None).map_err(|error| chain(&error))
}

// === impl Encrypted ===

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
