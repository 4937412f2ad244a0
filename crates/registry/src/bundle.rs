//! MCP bundles: an archive with a server and a manifest (MCPB, formerly DXT).

mod directory;
mod entries;
mod manifest;
#[cfg(test)]
mod tests;
mod unpack;

use std::io::Cursor;
use std::path::Path;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use zip::ZipArchive;

use crate::registry::hex;
use crate::way::Way;

use entries::Entry;
use manifest::Manifest;

/// The largest archive, in bytes.
pub const ARCHIVE_MAX: usize = 256 << 20;

/// A bundle that was looked at: nothing of it is on disk.
#[derive(Debug, Clone)]
pub struct Bundle {
    bytes: Bytes,
    sha256: String,
    entries: Vec<Entry>,
    manifest: Manifest,
}

/// A bundle that is not used.
#[derive(Debug, thiserror::Error)]
pub enum BadBundle {
    /// It is no archive.
    #[error("it is no archive that can be read: {why}")]
    Archive {
        /// What is wrong.
        why: String,
    },
    /// It is larger than a bundle may be.
    #[error("it has {what}")]
    Large {
        /// Of what too much.
        what: String,
    },
    /// One of its entries may not be unpacked.
    #[error("its entry {entry:?} {why}")]
    Entry {
        /// The name, as written.
        entry: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Its manifest cannot be used.
    #[error("its manifest.json cannot be used: {why}")]
    Manifest {
        /// Why not.
        why: String,
    },
    /// It could not be written.
    #[error("it was not unpacked")]
    Write(#[source] std::io::Error),
    /// It could not be kept.
    #[error("it was not unpacked")]
    Home(#[source] legation_core::home::HomeError),
}

// === impl Bundle ===

impl Bundle {
    /// Looks at a whole archive: every name in it and every size, and the manifest. `platform` is this
    /// machine's system as bundles name it: `linux`, `darwin` or `win32`.
    ///
    /// # Errors
    /// [`BadBundle`]; a bundle of which anything is wrong is refused as a whole.
    pub fn read(bytes: Bytes, platform: &str) -> Result<Self, BadBundle> {
        if bytes.len() > ARCHIVE_MAX {
            return Err(BadBundle::Large {
                what: format!("more than {ARCHIVE_MAX} bytes"),
            });
        }
        let named = directory::names(&bytes)?;
        let mut archive = ZipArchive::new(Cursor::new(bytes.clone())).map_err(unreadable)?;
        let mut entries = entries::checked(&mut archive, &named)?;
        let text = entries::text(&mut archive, &entries, "manifest.json")?;
        let manifest = Manifest::read(&text, platform, &entries)?;
        if let Some(program) = manifest.program() {
            let mut is_program = entries.iter_mut().filter(|entry| entry.name == program);
            is_program
                .by_ref()
                .for_each(|entry| entry.is_executable = true);
        }
        Ok(Self {
            sha256: hex(&Sha256::digest(&bytes)),
            bytes,
            entries,
            manifest,
        })
    }

    /// Its SHA-256 in small hexadecimal digits.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Its own name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.manifest.name()
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> &str {
        self.manifest.version()
    }

    /// What it is for, in its publisher's words.
    #[must_use]
    pub fn description(&self) -> &str {
        self.manifest.description()
    }

    /// Files in it, and bytes of them.
    #[must_use]
    pub fn size(&self) -> (usize, u64) {
        let files = self.entries.iter().filter(|entry| !entry.is_folder);
        files.fold((0, 0), |(count, bytes), entry| {
            (count + 1, bytes + entry.size)
        })
    }

    /// How it runs once it is unpacked in `folder`.
    ///
    /// # Errors
    /// [`BadBundle::Manifest`].
    pub fn way(&self, folder: &Path) -> Result<Way, BadBundle> {
        self.manifest.way(folder)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes what is in it into a folder that is empty.
    pub(crate) fn unpack(&self, into: &Path) -> Result<(), BadBundle> {
        let mut archive = ZipArchive::new(Cursor::new(self.bytes.clone())).map_err(unreadable)?;
        unpack::unpack(&mut archive, &self.entries, into)
    }
}

fn unreadable(error: zip::result::ZipError) -> BadBundle {
    BadBundle::Archive {
        why: error.to_string(),
    }
}

// === impl BadBundle ===

impl BadBundle {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Write(_) | Self::Home(_) => "check that the data directory has room and is yours",
            Self::Archive { .. } | Self::Large { .. } | Self::Entry { .. } => {
                "nothing of it was kept; do not use it, and tell who publishes it"
            }
            Self::Manifest { .. } => "nothing of it was kept; ask who publishes it for another",
        }
    }
}
