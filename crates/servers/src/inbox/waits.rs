//! `wait`: a call that is answered when there is a message, or a task that ends then.

use std::sync::Arc;
use std::time::Duration;

use legation_core::OpContext;
use legation_gate::{Outcome, Peer, TaskWish};
use legation_inbox::{Pull, Pulled, ReadError};
use legation_wire::json::{Object, Raw};
use tokio::time::Instant;

use super::arguments::wanted;
use super::{InboxServer, unreadable};
use crate::failed;

pub(super) const NAME: &str = "wait";

/// Longest wait of one call: clients end calls after a minute.
const WAIT_MAX_S: u64 = 50;
/// How often a call that waits says that it still does.
const PROGRESS: Duration = Duration::from_secs(10);

// === impl InboxServer ===

impl InboxServer {
    pub(super) async fn wait(
        self,
        context: OpContext,
        arguments: Object,
        wish: TaskWish,
        peer: Arc<dyn Peer>,
    ) -> Outcome {
        let Ok(timeout) = timeout(&arguments) else {
            return failed("`timeout_s` must be a number from 0 to 50; nothing was read");
        };
        let mut wanted = match wanted(&context, &arguments) {
            Ok(wanted) => wanted,
            Err(why) => return failed(&why),
        };
        if let Some(tasks) = &self.tasks {
            // What is there already needs no task, unless one was asked for.
            if wish == TaskWish::Accepts {
                match self.pulled(&wanted.pull).await {
                    Ok(pulled) if pulled.messages.is_empty() => wanted.pull.since_id = None,
                    Ok(pulled) => return self.answer(&context.caller, &wanted, pulled, &peer),
                    Err(error) => return unreadable(&error),
                }
            }
            let begun = tasks.begin(&self, &context.caller, &wanted, (timeout, wish));
            if let Some(task) = begun {
                return Outcome::Task(task);
            }
        }
        let timeout = timeout.unwrap_or(Duration::from_secs(WAIT_MAX_S));
        let found = self.found(&mut wanted.pull, timeout, Some(&peer)).await;
        match found {
            Ok(pulled) => self.answer(&context.caller, &wanted, pulled, &peer),
            Err(error) => unreadable(&error),
        }
    }

    /// What a pull finds as soon as it finds something, or when the time is over. A
    /// peer hears that it still waits.
    pub(super) async fn found(
        &self,
        pull: &mut Pull,
        timeout: Duration,
        peer: Option<&Arc<dyn Peer>>,
    ) -> Result<Pulled, ReadError> {
        let mut announced = self.inbox.announced();
        let start = Instant::now();
        let end = start + timeout;
        loop {
            announced.mark_unchanged();
            let pulled = self.pulled(pull).await?;
            if !pulled.messages.is_empty() || Instant::now() >= end {
                return Ok(pulled);
            }
            // What it said of the last answer is known now.
            pull.since_id = None;
            let next = end.min(Instant::now() + PROGRESS);
            // A task is no call that is under way.
            let _waits = peer.map(|_| self.waiting.enter());
            tokio::select! {
                changed = announced.changed() => if changed.is_err() {
                    return Err(ReadError::Closed);
                },
                () = tokio::time::sleep_until(next) => {}
            }
            if let Some(peer) = peer.filter(|peer| peer.wants_progress()) {
                let passed = start.elapsed().as_secs_f64();
                peer.progress(
                    Object::new()
                        .with("progress", Raw::from_serialize(&passed))
                        .with("total", Raw::from_serialize(&timeout.as_secs()))
                        .with("message", Raw::str("waiting for messages")),
                );
            }
        }
    }
}

/// How long is to be waited, where the caller says so.
fn timeout(arguments: &Object) -> Result<Option<Duration>, ()> {
    let Some(raw) = arguments.get("timeout_s") else {
        return Ok(None);
    };
    let timeout = raw.to_i64().and_then(|timeout| u64::try_from(timeout).ok());
    let timeout = timeout.filter(|timeout| *timeout <= WAIT_MAX_S);
    timeout
        .map(|timeout| Some(Duration::from_secs(timeout)))
        .ok_or(())
}
