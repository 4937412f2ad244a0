//! The ledger itself: who may record what, and the group commit.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use legation_core::{Cancel, EntityId, SharedClock};
use legation_store::Store;
use tokio::sync::{Notify, oneshot, watch};

use crate::away::Away;
use crate::chain::{Chain, ChainError};
use crate::checkpoint::Maker;
use crate::error::{LedgerError, LedgerOpenError};
use crate::follow::Follow;
use crate::identities::Identities;
use crate::keys::LedgerKeys;
use crate::publish::Publisher;
use crate::query::{self, Bounds, Filter, Named, Page};
use crate::queue::{ClaimKind, Claimed, Duty, Pending, Queues};
use crate::read::{self, Entry};
use crate::record::{CallId, Claim, Intent, Note, OutcomeRecord, Refused};
use crate::settle::Syncs;
use crate::sweep::sweep;
use crate::ticket::Ticket;
use crate::verify::{self, Evidence, Report};

/// Outcomes are committed at the latest this long after they are known.
const FLUSH_AFTER: Duration = Duration::from_millis(50);

/// How long the flusher waits before it tries a failed store again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What a caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Durability {
    /// The record survives the end of the hub, not a power failure.
    PageCache,
    /// The record is on disk.
    Disk,
}

/// The record of every call. Clones share it.
#[derive(Debug, Clone)]
pub struct Ledger {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<Store>,
    pub(crate) keys: LedgerKeys,
    /// Under whose identity records are made from now on.
    pub(crate) identities: ArcSwap<Identities>,
    pub(crate) clock: SharedClock,
    pub(crate) syncs: Syncs,
    pub(crate) away: Away,
    pub(crate) maker: Maker,
    pub(crate) publisher: OnceLock<Publisher>,
    pub(crate) chain: Mutex<Chain>,
    pub(crate) queues: Queues,
    pub(crate) waiting: AtomicUsize,
    /// Tickets without an outcome.
    pub(crate) open: AtomicUsize,
    /// An outcome was queued since the flusher last looked.
    pub(crate) dirty: AtomicBool,
    pub(crate) flusher: Notify,
    pub(crate) written: watch::Sender<i64>,
    start: u64,
    calls: AtomicU64,
    swept: usize,
}

// === impl Ledger ===

impl Ledger {
    /// Opens the ledger in `store`. Calls that were running when the hub last
    /// ended get an outcome of `unknown` first. Blocks.
    ///
    /// # Errors
    /// See [`LedgerOpenError`].
    pub fn open(
        store: Arc<Store>,
        keys: LedgerKeys,
        clock: SharedClock,
    ) -> Result<Self, LedgerOpenError> {
        let away = Away::new(store.is_remote());
        Self::open_with(store, keys, clock, away)
    }

    pub(crate) fn open_with(
        store: Arc<Store>,
        keys: LedgerKeys,
        clock: SharedClock,
        away: Away,
    ) -> Result<Self, LedgerOpenError> {
        let mut start = [0u8; 8];
        getrandom::fill(&mut start).map_err(|source| LedgerOpenError::Random { source })?;
        let mut chain = Chain::read(&store).map_err(|error| match error {
            ChainError::Store(source) => LedgerOpenError::Store { source },
            ChainError::Damaged { entity, seq } => LedgerOpenError::DamagedHead {
                entity: entity.to_string(),
                seq,
            },
        })?;
        let swept = sweep(&store, &mut chain, clock.wall())
            .map_err(|source| LedgerOpenError::Store { source })?;
        let (written, _) = watch::channel(chain.position());
        Ok(Self {
            inner: Arc::new(Inner {
                store,
                keys,
                identities: ArcSwap::default(),
                clock,
                syncs: Syncs::default(),
                away,
                maker: Maker::default(),
                publisher: OnceLock::new(),
                chain: Mutex::new(chain),
                queues: Queues::default(),
                waiting: AtomicUsize::new(0),
                open: AtomicUsize::new(0),
                dirty: AtomicBool::new(false),
                flusher: Notify::new(),
                written,
                start: u64::from_be_bytes(start),
                calls: AtomicU64::new(0),
                swept,
            }),
        })
    }

    /// The place of the last record that is written.
    #[must_use]
    pub fn position(&self) -> i64 {
        *self.inner.written.borrow()
    }

