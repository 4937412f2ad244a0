//! The keys that turn arguments and results into commitments: one an entity and
//! month, so that destroying one makes that entity's commitments of that month
//! meaningless and nobody else's. The alternative, one key from which all are
//! derived, could not be destroyed without all.

use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use hmac::{Hmac, KeyInit as _, Mac as _};
use legation_core::EntityId;
use legation_core::id::hex;
use legation_keystore::{Key, Keystore, KeystoreError, Signer};
use sha2::{Digest as _, Sha256};

use crate::line;

/// The keys of one data directory. A commitment is HMAC-SHA-256 (RFC 2104);
/// without its key it says nothing, not even to a guesser of short arguments.
pub struct LedgerKeys {
    source: Source,
    /// The key of the month that each entity was last recorded in. Every call looks twice, and
    /// even a lock that many may hold would pass between the processors each time.
    current: ArcSwap<Vec<Arc<Current>>>,
    /// Whoever holds it changes `current`.
    changing: Mutex<()>,
}

/// A month of UTC, counted from the year 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month(u32);

enum Source {
    Keystore(Arc<Keystore>),
    /// All keys are derived from this one; for tests and examples.
    Seed(Key),
}

struct Current {
    entity: EntityId,
    month: Month,
    key: Hmac<Sha256>,
}

/// What a signing key's name begins with; a number follows.
const SIGNER: &str = "ledger-signer.";
/// What a commitment key's name begins with; entity and month follow.
const COMMIT: &str = "ledger.";
/// Longest part of a key's name that stands for an entity.
const ENTITY_MAX: usize = 72;

// === impl LedgerKeys ===

impl LedgerKeys {
    /// Keys that are made on first use and kept in `keystore`.
    #[must_use]
    pub fn kept_in(keystore: Arc<Keystore>) -> Self {
        Self::new(Source::Keystore(keystore))
    }

    /// Keys that all come from one seed, of which none can be destroyed.
    #[must_use]
    pub fn from_bytes(seed: &[u8; 32]) -> Self {
        Self::new(Source::Seed(Key::from_bytes(*seed)))
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            current: ArcSwap::default(),
            changing: Mutex::default(),
        }
    }

    /// The commitment to `bytes` in a record of `entity` at a time, 64
    /// hexadecimal digits; `None` when the key was destroyed or never made.
    ///
    /// # Errors
    /// See [`KeystoreError`].
    pub fn commitment(
        &self,
        entity: &EntityId,
        at_ms: i64,
        bytes: &[u8],
    ) -> Result<Option<String>, KeystoreError> {
        let name = name(entity, Month::of(at_ms));
        let key = match &self.source {
            Source::Keystore(keystore) => keystore.existing(&name)?,
            Source::Seed(seed) => Some(seed.derive(&name)),
        };
        Ok(key.map(|key| hex(&sign(&keyed(&key), bytes))))
    }

    /// The same for a record that is being made: makes the key if need be.
    pub(crate) fn commit(
        &self,
        entity: &EntityId,
        at_ms: i64,
        bytes: &[u8],
    ) -> Result<[u8; 32], KeystoreError> {
        let month = Month::of(at_ms);
        let found = |current: &[Arc<Current>]| {
            let is_it = |one: &&Arc<Current>| one.month == month && one.entity == *entity;
            let found = current.iter().find(is_it);
            found.map(|found| sign(&found.key, bytes))
        };
        if let Some(commitment) = found(&self.current.load()) {
            return Ok(commitment);
        }
        let changing = self.changing();
        if let Some(commitment) = found(&self.current.load()) {
            return Ok(commitment);
        }
        let name = name(entity, month);
        let key = keyed(&match &self.source {
            Source::Keystore(keystore) => keystore.key(&name)?,
            Source::Seed(seed) => seed.derive(&name),
        });
        let commitment = sign(&key, bytes);
        let made = Current {
            entity: entity.clone(),
            month,
            key,
        };
        self.replace(&changing, entity, Some(made));
        Ok(commitment)
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the entity's key, and keeps another in its place.
    fn replace(&self, _changing: &MutexGuard<'_, ()>, entity: &EntityId, by: Option<Current>) {
        let current = self.current.load();
        let others = current.iter().filter(|one| one.entity != *entity).cloned();
        let all = others.chain(by.map(Arc::new)).collect();
        self.current.store(Arc::new(all));
    }

    /// The months before `before` for which the entity has a key.
    pub(crate) fn months(
        &self,
        entity: &EntityId,
        before: Month,
    ) -> Result<Vec<Month>, KeystoreError> {
        let Source::Keystore(keystore) = &self.source else {
            return Ok(Vec::new());
        };
        let start = format!("{COMMIT}{}.", escaped(entity));
        let names = keystore.names()?;
        Ok(names
            .iter()
            .filter_map(|name| name.strip_prefix(&start)?.parse().ok())
            .filter(|month| *month < before)
            .collect())
    }

    /// Destroys one key; `false` when there is none.
    pub(crate) fn destroy(&self, entity: &EntityId, month: Month) -> Result<bool, KeystoreError> {
        let Source::Keystore(keystore) = &self.source else {
            return Ok(false);
        };
        let changing = self.changing();
        self.replace(&changing, entity, None);
        keystore.destroy(&name(entity, month))
    }

    /// The key that signs checkpoints, and its number.
    pub(crate) fn signer(&self) -> Result<(u32, Signer), KeystoreError> {
        let number = match &self.source {
            Source::Keystore(keystore) => keystore
                .names()?
                .iter()
                .filter_map(|name| name.strip_prefix(SIGNER)?.parse().ok())
                .max()
                .unwrap_or(1),
            Source::Seed(_) => 1,
        };
        Ok((number, self.signer_numbered(number)?))
    }

    /// The signing key of that number, if there is one.
    pub(crate) fn existing_signer(&self, number: u32) -> Result<Option<Signer>, KeystoreError> {
        let Source::Keystore(keystore) = &self.source else {
            return Ok(None);
        };
        let seed = keystore.existing(&format!("{SIGNER}{number}"))?;
        Ok(seed.map(|seed| Signer::from_seed(&seed)))
    }

    /// Destroys a signing key that has a successor.
    pub(crate) fn destroy_signer(&self, number: u32) -> Result<bool, KeystoreError> {
        match &self.source {
            Source::Keystore(keystore) => keystore.destroy(&format!("{SIGNER}{number}")),
            Source::Seed(_) => Ok(false),
        }
    }

    /// The signing key of that number, made if there is none.
    pub(crate) fn signer_numbered(&self, number: u32) -> Result<Signer, KeystoreError> {
        let name = format!("{SIGNER}{number}");
        match &self.source {
            Source::Keystore(keystore) => keystore.signer(&name),
            Source::Seed(seed) => Ok(Signer::from_seed(&seed.derive(&name))),
        }
    }
}

