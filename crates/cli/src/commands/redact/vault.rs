//! The file that `--vault` names: which token stands for what.
//!
//! It is a line for every block that was redacted, sealed under a key of the keystore and bound to
//! the entity and to its place in the file: a line that was changed, moved or made for another
//! entity does not open, and without the key, or with the entity's key destroyed, no line does.
//! Lines are only added, and each is on the disk before its block is printed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use legation_core::{EntityId, id};
use legation_keystore::{Key, Keystore, KeystoreError, Unsealed};
use legation_redact::{MemoryVault, VaultRow};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How long a token can be restored, in milliseconds.
const TTL_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// What the file begins with.
const HEAD: &str = "legation vault 1\n";

/// A vault file that is open, and locked against others.
#[derive(Debug)]
pub(super) struct VaultFile {
    path: PathBuf,
    file: File,
    key: Key,
    entity: Option<EntityId>,
    lines: u64,
}

/// Why a vault's file cannot be used.
#[derive(Debug, Error)]
pub(super) enum VaultFileError {
    #[error("the vault {} cannot be read or written", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("another process uses the vault {}", .path.display())]
    Locked { path: PathBuf },
    #[error("{} is no vault", .path.display())]
    NoVault { path: PathBuf },
    #[error("line {line} of the vault {} does not open", .path.display())]
    Sealed {
        path: PathBuf,
        line: u64,
        #[source]
        source: Unsealed,
    },
    #[error("the key of the vault {} is not there", .path.display())]
    NoKey { path: PathBuf },
    #[error("the key of the vault {} cannot be used", .path.display())]
    Key {
        path: PathBuf,
        #[source]
        source: KeystoreError,
    },
}

/// What a line holds when it is open.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    expires_ms: i64,
    /// Tokens and what they stand for.
    rows: Vec<(String, String)>,
}

// === impl VaultFile ===

impl VaultFile {
    /// Opens a vault to add to it; a file that is not there is made.
    pub(super) fn to_add(
        path: &Path,
        keys: &Keystore,
        entity: Option<&EntityId>,
        now_ms: i64,
    ) -> Result<(Self, MemoryVault), VaultFileError> {
        let key = keys.key(&key_name(entity));
        let key = key.map_err(|source| VaultFileError::Key {
            path: path.to_owned(),
            source,
        })?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Self::opened(path, options.open(path), key, entity, now_ms)
    }

    /// Opens a vault to restore from it.
    pub(super) fn to_restore(
        path: &Path,
        keys: &Keystore,
        entity: Option<&EntityId>,
        now_ms: i64,
    ) -> Result<MemoryVault, VaultFileError> {
        let key = keys.existing(&key_name(entity));
        let key = key.map_err(|source| VaultFileError::Key {
            path: path.to_owned(),
            source,
        })?;
        let file = OpenOptions::new().read(true).write(true).open(path);
        // A file that is not there says more than a key that is not there.
        let file = file.map_err(|source| failed(path, source))?;
        let key = key.ok_or_else(|| VaultFileError::NoKey {
            path: path.to_owned(),
        })?;
        Ok(Self::opened(path, Ok(file), key, entity, now_ms)?.1)
    }

