//! What every connection of the front works with.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use legation_core::{BootId, Cancel, Parts, SharedClock, TaskSet};
use legation_events::Events;
use legation_gate::{Feed, Gate, ServerSet};
use legation_wire::json::{Object, Raw};

use crate::access::{AdminHandler, Authenticator};
use crate::facts::FactCache;
use crate::parking::Parking;
use crate::seats::Seats;
use crate::sessions::Sessions;
use crate::settings::FrontSettings;
use crate::watch::Watchers;
use crate::web::WebHandler;

/// See the module.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) gate: Arc<Gate>,
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) events: Option<Events>,
    pub(crate) feed: Option<Arc<dyn Feed>>,
    pub(crate) admin: Arc<dyn AdminHandler>,
    pub(crate) web: Arc<dyn WebHandler>,
    pub(crate) settings: FrontSettings,
    pub(crate) clock: SharedClock,
    pub(crate) version: Box<str>,
    pub(crate) boot: BootId,
    pub(crate) started: Instant,
    pub(crate) server_info: Raw,
    pub(crate) parking: Parking,
    pub(crate) seats: Seats,
    pub(crate) watchers: Watchers,
    pub(crate) sessions: Sessions,
    pub(crate) facts: FactCache,
    pub(crate) counters: Parts<Counters>,
    /// Everything that runs beside a connection.
    pub(crate) tasks: TaskSet,
    /// Cancelled when no new connection is taken any more.
    pub(crate) closing: Cancel,
    /// Cancelled when the hub stops and calls under way have had their time.
    pub(crate) cancel: Cancel,
}

/// Keeps what is shared. Each connection keeps it in a place of its own ([`Held::apart`]), because the count of those who keep
/// something is written to by every call, from whichever processor it runs on.
#[derive(Debug, Clone)]
#[expect(
    clippy::redundant_allocation,
    reason = "the outer one is there for its count"
)]
pub(crate) struct Held(Arc<Arc<Shared>>);

/// What `/metrics` says.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) calls: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) refusals: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) connections_refused: AtomicU64,
    pub(crate) sockets: AtomicU64,
    /// Calls on their way now.
    pub(crate) in_flight: AtomicU64,
}

/// Counts one up for as long as it lives. Where it ends another thread may count it down, so a part may be less than nothing.
#[derive(Debug)]
pub(crate) struct Gauge<F: Fn(&Counters) -> &AtomicU64> {
    shared: Held,
    which: F,
}

// === impl Shared ===

impl Shared {
    pub(crate) fn servers(&self) -> &dyn ServerSet {
        self.gate.servers().as_ref()
    }

    /// Milliseconds since the front came to be.
    pub(crate) fn now_ms(&self) -> u64 {
        let age = self.clock.now().saturating_duration_since(self.started);
        u64::try_from(age.as_millis()).unwrap_or(u64::MAX)
    }

    /// What one of the counters comes to. What is counted up on one thread and down on another may be missed for a moment, but is
    /// never less than nothing.
    pub(crate) fn counted(&self, which: impl Fn(&Counters) -> &AtomicU64) -> u64 {
        let parts = self.counters.iter().map(which);
        let sum = parts.fold(0_u64, |sum, part| {
            sum.wrapping_add(part.load(Ordering::Relaxed))
        });
        if sum > u64::MAX / 2 { 0 } else { sum }
    }

    /// `serverInfo` of the hub.
    pub(crate) fn server_info(version: &str) -> Raw {
        Object::new()
            .with("name", Raw::from_static(r#""legation""#))
            .with("title", Raw::from_static(r#""Legation""#))
            .with("version", Raw::str(version))
            .to_raw()
    }
}

// === impl Held ===

impl Held {
    pub(crate) fn new(shared: Shared) -> Self {
        Self(Arc::new(Arc::new(shared)))
    }

    /// The same in a place of its own.
    pub(crate) fn apart(&self) -> Self {
        Self(Arc::new(Arc::clone(&self.0)))
    }
}

impl Deref for Held {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

// === impl Counters ===

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

// === impl Gauge ===

impl<F: Fn(&Counters) -> &AtomicU64> Gauge<F> {
    pub(crate) fn new(shared: &Held, which: F) -> Self {
        count(which(shared.counters.mine()));
        Self {
            shared: shared.clone(),
            which,
        }
    }
}

impl<F: Fn(&Counters) -> &AtomicU64> Gauge<F> {
    /// What is shared, as long as it counts.
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }
}

impl<F: Fn(&Counters) -> &AtomicU64> Drop for Gauge<F> {
    fn drop(&mut self) {
        let counters = self.shared.counters.mine();
        (self.which)(counters).fetch_sub(1, Ordering::Relaxed);
    }
}
