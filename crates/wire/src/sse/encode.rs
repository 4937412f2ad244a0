//! Writing event streams.

use super::Event;

// === impl Event ===

impl Event {
    /// An event that carries one message.
    pub fn message(data: bytes::Bytes) -> Self {
        Self {
            data,
            ..Self::default()
        }
    }

    /// Appends the event. Line breaks in id and type are left out, since those fields have one
    /// line; data is split into as many lines as it has. A carriage return in data ends a line
    /// for the reader, so it is read back as a line feed.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        if let Some(event) = &self.event {
            write_field(out, b"event", event);
        }
        if let Some(id) = &self.id {
            write_field(out, b"id", id);
        }
        if let Some(retry_ms) = self.retry_ms {
            write_retry_field(out, retry_ms);
        }
        let mut rest: &[u8] = &self.data;
        loop {
            let end = memchr::memchr2(b'\n', b'\r', rest);
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(&rest[..end.unwrap_or(rest.len())]);
            out.push(b'\n');
            let Some(end) = end else { break };
            let crlf = rest[end..].starts_with(b"\r\n");
            rest = &rest[end + if crlf { 2 } else { 1 }..];
        }
        out.push(b'\n');
    }
}

/// Appends a comment, which readers ignore: a sign of life.
pub fn write_comment(out: &mut Vec<u8>, text: &str) {
    out.push(b':');
    if !text.is_empty() {
        out.push(b' ');
        push_one_line(out, text);
    }
    out.extend_from_slice(b"\n\n");
}

/// Appends a reconnection time on its own.
pub fn write_retry(out: &mut Vec<u8>, retry_ms: u64) {
    write_retry_field(out, retry_ms);
    out.push(b'\n');
}

fn write_retry_field(out: &mut Vec<u8>, retry_ms: u64) {
    write_field(out, b"retry", &retry_ms.to_string());
}

fn write_field(out: &mut Vec<u8>, name: &[u8], value: &str) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    push_one_line(out, value);
    out.push(b'\n');
}

fn push_one_line(out: &mut Vec<u8>, text: &str) {
    out.extend(
        text.bytes()
            .filter(|byte| !matches!(byte, b'\n' | b'\r' | 0)),
    );
}
