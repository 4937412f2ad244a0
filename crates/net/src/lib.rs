//! Whom TLS trusts, which proxy leads where, and one request over one connection.
//!
//! What the hub asks of the world beside models and servers is small: a document of metadata, a token,
//! a batch of spans, one delivery to a webhook. Each of these has a connection of its own, which is
//! driven by whoever waits for the answer and closed with it. A client with a pool was not taken: it
//! keeps connections in tasks that nobody here joins, and saves a handshake a minute.
//!
//! Who is trusted is one question for the whole process ([`trust`]), however many parts of it connect:
//! a company whose certificates are its own says so once.

mod dial;
mod exchange;
pub mod proxy;
pub mod tls;
pub mod trust;

pub use dial::{ADDRESSES_MAX, first_of};
pub use exchange::{Answer, BodyEnd, ExchangeError, exchange};
pub use tls::{Tls, TlsError};
pub use trust::TrustError;

/// What a `User-Agent` of the hub says.
pub const USER_AGENT: &str = concat!("legation/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests;
