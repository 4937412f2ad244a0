//! Servers that run for one seat alone, for as long as somebody wants them: a custom agent brings
//! its own along.
//!
//! They are servers like any other but for who sees them, so that nothing of the way of a call is
//! different: what is lent hides what everybody has under the same name.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use legation_config::ServerSpec;
use legation_core::SeatId;

use super::Host;
use crate::server::Server;
use crate::status::State;

/// So long servers that were lent are waited for until a task begins without them.
const CONNECT_MAX: Duration = Duration::from_secs(20);

/// Keeps servers running; they end when it is dropped.
pub struct Lent {
    host: Arc<Host>,
    loan: u64,
}

// === impl Host ===

impl Host {
    /// Starts servers for a seat, and waits until they are connected or will not be; why some are
    /// not, by server.
    pub async fn lend(
        self: &Arc<Self>,
        seat: &SeatId,
        specs: Vec<ServerSpec>,
    ) -> (Lent, Vec<String>) {
        let loan = {
            let mut wanted = self.wanted();
            wanted.loans += 1;
            let loan = wanted.loans;
            wanted.lent.insert(loan, (seat.clone(), specs));
            loan
        };
        // Before anything is awaited: whoever stops waiting here gives them back.
        let lent = Lent {
            host: Arc::clone(self),
            loan,
        };
        self.reconcile(|_| false).await;
        let of_seat: Vec<Arc<Server>> = {
            let roster = self.inner.roster.load();
            let all = roster.all().iter();
            all.filter(|server| server.seat.as_ref() == Some(seat))
                .cloned()
                .collect()
        };
        let running: Vec<_> = of_seat
            .iter()
            .filter_map(|server| server.running(&server.first_key()))
            .collect();
        let connected = running.iter().map(|instance| instance.settled());
        let connected = futures_util::future::join_all(connected);
        drop(tokio::time::timeout(CONNECT_MAX, connected).await);
        let problems = of_seat.iter().filter_map(|server| {
            let name = &server.spec.name;
            match State::of(server) {
                State::Connected | State::Disabled => None,
                State::Failed(reason) | State::Filtered(reason) => {
                    Some(format!("{name}: {reason}"))
                }
                State::NeedsAuth => Some(format!("{name}: it wants a sign-in")),
                State::Starting => Some(format!("{name}: it did not connect in time")),
            }
        });
        (lent, problems.collect())
    }

    /// Everything that is lent at the moment.
    #[must_use]
    pub fn lent(&self) -> Vec<ServerSpec> {
        let wanted = self.wanted();
        let lent = wanted.lent.values();
        lent.flat_map(|(_, specs)| specs.iter().cloned()).collect()
    }
}

// === impl Lent ===

impl Drop for Lent {
    fn drop(&mut self) {
        self.host.wanted().lent.remove(&self.loan);
        let host = Arc::clone(&self.host);
        let common = &self.host.inner.common;
        common
            .background
            .spawn_on(&common.runtime, "servers given back", async move {
                host.reconcile(|_| false).await;
            });
    }
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent")
            .field("loan", &self.loan)
            .finish_non_exhaustive()
    }
}
