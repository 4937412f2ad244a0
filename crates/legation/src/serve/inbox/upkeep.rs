//! What the inbox forgets by itself: readers that nobody uses, and old days.

use std::sync::Arc;
use std::time::Duration;

use legation_config::InboxSettings;
use legation_core::{SharedClock, TaskSet, Wall};
use legation_inbox::{ConsumerName, Inbox};

use crate::serve::hub::Inner;

/// How long after the start it looks first: starts are to be quick.
const FIRST: Duration = Duration::from_secs(60);
/// How often it looks then. Days are what it counts in.
const EVERY: Duration = Duration::from_secs(60 * 60);
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Forgets what is to be forgotten, from time to time.
pub(in crate::serve) fn keep_up(tasks: &TaskSet, inner: &Arc<Inner>, settings: InboxSettings) {
    begin(tasks, &inner.inbox, &inner.clock, settings);
}

/// Whether there is something to be forgotten at all.
fn begin(
    tasks: &TaskSet,
    inbox: &Arc<Inbox>,
    clock: &SharedClock,
    settings: InboxSettings,
) -> bool {
    if settings.retention_days.is_none() && settings.reader_days.is_none() {
        return false;
    }
    let (inbox, clock) = (Arc::clone(inbox), Arc::clone(clock));
    tasks.spawn("upkeep of the inbox", async move {
        let mut wait = FIRST;
        loop {
            tokio::time::sleep(wait).await;
            wait = EVERY;
            let (inbox, now) = (Arc::clone(&inbox), clock.wall());
            // It waits for the inbox's own thread.
            let work = tokio::task::spawn_blocking(move || forget(&inbox, settings, now));
            if let Err(error) = work.await {
                tracing::error!(%error, "the upkeep of the inbox ended early; it is tried again");
            }
        }
    });
    true
}

fn forget(inbox: &Inbox, settings: InboxSettings, now: Wall) {
    let before = |days: u32| Wall(now.0 - i64::from(days) * DAY_MS);
    if let Some(days) = settings.reader_days {
        let expired = inbox.expire_consumers(before(days));
        let names: Vec<&str> = expired.iter().map(ConsumerName::as_str).collect();
        if !names.is_empty() {
            tracing::info!(
                days,
                ?names,
                "readers of the inbox were forgotten that nobody used for so long; one that comes back is offered everything again"
            );
        }
    }
    let Some(days) = settings.retention_days else {
        return;
    };
    match inbox.prune_blocking(before(days), settings.takes_unread) {
        Ok(pruned) if pruned.days.is_empty() => {}
        Ok(pruned) => {
            let (messages, taken) = (pruned.records, pruned.days);
            tracing::info!(
                days,
                messages,
                ?taken,
                "old days were taken out of the inbox"
            );
        }
        Err(error) => tracing::warn!(error, "old days were not taken out of the inbox"),
    }
}

#[cfg(test)]
mod tests;
