//! A tunnel through a proxy (`CONNECT`, RFC 9110, section 9.3.6).

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Proxy;

/// Longest answer of a proxy.
const ANSWER_MAX: usize = 16 * 1024;
const HEADERS_MAX: usize = 64;

/// Asks a proxy for a connection to a host, whose name is without brackets.
pub(super) async fn open(
    tcp: &mut TcpStream,
    proxy: &Proxy,
    (host, port): (&str, u16),
) -> io::Result<()> {
    let host = if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    let mut request = format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n").into_bytes();
    proxy.write_credentials(&mut request);
    request.extend_from_slice(b"\r\n");
    tcp.write_all(&request).await?;
    let mut came = Vec::new();
    loop {
        // Byte by byte would be slow, and more than the head must not be read:
        // but a server says nothing in TLS before it is spoken to.
        let mut some = [0_u8; 1024];
        let read = tcp.read(&mut some).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        came.extend_from_slice(&some[..read]);
        if let Some(length) = judge(&came)? {
            return match came.len() == length {
                true => Ok(()),
                false => Err(bad(
                    "something came through the proxy before it was asked for",
                )),
            };
        }
        if came.len() > ANSWER_MAX {
            return Err(bad("the proxy's answer is too long"));
        }
    }
}

/// The length of an answer that lets through; `None` when the rest of it has not
/// come yet.
fn judge(came: &[u8]) -> io::Result<Option<usize>> {
    let mut fields = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut answer = httparse::Response::new(&mut fields);
    match answer.parse(came) {
        Ok(httparse::Status::Partial) => Ok(None),
        Ok(httparse::Status::Complete(length)) => match answer.code {
            Some(200..=299) => Ok(Some(length)),
            Some(407) => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the proxy wants a name and a password (HTTP status 407)",
            )),
            Some(status) => Err(io::Error::other(format!(
                "the proxy refused with HTTP status {status}"
            ))),
            None => Err(bad("the proxy's answer has no status")),
        },
        Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
    }
}

fn bad(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
