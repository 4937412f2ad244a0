//! One request and its answer over HTTP/1.1, on a connection that is closed afterwards.

use std::pin::pin;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// An answer, and of its body what there was room for.
#[derive(Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// Its fields.
    pub headers: HeaderMap,
    /// The body, or its beginning.
    pub body: Bytes,
    /// How the body ended.
    pub end: BodyEnd,
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// All of it is there.
    Whole,
    /// It is longer than was wanted, and only its beginning was read.
    TooLong,
    /// The connection broke, or the body was none.
    Broken,
}

/// There was no answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection gave no answer")]
pub struct ExchangeError(#[source] hyper::Error);

/// Sends a request and reads its answer, at most `body_max` bytes of the body. How long that may take is
/// the caller's business; dropped before it is over, it closes the connection.
///
/// # Errors
/// [`ExchangeError`] where no head of an answer came.
pub async fn exchange<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    body_max: usize,
) -> Result<Answer, ExchangeError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let shaken = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = shaken.map_err(ExchangeError)?;
    let mut work = pin!(async move {
        let answer = sender.send_request(request).await.map_err(ExchangeError)?;
        let (head, body) = answer.into_parts();
        let (body, end) = read(body, body_max).await;
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body,
            end,
        })
    });
    let mut connection = pin!(connection);
    tokio::select! {
        answer = &mut work => answer,
        // How it ended is told by the answer on it.
        _ended = &mut connection => work.await,
    }
}

async fn read(mut body: Incoming, most: usize) -> (Bytes, BodyEnd) {
    let mut text = Vec::new();
    loop {
        let data = match body.frame().await {
            None => return (text.into(), BodyEnd::Whole),
            Some(Err(_)) => return (text.into(), BodyEnd::Broken),
            Some(Ok(frame)) => frame.into_data(),
        };
        // Trailers say nothing that is of use here.
        let Ok(data) = data else { continue };
        let room = most - text.len();
        if data.len() > room {
            text.extend_from_slice(&data[..room]);
            return (text.into(), BodyEnd::TooLong);
        }
        text.extend_from_slice(&data);
    }
}

// === impl Answer ===

impl Answer {
    /// A field of the head, as text.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Fields and body may hold tokens.
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}
