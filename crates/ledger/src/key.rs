//! The key that turns arguments and results into commitments.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use legation_core::home::write_private;
use legation_core::id::hex;
use sha2::Sha256;

use crate::KeyError;

/// HMAC-SHA-256 under a random key of this data directory. Without the key a
/// commitment says nothing, not even to a guesser of short arguments; with it
/// anyone can show that a record is about given bytes.
#[derive(Clone)]
pub struct LedgerKey {
    keyed: Hmac<Sha256>,
}

// === impl LedgerKey ===

impl LedgerKey {
    /// Reads the key at `path` (mode 0600, 64 hexadecimal digits), or makes one.
    ///
    /// # Errors
    /// See [`KeyError`]; a damaged key file is never replaced.
    pub fn load_or_create(path: &Path) -> Result<Self, KeyError> {
        let read = |source| KeyError::Read {
            path: path.to_owned(),
            source,
        };
        match fs::read_to_string(path) {
            Ok(text) => {
                let mode = fs::metadata(path).map_err(read)?.permissions().mode();
                if mode & 0o077 != 0 {
                    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(read)?;
                }
                let key = unhex(text.trim_end()).ok_or_else(|| KeyError::Malformed {
                    path: path.to_owned(),
                })?;
                Ok(Self::from_bytes(&key))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut key = [0u8; 32];
                getrandom::fill(&mut key).map_err(|source| KeyError::Random { source })?;
                write_private(path, format!("{}\n", hex(&key)).as_bytes())
                    .map_err(|source| KeyError::Write { source })?;
                Ok(Self::from_bytes(&key))
            }
            Err(error) => Err(read(error)),
        }
    }

    /// A key that is kept elsewhere.
    #[must_use]
    pub fn from_bytes(key: &[u8; 32]) -> Self {
        Self {
            keyed: Hmac::new_from_slice(key).expect("HMAC takes a key of any length"),
        }
    }

    /// The commitment to `bytes`, 64 hexadecimal digits.
    #[must_use]
    pub fn commit(&self, bytes: &[u8]) -> String {
        hex(&self.digest(bytes))
    }

    /// The commitment to `bytes`.
    pub(crate) fn digest(&self, bytes: &[u8]) -> [u8; 32] {
        let mut mac = self.keyed.clone();
        mac.update(bytes);
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for LedgerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LedgerKey(****)")
    }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut key = [0u8; 32];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(key)
}
