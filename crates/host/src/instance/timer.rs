//! The one timer of an instance's calls.
//!
//! A timer for each call would be armed and taken back each time, and hardly one ever goes off: so
//! there is one for all, which looks about as often as calls may take.

use std::convert::Infallible;

use tokio::time::Instant;

use super::{Instance, Phase, Usage};

// === impl Instance ===

impl Instance {
    /// Has a call told, once, when this moment is past.
    pub(crate) fn tell_at(&self, id: u64, until: Instant) {
        let mut usage = self.usage();
        if let Some(running) = usage.calls.get_mut(&id) {
            running.until = Some(until);
        }
        let is_sooner = usage.looks_at(until);
        drop(usage);
        if is_sooner {
            self.sooner.notify_one();
        }
    }

    /// Tells calls of the moments they wait for. Over when the instance is stopped and no call is
    /// left, of which one may outlive its supervisor.
    pub(crate) async fn watch(&self) {
        tokio::select! {
            biased;
            () = self.over() => {}
            never = self.look() => match never {},
        }
    }

    /// Waits until it is stopped and has no calls.
    async fn over(&self) {
        let mut phase = self.phase.subscribe();
        // An error would mean that it is gone altogether.
        drop(
            phase
                .wait_for(|phase| matches!(phase, Phase::Stopped))
                .await,
        );
        self.drained().await;
    }

    async fn look(&self) -> Infallible {
        loop {
            let sooner = self.sooner.notified();
            match self.tell_overdue(Instant::now()) {
                Some(look) => drop(tokio::time::timeout_at(look, sooner).await),
                None => sooner.await,
            }
        }
    }

    /// Tells those whose moment is past; when to look again.
    fn tell_overdue(&self, now: Instant) -> Option<Instant> {
        let mut usage = self.usage();
        for running in usage.calls.values_mut() {
            if running.until.is_some_and(|until| until <= now) {
                running.until = None;
                running.inbox.overdue();
            }
        }
        usage.look = usage.calls.values().filter_map(|call| call.until).min();
        usage.look
    }
}

// === impl Usage ===

impl Usage {
    /// Whether nobody would look as soon as this; now somebody is to.
    pub(super) fn looks_at(&mut self, until: Instant) -> bool {
        let is_sooner = self.look.is_none_or(|look| until < look);
        if is_sooner {
            self.look = Some(until);
        }
        is_sooner
    }
}
