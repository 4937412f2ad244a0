//! Connections to upstream servers: what carries the messages of a
//! [`legation_wire::upstream::Link`].
//!
//! All protocol knowledge is in the link; here are a child process with three
//! pipes, an HTTP client, and the plumbing between them and whoever waits for
//! an answer. Over HTTP an exchange is driven by the task that waits for it,
//! connection included, because every hand-over to another task is a wake-up
//! that the call pays for; over stdio one task per server reads and routes.
//!
//! Architecture invariant: nothing here decides, names or remembers anything; a
//! connection knows one server and no client.

mod call;
mod connection;
mod error;
mod events;
mod http;
mod log_file;
mod shared;
mod stdio;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::call::{CallEvent, CallOrder, CallStream};
pub use self::connection::{Connection, StartSpec, Started, TransportSpec};
pub use self::error::{HttpError, StartError};
pub use self::events::{Event, Events};
pub use self::http::{BadTls, HeadersHelper, HelperError, HttpSpec, Reach, client_config};
pub use self::stdio::StdioSpec;

/// Takes lines of text for a server's log: what its process wrote to stderr,
/// or what the hub noticed about it. Called on runtime threads; must not block.
pub type LineSink = Arc<dyn Fn(&str) + Send + Sync>;
