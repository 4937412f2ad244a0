//! Idempotency keys: what was answered under them, sealed.
//!
//! A key is claimed before its request is done and settled after, so that a request
//! that is sent again, to this hub or the next, is never done twice.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use legation_console::{AdminFault, Claimed, FaultKind, Kept};
use legation_core::error::chain;
use legation_core::{BootId, SharedClock};
use legation_keystore::{Key, Keystore, KeystoreError};
use legation_store::{KeptRow, Store, StoreError};
use legation_wire::codes;
use serde::{Deserialize, Serialize};

/// The rows' kind.
const KIND: &str = "idempotency";
/// How long an answer is kept.
const KEEP_MS: i64 = 24 * 60 * 60 * 1000;
/// Most answers that are kept; the oldest go first.
const KEPT_MAX: u32 = 1000;
/// Longest answer that is kept, in bytes.
const ANSWER_MAX: usize = 256 * 1024;

/// See the module.
pub(super) struct Claims {
    store: Arc<Store>,
    keystore: Arc<Keystore>,
    clock: SharedClock,
    boot: BootId,
}

/// What a row holds, before it is sealed.
#[derive(Debug, Serialize, Deserialize)]
struct Sealed {
    digest: [u8; 32],
    /// The hub that did it.
    boot: String,
    /// Absent while it is being done.
    status: Option<u16>,
    body: Option<String>,
}

/// The rows cannot be read or written.
#[derive(Debug, thiserror::Error)]
enum ClaimError {
    #[error("the idempotency key could not be kept")]
    Store(#[from] StoreError),
    #[error("the idempotency key could not be sealed")]
    Keystore(#[from] KeystoreError),
    #[error("what is kept under the idempotency key was changed by another hand")]
    Damaged,
    #[error("the hub is stopping")]
    Stopping,
}

// === impl Claims ===

impl Claims {
    pub(super) fn new(
        store: &Arc<Store>,
        keystore: &Arc<Keystore>,
        clock: &SharedClock,
        boot: &BootId,
    ) -> Self {
        Self {
            store: Arc::clone(store),
            keystore: Arc::clone(keystore),
            clock: Arc::clone(clock),
            boot: boot.clone(),
        }
    }

    pub(super) async fn claim(
        self: Arc<Self>,
        key: String,
        digest: [u8; 32],
    ) -> Result<Claimed, AdminFault> {
        let claimed = tokio::task::spawn_blocking(move || self.claim_now(&key, digest)).await;
        let claimed = claimed.unwrap_or(Err(ClaimError::Stopping));
        claimed.map_err(|error| AdminFault {
            code: codes::INTERNAL_ERROR,
            kind: FaultKind::Unavailable,
            message: format!("{}; nothing was done", chain(&error)),
            hint: Some("see that the disk of the data directory has room".to_owned()),
            rule: None,
            data: None,
        })
    }

    pub(super) async fn settle(self: Arc<Self>, key: String, digest: [u8; 32], kept: Option<Kept>) {
        let settled = tokio::task::spawn_blocking(move || match kept {
            Some(kept) => self.put(&key, digest, Some(kept)),
            None => self.give_up(&key),
        });
        // Whoever sends the request again hears that its end is not known.
        if let Ok(Err(error)) = settled.await {
            tracing::error!(error = %chain(&error), "an answer was not kept under its idempotency key");
        }
    }

    fn claim_now(&self, key: &str, digest: [u8; 32]) -> Result<Claimed, ClaimError> {
        let name = self.name(key)?;
        let row = self.row(&name, digest, None)?;
        let Some(mut there) = self.store.kept_add(&row)? else {
            self.store.kept_trim(KIND, KEPT_MAX)?;
            return Ok(Claimed::New);
        };
        if there.expires_ms <= row.changed_ms {
            self.store.kept_remove(KIND, &name)?;
            match self.store.kept_add(&row)? {
                None => return Ok(Claimed::New),
                // Another request was faster.
                Some(other) => there = other,
            }
        }
        let sealed = self.open(&there)?;
        Ok(match sealed.status {
            _ if sealed.digest != digest => Claimed::Other,
            Some(status) => Claimed::Answered(Kept {
                status,
                body: sealed.body.map(Into::into),
            }),
            None if sealed.boot == self.boot.as_str() => Claimed::Running,
            None => Claimed::Unknown,
        })
    }

    fn put(&self, key: &str, digest: [u8; 32], kept: Option<Kept>) -> Result<(), ClaimError> {
        let name = self.name(key)?;
        let row = self.row(&name, digest, kept)?;
        Ok(self.store.kept_put(&row)?)
    }

    fn give_up(&self, key: &str) -> Result<(), ClaimError> {
        let name = self.name(key)?;
        self.store.kept_remove(KIND, &name)?;
        Ok(())
    }

    fn key(&self) -> Result<Key, ClaimError> {
        Ok(self.keystore.key("console")?.derive(KIND))
    }

    /// What the row is found by says nothing of what the caller wrote.
    fn name(&self, key: &str) -> Result<String, ClaimError> {
        let mac = self.key()?.mac(&[key.as_bytes()]);
        Ok(legation_core::id::hex(&mac))
    }

    fn row(&self, name: &str, digest: [u8; 32], kept: Option<Kept>) -> Result<KeptRow, ClaimError> {
        let (status, body) = match kept {
            None => (None, None),
            Some(kept) => (Some(kept.status), kept.body),
        };
        let body = body.filter(|body| body.len() <= ANSWER_MAX);
        let sealed = Sealed {
            digest,
            boot: self.boot.to_string(),
            status,
            body: body.and_then(|body| String::from_utf8(body.into()).ok()),
        };
        let plain = serde_json::to_vec(&sealed).map_err(|_| ClaimError::Damaged)?;
        let sealed = self.key()?.seal(name.as_bytes(), &plain)?;
        let now = self.clock.wall().0;
        Ok(KeptRow {
            kind: KIND.to_owned(),
            name: name.to_owned(),
            value: STANDARD.encode(sealed),
            changed_ms: now,
            expires_ms: now.saturating_add(KEEP_MS),
        })
    }

    fn open(&self, row: &KeptRow) -> Result<Sealed, ClaimError> {
        let sealed = STANDARD
            .decode(&row.value)
            .map_err(|_| ClaimError::Damaged)?;
        let plain = self.key()?.open(row.name.as_bytes(), &sealed);
        let plain = plain.map_err(|_| ClaimError::Damaged)?;
        serde_json::from_slice(&plain).map_err(|_| ClaimError::Damaged)
    }
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
