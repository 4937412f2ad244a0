//! A record as it stands in a day file: one JSON object on a line.
//!
//! The last member is a checksum over the bytes before it, so that a bit that
//! has fallen over is found wherever it is. `batch` is the first record of the
//! write that brought it: after a crash only the last write can be torn, and so
//! a torn record that is followed by a later write's was damaged afterwards.

use std::collections::BTreeMap;

use legation_core::id::hex;
use legation_core::{EntityId, Wall};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::message::{Channel, Kind, Message, Seq};
use crate::seal::{Sealed, Seals};

/// `,"sum":"` and 16 digits and `"}`.
const TAIL: usize = 8 + 16 + 2;

/// What a reader finds that cannot open a body.
const CLOSED: &str = "(the text is sealed, and its key is gone)";

#[derive(Serialize)]
struct Wire<'a> {
    seq: u64,
    batch: u64,
    id: &'a str,
    version: &'a str,
    kind: &'a str,
    received_at: String,
    channel: &'a str,
    chat_id: &'a str,
    from: &'a str,
    ts: &'a str,
    content_text_sanitized: &'a str,
    meta: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed: Option<&'a str>,
    consumed_by: [(); 0],
}

#[derive(Deserialize)]
struct Read {
    seq: u64,
    batch: u64,
    id: String,
    version: String,
    kind: String,
    received_at: String,
    channel: String,
    chat_id: String,
    from: String,
    ts: String,
    content_text_sanitized: String,
    meta: BTreeMap<String, String>,
    entity: Option<String>,
    sealed: Option<String>,
}

/// A record read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) message: Message,
    pub(crate) batch: u64,
    sealed: Option<String>,
}

/// Why a line is no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadLine {
    #[error("it has no checksum")]
    NoSum,
    #[error("its checksum is another's")]
    Sum,
    #[error("it is not the JSON of a record")]
    Json,
}

/// Writes a record as a line, with its end.
pub(crate) fn encode(message: &Message, batch: u64, sealed: Option<&Sealed>) -> Vec<u8> {
    let nothing = BTreeMap::new();
    let (text, meta) = match sealed {
        Some(_) => ("", &nothing),
        None => (message.text.as_str(), &message.meta),
    };
    let wire = Wire {
        seq: message.seq.0,
        batch,
        id: &message.id,
        version: &message.version,
        kind: message.kind.as_str(),
        received_at: message.received_at.to_string(),
        channel: message.channel.as_str(),
        chat_id: &message.chat_id,
        from: &message.from,
        ts: &message.ts,
        content_text_sanitized: text,
        meta,
        entity: message.entity.as_ref().map(EntityId::as_str),
        sealed: sealed.map(|sealed| sealed.0.as_str()),
        consumed_by: [],
    };
    let mut line = serde_json::to_vec(&wire).expect("texts and maps of texts always serialise");
    line.pop();
    let sum = sum(&line);
    line.extend_from_slice(b",\"sum\":\"");
    line.extend_from_slice(sum.as_bytes());
    line.extend_from_slice(b"\"}\n");
    line
}

/// Reads a line without its end.
pub(crate) fn decode(line: &[u8]) -> Result<Line, BadLine> {
    let start = line.len().checked_sub(TAIL).ok_or(BadLine::NoSum)?;
    let (body, tail) = line.split_at(start);
    let digits = tail
        .strip_prefix(b",\"sum\":\"")
        .and_then(|rest| rest.strip_suffix(b"\"}"))
        .ok_or(BadLine::NoSum)?;
    if sum(body).as_bytes() != digits {
        return Err(BadLine::Sum);
    }
    let read: Read = serde_json::from_slice(line).map_err(|_| BadLine::Json)?;
    let message = Message {
        seq: Seq(read.seq),
        id: read.id,
        version: read.version,
        kind: Kind::parse(&read.kind).ok_or(BadLine::Json)?,
        received_at: Wall::parse(&read.received_at).ok_or(BadLine::Json)?,
        channel: Channel::parse(&read.channel).map_err(|_| BadLine::Json)?,
        chat_id: read.chat_id,
        from: read.from,
        ts: read.ts,
        text: read.content_text_sanitized,
        meta: read.meta,
        entity: read.entity.map(EntityId::new),
    };
    Ok(Line {
        message,
        batch: read.batch,
        sealed: read.sealed,
    })
}

fn sum(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    hex(&digest[..8])
}

// === impl Line ===

impl Line {
    /// The message, its body opened if it was sealed and the key is there.
    pub(crate) fn open(self, seals: &Seals) -> Message {
        let mut message = self.message;
        let Some(sealed) = self.sealed else {
            return message;
        };
        match seals.open(&message, &Sealed(sealed)) {
            Some((text, meta)) => (message.text, message.meta) = (text, meta),
            None => CLOSED.clone_into(&mut message.text),
        }
        message
    }
}
