//! Clients over HTTP/1.1 on loopback.
//!
//! Routing and checks are written out here rather than taken from a web
//! framework: there are six paths of its own, and the order of the checks is the point.

mod body;
mod connection;
mod guard;
mod head;
mod io;
mod known;
mod legacy;
mod mcp;
mod modern;
mod pair;
mod plain;
mod reply;
mod route;
mod stream;
mod web;
mod workers;

use std::io as std_io;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::connection::serve;
pub use self::workers::Workers;
use crate::front::Front;
use crate::shared::count;

/// How long to wait when no further connection can be taken for want of files.
const EXHAUSTED: Duration = Duration::from_millis(50);

// === impl Front ===

impl Front {
    /// Takes connections and hands them to the workers in turn, until the front
    /// is shut down.
    ///
    /// # Errors
    /// When the listener cannot be used at all.
    pub async fn serve_http(
        self: &Arc<Self>,
        listener: std::net::TcpListener,
        workers: &Workers,
    ) -> std_io::Result<()> {
        let shared = &self.shared;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = shared.closing.cancelled() => return Ok(()),
            };
            match accepted {
                Ok((stream, _)) => {
                    let open = shared.counted(|counters| &counters.connections);
                    if open >= shared.settings.connections_max as u64 {
                        count(&shared.counters.mine().connections_refused);
                        continue;
                    }
                    if let Ok(stream) = stream.into_std() {
                        workers.hand(shared, stream).await;
                    }
                }
                // The peer gave up already, or files have run out for a moment.
                Err(error) => {
                    tracing::debug!(%error, "a connection was not taken");
                    tokio::time::sleep(EXHAUSTED).await;
                }
            }
        }
    }
}
