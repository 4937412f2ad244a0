//! Connecting to addresses that were found, and perhaps checked, by somebody else.

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;

/// Addresses of one host that are tried.
pub const ADDRESSES_MAX: usize = 4;

/// Connects to the first of these addresses that answers; the last one's error where none does. Nothing
/// is looked up here, so that there is no moment between a check of an address and its use.
///
/// # Errors
/// The system's. Without an address it is [`io::ErrorKind::NotFound`].
pub async fn first_of(addresses: impl IntoIterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name leads nowhere");
    for address in addresses.into_iter().take(ADDRESSES_MAX) {
        match TcpStream::connect(address).await {
            Ok(tcp) => return Ok(tcp),
            Err(error) => last = error,
        }
    }
    Err(last)
}
