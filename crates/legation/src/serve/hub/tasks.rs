//! What a hub does beside answering.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use legation_config::watch::Watch;
use legation_core::error::chain;
use legation_core::{Cancel, TaskSet};
use legation_engine::Engine;
use legation_front::{Front, Workers};
use legation_gate::{HubEvent, ListKind};
use legation_ledger::Ledger;
use tokio::net::UnixListener;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::Instant;

use super::Inner;
use crate::serve::reload;

/// How often a hub without clients looks whether it still has none.
const IDLE_LOOK: Duration = Duration::from_secs(1);
/// Least time between looks at the definitions that rules name.
const BETWEEN: Duration = Duration::from_millis(250);

pub(super) fn run_http(
    tasks: &TaskSet,
    front: &Arc<Front>,
    listener: TcpListener,
    workers: &Arc<Workers>,
) {
    let (front, workers) = (Arc::clone(front), Arc::clone(workers));
    tasks.spawn("http listener", async move {
        if let Err(error) = front.serve_http(listener, &workers).await {
            tracing::error!(%error, "HTTP is not served");
        }
    });
}

pub(super) fn run_socket(tasks: &TaskSet, front: &Arc<Front>, socket: UnixListener) {
    let front = Arc::clone(front);
    tasks.spawn("socket listener", async move {
        front.serve_socket(socket).await
    });
}

pub(super) fn run_flusher(tasks: &TaskSet, ledger: &Arc<Ledger>) {
    let ledger = Arc::clone(ledger);
    tasks.spawn("ledger flusher", async move {
        ledger.run_flusher(Cancel::new()).await
    });
}

/// Reads the files again whenever one of them, the folders that clients work
/// in, or a definition that rules speak of changed.
pub(super) fn run_reloads(
    tasks: &TaskSet,
    inner: &Arc<Inner>,
    watch: Option<Watch>,
    mut events: broadcast::Receiver<HubEvent>,
) {
    let inner = Arc::clone(inner);
    tasks.spawn("reload", async move {
        let mut folders = inner.host.folders();
        let mut look = Instant::now();
        loop {
            let alive = tokio::select! {
                () = inner.changed.notified() => true,
                changed = folders.changed() => changed.is_ok(),
                named = named_tools(&inner, &mut events, look) => {
                    if named.is_none() {
                        return;
                    }
                    look = Instant::now() + BETWEEN;
                    if reload::is_due(&inner) {
                        reload::everything(&inner).await;
                    }
                    continue;
                }
            };
            if !alive {
                return;
            }
            if let Some(watch) = &watch {
                watch.set_files(reload::files(&inner));
            }
            reload::everything(&inner).await;
        }
    });
}

/// Waits until a server of which the rules name tools brings others; `None` when
/// no more can come. Servers that start together bring theirs one by one, and
/// the definitions are compared no sooner than at `look`.
async fn named_tools(
    inner: &Inner,
    events: &mut broadcast::Receiver<HubEvent>,
    look: Instant,
) -> Option<()> {
    tokio::time::sleep_until(look).await;
    loop {
        match events.recv().await {
            Ok(HubEvent::ListChanged {
                kind: ListKind::Tools,
                server,
                ..
            }) if inner.gate.rules().names_tools_of(server.as_str()) => break,
            Err(RecvError::Lagged(_)) => break,
            Ok(_) => {}
            Err(RecvError::Closed) => return None,
        }
    }
    // All are compared at once.
    while !matches!(
        events.try_recv(),
        Err(TryRecvError::Empty | TryRecvError::Closed)
    ) {}
    Some(())
}

pub(super) fn run_idle_exit(
    tasks: &TaskSet,
    inner: &Arc<Inner>,
    front: &Arc<Front>,
    limit: Duration,
) {
    let (inner, front) = (Arc::clone(inner), Arc::clone(front));
    tasks.spawn("idle exit", async move {
        let mut since = inner.clock.now();
        loop {
            tokio::time::sleep(IDLE_LOOK.min(limit)).await;
            let now = inner.clock.now();
            let is_busy = inner.engine.get().is_some_and(Engine::is_busy);
            if is_busy || front.connections() > 0 {
                since = now;
            } else if now.duration_since(since) >= limit {
                return inner.end("no client was there for long");
            }
        }
    });
}

pub(super) fn watch_files(inner: &Arc<Inner>) -> Option<Watch> {
    let told = Arc::downgrade(inner);
    let started = Watch::start(reload::files(inner), move |_| {
        if let Some(inner) = told.upgrade() {
            inner.reload();
        }
    });
    match started {
        Ok(watch) => Some(watch),
        Err(error) => {
            tracing::warn!(error = %chain(&error), "changed files take effect at `legation mcp reload` only");
            None
        }
    }
}
