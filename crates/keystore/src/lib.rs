//! Keys of the data directory, the owner's PIN, and the consent of a person.
//!
//! Keys lie in files of their own (mode 0600, in a folder of mode 0700): one a
//! purpose, made on first use, and never replaced when damaged, because what
//! was sealed with a lost key is lost. The alternative, one key from which all
//! others are derived, was rejected: destroying the key of one entity must make
//! that entity's data unreadable and nobody else's.
//!
//! What this protects against and what not: a file of the data directory that
//! leaves the machine by itself (a copy of the database, an exported ledger)
//! says nothing without its key. A program that runs as the same user can read
//! the keys; what must not be within such a program's reach asks for a
//! [`HumanProof`].

mod consent;
mod error;
mod key;
mod keystore;
mod pin;
mod proof;
mod reply;
mod secrets;
mod signer;

pub use consent::{Consent, ConsentError, platform};
pub use error::KeystoreError;
pub use key::{Key, Unsealed};
pub use keystore::Keystore;
pub use pin::{Pin, PinError};
pub use proof::HumanProof;
pub use reply::{NoProof, PutTo, Reply, ReplyCodes};
pub use secrets::{KeepIn, KeptIn, SecretStore, SecretsError, SystemKeys};
pub use signer::{Signer, VerifyingKey};

#[cfg(test)]
mod tests;
