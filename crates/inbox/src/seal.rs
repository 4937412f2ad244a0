//! Bodies that must not lie on the disk as they are: one key for each entity.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use legation_core::EntityId;
use legation_core::id::hex;
use legation_keystore::{Keystore, KeystoreError};

use sha2::{Digest as _, Sha256};

use crate::message::Message;

/// Longest name of a key, in bytes.
const KEY_NAME_MAX: usize = 100;

/// Text and `meta` of a record, sealed, in base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sealed(pub(crate) String);

/// The keys.
#[derive(Debug, Clone)]
pub(crate) struct Seals(pub(crate) Arc<Keystore>);

// === impl Seals ===

impl Seals {
    /// Seals the body of a record. It opens only at its place.
    pub(crate) fn seal(&self, message: &Message) -> Result<Sealed, KeystoreError> {
        let key = self.0.key(&key_name(message.entity.as_ref()))?;
        let body = (&message.text, &message.meta);
        let plain = serde_json::to_vec(&body).expect("texts always serialise");
        let sealed = key.seal(&beside(message), &plain)?;
        Ok(Sealed(STANDARD.encode(sealed)))
    }

    /// The body, if the key is there and it is this record's.
    pub(crate) fn open(
        &self,
        message: &Message,
        sealed: &Sealed,
    ) -> Option<(String, BTreeMap<String, String>)> {
        let key = self.0.existing(&key_name(message.entity.as_ref()));
        let key = key.ok().flatten()?;
        let bytes = STANDARD.decode(&sealed.0).ok()?;
        let plain = key.open(&beside(message), &bytes).ok()?;
        serde_json::from_slice(&plain).ok()
    }
}

/// Entities may be named in any letters, keys are files.
fn key_name(entity: Option<&EntityId>) -> String {
    let entity = entity.map_or("personal", EntityId::as_str);
    let name = format!("inbox-{}", hex(entity.as_bytes()));
    if name.len() <= KEY_NAME_MAX {
        return name;
    }
    // Cut, two entities could have one key, and end with one of them.
    format!("inbox-{}", hex(&Sha256::digest(entity.as_bytes())))
}

fn beside(message: &Message) -> Vec<u8> {
    format!("inbox record {}", message.seq).into_bytes()
}
