//! Clients and the owner's commands on the Unix socket: a greeting line each
//! way, then one JSON-RPC message a line.
//!
//! Whoever can open the socket is the owner: the folder and the socket are
//! closed to others, and the peer's user id is looked at once more.

mod admin;
mod bind;
mod greeting;
mod lines;
mod mcp;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use legation_core::ServerName;
use legation_core::hello::{HelloAnswer, Mode, Rejection, Welcome};
use legation_gate::Endpoint;
use tokio::net::{UnixListener, UnixStream};

pub use self::bind::{SocketError, bind};
use self::greeting::Greeted;
use self::lines::{Lines, encode, left_out_bytes};
use crate::front::Front;
use crate::shared::{Gauge, Held, Shared, count};

/// Most connections at once.
const CONNECTIONS_MAX: u64 = 1024;
/// How long a peer may take to greet.
const GREETING_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait when no further connection can be taken for want of files.
const EXHAUSTED: Duration = Duration::from_millis(50);

// === impl Front ===

impl Front {
    /// Takes connections on the socket until the front is shut down.
    pub async fn serve_socket(self: &Arc<Self>, listener: UnixListener) {
        self.serve(listener, None).await;
    }

    /// Takes connections on a socket whose clients see one server and nothing else, whatever
    /// they say in their greeting; the owner's commands are not taken there.
    pub async fn serve_socket_of(self: &Arc<Self>, listener: UnixListener, server: ServerName) {
        self.serve(listener, Some(server)).await;
    }

    async fn serve(self: &Arc<Self>, listener: UnixListener, only: Option<ServerName>) {
        let shared = &self.shared;
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = shared.closing.cancelled() => return,
            };
            match accepted {
                Ok((stream, _)) => {
                    if shared.counted(|counters| &counters.sockets) >= CONNECTIONS_MAX {
                        count(&shared.counters.mine().connections_refused);
                        continue;
                    }
                    let served = serve(shared.clone(), stream, only.clone());
                    shared.tasks.spawn("socket connection", served);
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection on the socket was not taken");
                    tokio::time::sleep(EXHAUSTED).await;
                }
            }
        }
    }
}

async fn serve(shared: Held, stream: UnixStream, only: Option<ServerName>) {
    let shared = shared.apart();
    let _gauge = Gauge::new(&shared, |counters| &counters.sockets);
    // A client that does nothing keeps no room for what greeted it, nor for the other kind of peer.
    let Some((lines, greeted)) = Box::pin(greet(&shared, stream, only)).await else {
        return;
    };
    match greeted.mode {
        Mode::Mcp => mcp::serve(&shared, lines, greeted).await,
        Mode::Admin => Box::pin(admin::serve(&shared, lines, &greeted.caller.seat)).await,
    }
}

/// Finds out who is there; `None` after whoever is not let in was told so.
async fn greet(
    shared: &Held,
    stream: UnixStream,
    only: Option<ServerName>,
) -> Option<(Lines, Greeted)> {
    let own = rustix::process::getuid().as_raw();
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == own => {}
        Ok(peer) => {
            tracing::warn!(
                uid = peer.uid(),
                "another user's process reached the socket and was turned away"
            );
            return None;
        }
        Err(error) => {
            tracing::warn!(%error, "a peer on the socket could not be identified and was turned away");
            return None;
        }
    }
    let mut lines = Lines::new(stream, shared.settings.body_max);
    let greeting = tokio::select! {
        line = tokio::time::timeout(GREETING_LIMIT, lines.first()) => line,
        _ = shared.cancel.cancelled() => return None,
    };
    let line = match greeting {
        Ok(Some(Ok(line))) => line,
        Ok(Some(Err(line))) => {
            let answer = encode(&left_out_bytes(&line));
            drop(lines.write(&answer, shared.settings.write_timeout).await);
            return None;
        }
        Ok(None) | Err(_) => return None,
    };
    if let Some(mut greeted) = greeting::plain(shared, &line) {
        if let Some(server) = only {
            greeted.endpoint = Endpoint::Server(server);
        }
        lines.reader.put_back(line);
        return Some((lines, greeted));
    }
    let greeted = greeting::read(shared, &line);
    let (answer, greeted) = match greeted.and_then(|greeted| greeted.narrowed(only)) {
        Ok(greeted) => {
            let welcome = Welcome {
                version: shared.version.to_string(),
                boot: shared.boot.to_string(),
            };
            (HelloAnswer::ok(welcome), Some(greeted))
        }
        Err(rejection) => {
            count(&shared.counters.mine().rejected);
            (HelloAnswer::error(rejection), None)
        }
    };
    say(shared, &mut lines, &answer).await.ok()?;
    Some((lines, greeted?))
}

async fn say(shared: &Shared, lines: &mut Lines, answer: &HelloAnswer) -> io::Result<()> {
    let text = legation_wire::json::Raw::from_serialize(answer);
    lines
        .write(&encode(text.as_bytes()), shared.settings.write_timeout)
        .await
}

/// A refusal in words.
fn reject(message: impl Into<String>, hint: impl Into<String>) -> Rejection {
    Rejection {
        message: message.into(),
        hint: hint.into(),
    }
}
