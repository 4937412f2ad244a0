//! Secrets of the keystore, as far as references lead to them.
//!
//! This crate knows no keystore: whoever starts a hub or a command says where
//! secrets are had.

use std::fmt;
use std::sync::Arc;

use legation_core::Secret;

/// What the name of a reference to a secret begins with.
pub(crate) const KEYRING: &str = "keyring:";

/// The longest name of a secret, in bytes.
const NAME_MAX: usize = 120;

/// Where secrets are had by name.
pub trait Keyring: fmt::Debug + Send + Sync {
    /// The secret of that name; `None` where there is none or the keystore does
    /// not open, which the implementation says in the log. May read a file.
    fn secret(&self, name: &str) -> Option<Secret>;
}

/// Whether a secret may have this name: 1 to 120 letters, digits, `.`, `_` and `-`.
pub fn is_secret_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// A keyring, if there is one. Two are equal when they are the same.
#[derive(Clone, Default)]
pub(super) struct Kept(Option<Arc<dyn Keyring>>);

// === impl Kept ===

impl Kept {
    pub(super) fn of(keyring: Arc<dyn Keyring>) -> Self {
        Self(Some(keyring))
    }

    pub(super) fn get(&self, name: &str) -> Option<String> {
        let secret = self.0.as_ref()?.secret(name)?;
        Some(secret.reveal().to_owned())
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl Eq for Kept {}
