//! Keeps one instance connected: starts it, restarts it, ends it.
//!
//! One task per instance owns the connection and alone moves the instance's
//! phase. Calls never restart anything themselves: twenty calls that meet a
//! dead server would start it twenty times.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use legation_gate::{Audience, HubEvent};
use legation_wire::caps::ClientCapabilities;

use crate::common::Common;
use crate::definitions::{self, Definitions};
use crate::instance::{Instance, Key, Phase};
use crate::memory;
use crate::port::{DialError, Face, Plan, Ready};
use crate::server::Server;
use crate::status;

mod publish;
mod serve;

/// Failures in a row after which calls no longer wait for the next attempt.
const QUICK_FAILURES: u32 = 3;

/// A connection with its definitions.
struct Connection {
    ready: Ready,
    definitions: Definitions,
}

/// Why a connection ended.
enum End {
    /// Nobody needs it any more.
    Done,
    /// It broke.
    Lost(String),
}

/// How a pause between two attempts ended.
enum Pause {
    /// The time is over.
    Over,
    /// Somebody asked for an attempt now.
    Asked,
    /// The instance is to end.
    End,
}

/// How long to wait before the next attempt.
struct Attempts {
    failures: u32,
    /// No further attempt will fare better before somebody changes something.
    hopeless: bool,
}

/// Runs an instance until it is stopped, or idle for long.
pub(crate) async fn run(common: Arc<Common>, server: Arc<Server>, instance: Arc<Instance>) {
    let mut attempts = Attempts {
        failures: 0,
        hopeless: false,
    };
    tokio::select! {
        _ = instance.stop.cancelled() => {}
        () = server.released() => {}
    }
    loop {
        let connected = tokio::select! {
            biased;
            _ = instance.stop.cancelled() => break,
            connected = connect(&common, &server, &instance) => connected,
        };
        attempts.hopeless = matches!(
            connected,
            Err(DialError::NeedsAuth | DialError::Misconfigured(_))
        );
        match connected {
            Ok(connection) => {
                let begun = common.clock.now();
                let port = Arc::clone(&connection.ready.port);
                let end = serve::serve(&common, &server, &instance, connection).await;
                let End::Lost(reason) = end else {
                    server.forget(&instance);
                    port.stop().await;
                    break;
                };
                if common.clock.now().saturating_duration_since(begun) >= common.times.stable {
                    attempts.failures = 0;
                }
                lost(&common, &server, &instance, &attempts, &reason);
                tell_status(&common, &server);
                port.stop().await;
            }
            Err(DialError::NeedsAuth) => {
                let name = &server.spec.name;
                server.log.note("the server wants a sign-in");
                let hint = status::sign_in_hint(&server);
                tracing::warn!(server = %name, hint, "a server wants a sign-in");
                instance.set(Phase::NeedsAuth, &*common.clock);
                tell_status(&common, &server);
            }
            Err(DialError::Failed(reason) | DialError::Misconfigured(reason)) => {
                failed(&common, &server, &instance, reason);
                tell_status(&common, &server);
            }
        }
        // What was learnt once need not be learnt again.
        let learnt = instance.key == Key::Probe && server.known.load().is_some();
        if learnt {
            break;
        }
        let asked = match pause(&common, &server, &instance, &mut attempts).await {
            Pause::End => break,
            Pause::Over => false,
            Pause::Asked => true,
        };
        server.restarted();
        // A server that has failed stays so for calls and people until it is
        // connected: what hangs or fails again must not look hopeful.
        if asked || !matches!(instance.phase(), Phase::Failed(_)) {
            instance.set(Phase::Starting, &*common.clock);
        }
    }
    server.forget(&instance);
    instance.set(Phase::Stopped, &*common.clock);
    tell_status(&common, &server);
}

