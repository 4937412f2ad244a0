//! Where bundles lie: each archive by its SHA-256, and beside it what was unpacked.
//!
//! The archive is kept because taking a server out can be undone, and what was unpacked takes many
//! times its place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use legation_core::Home;
use legation_core::home::{HomeError, create_private_dir, write_private};

use crate::bundle::{BadBundle, Bundle};
use crate::registry::is_sha256;

/// The folder of all bundles, in the data directory.
const FOLDER: &str = "bundles";
/// What a folder that is being unpacked begins with.
const NEW: &str = ".new-";
const ARCHIVE: &str = ".mcpb";

/// The bundles of a data directory.
#[derive(Debug, Clone)]
pub struct Shelf {
    home: Home,
}

// === impl Shelf ===

impl Shelf {
    /// The bundles of this data directory.
    #[must_use]
    pub fn of(home: &Home) -> Self {
        Self { home: home.clone() }
    }

    fn root(&self) -> PathBuf {
        self.home.root().join(FOLDER)
    }

    /// Where a bundle is unpacked, or would be.
    #[must_use]
    pub fn folder(&self, sha256: &str) -> PathBuf {
        self.root().join(sha256)
    }

    fn archive(&self, sha256: &str) -> PathBuf {
        self.root().join(format!("{sha256}{ARCHIVE}"))
    }

    /// Unpacks a bundle, if it is not there. Its folder is there as a whole or not at all.
    ///
    /// # Errors
    /// [`BadBundle`]; then nothing of it is there.
    pub fn put(&self, bundle: &Bundle) -> Result<PathBuf, BadBundle> {
        let folder = self.folder(bundle.sha256());
        create_private_dir(&self.root()).map_err(BadBundle::Home)?;
        let _turn = self.home.edit_lock().map_err(BadBundle::Home)?;
        if folder.is_dir() {
            return Ok(folder);
        }
        let new = tempfile::Builder::new().prefix(NEW).tempdir_in(self.root());
        let new = new.map_err(BadBundle::Write)?;
        bundle.unpack(new.path())?;
        let archive = self.archive(bundle.sha256());
        write_private(&archive, bundle.bytes()).map_err(BadBundle::Home)?;
        if let Err(error) = fs::rename(new.keep(), &folder) {
            self.take_away(&archive).map_err(BadBundle::Home)?;
            return Err(BadBundle::Write(error));
        }
        Ok(folder)
    }

    /// Unpacks again what is referred to and was taken away; `platform` as in [`Bundle::read`].
    ///
    /// # Errors
    /// [`BadBundle`].
    pub fn restore(&self, is_used: impl Fn(&str) -> bool, platform: &str) -> Result<(), BadBundle> {
        for sha256 in self.kept().map_err(BadBundle::Home)? {
            if is_used(&sha256) && !self.folder(&sha256).is_dir() {
                let bytes = fs::read(self.archive(&sha256)).map_err(BadBundle::Write)?;
                let bundle = Bundle::read(Bytes::from(bytes), platform)?;
                if bundle.sha256() == sha256 {
                    self.put(&bundle)?;
                }
            }
        }
        Ok(())
    }

    /// Takes away what is unpacked and not used, and archives that nothing could bring back. Returns
    /// the folders that are gone.
    ///
    /// # Errors
    /// The first that could not be taken away.
    pub fn sweep(
        &self,
        is_used: impl Fn(&str) -> bool,
        is_remembered: impl Fn(&str) -> bool,
    ) -> Result<Vec<PathBuf>, HomeError> {
        if !self.root().is_dir() {
            return Ok(Vec::new());
        }
        let _turn = self.home.edit_lock()?;
        let mut gone = Vec::new();
        for name in self.names()? {
            let path = self.root().join(&name);
            if name.starts_with(NEW) {
                self.take_away(&path)?;
            } else if is_sha256(&name) && !is_used(&name) {
                self.take_away(&path)?;
                gone.push(path);
            } else if let Some(sha256) = name.strip_suffix(ARCHIVE)
                && is_sha256(sha256)
                && !is_used(sha256)
                && !is_remembered(sha256)
            {
                self.take_away(&path)?;
            }
        }
        Ok(gone)
    }

    fn kept(&self) -> Result<Vec<String>, HomeError> {
        if !self.root().is_dir() {
            return Ok(Vec::new());
        }
        let names = self.names()?.into_iter();
        let kept = names.filter_map(|name| name.strip_suffix(ARCHIVE).map(str::to_owned));
        Ok(kept.filter(|name| is_sha256(name)).collect())
    }

    fn names(&self) -> Result<Vec<String>, HomeError> {
        let failed = |source| HomeError {
            what: "listing",
            path: self.root(),
            source,
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root()).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            names.extend(name.into_string().ok());
        }
        names.sort();
        Ok(names)
    }

    fn take_away(&self, path: &Path) -> Result<(), HomeError> {
        let done = match fs::symlink_metadata(path) {
            Ok(data) if data.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match done {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(HomeError {
                what: "removing",
                path: path.to_owned(),
                source: error,
            }),
            _ => Ok(()),
        }
    }
}
