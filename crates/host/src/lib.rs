//! Upstream servers: their lifecycle, their instances, the catalogue made of
//! what they offer, and the calls to them.
//!
//! Architecture invariant: nothing here decides whether a call may happen. A
//! server is called only with a `Permitted`, and a connection is opened only
//! through the port that `transport` puts real transports behind.

mod adapter;
mod ask;
mod call;
mod catalogue;
mod common;
mod definitions;
mod feeds;
mod flight;
mod glob;
mod host;
mod instance;
mod level;
pub mod log;
mod memory;
pub mod names;
mod oauth;
mod oidc;
mod pins;
mod port;
mod published;
mod roots;
mod roster;
mod seats;
mod server;
mod status;
mod supervisor;
mod tasks;
mod template;
#[cfg(test)]
mod testing;
pub mod transport;
mod watches;

pub use feeds::{Feed, FeedAsk, NoFeed};
pub use host::{Host, HostParts, Lent, NoServer};
pub use memory::Offer;
pub use oauth::SignInError;
pub use pins::{PinError, PinNews, PinReview};
pub use status::{ServerStatus, State, Summary};
