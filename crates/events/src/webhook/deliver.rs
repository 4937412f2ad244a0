//! Delivering: a worker for each subscription, so that a receiver that hangs
//! holds up nothing but itself.
//!
//! A worker reads the log from where its subscription stands and has a few
//! events on their way at once. Where it stands moves over what has arrived or
//! was given up, without a hole, and is kept soon after: what was on its way
//! when the hub ended is sent again, under the same id.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use legation_core::Wall;
use legation_core::error::chain;
use legation_wire::json::Object;
use tokio::sync::watch;
use tokio::time::Instant;

use super::control::failure;
use super::hook::Hook;
use crate::cursor::Position;
use crate::events::{Inner, begin, read};
use crate::{Entry, EventsError, Log, Reason, Record, What};

/// Events of one subscription that are on their way at once.
const WINDOW: usize = 4;
/// Places that are looked at together.
const AT_ONCE: usize = 64;
/// Attempts for one event: with five seconds before the second and five times as
/// long before each further one they take thirteen minutes.
const ATTEMPTS: u32 = 5;
const SLOWER: u32 = 5;
/// Longest body, in bytes (SEP-3415, webhook delivery).
const BODY_MAX: usize = 256 * 1024;
/// How soon is kept where a subscription stands.
const SAVE_AFTER: Duration = Duration::from_secs(1);
/// How long a worker sleeps that has nothing to do, and after a log could not be
/// read.
const IDLE: Duration = Duration::from_secs(60);

/// What became of one event.
enum End {
    Delivered,
    GivenUp(Reason),
    /// Its client may not be told of it any more.
    Withheld,
    Forbidden(EventsError),
}

type OnItsWay = FuturesUnordered<BoxFuture<'static, (u64, End)>>;

struct Worker {
    inner: Arc<Inner>,
    hook: Arc<Hook>,
    log: Arc<dyn Log>,
    changed: watch::Receiver<u64>,
    /// Everything up to here was read.
    read: u64,
    /// What of it is not settled.
    open: BTreeSet<u64>,
    on_its_way: OnItsWay,
    /// Whether it sent when it was last looked at.
    was_active: bool,
    /// Whether a gap is told now.
    try_gap: bool,
    save_at: Option<Instant>,
}

/// Delivers what a subscription is about, until it is over.
pub(super) async fn run(inner: Arc<Inner>, hook: Arc<Hook>) {
    let log = inner.log(&hook.filter.topic);
    let mut worker = Worker {
        changed: log.changed(),
        read: 0,
        open: BTreeSet::new(),
        on_its_way: FuturesUnordered::new(),
        was_active: false,
        try_gap: true,
        save_at: None,
        inner,
        hook,
        log,
    };
    while worker.step().await {}
}

// === impl Worker ===

impl Worker {
    /// Does what can be done now and waits for more; `false` when it is over.
    async fn step(&mut self) -> bool {
        let now = self.inner.clock.wall();
        let (over, ended, active) = {
            let mut state = self.hook.lock();
            self.was_active &= !std::mem::take(&mut state.is_rewound);
            (state.is_over(now), state.ended, state.active)
        };
        if ended {
            return false;
        }
        if over {
            lapse(&self.inner, &self.hook).await;
            return false;
        }
        if active && !self.was_active && !self.settle_in().await {
            tokio::time::sleep(IDLE).await;
            return true;
        }
        self.was_active = active;
        let mut more = false;
        if active {
            let try_gap = std::mem::take(&mut self.try_gap);
            if try_gap && self.hook.lock().owes_gap {
                self.inner.tell_gap(&self.hook).await;
                self.dirty();
            }
            self.changed.mark_unchanged();
            match self.fill().await {
                Ok(left) => more = left,
                Err(error) => {
                    // Ending it needs the record; where that fails it is tried again.
                    if self.inner.terminate(&self.hook, &error).await.is_ok() {
                        return false;
                    }
                }
            }
        }
        self.wait(active && !more).await;
        self.save_if_due().await;
        true
    }

