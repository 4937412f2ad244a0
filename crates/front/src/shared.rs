//! What every connection of the front works with.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use legation_core::{BootId, Cancel, SharedClock, TaskSet};
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
    pub(crate) counters: Counters,
    /// Everything that runs beside a connection.
    pub(crate) tasks: TaskSet,
    /// Cancelled when no new connection is taken any more.
    pub(crate) closing: Cancel,
    /// Cancelled when the hub stops and calls under way have had their time.
    pub(crate) cancel: Cancel,
}

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

/// Counts one up for as long as it lives.
#[derive(Debug)]
pub(crate) struct Gauge<F: Fn(&Shared) -> &AtomicU64> {
    shared: Arc<Shared>,
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

    /// `serverInfo` of the hub.
    pub(crate) fn server_info(version: &str) -> Raw {
        Object::new()
            .with("name", Raw::from_static(r#""legation""#))
            .with("title", Raw::from_static(r#""Legation""#))
            .with("version", Raw::str(version))
            .to_raw()
    }
}

// === impl Counters ===

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

// === impl Gauge ===

impl<F: Fn(&Shared) -> &AtomicU64> Gauge<F> {
    pub(crate) fn new(shared: &Arc<Shared>, which: F) -> Self {
        count(which(shared));
        Self {
            shared: Arc::clone(shared),
            which,
        }
    }
}

impl<F: Fn(&Shared) -> &AtomicU64> Drop for Gauge<F> {
    fn drop(&mut self) {
        (self.which)(&self.shared).fetch_sub(1, Ordering::Relaxed);
    }
}
