//! Reading a request's body: bounded in bytes and in time.

use std::io;

use bytes::Bytes;
use http::StatusCode;
use legation_wire::http1::{Body, Framing, Step};

use super::head::Head;
use super::io::{Came, Io};
use super::reply::{Reply, refuse};
use crate::settings::FrontSettings;

/// What is set aside for a body before it has come.
const AHEAD: usize = 64 * 1024;
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A body that was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BodyError {
    /// It is longer than allowed.
    #[error(
        "the body is longer than the {max} bytes that are taken here (messages: limits.client_message_bytes)"
    )]
    TooLong {
        /// The limit.
        max: usize,
    },
    /// It did not come in time.
    #[error("the body did not come in time")]
    TooSlow,
    /// Its framing is wrong.
    #[error("the body is broken: {problem}")]
    Broken {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// There is nobody to answer any more.
    #[error("the connection is over")]
    Gone,
}

// === impl BodyError ===

impl BodyError {
    /// What the client is told, if it still listens. The rest of the body is
    /// not waited for.
    pub(super) fn reply(self) -> Option<Reply> {
        let status = match self {
            Self::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken { .. } => StatusCode::BAD_REQUEST,
            Self::Gone => return None,
        };
        Some(refuse(status, &self.to_string()).closing())
    }
}

/// The whole body of at most `max` bytes; what has come of it stands in `came`.
pub(super) async fn read(
    io: &mut Io,
    came: &mut Came,
    head: &Head,
    max: usize,
    settings: &FrontSettings,
) -> Result<Bytes, BodyError> {
    let length = match head.framing {
        None => return Ok(Bytes::new()),
        Some(Framing::Length(length)) => usize::try_from(length).unwrap_or(usize::MAX),
        Some(Framing::Chunked | Framing::Close) => 0,
    };
    if length > max {
        return Err(BodyError::TooLong { max });
    }
    // Nearly every body has come with its head.
    if head.framing != Some(Framing::Chunked)
        && let Some(whole) = came.unused().get(..length)
    {
        let whole = Bytes::copy_from_slice(whole);
        came.use_up(length);
        return Ok(whole);
    }
    io.allow(settings.body_timeout);
    if head.expects && came.unused().is_empty() {
        io.write(CONTINUE, b"").await.map_err(|_| BodyError::Gone)?;
        io.allow(settings.body_timeout);
    }
    came.expect(length);
    collect(io, came, head.framing, max).await
}

async fn collect(
    io: &mut Io,
    came: &mut Came,
    framing: Option<Framing>,
    max: usize,
) -> Result<Bytes, BodyError> {
    let mut body = Body::new(framing.unwrap_or(Framing::Length(0)));
    let ahead = usize::try_from(body.at_least()).unwrap_or(AHEAD);
    let mut whole = Vec::with_capacity(ahead.min(AHEAD));
    loop {
        let shown = came.unused();
        let (used, step) = body.step(shown).map_err(|bad| BodyError::Broken {
            problem: bad.problem,
        })?;
        match step {
            Step::Data(range) => {
                if whole.len() + range.len() > max {
                    return Err(BodyError::TooLong { max });
                }
                whole.extend_from_slice(&shown[range]);
                came.use_up(used);
            }
            Step::End => {
                came.use_up(used);
                return Ok(whole.into());
            }
            Step::More => {
                came.use_up(used);
                io.fill(came).await.map_err(|error| match error.kind() {
                    io::ErrorKind::TimedOut => BodyError::TooSlow,
                    _ => BodyError::Gone,
                })?;
            }
        }
    }
}