    /// Finds where it stands in the log as that is now.
    async fn settle_in(&mut self) -> bool {
        let position = self.hook.lock().position;
        let started = match begin(Arc::clone(&self.log), position, None).await {
            Ok(started) => started,
            Err(error) => {
                tracing::warn!(error = %chain(&error), "an event subscription cannot go on yet");
                return false;
            }
        };
        let mut state = self.hook.lock();
        state.position = Position {
            epoch: self.log.epoch(),
            place: started.place,
        };
        state.owes_gap |= started.truncated;
        drop(state);
        self.read = started.place;
        // What was on its way before it stopped is behind that place, and read again.
        self.open.clear();
        self.on_its_way.clear();
        self.try_gap = true;
        true
    }

    /// Reads on while there is room; whether there is more than room.
    async fn fill(&mut self) -> Result<bool, EventsError> {
        while self.open.len() < WINDOW {
            let batch = match read(&self.log, self.read, AT_ONCE).await {
                Ok(batch) => batch,
                Err(error) => {
                    tracing::warn!(error = %chain(&error), "events cannot be read");
                    return Ok(true);
                }
            };
            if batch.reached == self.read {
                return Ok(false);
            }
            if batch.gap {
                self.hook.lock().owes_gap = true;
            }
            let who = self.hook.who();
            let access = self.inner.access.as_ref();
            self.hook.filter.permit(access, &who)?;
            for entry in &batch.entries {
                if self.open.len() >= WINDOW {
                    break;
                }
                self.read = entry.place;
                if let Some(data) = self.hook.filter.tell(access, &who, entry) {
                    self.open.insert(entry.place);
                    self.on_its_way.push(Box::pin(deliver(
                        Arc::clone(&self.inner),
                        Arc::clone(&self.hook),
                        entry.clone(),
                        data,
                    )));
                }
            }
            if self.open.len() < WINDOW {
                self.read = self.read.max(batch.reached);
            }
            self.moved();
        }
        Ok(true)
    }

    /// Waits until something has ended, or may begin.
    async fn wait(&mut self, listens: bool) {
        let until = self.until();
        let Self {
            on_its_way,
            changed,
            hook,
            ..
        } = self;
        let ended = tokio::select! {
            Some(ended) = on_its_way.next() => Some(ended),
            changed = changed.changed(), if listens => {
                if changed.is_err() {
                    // The log is gone, and with it the hub.
                    std::future::pending::<()>().await;
                }
                None
            }
            () = hook.changed.notified() => None,
            () = tokio::time::sleep_until(until) => None,
        };
        if let Some((place, end)) = ended {
            self.settle(place, end).await;
        }
    }

    fn until(&self) -> Instant {
        let now = Instant::now();
        let Wall(wall) = self.inner.clock.wall();
        let left = self.hook.lock().expires_ms.map(|expires| {
            Duration::from_millis(expires.saturating_sub(wall).max(0).unsigned_abs())
        });
        let sleep = left.map_or(IDLE, |left| left.min(IDLE));
        let until = now + sleep;
        self.save_at.map_or(until, |save_at| save_at.min(until))
    }

    async fn settle(&mut self, place: u64, end: End) {
        match end {
            End::Delivered => {
                self.hook.lock().delivered(self.inner.clock.wall());
                self.inner.counted.delivered.fetch_add(1, Ordering::Relaxed);
                self.try_gap = true;
            }
            End::GivenUp(reason) => {
                self.inner.counted.given_up.fetch_add(1, Ordering::Relaxed);
                let word = format!("could not be delivered ({})", reason.as_str());
                // The ledger knows that it was sent; what is not recorded here is in the log.
                if let Err(error) = self.inner.note(&self.hook, What::GivenUp, &word).await {
                    tracing::warn!(error = %chain(&error), id = &*self.hook.id, "an event was given up");
                }
                self.hook.lock().gave_up();
            }
            End::Withheld => {}
            End::Forbidden(error) => {
                if self.inner.terminate(&self.hook, &error).await.is_err() {
                    // Not told, and not lost: it is read again.
                    self.was_active = false;
                    self.open.clear();
                    self.on_its_way.clear();
                    return;
                }
            }
        }
        self.open.remove(&place);
        self.moved();
    }

