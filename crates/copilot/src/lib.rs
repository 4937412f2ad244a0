//! The webhook of GitHub Copilot's agents.
//!
//! GitHub posts what a person wrote in its chat to `POST /copilot/webhook` and shows the events that
//! come back. It cannot reach loopback, so this is a listener of its own, with TLS and nothing else
//! behind it: none of the hub's other paths can be reached there.
//!
//! Nothing is read of a request before its signature was found good over the very bytes that came
//! (`signature`, `keys`, `replay`). Who wrote is what GitHub says of the token that came along
//! (`caller`), which is kept nowhere. What is wanted is found by words (`intent`), whose data it is
//! about too (`whose`), or asked back; and then it is one call of a tool, which passes the gate like
//! anybody's. The gate is seen through [`Hub`] alone.
//!
//! The alternative, a path of the hub's own front, was rejected: that listens on loopback and lets in
//! whoever shows a credential, and here nobody has one.

mod answer;
mod caller;
mod github;
mod http1;
mod hub;
mod intent;
mod keys;
mod listener;
mod payload;
mod replay;
mod request;
mod settings;
mod signature;
mod sse;
mod tls;
mod whose;

pub use hub::{
    Answered, Asker, Business, Called, Confirmation, Guess, Guessing, Hub, NotRecorded, Reference,
    Refused, Requested, ToolCall, Work,
};
pub use intent::Intent;
pub use keys::{KeyError, Unknown};
pub use listener::{Listener, ListenerError, ListenerParts};
pub use settings::CopilotSettings;
pub use signature::Bad;
pub use tls::TlsError;

#[cfg(test)]
mod tests;
