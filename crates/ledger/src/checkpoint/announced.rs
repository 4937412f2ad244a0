//! Records that name the key checkpoints are signed with, so that the chain
//! itself keeps every key it ever had.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use legation_core::EntityId;
use legation_keystore::Signer;

use super::PublicKey;

/// The topic of such a note.
pub(crate) const KEY_TOPIC: &str = "checkpoint_key";

/// What a key that vouches for another signs.
const VOUCHED: &str = "legation checkpoint key\n";

/// What such a note says: the key, and after the first a signature by the one
/// before it.
#[derive(Debug)]
pub(crate) struct Announced {
    pub(crate) key: PublicKey,
    voucher: Option<Vec<u8>>,
}

/// The chain of what concerns the hub, and not one entity.
pub(crate) fn hub_entity() -> EntityId {
    EntityId::new("all")
}

// === impl Announced ===

impl Announced {
    /// The note's text.
    pub(crate) fn text(key: &PublicKey, before: Option<&Signer>) -> String {
        match before {
            Some(before) => {
                let voucher = before.sign(format!("{VOUCHED}{key}\n").as_bytes());
                format!("{key} {}", BASE64.encode(voucher))
            }
            None => key.to_string(),
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (key, voucher) = match text.split_once(' ') {
            Some((key, voucher)) => (key, Some(BASE64.decode(voucher).ok()?)),
            None => (text, None),
        };
        Some(Self {
            key: key.parse().ok()?,
            voucher,
        })
    }

    /// Whether the key is one of `keys`, or one of them signed for it.
    pub(crate) fn is_vouched_for(&self, keys: &[PublicKey]) -> bool {
        let said = format!("{VOUCHED}{}\n", self.key);
        keys.contains(&self.key)
            || self.voucher.as_ref().is_some_and(|voucher| {
                keys.iter()
                    .any(|key| key.key.verifies(said.as_bytes(), voucher))
            })
    }
}
