//! The folder of keys.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use legation_core::home::{create_private_dir, write_private};
use legation_core::id::hex;
use zeroize::Zeroizing;

use crate::{Key, KeystoreError, Signer};

const NAME_MAX: usize = 100;

/// The keys of one data directory.
#[derive(Debug)]
pub struct Keystore {
    folder: PathBuf,
    /// Two threads that need a new key must get the same one.
    making: Mutex<()>,
}

// === impl Keystore ===

impl Keystore {
    /// Opens the folder, or makes it.
    ///
    /// # Errors
    /// [`KeystoreError::Folder`].
    pub fn open(folder: &Path) -> Result<Self, KeystoreError> {
        create_private_dir(folder).map_err(|source| KeystoreError::Folder { source })?;
        Ok(Self {
            folder: folder.to_owned(),
            making: Mutex::new(()),
        })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The key of that name; made, and on disk on return, if there is none.
    ///
    /// # Errors
    /// See [`KeystoreError`]; a damaged key is never replaced.
    pub fn key(&self, name: &str) -> Result<Key, KeystoreError> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = self.existing(name)? {
            return Ok(key);
        }
        let key = Key::random()?;
        let text = Zeroizing::new(format!("{}\n", hex(key.reveal())));
        write_private(&self.path(name)?, text.as_bytes())
            .map_err(|source| KeystoreError::Write { source })?;
        Ok(key)
    }

    /// The key of that name, if there is one.
    ///
    /// # Errors
    /// See [`KeystoreError`].
    pub fn existing(&self, name: &str) -> Result<Option<Key>, KeystoreError> {
        let path = self.path(name)?;
        let read = |source| KeystoreError::Read {
            path: path.clone(),
            source,
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => Zeroizing::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(read(error)),
        };
        let mode = fs::metadata(&path).map_err(read)?.permissions().mode();
        if mode & 0o077 != 0 {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(read)?;
        }
        let key = unhex(text.trim_end()).ok_or(KeystoreError::Damaged { path })?;
        Ok(Some(key))
    }

    /// Destroys a key, and with it everything that it sealed; `false` when
    /// there is none. The file is overwritten first, which a copy-on-write file
    /// system or a drive that levels wear may not honour.
    ///
    /// # Errors
    /// [`KeystoreError::Destroy`].
    pub fn destroy(&self, name: &str) -> Result<bool, KeystoreError> {
        let path = self.path(name)?;
        let removed = (|| {
            let mut file = match OpenOptions::new().write(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            };
            file.write_all(&[b'0'; 65])?;
            file.sync_all()?;
            fs::remove_file(&path)?;
            File::open(&self.folder)?.sync_all()?;
            Ok(true)
        })();
        removed.map_err(|source| KeystoreError::Destroy { path, source })
    }

    /// The Ed25519 key of that name, made on first use.
    ///
    /// # Errors
    /// See [`KeystoreError`].
    pub fn signer(&self, name: &str) -> Result<Signer, KeystoreError> {
        self.key(name).map(|seed| Signer::from_seed(&seed))
    }

    /// The names of the keys there are, sorted.
    ///
    /// # Errors
    /// [`KeystoreError::Read`].
    pub fn names(&self) -> Result<Vec<String>, KeystoreError> {
        let read = |source| KeystoreError::Read {
            path: self.folder.clone(),
            source,
        };
        let mut names = Vec::new();
        for file in fs::read_dir(&self.folder).map_err(read)? {
            let file = file.map_err(read)?.file_name();
            let name = file.to_string_lossy();
            let Some(name) = name.strip_suffix(".key").filter(|name| is_name(name)) else {
                continue;
            };
            names.push(name.to_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    pub(crate) fn path(&self, name: &str) -> Result<PathBuf, KeystoreError> {
        if is_name(name) {
            return Ok(self.folder.join(format!("{name}.key")));
        }
        Err(KeystoreError::Name { name: name.into() })
    }
}

/// Names become files: nothing that leads elsewhere or hides.
fn is_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn unhex(text: &str) -> Option<Key> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut key = Zeroizing::new([0u8; 32]);
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(Key::from_bytes(*key))
}
