//! The owner's PIN: what an agent with a shell of the same user does not know.
//!
//! It is kept as Argon2id (RFC 9106). Wrong tries are counted on disk before
//! they are judged, so that a crash forgets none, and after a few of them each
//! further one must wait longer.

use std::fs;
use std::io;
use std::path::PathBuf;

use argon2::{Algorithm, Argon2, Params, Version};
use legation_core::Wall;
use legation_core::home::{HomeError, write_private};
use legation_core::id::hex;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::{HumanProof, Keystore};

/// Memory in KiB, passes and lanes, as OWASP's cheat sheet of 2024 has them.
const COST: (u32, u32, u32) = (19 * 1024, 2, 1);
/// Fewest characters of a PIN.
pub(crate) const LENGTH_MIN: usize = 6;
/// Most bytes of one.
const LENGTH_MAX: usize = 256;
/// Wrong tries that cost no wait.
pub(crate) const FREE_TRIES: u32 = 5;
/// The first wait, in milliseconds; each wrong try doubles it.
pub(crate) const WAIT_MS: i64 = 30_000;
/// The longest wait.
const WAIT_MAX_MS: i64 = 24 * 3600 * 1000;

/// The PIN of a data directory.
#[derive(Debug)]
pub struct Pin {
    path: PathBuf,
}

/// A PIN that was not accepted, or could not be set.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// None has been set.
    #[error("no PIN is set; nothing was certified")]
    NotSet,
    /// It is not the PIN.
    #[error("that is not the PIN; nothing was certified or changed")]
    Wrong,
    /// Too many wrong ones were tried.
    #[error("too many wrong PINs: the next try is possible in {} s", wait_ms.div_euclid(1000) + 1)]
    Locked {
        /// How long to wait, in milliseconds.
        wait_ms: i64,
    },
    /// It is too short or too long.
    #[error("a PIN has {LENGTH_MIN} to {LENGTH_MAX} characters; nothing was changed")]
    Length,
    /// The file cannot be read.
    #[error("the PIN's file {} cannot be read; nothing was certified", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// The file cannot be written; a try that cannot be counted is not judged.
    #[error("the PIN's file cannot be written; nothing was certified or changed")]
    Write {
        /// What went wrong.
        #[source]
        source: HomeError,
    },
    /// The file does not hold a PIN.
    #[error("the PIN's file {} is damaged; nothing was certified", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Argon2 could not run.
    #[error("the PIN could not be computed; nothing was certified or changed")]
    Compute,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u32,
    salt: String,
    hash: String,
    wrong: u32,
    last_wrong_ms: i64,
}

// === impl Pin ===

impl Pin {
    /// The PIN that lies beside these keys.
    #[must_use]
    pub fn new(keys: &Keystore) -> Self {
        Self {
            path: keys.folder().join("pin.json"),
        }
    }

    /// Whether one has been set.
    ///
    /// # Errors
    /// See [`PinError`].
    pub fn is_set(&self) -> Result<bool, PinError> {
        self.read().map(|kept| kept.is_some())
    }

    /// Sets the PIN; where there is one, `old` must be it.
    ///
    /// # Errors
    /// See [`PinError`].
    pub fn set(&self, old: Option<&str>, new: &str, now: Wall) -> Result<(), PinError> {
        if new.chars().count() < LENGTH_MIN || new.len() > LENGTH_MAX {
            return Err(PinError::Length);
        }
        if self.is_set()? {
            drop(self.verify(old.unwrap_or_default(), now)?);
        }
        let mut salt = [0u8; 16];
        getrandom::fill(&mut salt).map_err(|_| PinError::Compute)?;
        let salt = hex(&salt);
        let hash = hash(new, &salt)?;
        self.write(&Kept {
            version: 1,
            salt,
            hash,
            wrong: 0,
            last_wrong_ms: 0,
        })
    }

    /// Takes a PIN for a person's word.
    ///
    /// # Errors
    /// See [`PinError`].
    pub fn verify(&self, pin: &str, now: Wall) -> Result<HumanProof, PinError> {
        let mut kept = self.read()?.ok_or(PinError::NotSet)?;
        let wait_ms = kept.wait_ms(now);
        if wait_ms > 0 {
            return Err(PinError::Locked { wait_ms });
        }
        if pin.len() > LENGTH_MAX {
            return Err(PinError::Length);
        }
        kept.wrong = kept.wrong.saturating_add(1);
        kept.last_wrong_ms = now.0;
        self.write(&kept)?;
        let found = hash(pin, &kept.salt)?;
        if !bool::from(found.as_bytes().ct_eq(kept.hash.as_bytes())) {
            return Err(PinError::Wrong);
        }
        kept.wrong = 0;
        self.write(&kept)?;
        Ok(HumanProof::of("pin"))
    }

    fn read(&self) -> Result<Option<Kept>, PinError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(PinError::Read {
                    path: self.path.clone(),
                    source,
                });
            }
        };
        let kept: Option<Kept> = serde_json::from_str(&text).ok();
        match kept {
            Some(kept) if kept.version == 1 => Ok(Some(kept)),
            _ => Err(PinError::Damaged {
                path: self.path.clone(),
            }),
        }
    }

    fn write(&self, kept: &Kept) -> Result<(), PinError> {
        let text = serde_json::to_vec_pretty(kept).map_err(|_| PinError::Compute)?;
        write_private(&self.path, &text).map_err(|source| PinError::Write { source })
    }
}

// === impl PinError ===

impl PinError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotSet => "set one in a terminal of your own: `legation pin`",
            Self::Wrong | Self::Locked { .. } => {
                "try again later; a PIN that is forgotten is removed with the file keys/pin.json, by hand"
            }
            Self::Length => "choose one that is long enough to keep an agent guessing",
            Self::Read { .. } | Self::Write { .. } | Self::Damaged { .. } => {
                "see that the folder `keys` of the data directory belongs to you and can be written"
            }
            Self::Compute => "see that the machine has memory to spare, then try again",
        }
    }
}

// === impl Kept ===

impl Kept {
    /// How long the next try must wait. A clock that was set back does not
    /// lengthen the wait past its full length.
    fn wait_ms(&self, now: Wall) -> i64 {
        if self.wrong < FREE_TRIES {
            return 0;
        }
        let doubled = WAIT_MS.saturating_mul(1i64 << (self.wrong - FREE_TRIES).min(16));
        let wait = doubled.min(WAIT_MAX_MS);
        let since = now.0.saturating_sub(self.last_wrong_ms).max(0);
        wait - since.min(wait)
    }
}

fn hash(pin: &str, salt: &str) -> Result<String, PinError> {
    let (memory, passes, lanes) = COST;
    let params = Params::new(memory, passes, lanes, Some(32)).map_err(|_| PinError::Compute)?;
    let mut out = Zeroizing::new([0u8; 32]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(pin.as_bytes(), salt.as_bytes(), &mut out[..])
        .map_err(|_| PinError::Compute)?;
    Ok(hex(&out[..]))
}