    /// Moves where it stands over everything that is settled.
    fn moved(&mut self) {
        let place = self.open.first().map_or(self.read, |first| first - 1);
        let mut state = self.hook.lock();
        if state.position.place != place {
            state.position.place = place;
            drop(state);
            self.dirty();
        }
    }

    fn dirty(&mut self) {
        self.save_at
            .get_or_insert_with(|| Instant::now() + SAVE_AFTER);
    }

    async fn save_if_due(&mut self) {
        if self.save_at.is_none_or(|save_at| save_at > Instant::now()) {
            return;
        }
        self.save_at = None;
        if let Err(error) = self.inner.webhooks.save(&self.hook).await {
            tracing::warn!(error = %chain(&error), "where an event subscription stands is not kept");
            self.dirty();
        }
    }
}

/// Ends a subscription whose time is over.
async fn lapse(inner: &Arc<Inner>, hook: &Arc<Hook>) {
    if let Err(error) = inner.note(hook, What::Ended, "lapsed").await {
        tracing::warn!(error = %chain(&error), "an event subscription lapsed without a record");
    }
    if let Err(error) = inner.webhooks.forget(hook).await {
        tracing::warn!(error = %chain(&error), "an event subscription that lapsed is still kept");
    }
}

/// Sends one event until it has arrived or is given up.
async fn deliver(inner: Arc<Inner>, hook: Arc<Hook>, entry: Entry, mut data: Object) -> (u64, End) {
    let mut recorded = false;
    let mut wait = inner.settings.retry;
    let mut last = Reason::ConnectionRefused;
    for attempt in 1..=ATTEMPTS {
        if attempt > 1 {
            tokio::time::sleep(jittered(wait)).await;
            wait = wait.saturating_mul(SLOWER);
            // Minutes have passed, and the rules may be others.
            let (access, who) = (inner.access.as_ref(), hook.who());
            if let Err(error) = hook.filter.permit(access, &who) {
                return (entry.place, End::Forbidden(error));
            }
            match hook.filter.tell(access, &who, &entry) {
                Some(told) => data = told,
                None => return (entry.place, End::Withheld),
            }
        }
        let topic = &hook.filter.topic;
        let cursor = inner.cursor(&hook.who(), topic, entry.place);
        let body = entry.occurrence(topic, &data).with("cursor", cursor);
        let body = body.to_raw().as_bytes().clone();
        if body.len() > BODY_MAX {
            return (entry.place, End::GivenUp(Reason::Http4xx));
        }
        if !recorded {
            recorded = record(&inner, &hook, &entry).await;
        }
        if !recorded {
            // What cannot be recorded does not leave.
            continue;
        }
        let sent = inner.send(&hook, entry.id(topic), body).await;
        let status = sent.as_ref().map(|answer| answer.status).ok();
        match sent.map(|answer| failure(answer.status)) {
            Ok(None) => return (entry.place, End::Delivered),
            Ok(Some(reason)) | Err(reason) => {
                hook.lock().failed(reason, inner.clock.wall());
                last = reason;
            }
        }
        // Gone, or too large: no later attempt says otherwise.
        if matches!(status, Some(410 | 413)) {
            break;
        }
    }
    (entry.place, End::GivenUp(last))
}

async fn record(inner: &Inner, hook: &Hook, entry: &Entry) -> bool {
    let record = Record {
        what: What::Sent,
        client: hook.client.clone(),
        entity: entry.entity.clone(),
        text: format!(
            "{} by {} to {}",
            entry.id(&hook.filter.topic),
            hook.id,
            hook.receiver.origin()
        ),
    };
    match inner.access.record(record).await {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(error, "an event waits to be recorded before it is sent");
            false
        }
    }
}

/// A tenth more or less, so that what failed together is not tried together.
fn jittered(wait: Duration) -> Duration {
    let mut byte = [128];
    // Without randomness it is what it is.
    let _: Result<(), getrandom::Error> = getrandom::fill(&mut byte);
    wait.mul_f64(0.9 + f64::from(byte[0]) / 1275.0)
}
