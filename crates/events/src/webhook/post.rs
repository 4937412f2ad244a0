//! One request to a receiver: to an address that was looked up and checked just
//! now, under the receiver's own name, without following anything.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header;
use http_body_util::Full;
use legation_core::error::chain;
use legation_core::net::{Lookup, is_global};
use legation_net::{Tls, TlsError};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::receiver::{Allowed, Receiver};
use crate::Reason;

/// How much of an answer is read: that of a challenge is short, and of others
/// only the status counts.
const ANSWER_MAX: usize = 4 * 1024;
/// Requests that are under way at once, whoever's: each has a connection. One that waits
/// for its turn does not lose its time by it.
const POSTS_MAX: usize = 128;

/// Sends requests.
#[derive(Debug)]
pub(crate) struct Poster {
    tls: Tls,
    allowed: Allowed,
    lookup: Arc<dyn Lookup>,
    limit: Duration,
    turns: Semaphore,
}

/// What is sent.
#[derive(Debug)]
pub(crate) struct Parcel<'a> {
    /// `webhook-id`.
    pub(crate) id: &'a str,
    /// `webhook-timestamp`, seconds since 1970.
    pub(crate) timestamp: i64,
    /// `webhook-signature`.
    pub(crate) signature: &'a str,
    /// `X-MCP-Subscription-Id`.
    pub(crate) subscription: &'a str,
    /// The body.
    pub(crate) body: Bytes,
}

/// An answer with a status; the body as far as it is of interest.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

// === impl Poster ===

impl Poster {
    pub(crate) fn new(
        ca_pem: Option<Vec<u8>>,
        allowed: Allowed,
        lookup: Arc<dyn Lookup>,
        limit: Duration,
    ) -> Self {
        Self {
            tls: Tls::new(ca_pem),
            allowed,
            lookup,
            limit,
            turns: Semaphore::new(POSTS_MAX),
        }
    }

    pub(crate) fn allowed(&self) -> &Allowed {
        &self.allowed
    }

    /// Sends something and waits for the answer, a few seconds at most.
    pub(crate) async fn post(
        &self,
        receiver: &Receiver,
        parcel: &Parcel<'_>,
    ) -> Result<Answer, Reason> {
        // It is never closed.
        let _turn = self.turns.acquire().await;
        let exchange = Box::pin(self.exchange(receiver, parcel));
        tokio::time::timeout(self.limit, exchange)
            .await
            .unwrap_or(Err(Reason::Timeout))
    }

    async fn exchange(&self, receiver: &Receiver, parcel: &Parcel<'_>) -> Result<Answer, Reason> {
        let tcp = self.connect(receiver).await?;
        let tls = self.tls.connect(receiver.host(), tcp).await;
        let stream = tls.map_err(|error| {
            match &error {
                TlsError::Trust(why) => {
                    tracing::error!(%why, "no receiver can be checked by its certificate");
                }
                TlsError::Name | TlsError::Handshake(_) => {
                    let error = chain(&error);
                    tracing::debug!(?receiver, error, "no TLS with a receiver");
                }
            }
            Reason::TlsError
        })?;
        let message = message(receiver, parcel).ok_or(Reason::Http4xx)?;
        let answer = legation_net::exchange(stream, message, ANSWER_MAX).await;
        let answer = answer.map_err(|_| Reason::ConnectionRefused)?;
        // Of a long answer, or one that broke off, the beginning will do.
        Ok(Answer {
            status: answer.status.as_u16(),
            body: answer.body.into(),
        })
    }

    /// Connects to the first address that may be reached. What the name leads to
    /// is found out here and nowhere before, so that there is no moment between a
    /// check and its use.
    async fn connect(&self, receiver: &Receiver) -> Result<TcpStream, Reason> {
        let found = self.lookup.lookup(receiver.host(), receiver.port()).await;
        let found = found.map_err(|_| Reason::ConnectionRefused)?;
        let any = self.allowed.holds(receiver);
        let usable: Vec<SocketAddr> = found
            .into_iter()
            .filter(|address| any || is_global(address.ip()))
            .collect();
        if usable.is_empty() {
            tracing::warn!(?receiver, "a receiver has no address that may be reached");
        }
        legation_net::first_of(usable)
            .await
            .map_err(|error| match error.kind() {
                io::ErrorKind::TimedOut => Reason::Timeout,
                _ => Reason::ConnectionRefused,
            })
    }
}

fn message(receiver: &Receiver, parcel: &Parcel<'_>) -> Option<http::Request<Full<Bytes>>> {
    http::Request::post(receiver.target())
        .header(header::HOST, receiver.authority())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, legation_net::USER_AGENT)
        .header("webhook-id", parcel.id)
        .header("webhook-timestamp", parcel.timestamp)
        .header("webhook-signature", parcel.signature)
        .header("x-mcp-subscription-id", parcel.subscription)
        .body(Full::new(parcel.body.clone()))
        .ok()
}
