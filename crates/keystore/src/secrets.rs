//! Secrets by name: tokens, client secrets, private keys.
//!
//! They lie in one sealed file (mode 0600); what the operating system's
//! keystore holds is the key that seals it. The alternative, an entry in the
//! system's keystore for each secret, was rejected: Windows takes 2560 bytes
//! an entry, which is less than a token, several entries cannot change
//! together, and every one of them may ask the user to unlock. Where there is
//! no keystore the key lies in a file as well (see [`crate::Keystore`]); the
//! user is then told once, because whoever copies the whole data directory has
//! the secrets.

mod error;
mod file;
mod system;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use legation_core::Secret;
use legation_core::home::write_private;

use crate::{Key, Keystore};

pub use error::SecretsError;
pub use system::SystemKeys;

use file::{Entries, Header, Sealed};

/// The key in the folder of keys, where the system has no keystore.
const FILE_KEY: &str = "secrets";
const NAME_MAX: usize = 200;

/// Where the owner wants the key to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepIn {
    /// In the system's keystore if there is one that answers, else in a file.
    #[default]
    Auto,
    /// In the system's keystore or nowhere.
    System,
    /// In a file, without asking the system.
    File,
}

/// Where the key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptIn {
    /// In the system's keystore.
    System {
        /// What people call it.
        name: &'static str,
    },
    /// In a file.
    File {
        /// Which.
        path: PathBuf,
        /// Why not in the system's keystore.
        why: String,
    },
}

/// The secrets of one data directory. All its methods block; none waits for a
/// person but [`SecretStore::open`], whom the system may ask to unlock.
#[derive(Debug)]
pub struct SecretStore {
    path: PathBuf,
    header: Header,
    key: Key,
    kept: KeptIn,
    is_new: bool,
}

// === impl SecretStore ===

impl SecretStore {
    /// Opens the secrets at `path`, or decides where the key of new ones is to
    /// be. What was sealed stays where it is, whatever `keep` says.
    ///
    /// # Errors
    /// See [`SecretsError`]; a file that does not open is never replaced.
    pub fn open(keys: &Keystore, path: &Path, keep: KeepIn) -> Result<Self, SecretsError> {
        Self::open_with(keys, path, keep, &SystemKeys::platform())
    }

    /// As [`SecretStore::open`], with this keystore as the system's.
    ///
    /// # Errors
    /// See [`SecretsError`].
    pub fn open_with(
        keys: &Keystore,
        path: &Path,
        keep: KeepIn,
        system: &SystemKeys,
    ) -> Result<Self, SecretsError> {
        let lock = lock(path)?;
        let store = match file::read(path)? {
            Some(sealed) => Self::existing(keys, path, &sealed, system)?,
            None => Self::fresh(keys, path, keep, system)?,
        };
        drop(lock);
        Ok(store)
    }

    fn existing(
        keys: &Keystore,
        path: &Path,
        sealed: &Sealed,
        system: &SystemKeys,
    ) -> Result<Self, SecretsError> {
        let header = sealed.header.clone();
        let (key, kept) = match &header {
            Header::System { id } => {
                let key = system.get(id).map_err(|why| SecretsError::Unreachable {
                    path: path.to_owned(),
                    why,
                })?;
                let key = key.ok_or_else(|| SecretsError::KeyLost {
                    path: path.to_owned(),
                })?;
                (
                    key,
                    KeptIn::System {
                        name: system.name(),
                    },
                )
            }
            Header::File => {
                let key = keys
                    .existing(FILE_KEY)
                    .map_err(|source| SecretsError::Key { source })?;
                let key = key.ok_or_else(|| SecretsError::KeyLost {
                    path: path.to_owned(),
                })?;
                let why = "it was so when the first secret was kept".to_owned();
                (key, in_file(keys, why))
            }
        };
        let store = Self {
            path: path.to_owned(),
            header,
            key,
            kept,
            is_new: false,
        };
        store.open_entries(sealed)?;
        Ok(store)
    }

    fn fresh(
        keys: &Keystore,
        path: &Path,
        keep: KeepIn,
        system: &SystemKeys,
    ) -> Result<Self, SecretsError> {
        let made = match keep {
            KeepIn::File => Err("the settings say so".to_owned()),
            KeepIn::Auto | KeepIn::System => {
                let id = legation_core::id::random_hex().map_err(|_| SecretsError::Random)?;
                let key = Key::random().map_err(|source| SecretsError::Key { source })?;
                system.put(&id, &key).map(|()| (Header::System { id }, key))
            }
        };
        let (header, key, kept) = match (made, keep) {
            (Ok((header, key)), _) => (
                header,
                key,
                KeptIn::System {
                    name: system.name(),
                },
            ),
            (Err(why), KeepIn::System) => return Err(SecretsError::NoSystem { why }),
            (Err(why), KeepIn::Auto | KeepIn::File) => {
                let key = keys.key(FILE_KEY);
                let key = key.map_err(|source| SecretsError::Key { source })?;
                (Header::File, key, in_file(keys, why))
            }
        };
        let store = Self {
            path: path.to_owned(),
            header,
            key,
            kept,
            is_new: true,
        };
        // Written while it is empty, so that the choice is made once, by one
        // process.
        store.write(&Entries::default())?;
        Ok(store)
    }

    /// Where the key is.
    #[must_use]
    pub fn kept_in(&self) -> &KeptIn {
        &self.kept
    }

    /// What the user must hear, the first time: that the secrets are in a file
    /// and what that means.
    #[must_use]
    pub fn announcement(&self) -> Option<String> {
        match &self.kept {
            KeptIn::File { path, why } if self.is_new => Some(format!(
                "Secrets are kept in the encrypted file {}, and its key in {}: {why}. \
                 Both are closed to other users; whoever can copy both can read the secrets.",
                self.path.display(),
                path.display(),
            )),
            KeptIn::File { .. } | KeptIn::System { .. } => None,
        }
    }

