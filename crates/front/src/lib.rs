//! Streamable HTTP, the old SSE pair and the Unix socket: clients of every
//! revision on one side, the gate on the other.
//!
//! A connection's protocol state is sans-IO (`session`, `outbox`, `parking`);
//! the shells around it (`http`, `socket`) read and write. Nothing here knows a
//! server, a rule or a file of the data directory but the socket itself. An MCP
//! library was rejected for this place: its types drop what they do not know,
//! and it serves one revision's idea of a session.

mod access;
mod discovery;
mod dispatch;
mod facts;
mod front;
mod http;
mod intake;
mod level;
mod method;
mod outbox;
mod outgoing;
mod parking;
mod peer;
mod seats;
mod session;
mod sessions;
mod settings;
mod shared;
mod socket;
mod speaker;
mod watch;
mod web;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use access::{AdminHandler, AdminItem, Authenticator, Issued};
pub use discovery::Discovery;
pub use front::{Front, FrontParts};
pub use http::Workers;
pub use settings::{FrontSettings, ProtectedResource};
pub use socket::{SocketError, bind};
pub use web::{WEB_BODY_MAX, WebAnswer, WebBody, WebCaller, WebHandler, WebRequest};
