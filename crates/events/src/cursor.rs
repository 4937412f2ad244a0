//! Cursors: a place in a log that the client keeps and cannot read or make.
//!
//! They are sealed, and bound to the client, so that no number in them says how
//! much other clients' mail there is, and none can be made up.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use legation_core::ClientId;
use legation_keystore::Key;

use crate::Topic;

/// A place, and the log it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// See [`crate::Log::epoch`].
    pub(crate) epoch: u64,
    /// The last place that was told.
    pub(crate) place: u64,
}

/// Makes and reads cursors.
#[derive(Debug)]
pub(crate) struct Cursors {
    key: Key,
}

/// Longest cursor that is looked at, in bytes.
const LEN_MAX: usize = 256;

// === impl Cursors ===

impl Cursors {
    pub(crate) fn new(key: Key) -> Self {
        Self { key }
    }

    /// A cursor of a client's; empty when the system has no randomness, which
    /// then no client's cursor opens.
    pub(crate) fn seal(&self, client: &ClientId, topic: &Topic, position: Position) -> String {
        let plain = [position.epoch.to_be_bytes(), position.place.to_be_bytes()].concat();
        let sealed = self.key.seal(&beside(client, topic), &plain);
        sealed.map_or_else(|_| String::new(), |sealed| URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Reads a cursor; `None` when it is none of this client's for this topic.
    pub(crate) fn open(&self, client: &ClientId, topic: &Topic, cursor: &str) -> Option<Position> {
        if cursor.len() > LEN_MAX {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let plain = self.key.open(&beside(client, topic), &sealed).ok()?;
        let (epoch, place) = plain.split_first_chunk::<8>()?;
        Some(Position {
            epoch: u64::from_be_bytes(*epoch),
            place: u64::from_be_bytes(place.try_into().ok()?),
        })
    }
}

fn beside(client: &ClientId, topic: &Topic) -> Vec<u8> {
    // A client's id holds no line feed, and is the last.
    format!("event cursor\n{}\n{}", topic.as_str(), client.as_str()).into_bytes()
}