    /// The secret of that name.
    ///
    /// # Errors
    /// See [`SecretsError`].
    pub fn get(&self, name: &str) -> Result<Option<Secret>, SecretsError> {
        check_name(name)?;
        Ok(self.entries()?.get(name).cloned())
    }

    /// Keeps a secret, in place of the one there was; on disk on return.
    ///
    /// # Errors
    /// See [`SecretsError`]; nothing was changed then.
    pub fn put(&self, name: &str, secret: &Secret) -> Result<(), SecretsError> {
        check_name(name)?;
        let _lock = lock(&self.path)?;
        let mut entries = self.entries()?;
        entries.put(name, secret.clone());
        self.write(&entries)
    }

    /// Keeps a secret in place of this one; `false`, and nothing is kept, where
    /// another is there or none: somebody signed in, or out, meanwhile.
    ///
    /// # Errors
    /// See [`SecretsError`]; nothing was changed then.
    pub fn replace(&self, name: &str, old: &Secret, new: &Secret) -> Result<bool, SecretsError> {
        check_name(name)?;
        let _lock = lock(&self.path)?;
        let mut entries = self.entries()?;
        let is_old = |secret: &Secret| secret.reveal() == old.reveal();
        if !entries.get(name).is_some_and(is_old) {
            return Ok(false);
        }
        entries.put(name, new.clone());
        self.write(&entries)?;
        Ok(true)
    }

    /// Keeps a secret while another is there; `false`, and nothing is kept,
    /// where that is gone: what is got with a sign-in ends with it.
    ///
    /// # Errors
    /// See [`SecretsError`]; nothing was changed then.
    pub fn put_beside(
        &self,
        name: &str,
        secret: &Secret,
        other: &str,
    ) -> Result<bool, SecretsError> {
        check_name(name)?;
        let _lock = lock(&self.path)?;
        let mut entries = self.entries()?;
        if entries.get(other).is_none() {
            return Ok(false);
        }
        entries.put(name, secret.clone());
        self.write(&entries)?;
        Ok(true)
    }

    /// Forgets a secret; `false` when there is none.
    ///
    /// # Errors
    /// See [`SecretsError`]; nothing was changed then.
    pub fn delete(&self, name: &str) -> Result<bool, SecretsError> {
        check_name(name)?;
        let _lock = lock(&self.path)?;
        let mut entries = self.entries()?;
        let was_there = entries.remove(name);
        if was_there {
            self.write(&entries)?;
        }
        Ok(was_there)
    }

    /// Forgets a secret if it still is this one; whether it was. Another process
    /// may have kept a newer one meanwhile.
    ///
    /// # Errors
    /// See [`SecretsError`]; nothing was changed then.
    pub fn delete_if(&self, name: &str, old: &Secret) -> Result<bool, SecretsError> {
        check_name(name)?;
        let _lock = lock(&self.path)?;
        let mut entries = self.entries()?;
        let is_old = |secret: &Secret| secret.reveal() == old.reveal();
        if !entries.get(name).is_some_and(is_old) {
            return Ok(false);
        }
        entries.remove(name);
        self.write(&entries)?;
        Ok(true)
    }

    /// The names that begin with `prefix`, sorted.
    ///
    /// # Errors
    /// See [`SecretsError`].
    pub fn list(&self, prefix: &str) -> Result<Vec<String>, SecretsError> {
        let entries = self.entries()?;
        let names = entries.names().filter(|name| name.starts_with(prefix));
        Ok(names.map(str::to_owned).collect())
    }

    fn entries(&self) -> Result<Entries, SecretsError> {
        match file::read(&self.path)? {
            Some(sealed) => self.open_entries(&sealed),
            None => Ok(Entries::default()),
        }
    }

    fn open_entries(&self, sealed: &Sealed) -> Result<Entries, SecretsError> {
        let damaged = || SecretsError::Damaged {
            path: self.path.clone(),
        };
        if sealed.header != self.header {
            return Err(damaged());
        }
        let beside = self.header.to_string();
        let plain = self
            .key
            .open(beside.as_bytes(), &sealed.body)
            .map_err(|_| damaged())?;
        Entries::parse(&plain).ok_or_else(damaged)
    }

    fn write(&self, entries: &Entries) -> Result<(), SecretsError> {
        let header = self.header.to_string();
        let body = self
            .key
            .seal(header.as_bytes(), &entries.to_bytes())
            .map_err(|source| SecretsError::Key { source })?;
        let mut bytes = header.into_bytes();
        bytes.push(b'\n');
        bytes.extend_from_slice(&body);
        write_private(&self.path, &bytes).map_err(|source| SecretsError::Write { source })
    }
}

fn in_file(keys: &Keystore, why: String) -> KeptIn {
    KeptIn::File {
        path: keys.folder().join(format!("{FILE_KEY}.key")),
        why,
    }
}

/// Two processes that change the file take turns, so that neither loses the
/// other's entries. Readers need no turn: the file is replaced whole.
fn lock(path: &Path) -> Result<File, SecretsError> {
    let path = path.with_extension("lock");
    let open = || {
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path)?;
        file.lock()?;
        Ok(file)
    };
    open().map_err(|source| SecretsError::Lock { path, source })
}

fn check_name(name: &str) -> Result<(), SecretsError> {
    let fits = (1..=NAME_MAX).contains(&name.len()) && !name.chars().any(char::is_control);
    if fits {
        return Ok(());
    }
    let name = name.chars().take(NAME_MAX).collect();
    Err(SecretsError::Name { name })
}

#[cfg(test)]
mod tests;
