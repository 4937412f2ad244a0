//! Bodies that must not lie on the disk as they are: one key for each entity.
//!
//! What is of several entities is sealed under the keys of all of them, one around the other: whoever
//! destroys one key makes everything unreadable that held data of its entity.

use std::sync::Arc;

use legation_core::id::hex;
use legation_core::{EntityId, EntityLabels};
use legation_keystore::{Keystore, KeystoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

/// Longest name of a key, in bytes.
const KEY_NAME_MAX: usize = 100;

/// The keys.
#[derive(Debug, Clone)]
pub(crate) struct Seals(Arc<Keystore>);

/// A body cannot be read: its key is gone, or it is not what was stored here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it cannot be read any more: a key of its data is gone, or it was changed")]
pub(crate) struct Unreadable;

// === impl Seals ===

impl Seals {
    pub(crate) fn new(keystore: Arc<Keystore>) -> Self {
        Self(keystore)
    }

    /// Seals a body. It opens only beside the same words and under the same labels.
    pub(crate) fn seal<T: Serialize>(
        &self,
        labels: &EntityLabels,
        beside: &str,
        body: &T,
    ) -> Result<Vec<u8>, KeystoreError> {
        let mut sealed = serde_json::to_vec(body).expect("types of ours always serialise");
        for name in key_names(labels) {
            let key = self.0.key(&name)?;
            sealed = key.seal(beside.as_bytes(), &sealed)?;
        }
        Ok(sealed)
    }

    /// The body, if the keys are there and it is the one that was sealed here.
    pub(crate) fn open<T: DeserializeOwned>(
        &self,
        labels: &EntityLabels,
        beside: &str,
        sealed: &[u8],
    ) -> Result<T, Unreadable> {
        let mut plain = sealed.to_vec();
        for name in key_names(labels).into_iter().rev() {
            let key = self.0.existing(&name).ok().flatten().ok_or(Unreadable)?;
            let opened = key.open(beside.as_bytes(), &plain);
            plain = opened.map_err(|_| Unreadable)?.to_vec();
        }
        serde_json::from_slice(&plain).map_err(|_| Unreadable)
    }
}

/// Entities may be named in any letters, keys are files.
fn key_names(labels: &EntityLabels) -> Vec<String> {
    if labels.is_empty() {
        return vec![key_name(&EntityId::personal())];
    }
    labels.iter().map(key_name).collect()
}

fn key_name(entity: &EntityId) -> String {
    let entity = entity.as_str();
    let name = format!("engine-{}", hex(entity.as_bytes()));
    if name.len() <= KEY_NAME_MAX {
        return name;
    }
    // Cut, two entities could have one key, and end with one of them.
    format!("engine-{}", hex(&Sha256::digest(entity.as_bytes())))
}