    fn opened(
        path: &Path,
        file: io::Result<File>,
        key: Key,
        entity: Option<&EntityId>,
        now_ms: i64,
    ) -> Result<(Self, MemoryVault), VaultFileError> {
        let file = file.map_err(|source| failed(path, source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(VaultFileError::Locked {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(path, source)),
        }
        let mut vault = Self {
            path: path.to_owned(),
            file,
            key,
            entity: entity.cloned(),
            lines: 0,
        };
        let rows = vault.read(now_ms)?;
        Ok((vault, MemoryVault::from_rows(rows)))
    }

    /// Reads all lines. What stands behind the last whole one was never printed and is cut off.
    fn read(&mut self, now_ms: i64) -> Result<Vec<VaultRow>, VaultFileError> {
        let mut bytes = Vec::new();
        let read = self.file.read_to_end(&mut bytes);
        read.map_err(|source| failed(&self.path, source))?;
        if bytes.is_empty() {
            let begun = self.file.write_all(HEAD.as_bytes());
            begun.map_err(|source| failed(&self.path, source))?;
            return Ok(Vec::new());
        }
        let Some(body) = bytes.strip_prefix(HEAD.as_bytes()) else {
            return Err(VaultFileError::NoVault {
                path: self.path.clone(),
            });
        };
        let whole = body
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        let mut rows = Vec::new();
        for line in body[..whole].split_inclusive(|&byte| byte == b'\n') {
            let line = self.unsealed(line.trim_ascii_end())?;
            self.lines += 1;
            if line.expires_ms > now_ms {
                let kept = line.rows.into_iter();
                rows.extend(kept.map(|(token, value)| VaultRow { token, value }));
            }
        }
        if whole < body.len() {
            let end = u64::try_from(HEAD.len() + whole).unwrap_or(u64::MAX);
            let cut = self.file.set_len(end);
            let cut = cut.and_then(|()| self.file.seek(SeekFrom::Start(end)));
            cut.map_err(|source| failed(&self.path, source))?;
        }
        Ok(rows)
    }

    fn unsealed(&self, line: &[u8]) -> Result<Line, VaultFileError> {
        let broken = |source| VaultFileError::Sealed {
            path: self.path.clone(),
            line: self.lines + 1,
            source,
        };
        let sealed = unhex(line).ok_or_else(|| broken(Unsealed))?;
        let plain = self.key.open(&self.beside(), &sealed).map_err(broken)?;
        serde_json::from_slice(&plain).map_err(|_| broken(Unsealed))
    }

    /// Keeps the tokens that came since this was last asked.
    pub(super) fn keep(&mut self, fresh: Vec<VaultRow>, now_ms: i64) -> Result<(), VaultFileError> {
        if fresh.is_empty() {
            return Ok(());
        }
        let rows = fresh.into_iter().map(|row| (row.token, row.value));
        let line = Line {
            expires_ms: now_ms.saturating_add(TTL_MS),
            rows: rows.collect(),
        };
        let plain = serde_json::to_vec(&line).map_err(|error| failed(&self.path, error.into()))?;
        let sealed = self.key.seal(&self.beside(), &plain);
        let sealed = sealed.map_err(|source| VaultFileError::Key {
            path: self.path.clone(),
            source,
        })?;
        let written = self
            .file
            .write_all(format!("{}\n", id::hex(&sealed)).as_bytes());
        let written = written.and_then(|()| self.file.sync_data());
        written.map_err(|source| failed(&self.path, source))?;
        self.lines += 1;
        Ok(())
    }

    /// What the next line is bound to.
    fn beside(&self) -> Vec<u8> {
        let entity = self.entity.as_ref().map_or("", EntityId::as_str);
        format!("vault file\n{}\n{entity}", self.lines).into_bytes()
    }
}

// === impl VaultFileError ===

impl VaultFileError {
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "check the path and who may write there",
            Self::Locked { .. } => "wait for it, or name another file",
            Self::NoVault { .. } => "name a file that `legation redact --vault` made, or a new one",
            Self::Sealed { .. } => {
                "name the entity that it was made with; a line that was changed cannot be saved"
            }
            Self::NoKey { .. } => {
                "name the entity that it was made with, on the machine that made it; a destroyed key does not come back"
            }
            Self::Key { source, .. } => source.hint(),
        }
    }
}

fn failed(path: &Path, source: io::Error) -> VaultFileError {
    VaultFileError::Io {
        path: path.to_owned(),
        source,
    }
}

/// An entity's files are sealed like its vaults in the hub: destroying that key is enough for both.
fn key_name(entity: Option<&EntityId>) -> String {
    entity.map_or_else(
        || "vault-file".to_owned(),
        |entity| format!("vault.{entity}"),
    )
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|value| u8::try_from(value).ok())
    };
    text.chunks(2)
        .map(|pair| Some(digit(*pair.first()?)? * 16 + digit(*pair.get(1)?)?))
        .collect()
}
