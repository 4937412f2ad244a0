//! One request and its answer over a connection of its own.

use std::convert::Infallible;

use anyhow::{Result, anyhow};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// Sends a request; the answer, whose body may be `limit` bytes long.
pub(crate) async fn exchange<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    limit: usize,
) -> Result<(u16, Bytes)>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let response = whole(stream, request, limit).await?;
    Ok((response.status().as_u16(), response.into_body()))
}

/// The same with the headers of the answer.
pub(crate) async fn whole<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    limit: usize,
) -> Result<Response<Bytes>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let answered = async {
        let response = sender.send_request(request).await?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, limit).collect().await;
        let body = body.map_err(|error| anyhow!("the answer cannot be read: {error}"))?;
        anyhow::Ok(Response::from_parts(parts, body.to_bytes()))
    };
    // The connection may end together with the answer; only the answer decides.
    let driven = async {
        drop(connection.await);
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        answered = answered => answered,
        never = driven => match never {},
    }
}
