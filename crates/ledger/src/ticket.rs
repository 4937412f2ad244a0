//! The right to run a call whose intent is recorded.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use legation_core::EntityId;

use crate::ledger::Inner;
use crate::members::Spans;
use crate::queue::{Duty, Pending};
use crate::record::{CallId, OutcomeRecord, Status};

/// Shows that a call's intent is recorded. It cannot be copied; a ticket that
/// is dropped without an outcome leaves one that says `unknown`.
#[must_use = "dropping a ticket records the outcome as unknown"]
pub struct Ticket {
    inner: Arc<Inner>,
    entity: EntityId,
    call: CallId,
    position: i64,
    seq: i64,
    /// The intent's members, of which the outcome repeats some; none once the
    /// outcome is recorded.
    asked: Option<(Vec<u8>, Spans)>,
    started: Instant,
}

// === impl Ticket ===

impl Ticket {
    pub(crate) fn new(
        inner: Arc<Inner>,
        entity: EntityId,
        call: CallId,
        (position, seq): (i64, i64),
        asked: (Vec<u8>, Spans),
    ) -> Self {
        inner.open.fetch_add(1, Ordering::AcqRel);
        Self {
            started: inner.clock.now(),
            inner,
            entity,
            call,
            position,
            seq,
            asked: Some(asked),
        }
    }

    /// Which call.
    #[must_use]
    pub fn call(&self) -> CallId {
        self.call
    }

    /// The intent's place in its entity's chain.
    #[must_use]
    pub fn seq(&self) -> i64 {
        self.seq
    }

    /// Queues the outcome; it joins the next commit of this thread, or the
    /// flusher's.
    pub(crate) fn finish(mut self, outcome: &OutcomeRecord<'_>) {
        self.record(outcome);
    }

    fn record(&mut self, outcome: &OutcomeRecord<'_>) {
        let Some((members, spans)) = self.asked.take() else {
            return;
        };
        self.inner.open.fetch_sub(1, Ordering::AcqRel);
        let passed = self
            .inner
            .clock
            .now()
            .saturating_duration_since(self.started);
        let micros = u64::try_from(passed.as_micros()).unwrap_or(u64::MAX);
        let intent = spans.of(&members, self.seq);
        let at_ms = self.inner.clock.wall().0;
        let commit = |result| self.inner.keys.commit(&self.entity, at_ms, result);
        // What became of the call is worth recording without a commitment too.
        let commitment = outcome.result.and_then(|result| match commit(result) {
            Ok(commitment) => Some(commitment),
            Err(error) => {
                tracing::error!(error = %legation_core::error::chain(&error), "a result is recorded without a commitment to it");
                None
            }
        });
        self.inner.queue_outcome(Pending {
            entity: self.entity.clone(),
            at_ms,
            members: outcome.members(&intent, Some(micros), commitment.as_ref()),
            duty: Duty::Outcome {
                closes: self.position,
            },
        });
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.record(&OutcomeRecord::bare(Status::Unknown));
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket")
            .field("call", &self.call)
            .field("seq", &self.seq)
            .finish_non_exhaustive()
    }
}
