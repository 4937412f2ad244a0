//! The front as a whole: what it is made of, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use legation_core::{BootId, Cancel, CancelReason, SharedClock, TaskSet};
use legation_events::Events;
use legation_gate::{Feed, Gate};

use crate::access::{AdminHandler, Authenticator};
use crate::parking::Parking;
use crate::settings::FrontSettings;
use crate::shared::{Held, Shared};
use crate::watch;
use crate::web::WebHandler;

/// How long calls in flight may take to end when the hub stops.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// How often a front that stops looks whether it is done.
const STOP_LOOK: Duration = Duration::from_millis(10);
/// How often sessions, seats and waiting calls are looked through.
const SWEEP_EVERY: Duration = Duration::from_secs(15);

/// What a front needs of the rest of the hub.
#[derive(Debug)]
pub struct FrontParts {
    /// Where every call goes.
    pub gate: Arc<Gate>,
    /// Who a credential belongs to.
    pub authenticator: Arc<dyn Authenticator>,
    /// What there is to be told of; without it the extension is not offered.
    pub events: Option<Events>,
    /// What is told to clients one by one; without it nothing is.
    pub feed: Option<Arc<dyn Feed>>,
    /// What answers the owner's commands.
    pub admin: Arc<dyn AdminHandler>,
    /// What answers everything over HTTP that is not MCP.
    pub web: Arc<dyn WebHandler>,
    /// Limits and times.
    pub settings: FrontSettings,
    /// The time.
    pub clock: SharedClock,
    /// The hub's version.
    pub version: Box<str>,
    /// This start of the hub.
    pub boot: BootId,
}

/// Serves clients over HTTP and the Unix socket.
#[derive(Debug)]
pub struct Front {
    pub(crate) shared: Held,
}

// === impl Front ===

impl Front {
    /// A front that serves nobody yet. To be called on the hub's main runtime,
    /// where it tells clients of events and looks after what has expired.
    ///
    /// # Errors
    /// When the operating system has no randomness to give.
    pub fn new(parts: FrontParts) -> Result<Arc<Self>, getrandom::Error> {
        let parking = Parking::new(&parts.boot, Arc::clone(&parts.clock), &parts.settings)?;
        let shared = Held::new(Shared {
            started: parts.clock.now(),
            server_info: Shared::server_info(&parts.version),
            gate: parts.gate,
            authenticator: parts.authenticator,
            events: parts.events,
            feed: parts.feed,
            admin: parts.admin,
            web: parts.web,
            settings: parts.settings,
            clock: parts.clock,
            version: parts.version,
            boot: parts.boot,
            parking,
            seats: crate::seats::Seats::default(),
            watchers: watch::Watchers::default(),
            sessions: crate::sessions::Sessions::default(),
            facts: crate::facts::FactCache::default(),
            counters: legation_core::Parts::default(),
            tasks: TaskSet::new(),
            closing: Cancel::new(),
            cancel: Cancel::new(),
        });
        shared
            .tasks
            .spawn("events to clients", watch::run(shared.clone()));
        shared.tasks.spawn("expiry", sweep(shared.clone()));
        Ok(Arc::new(Self { shared }))
    }

    /// Connections open now, over HTTP and on the socket.
    #[must_use]
    pub fn connections(&self) -> u64 {
        let shared = &self.shared;
        shared.counted(|counters| &counters.connections)
            + shared.counted(|counters| &counters.sockets)
    }

    /// Calls under way.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.shared.counted(|counters| &counters.in_flight)
    }

    /// Stops: no new connection is taken, calls under way get a few seconds to
    /// end by themselves, then they are called off and everything is closed.
    pub async fn shutdown(&self) {
        let shared = &self.shared;
        shared.closing.cancel(CancelReason::Shutdown);
        let until = tokio::time::Instant::now() + STOP_LIMIT;
        while shared.counted(|counters| &counters.in_flight) > 0
            && tokio::time::Instant::now() < until
        {
            tokio::time::sleep(STOP_LOOK).await;
        }
        shared.cancel.cancel(CancelReason::Shutdown);
        shared.sessions.close_all(shared, CancelReason::Shutdown);
        let until = tokio::time::Instant::now() + STOP_LIMIT;
        while !shared.tasks.is_empty() && tokio::time::Instant::now() < until {
            tokio::time::sleep(STOP_LOOK).await;
        }
        shared.tasks.shutdown().await;
    }
}

/// Ends what nobody came back to.
async fn sweep(shared: Held) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(SWEEP_EVERY) => {}
            _ = shared.cancel.cancelled() => return,
        }
        shared.parking.sweep();
        shared.sessions.sweep(&shared, shared.settings.session_idle);
        shared.seats.sweep(
            shared.servers(),
            shared.clock.now(),
            shared.settings.seat_idle,
        );
    }
}
