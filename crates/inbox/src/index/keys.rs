//! What a record is known by, and what is left of one that was taken out.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::message::Message;

/// A record that retention took out. Its key stays, because a source may bring
/// the same message again for ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gone {
    pub(crate) seq: u64,
    pub(crate) channel: String,
    pub(crate) key: u64,
}

// === impl Gone ===

impl Gone {
    pub(crate) fn of(message: &Message) -> Self {
        Self {
            seq: message.seq.0,
            channel: message.lane(),
            key: key_hash(message),
        }
    }
}

/// Two accounts of different entities may be in one conversation; what is said there is
/// then each one's data.
pub(super) fn is_same(one: &Message, other: &Message) -> bool {
    one.channel == other.channel
        && one.entity == other.entity
        && one.chat_id == other.chat_id
        && one.id == other.id
        && one.version == other.version
}

pub(super) fn key_hash(message: &Message) -> u64 {
    hash(&[
        "key",
        message.channel.as_str(),
        &message.chat_id,
        &message.id,
        &message.version,
    ])
}

pub(super) fn id_hash(id: &str, number: u64) -> u64 {
    hash(&["id", id, &number.to_string()])
}

fn hash(parts: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    digest[..8].try_into().map_or(0, u64::from_le_bytes)
}
