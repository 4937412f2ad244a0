//! An answer while it comes.

use std::fmt;
use std::time::Instant;

use legation_core::{OpContext, SharedClock, Wall};
use legation_wire::sse::SseDecoder;

use super::{patience, too_late};
use crate::delta::Delta;
use crate::dialect::Decoder;
use crate::error::{ModelError, Wait};
use crate::limits::{Limits, Timeouts};
use crate::net::Exchange;

/// An answer while it comes. Dropping it closes its socket.
pub struct ModelStream {
    /// `None` once it is over.
    exchange: Option<Exchange>,
    events: SseDecoder,
    decoder: Decoder,
    ctx: OpContext,
    clock: SharedClock,
    timeouts: Timeouts,
    limits: Limits,
    /// Bytes that came.
    came: usize,
    /// When anything came last.
    heard: Instant,
    /// When the stream began.
    began: Instant,
    /// The model has said something.
    has_begun: bool,
    /// Told when everything before it was taken.
    failed: Option<ModelError>,
}

// === impl ModelStream ===

impl ModelStream {
    pub(super) fn new(
        exchange: Exchange,
        decoder: Decoder,
        ctx: OpContext,
        clock: SharedClock,
        timeouts: Timeouts,
        limits: Limits,
    ) -> Self {
        let now = clock.now();
        Self {
            exchange: Some(exchange),
            events: SseDecoder::new(limits.event),
            decoder,
            ctx,
            clock,
            timeouts,
            limits,
            came: 0,
            heard: now,
            began: now,
            has_begun: false,
            failed: None,
        }
    }

    /// The next step; `None` when the answer is over. The last steps are either
    /// [`Delta::Done`] or an error, never both. May be dropped and called again.
    pub async fn next(&mut self) -> Option<Result<Delta, ModelError>> {
        loop {
            if let Some(delta) = self.decoder.next() {
                self.has_begun |= delta.is_content();
                return Some(Ok(delta));
            }
            if let Some(error) = self.failed.take() {
                self.exchange = None;
                return Some(Err(error));
            }
            self.exchange.as_ref()?;
            if self.decoder.is_over() {
                return self.done();
            }
            match self.more().await {
                Ok(true) => {}
                // A server need not say that it has nothing more to say.
                Ok(false) | Err(ModelError::Timeout { .. } | ModelError::Broken { .. })
                    if self.decoder.finish().is_some() =>
                {
                    return self.done();
                }
                Ok(false) => self.failed = Some(ModelError::CutOff),
                Err(error) => self.failed = Some(error),
            }
        }
    }

    /// The time, by the clock it waits by.
    pub(crate) fn wall(&self) -> Wall {
        self.clock.wall()
    }

    fn done(&mut self) -> Option<Result<Delta, ModelError>> {
        self.exchange = None;
        let finish = self.decoder.finish()?;
        Some(Ok(Delta::Done(finish)))
    }

    /// Reads one piece; whether there was one.
    async fn more(&mut self) -> Result<bool, ModelError> {
        let Some(exchange) = &mut self.exchange else {
            return Ok(false);
        };
        let now = self.clock.now();
        let (since, most, wait) = match (self.decoder.finish(), self.has_begun) {
            (Some(_), _) => (self.heard, self.timeouts.end, Wait::Next),
            (None, true) => (self.heard, self.timeouts.idle, Wait::Next),
            (None, false) => (self.began, self.timeouts.first, Wait::First),
        };
        let left = (since + most).saturating_duration_since(now);
        let (left, is_call) = patience(&self.ctx, now, left);
        // A server that never pauses would else outlast the call.
        if is_call && left.is_zero() {
            return Err(too_late(is_call, wait, most));
        }
        let piece = tokio::select! {
            biased;
            reason = self.ctx.cancel.cancelled() => Err(ModelError::Cancelled { reason }),
            // What has come is taken, however long nobody asked for it.
            piece = exchange.piece() => piece,
            () = tokio::time::sleep(left) => Err(too_late(is_call, wait, most)),
        };
        let Some(piece) = piece? else {
            return Ok(false);
        };
        self.heard = self.clock.now();
        self.came += piece.len();
        if self.came > self.limits.stream {
            return Err(ModelError::TooLarge {
                what: "an answer",
                most: self.limits.stream,
            });
        }
        self.events.push(&piece);
        loop {
            match self.events.next() {
                Ok(Some(event)) => self.decoder.event(&event)?,
                Ok(None) => return Ok(true),
                Err(error) => {
                    return Err(ModelError::TooLarge {
                        what: "an event",
                        most: error.limit,
                    });
                }
            }
        }
    }
}

impl fmt::Debug for ModelStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelStream")
            .field("came", &self.came)
            .field("is_open", &self.exchange.is_some())
            .finish_non_exhaustive()
    }
}