    /// How many wait for their record.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.inner.waiting.load(Ordering::Relaxed)
    }

    /// How many calls the start found without outcome.
    #[must_use]
    pub fn swept(&self) -> usize {
        self.inner.swept
    }

    /// A fresh id for a call.
    #[must_use]
    pub fn next_call(&self) -> CallId {
        CallId {
            start: self.inner.start,
            count: self.inner.calls.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }

    /// Says who acts from now on: every record made after this names them.
    pub fn set_identities(&self, identities: Identities) {
        self.inner.identities.store(Arc::new(identities));
    }

    /// Records that a call is about to run. Only the ticket allows it to.
    ///
    /// # Errors
    /// See [`LedgerError`]; the call must then not run.
    pub fn intent(
        &self,
        intent: &Intent<'_>,
        durability: Durability,
    ) -> impl Future<Output = Result<Ticket, LedgerError>> + Send + use<> {
        self.record(intent, durability, None)
    }

    /// Like [`Ledger::intent`], and uses something up in the same transaction:
    /// of many calls that claim the same last use, one gets a ticket. Waits for
    /// the disk, because a use that a power failure brings back could be used
    /// twice.
    ///
    /// # Errors
    /// See [`LedgerError`]; [`LedgerError::Claimed`] when it cannot be used.
    pub fn intent_claiming(
        &self,
        intent: &Intent<'_>,
        claim: Claim<'_>,
    ) -> impl Future<Output = Result<Ticket, LedgerError>> + Send + use<> {
        let mut intent = *intent;
        let (kind, id) = match claim {
            Claim::Grant(id) => (ClaimKind::Grant, id),
            Claim::Approval(id) => (ClaimKind::Approval, id),
            Claim::Proposal(id) => (ClaimKind::Proposal, id),
        };
        match claim {
            Claim::Grant(id) => intent.detail.grant = Some(id),
            Claim::Approval(id) => intent.detail.approval = Some(id),
            Claim::Proposal(id) => intent.detail.proposal = Some(id),
        }
        let claim = Claimed {
            kind,
            id: id.to_owned(),
            at_ms: self.inner.clock.wall().0,
        };
        self.record(&intent, Durability::Disk, Some(Box::new(claim)))
    }

    fn record(
        &self,
        intent: &Intent<'_>,
        durability: Durability,
        claim: Option<Box<Claimed>>,
    ) -> impl Future<Output = Result<Ticket, LedgerError>> + Send + use<> {
        let inner = Arc::clone(&self.inner);
        let (entity, call) = (intent.entity.clone(), intent.call);
        let at_ms = inner.clock.wall().0;
        let members = inner.commit_to(intent, at_ms).map(|args| {
            let identities = inner.identities.load();
            intent.members("intent", identities.of(intent.entity), args.as_ref())
        });
        async move {
            let (line, spans) = members?;
            let (waiter, told) = oneshot::channel();
            let pending = Pending {
                entity,
                at_ms,
                members: line.into_members(),
                duty: Duty::Intent {
                    durability,
                    call,
                    spans,
                    claim,
                    waiter,
                },
            };
            inner.wait(pending, told).await
        }
    }

    /// Records what became of a call. Does not wait: the record joins the next
    /// commit, within 50 ms while [`Ledger::run_flusher`] runs.
    pub fn outcome(&self, ticket: Ticket, outcome: &OutcomeRecord<'_>) {
        ticket.finish(outcome);
    }

    /// Records a call that was refused.
    ///
    /// # Errors
    /// See [`LedgerError`]; the call stays refused.
    pub fn refused(
        &self,
        refused: &Refused<'_>,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send + use<> {
        let at_ms = self.inner.clock.wall().0;
        let members = self.inner.commit_to(&refused.intent, at_ms).map(|args| {
            let identities = self.inner.identities.load();
            refused.members(identities.of(refused.intent.entity), args.as_ref())
        });
        self.plain(refused.intent.entity, at_ms, members, Durability::PageCache)
    }

    /// Records something that is no call; on disk on return.
    ///
    /// # Errors
    /// See [`LedgerError`].
    pub fn note(
        &self,
        note: &Note<'_>,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send + use<> {
        let at_ms = self.inner.clock.wall().0;
        let members = note.members(self.inner.identities.load().of(note.entity));
        self.plain(note.entity, at_ms, Ok(members), Durability::Disk)
    }

    fn plain(
        &self,
        entity: &EntityId,
        at_ms: i64,
        members: Result<Vec<u8>, LedgerError>,
        durability: Durability,
    ) -> impl Future<Output = Result<(), LedgerError>> + Send + use<> {
        let inner = Arc::clone(&self.inner);
        let entity = entity.clone();
        async move {
            let (waiter, told) = oneshot::channel();
            let pending = Pending {
                entity,
                at_ms,
                members: members?,
                duty: Duty::Plain { durability, waiter },
            };
            inner.wait(pending, told).await
        }
    }

    /// Commits everything that is queued and forces it to disk. Blocks for that
    /// long; for shutdown and for tests.
    ///
    /// # Errors
    /// See [`LedgerError`]; what could not be written stays queued.
    pub async fn flush(&self) -> Result<(), LedgerError> {
        // Others of this runtime who are about to queue something come first.
        tokio::task::yield_now().await;
        let write = |source| LedgerError::Write { source };
        let flush = move |inner: &Arc<Inner>| {
            inner.commit_all().map_err(write)?;
            let last = inner.chain().last();
            last.map_or(Ok(()), |commit| inner.store.sync(commit))
                .map_err(|source| write(Arc::new(source)))
        };
        self.inner.aside(flush).await
    }

    /// Commits outcomes that nothing else follows, until cancelled; then once
    /// more. It sleeps while there is none and wakes every 50 ms at most.
    pub async fn run_flusher(&self, cancel: Cancel) {
        let mut pause = FLUSH_AFTER;
        loop {
            tokio::select! {
                _ = cancel.cancelled() => break,
                () = self.inner.flusher.notified() => {}
            }
            tokio::select! {
                _ = cancel.cancelled() => break,
                () = tokio::time::sleep(pause) => {}
            }
            self.inner.dirty.store(false, Ordering::Release);
            let commit = |inner: &Arc<Inner>| {
                let done = inner.commit_all();
                done.map_err(|source| LedgerError::Write { source })
            };
            pause = match self.inner.aside(commit).await {
                Ok(()) => FLUSH_AFTER,
                Err(error) => {
                    tracing::error!(error = %legation_core::error::chain(&error), "outcomes wait to be recorded");
                    self.inner.wake_flusher();
                    RETRY_AFTER
                }
            };
        }
        if let Err(error) = self.flush().await {
            tracing::error!(error = %legation_core::error::chain(&error), "the last outcomes were not recorded; the next start records them as unknown");
        }
    }

    /// Its records, for whoever reads many. Reading them blocks.
    #[must_use]
    pub fn records(&self) -> read::Records<'_> {
        read::Records::of(self.inner.store.reader())
    }

    /// The last `count` records, oldest first. Blocks.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn tail(&self, count: usize) -> Result<Vec<Entry>, LedgerError> {
        read::tail(self.inner.store.reader(), count)
    }

    /// The records that a filter wants before a position, or of all, newest
    /// first. Blocks: run it off the runtime.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn query(
        &self,
        filter: &Filter,
        before: Option<i64>,
        bounds: Bounds,
    ) -> Result<Page, LedgerError> {
        query::backward(self.inner.store.reader(), filter, before, bounds)
    }

    /// The records that a filter wants after a position, oldest first. Blocks.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn scan(&self, filter: &Filter, after: i64, bounds: Bounds) -> Result<Page, LedgerError> {
        query::forward(self.inner.store.reader(), filter, after, bounds)
    }

    /// What approvals, proposals and grants were used or closed since a time, of
    /// at most about `scan` records. A row of theirs that says otherwise was put
    /// there by another hand. Blocks.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn naming(&self, since_ms: i64, scan: usize) -> Result<Named, LedgerError> {
        query::naming(self.inner.store.reader(), since_ms, scan)
    }

    /// Everything about one call, oldest first. Blocks.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn find_call(&self, call: &str) -> Result<Vec<Entry>, LedgerError> {
        query::call(self.inner.store.reader(), call)
    }

    /// Whether a record's commitment is to these bytes; `None` when it has none,
    /// or its key was destroyed.
    ///
    /// # Errors
    /// [`LedgerError::Key`].
    pub fn is_commitment_to(
        &self,
        entry: &Entry,
        bytes: &[u8],
    ) -> Result<Option<bool>, LedgerError> {
        let keys = &self.inner.keys;
        let commitment = keys.commitment(&entry.entity, entry.at_ms, bytes);
        let commitment = commitment.map_err(LedgerError::key)?;
        let stated = entry
            .record()
            .and_then(|record| record.args.or(record.result));
        Ok(commitment.zip(stated).map(|(ours, stated)| ours == stated))
    }

    /// Every record after the last `back` ones, as they are made.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn follow(&self, back: usize) -> Result<Follow, LedgerError> {
        let seen = self.inner.written.subscribe();
        let from = match self.tail(back)?.first() {
            Some(entry) => entry.position - 1,
            None => self.inner.chain().position(),
        };
        Ok(Follow::new(Arc::clone(&self.inner.store), seen, from))
    }

    /// Checks every chain from its start, and against `evidence`. Blocks for one
    /// or two microseconds a record: run it off the runtime.
    ///
    /// # Errors
    /// [`LedgerError::Read`].
    pub fn verify(&self, evidence: &Evidence) -> Result<Report, LedgerError> {
        verify::verify(self.inner.store.reader(), evidence)
    }
}
