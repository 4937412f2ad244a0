//! What happened in this hub, for those who look on: a bounded log, read from
//! whatever place its reader stands at.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use futures_util::stream;
use legation_console::{Event, EventStream, Since};
use legation_core::{BootId, SharedClock};
use serde::Serialize;
use tokio::sync::watch;

/// Most events that are kept for readers who come back.
const KEPT_MAX: usize = 4096;
/// For how long what only readers want is noted after the last of them went.
const REMEMBERED_MS: i64 = 120_000;
/// What a reader is told that missed something.
const GAP: &str = "stream.gap";

/// See the module.
pub(crate) struct EventLog {
    /// Places are of one run.
    boot: Box<str>,
    kept: Mutex<Kept>,
    /// The place of the newest.
    newest: watch::Sender<u64>,
    clock: SharedClock,
    /// When a reader last went, in milliseconds since 1970; 0 for never.
    left_ms: AtomicI64,
}

#[derive(Debug, Default)]
struct Kept {
    /// The place of the first that is kept.
    first: u64,
    events: VecDeque<Arc<Event>>,
}

/// What a gap comes to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Gap {
    /// Why.
    reason: &'static str,
    /// How many events are missing, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<u64>,
}

/// One reader.
struct Reader {
    log: Arc<EventLog>,
    newest: watch::Receiver<u64>,
    /// The place it wants next.
    next: u64,
    /// What it is told first.
    gap: Option<Gap>,
}

// === impl EventLog ===

impl EventLog {
    pub(crate) fn new(boot: &BootId, clock: &SharedClock) -> Self {
        let boot = boot.as_str();
        Self {
            boot: boot.get(..12).unwrap_or(boot).into(),
            kept: Mutex::new(Kept {
                first: 1,
                events: VecDeque::new(),
            }),
            newest: watch::Sender::new(0),
            clock: Arc::clone(clock),
            left_ms: AtomicI64::new(0),
        }
    }

    /// Notes something.
    pub(crate) fn note(&self, name: &'static str, data: &impl Serialize) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.first + kept.events.len() as u64;
        let id = format!("{}-{place}", self.boot);
        kept.events
            .push_back(Arc::new(Event::new(Some(&id), name, data)));
        if kept.events.len() > KEPT_MAX {
            kept.events.pop_front();
            kept.first += 1;
        }
        drop(kept);
        // Two who note at once may come here in either order.
        self.newest.send_if_modified(|newest| {
            let is_newer = place > *newest;
            *newest = place.max(*newest);
            is_newer
        });
    }

    /// Notes that something could not be noted: whoever reads looks anew at what it shows.
    pub(crate) fn note_gap(&self, reason: &'static str, missed: u64) {
        let missed = Some(missed);
        self.note(GAP, &Gap { reason, missed });
    }

    /// Whether anybody reads, or did a moment ago and may come back.
    pub(crate) fn is_read(&self) -> bool {
        if self.newest.receiver_count() > 0 {
            return true;
        }
        let left = self.left_ms.load(Ordering::Relaxed);
        left != 0 && self.clock.wall().0.saturating_sub(left) < REMEMBERED_MS
    }

    /// Everything from a place on, until the hub stops.
    pub(crate) fn follow(self: &Arc<Self>, since: &Since) -> EventStream {
        let newest = self.newest.subscribe();
        let now = *newest.borrow() + 1;
        let (next, gap) = match since {
            Since::Now => (now, None),
            Since::Event(id) => match self.place(id).filter(|place| *place < now) {
                Some(place) => (place + 1, None),
                // It is of an earlier hub: everything of this one is new to the reader.
                None => {
                    let reason = "the hub was started anew since";
                    (
                        1,
                        Some(Gap {
                            reason,
                            missed: None,
                        }),
                    )
                }
            },
        };
        let reader = Reader {
            log: Arc::clone(self),
            newest,
            next,
            gap,
        };
        stream::unfold(reader, |mut reader| async move {
            let event = reader.read().await?;
            Some((event, reader))
        })
        .boxed()
    }

    /// The place that an id of this run says.
    fn place(&self, id: &str) -> Option<u64> {
        let (boot, place) = id.rsplit_once('-')?;
        (*boot == *self.boot).then_some(())?;
        place.parse().ok()
    }

    /// The event at a place, or the first place that there is.
    fn at(&self, place: u64) -> Result<Option<Arc<Event>>, u64> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(index) = place.checked_sub(kept.first) else {
            return Err(kept.first);
        };
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        Ok(kept.events.get(index).cloned())
    }
}

impl fmt::Debug for EventLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLog").finish_non_exhaustive()
    }
}

// === impl Reader ===

impl Reader {
    async fn read(&mut self) -> Option<Arc<Event>> {
        loop {
            if let Some(gap) = self.gap.take() {
                return Some(Arc::new(Event::new(None, GAP, &gap)));
            }
            self.newest.borrow_and_update();
            match self.log.at(self.next) {
                Ok(Some(event)) => {
                    self.next += 1;
                    return Some(event);
                }
                Err(first) => {
                    let reason = "more happened than is kept";
                    let missed = Some(first - self.next);
                    self.gap = Some(Gap { reason, missed });
                    self.next = first;
                }
                Ok(None) => self.newest.changed().await.ok()?,
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let now = self.log.clock.wall().0;
        self.log.left_ms.store(now, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
