//! The group commit: whoever finds nobody committing commits for all who wait
//! on the same thread.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use legation_store::StoreError;
use tokio::sync::oneshot;

use crate::chain::{Chain, Done, Written};
use crate::error::LedgerError;
use crate::ledger::{Durability, Inner};
use crate::queue::{Duty, Pending, Waiter, my_shard};
use crate::record::{Intent, OutcomeRecord, Status};
use crate::settle::Settling;
use crate::ticket::Ticket;

/// Most callers that may wait for a record at a time.
const WAITING_MAX: usize = 4_096;
/// Most turns that are given away for others who wait for the disk.
const TURNS_MAX: usize = 16;

/// One of those who wait; dropping it leaves the line.
struct Place(Arc<Inner>);

/// The duty to commit a queue. Dropping it does so: a leader that is cancelled
/// still commits, on the spot, and no one who trusted it waits for ever.
struct Lead {
    inner: Arc<Inner>,
    shard: usize,
}

// === impl Inner ===

impl Inner {
    /// The commitment to an intent's arguments.
    pub(crate) fn commit_to(
        &self,
        intent: &Intent<'_>,
        at_ms: i64,
    ) -> Result<Option<[u8; 32]>, LedgerError> {
        let commit = |args| self.keys.commit(intent.entity, at_ms, args);
        intent
            .args
            .map(commit)
            .transpose()
            .map_err(LedgerError::key)
    }

    /// Queues a record and waits until it is written.
    pub(crate) async fn wait<T>(
        self: Arc<Self>,
        pending: Pending,
        told: oneshot::Receiver<Result<T, LedgerError>>,
    ) -> Result<T, LedgerError> {
        let waiting = self.waiting.fetch_add(1, Ordering::AcqRel);
        let _place = Place(Arc::clone(&self));
        if waiting >= WAITING_MAX {
            return Err(LedgerError::Busy { waiting });
        }
        let shard = my_shard();
        let for_disk = pending.duty.durability() == Durability::Disk;
        let is_alone = waiting == 0 && self.open.load(Ordering::Acquire) == 0;
        if self.away.is_used() {
            self.queues.push_quietly(shard, pending);
            self.commit_away();
        } else if self.queues.push(shard, pending) {
            let lead = Lead { inner: self, shard };
            // Whatever else is ready on this thread joins the commit. Giving
            // more turns away, for larger batches or while another thread
            // commits, was measured to cost more than it saves, but for the
            // disk: it costs a commit many times over. Where no other call is
            // under way there is hardly anybody to join.
            if !is_alone || for_disk {
                tokio::task::yield_now().await;
                lead.gather().await;
            }
            drop(lead);
        }
        told.await.unwrap_or(Err(LedgerError::Stopped))
    }

    pub(crate) fn queue_outcome(&self, pending: Pending) {
        self.queues.push_quietly(my_shard(), pending);
        self.wake_flusher();
    }

    pub(crate) fn wake_flusher(&self) {
        // Most calls find it set, and need not have it for themselves to see that. Between them and the flusher, which
        // clears it and then takes what is queued, stands the queue's lock: who queues what it did not take sees it cleared.
        if !self.dirty.load(Ordering::Acquire) && !self.dirty.swap(true, Ordering::AcqRel) {
            self.flusher.notify_one();
        }
    }

    pub(crate) fn commit_all(self: &Arc<Self>) -> Result<(), Arc<StoreError>> {
        self.commit(self.queues.take_all())
    }

    /// Writes a batch and tells everyone in it.
    pub(crate) fn commit(self: &Arc<Self>, batch: Vec<Pending>) -> Result<(), Arc<StoreError>> {
        let (done, position) = {
            let mut chain = self.chain();
            let done = chain.write(&self.store, batch);
            (done, chain.position())
        };
        match done {
            Ok(Done {
                written,
                lost,
                commit: Some(commit),
            }) => {
                for (waiter, claimed) in lost {
                    waiter.fail(LedgerError::Claimed {
                        kind: claimed.kind.as_str(),
                        id: claimed.id,
                    });
                }
                // One who begins to follow after this reads the file first.
                self.maker.wrote(position);
                if self.written.receiver_count() > 0 {
                    self.written.send_replace(position);
                }
                let waits = |one: &Written| one.pending.duty.durability() == Durability::Disk;
                if !written.iter().any(waits) {
                    self.deliver(written);
                    return Ok(());
                }
                let (disk, cache): (Vec<_>, Vec<_>) = written.into_iter().partition(waits);
                self.deliver(cache);
                self.settle(Settling {
                    commit,
                    written: disk,
                });
                Ok(())
            }
            Ok(Done { commit: None, .. }) => Ok(()),
            Err(failed) => {
                self.wake_flusher();
                self.tell(Arc::clone(&failed.source), failed.waiters);
                Err(failed.source)
            }
        }
    }

    pub(crate) fn deliver(self: &Arc<Self>, written: Vec<Written>) {
        for one in written {
            match one.pending.duty {
                Duty::Intent {
                    call,
                    spans,
                    waiter,
                    ..
                } => {
                    let ticket = Ticket::new(
                        Arc::clone(self),
                        one.pending.entity,
                        call,
                        (one.position, one.seq),
                        (one.pending.members, spans),
                    );
                    if let Err(Ok(ticket)) = waiter.send(Ok(ticket)) {
                        ticket.finish(&OutcomeRecord::bare(Status::Cancelled));
                    }
                }
                // One who has gone need not be told.
                Duty::Plain { waiter, .. } => drop(waiter.send(Ok(()))),
                Duty::Outcome { .. } => {}
            }
        }
    }

    pub(crate) fn tell(&self, source: Arc<StoreError>, waiters: Vec<Waiter>) {
        for waiter in waiters {
            waiter.fail(LedgerError::Write {
                source: Arc::clone(&source),
            });
        }
    }

    pub(crate) fn chain(&self) -> MutexGuard<'_, Chain> {
        self.chain.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Only outcomes can be left: everyone who waits holds a share of this.
        let batch = self.queues.take_all();
        let written = self.chain().write(&self.store, batch);
        if let Err(failed) = written {
            tracing::error!(error = %legation_core::error::chain(&*failed.source), "the last outcomes were not recorded; the next start records them as unknown");
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("store", &self.store)
            .field("waiting", &self.waiting)
            .finish_non_exhaustive()
    }
}

// === impl Place ===

impl Drop for Place {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

// === impl Lead ===

impl Lead {
    /// Waits as long as others come who wait for the disk.
    async fn gather(&self) {
        let (mut before, mut is_quiet) = (0, false);
        for _ in 0..TURNS_MAX {
            let now = self.inner.queues.for_disk(self.shard);
            // One alone has nobody to wait for. Of the turns of a runtime some have this task
            // first and some last, so that only two without anybody new say that there are none.
            if now <= 1 || (now == before && is_quiet) {
                return;
            }
            is_quiet = now == before;
            before = now;
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let batch = self.inner.queues.take(self.shard);
        // Whoever waits is told; the leader is one of them.
        drop(self.inner.commit(batch));
    }
}
