//! Reading a request's body: bounded in bytes and in time.

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};

use super::reply::{Reply, refuse};
use crate::settings::FrontSettings;

/// A body up to this many bytes is copied out of the connection's buffer.
const SMALL: usize = 4096;

/// A body that was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BodyError {
    /// It is longer than allowed.
    #[error("the body is longer than {max} bytes")]
    TooLong {
        /// The limit.
        max: usize,
    },
    /// It did not come in time.
    #[error("the body did not come in time")]
    TooSlow,
    /// It broke off, or its framing is wrong.
    #[error("the body broke off")]
    Broken,
}

// === impl BodyError ===

impl BodyError {
    /// What the client is told. The rest of the body is not waited for.
    pub(super) fn reply(self) -> Reply {
        let status = match self {
            Self::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken => StatusCode::BAD_REQUEST,
        };
        let mut reply = refuse(status, &self.to_string());
        reply.headers_mut().insert(
            http::header::CONNECTION,
            http::HeaderValue::from_static("close"),
        );
        reply
    }
}

/// The whole body.
pub(super) async fn read(body: Incoming, settings: &FrontSettings) -> Result<Bytes, BodyError> {
    let max = settings.body_max;
    if body.size_hint().lower() > max as u64 {
        return Err(BodyError::TooLong { max });
    }
    tokio::time::timeout(settings.body_timeout, collect(body, max))
        .await
        .unwrap_or(Err(BodyError::TooSlow))
}

async fn collect(mut body: Incoming, max: usize) -> Result<Bytes, BodyError> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyError::Broken)?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if first.len() + rest.len() + data.len() > max {
            return Err(BodyError::TooLong { max });
        }
        // Nearly every body is one piece.
        if first.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&data);
        }
    }
    if rest.is_empty() {
        // A piece is a slice of the connection's read buffer. Kept for the time of a call, or with a
        // session, it would keep the whole buffer and make the connection allocate another.
        let is_small = first.len() <= SMALL;
        return Ok(if is_small {
            Bytes::copy_from_slice(&first)
        } else {
            first
        });
    }
    let mut whole = BytesMut::with_capacity(first.len() + rest.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&rest);
    Ok(whole.freeze())
}
