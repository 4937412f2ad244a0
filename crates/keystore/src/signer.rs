//! Signatures: Ed25519 (RFC 8032).

use std::fmt;

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::Key;

/// Signs in the name of this data directory.
pub struct Signer {
    pair: Ed25519KeyPair,
}

/// Checks signatures of one signer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VerifyingKey(pub [u8; 32]);

// === impl Signer ===

impl Signer {
    /// The signer whose seed (RFC 8032 section 5.1.5) is this key.
    #[must_use]
    pub fn from_seed(seed: &Key) -> Self {
        Self {
            pair: Ed25519KeyPair::from_seed_unchecked(seed.reveal())
                .expect("32 bytes are an Ed25519 seed"),
        }
    }

    /// Its signature of `message`.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        let signature = self.pair.sign(message);
        let mut bytes = [0u8; 64];
        bytes.copy_from_slice(signature.as_ref());
        bytes
    }

    /// What checks its signatures.
    #[must_use]
    pub fn public(&self) -> VerifyingKey {
        let mut bytes = [0u8; 32];
        bytes.copy_from_slice(self.pair.public_key().as_ref());
        VerifyingKey(bytes)
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("public", &self.public())
            .finish_non_exhaustive()
    }
}

// === impl VerifyingKey ===

impl VerifyingKey {
    /// Whether `signature` is the signer's of `message`.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0)
            .verify(message, signature)
            .is_ok()
    }
}
