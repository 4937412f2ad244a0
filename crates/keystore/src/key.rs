//! One key and what it does.

use std::fmt;

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::KeystoreError;

const NONCE: usize = 24;

/// 32 random bytes. Prints as `****`, is wiped when dropped.
#[derive(Clone)]
pub struct Key(Zeroizing<[u8; 32]>);

/// A sealed text that does not open: another key, other data beside it, or
/// somebody changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the sealed data does not open: it was sealed with another key or for another place, or it was changed"
)]
pub struct Unsealed;

// === impl Key ===

impl Key {
    /// A key that is kept elsewhere.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// A new key.
    ///
    /// # Errors
    /// [`KeystoreError::Random`].
    pub fn random() -> Result<Self, KeystoreError> {
        let mut bytes = Zeroizing::new([0u8; 32]);
        getrandom::fill(&mut bytes[..]).map_err(|_| KeystoreError::Random)?;
        Ok(Self(bytes))
    }

    /// The key itself, for the one place that needs it raw.
    #[must_use]
    pub fn reveal(&self) -> &[u8; 32] {
        &self.0
    }

    /// Seals `plain` with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) under
    /// a random nonce, which stands before the ciphertext. It opens only beside
    /// the same `beside`.
    ///
    /// # Errors
    /// [`KeystoreError::Random`].
    pub fn seal(&self, beside: &[u8], plain: &[u8]) -> Result<Vec<u8>, KeystoreError> {
        let mut nonce = [0u8; NONCE];
        getrandom::fill(&mut nonce).map_err(|_| KeystoreError::Random)?;
        let payload = Payload {
            msg: plain,
            aad: beside,
        };
        let sealed = self
            .cipher()
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| KeystoreError::Random)?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// Opens what [`Key::seal`] sealed.
    ///
    /// # Errors
    /// [`Unsealed`].
    pub fn open(&self, beside: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Unsealed> {
        let (nonce, text) = sealed.split_first_chunk::<NONCE>().ok_or(Unsealed)?;
        let payload = Payload {
            msg: text,
            aad: beside,
        };
        self.cipher()
            .decrypt(&XNonce::from(*nonce), payload)
            .map(Zeroizing::new)
            .map_err(|_| Unsealed)
    }

    /// HMAC-SHA-256 (RFC 2104) over parts, each with its length before it.
    #[must_use]
    pub fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.keyed(parts).finalize().into_bytes().into()
    }

    /// Whether `mac` is the parts', in constant time.
    #[must_use]
    pub fn verify(&self, parts: &[&[u8]], mac: &[u8]) -> bool {
        self.keyed(parts).verify_slice(mac).is_ok()
    }

    /// A key for one purpose that anyone who holds this one can make again.
    #[must_use]
    pub fn derive(&self, purpose: &str) -> Self {
        Self::from_bytes(self.mac(&[b"derive", purpose.as_bytes()]))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.0).into())
    }

    fn keyed(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0[..]).expect("HMAC takes a key of any length");
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(****)")
    }
}
