//! Hosts that somebody else named, and hosts that an owner names.
//!
//! Whoever connects to an address that came in a message looks the name up, asks
//! [`is_global`] of what it leads to, and connects to that very address: between a
//! check and its use there must be no second lookup.

mod address;
mod lookup;
mod named;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

pub use address::is_global;
pub use lookup::SystemLookup;
pub use named::{BadDestination, DEFAULT_PORT, Destination, Destinations, HostName};

/// Where a host's name leads, once that is known.
pub type Found = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Finds the addresses of hosts.
pub trait Lookup: Send + Sync + fmt::Debug {
    /// The addresses of a host, in the order in which they are to be tried.
    fn lookup(&self, host: &str, port: u16) -> Found;
}