fn lost(common: &Common, server: &Server, instance: &Instance, attempts: &Attempts, reason: &str) {
    let reason = with_stderr(server, reason);
    server
        .log
        .note(&format!("the connection was lost: {reason}"));
    tracing::warn!(server = %server.spec.name, reason, "a server went away; it is started again");
    // Calls wait for a server that may well come back at once, and do not wait
    // for one that keeps falling over.
    let phase = if attempts.failures + 1 < QUICK_FAILURES {
        Phase::Starting
    } else {
        Phase::Failed(reason.into())
    };
    instance.set(phase, &*common.clock);
}

fn failed(common: &Common, server: &Server, instance: &Instance, reason: String) {
    let name = &server.spec.name;
    let reason = with_stderr(server, &reason);
    server.log.note(&format!("could not connect: {reason}"));
    // Told once, not with every attempt until it can be reached.
    if server.set_failure(Some(reason.clone())) {
        tracing::warn!(server = %name, reason, "a server could not be reached and is tried again; see `legation mcp show {name}`");
    } else {
        tracing::debug!(server = %name, reason, "a server could not be reached again");
    }
    instance.set(Phase::Failed(reason.into()), &*common.clock);
}

fn with_stderr(server: &Server, reason: &str) -> String {
    match server.log.quote() {
        Some(quote) if !reason.contains(&quote) => format!("{reason}; stderr: {quote}"),
        _ => reason.to_owned(),
    }
}

/// Ends an instance's life if nothing has used it for long.
fn is_idle(
    common: &Common,
    server: &Server,
    instance: &Instance,
    now: Instant,
    limit: Duration,
) -> bool {
    !common.watches.any(&server.spec.name, &instance.key) && instance.close_if_idle(now, limit)
}