impl fmt::Debug for LedgerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LedgerKeys(****)")
    }
}

fn keyed(key: &Key) -> Hmac<Sha256> {
    Hmac::new_from_slice(key.reveal()).expect("HMAC takes a key of any length")
}

// By the hash that the chain is made with: a second one would be as much code again in the way of every call.
fn sign(key: &Hmac<Sha256>, bytes: &[u8]) -> [u8; 32] {
    key.clone()
        .chain_update(bytes)
        .finalize()
        .into_bytes()
        .into()
}

fn name(entity: &EntityId, month: Month) -> String {
    format!("{COMMIT}{}.{month}", escaped(entity))
}

/// The entity as part of a file's name; two entities never have the same.
fn escaped(entity: &EntityId) -> String {
    let mut text = String::new();
    for byte in entity.as_str().bytes() {
        if byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' {
            text.push(char::from(byte));
        } else {
            write!(text, "_{byte:02x}").expect("a String takes everything");
        }
    }
    if text.len() <= ENTITY_MAX {
        return text;
    }
    // `_h` is no escape, so no other entity is written like this.
    let digest = Sha256::digest(text.as_bytes());
    format!("_h{}", hex(digest.as_ref()))
}

// === impl Month ===

impl Month {
    /// The month of a time in milliseconds since 1970.
    #[must_use]
    pub fn of(at_ms: i64) -> Self {
        let (year, month) = line::year_and_month(at_ms);
        Self(year * 12 + month - 1)
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.0 / 12, self.0 % 12 + 1)
    }
}

impl std::str::FromStr for Month {
    type Err = ();

    /// Reads `2026-11`; a date such as `2026-11-21` is its month.
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('-');
        let mut number = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits)?;
            part.parse::<u32>().ok()
        };
        let (year, month) = (number(4).ok_or(())?, number(2).ok_or(())?);
        let day = if text.len() > 7 {
            number(2).ok_or(())?
        } else {
            1
        };
        if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(());
        }
        Ok(Self(year * 12 + month - 1))
    }
}