/// Waits for the time of the next attempt, or until one is wanted now.
async fn pause(
    common: &Common,
    server: &Server,
    instance: &Instance,
    attempts: &mut Attempts,
) -> Pause {
    if matches!(instance.key, Key::Seat(_)) {
        let (now, limit) = (common.clock.now(), common.times.idle);
        if is_idle(common, server, instance, now, limit) {
            return Pause::End;
        }
    }
    if instance.take_retry() {
        return Pause::Asked;
    }
    let hopeless = attempts.hopeless;
    let delay = attempts.next(common.times.backoff);
    let waited = async {
        if hopeless {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(delay).await;
    };
    tokio::pin!(waited);
    loop {
        tokio::select! {
            biased;
            _ = instance.stop.cancelled() => return Pause::End,
            () = &mut waited => return Pause::Over,
            () = instance.nudge.notified() => {
                if instance.take_retry() {
                    return Pause::Asked;
                }
            }
        }
    }
}

/// Connects and reads the lists. At most so many servers do this at once, but
/// one that is slow makes room for the next.
async fn connect(
    common: &Common,
    server: &Server,
    instance: &Instance,
) -> Result<Connection, DialError> {
    let name = &server.spec.name;
    let permit = Arc::clone(&common.loading).acquire_owned().await;
    let mut permit = permit.ok();
    server.log.starting();
    let attempt = async {
        let ready = match server.spec.transport.memory() {
            Some(name) => memory::ready(name, server.offer.as_ref())?,
            None => common.dialer.dial(plan(common, server, instance)).await?,
        };
        let about = ready.about.clone();
        let spec = Arc::clone(&server.spec);
        let allow = move |tool: &str| spec.offers(tool);
        let items_max = common.settings.limits.tools_per_server;
        let fetched = definitions::fetch_all(&*ready.port, about, &allow, items_max).await;
        match fetched {
            Ok((definitions, warnings)) => {
                publish::warn(server, &warnings);
                Ok(Connection { ready, definitions })
            }
            Err(error) => {
                ready.port.stop().await;
                if error.needs_auth() {
                    return Err(DialError::NeedsAuth);
                }
                let reason = legation_core::error::chain(&error);
                Err(DialError::Failed(reason))
            }
        }
    };
    let attempt = tokio::time::timeout(common.times.connect, attempt);
    tokio::pin!(attempt);
    let slow = tokio::time::sleep(common.settings.slow_start);
    tokio::pin!(slow);
    loop {
        tokio::select! {
            biased;
            done = &mut attempt => return done.unwrap_or_else(|_| {
                let limit = common.times.connect;
                Err(DialError::Failed(format!("no connection within {limit:?}")))
            }),
            () = &mut slow, if permit.is_some() => {
                permit = None;
                let quote = server.log.quote().unwrap_or_default();
                let limit = common.settings.slow_start;
                server.log.warn(&format!("it was not connected after {limit:?}"));
                // One that has failed is known to be in trouble.
                if server.failure().is_none() {
                    tracing::warn!(server = %name, stderr = quote, "a server is slow to connect; see `legation mcp show {name}`");
                }
            }
        }
    }
}

fn plan(common: &Common, server: &Server, instance: &Instance) -> Plan {
    let is_http = !server.spec.transport.is_one_stream();
    let anything = ClientCapabilities {
        roots: true,
        sampling: true,
        elicitation_form: true,
        elicitation_url: true,
        ..ClientCapabilities::default()
    };
    let mut face = Face {
        capabilities: Arc::default(),
        info: None,
    };
    let mut folder = None;
    match &instance.key {
        Key::Probe => {}
        // An answer stream of Streamable HTTP says which call a question
        // belongs to; a pipe does not, so there nothing can be asked.
        Key::Shared if is_http => face.capabilities = Arc::new(anything),
        Key::Shared => {}
        Key::Folder(path) => {
            folder = Some(Arc::clone(path));
            face.capabilities = Arc::new(if is_http {
                anything
            } else {
                // The hub itself knows the one root there is.
                ClientCapabilities {
                    roots: true,
                    ..ClientCapabilities::default()
                }
            });
        }
        Key::Seat(_) => {
            if let Some(peer) = instance.seat_peer() {
                // What a client can run as tasks of its own stays between it
                // and the hub.
                let offered = peer.capabilities();
                let capabilities = ClientCapabilities {
                    tasks_legacy: None,
                    tasks_ext: false,
                    // What it lacks may be answered for it, in a call of its own.
                    sampling: offered.sampling || common.lends_models.load(Ordering::Relaxed),
                    ..offered.clone()
                };
                face.capabilities = Arc::new(capabilities);
                face.info = peer.client_info();
            }
        }
    }
    Plan {
        spec: Arc::clone(&server.spec),
        folder,
        face,
        auth: server.auth.clone(),
        log: Arc::clone(&server.log),
    }
}

fn tell_status(common: &Common, server: &Server) {
    common.tell(HubEvent::StatusChanged {
        server: server.spec.name.clone(),
    });
}

/// Whom the doings of an instance concern.
fn audience(server: &Server, instance: &Instance) -> Audience {
    if let Some(seat) = &server.seat {
        return Audience::Seat(seat.clone());
    }
    match &instance.key {
        Key::Shared | Key::Probe => Audience::All,
        // Only who works somewhere in its folder sees a workspace's own server.
        Key::Folder(_) if server.spec.source.folder().is_some() => Audience::All,
        Key::Seat(seat) => Audience::Seat(seat.clone()),
        Key::Folder(folder) => Audience::Workspace(Arc::clone(folder)),
    }
}

// === impl Attempts ===

impl Attempts {
    /// Doubles from the first wait to the longest, with up to a quarter of
    /// jitter so that servers that fell together do not rise together.
    fn next(&mut self, (first, longest): (Duration, Duration)) -> Duration {
        let factor = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.failures += 1;
        let delay = first.saturating_mul(factor).min(longest);
        let random = RandomState::new().build_hasher().finish();
        let quarters = u32::try_from(random % 256).unwrap_or(0);
        delay + delay / 4 * quarters / 256
    }
}

#[cfg(test)]
mod tests;
