//! Where a file is written, and writing it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::super::error::WorkspaceError;
use super::beneath::{self, Links};
use super::{Root, Seen, is_regular};

/// Where a file is to be written: its folder, its name there, and what is there
/// now.
#[derive(Debug)]
pub(in super::super) struct Place {
    pub(in super::super) parent: OwnedFd,
    pub(in super::super) name: OsString,
    pub(in super::super) there: Option<Seen>,
    /// Relative to the folder that is worked in, links resolved.
    pub(in super::super) path: PathBuf,
    owner: Option<(u32, u32)>,
}

// === impl Root ===

impl Root {
    /// Where a file of that path is written. Links are followed as long as they
    /// stay below the folder.
    pub(in super::super) fn place(&self, path: &Path) -> Result<Place, WorkspaceError> {
        let shown = path.display().to_string();
        let mut path = path.to_owned();
        // A link that leads to a link is resolved by the kernel in one step.
        for _ in 0..4 {
            let place = self.place_by(&path, Links::Followed)?;
            match &place.there {
                Some(seen) if seen.kind() == FileType::Symlink => path = self.target_of(&path)?,
                Some(seen) => {
                    is_regular(&shown, seen)?;
                    return Ok(place);
                }
                None => return Ok(place),
            }
        }
        Err(WorkspaceError::Outside { path: shown })
    }

    /// A place as it is named, whatever stands there.
    pub(super) fn place_by(&self, path: &Path, links: Links) -> Result<Place, WorkspaceError> {
        let shown = path.display().to_string();
        let Some(name) = path.file_name().map(ToOwned::to_owned) else {
            return Err(WorkspaceError::Kind {
                path: shown,
                found: "a folder",
                wanted: "a file",
            });
        };
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let parent = self.folder_by(above.unwrap_or(Path::new(".")), links)?;
        let stat = match rustix::fs::statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(WorkspaceError::system("reading", &shown, error)),
        };
        Ok(Place {
            parent,
            name,
            there: stat.as_ref().map(Seen::of),
            path: path.to_owned(),
            owner: stat.map(|stat| (stat.st_uid, stat.st_gid)),
        })
    }

    /// Makes the folders above a file; returns those that are new.
    pub(in super::super) fn make_above(&self, path: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
        self.make_above_by(path, Links::Followed)
    }

    pub(super) fn make_above_by(
        &self,
        path: &Path,
        links: Links,
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let mut made = Vec::new();
        let mut below = PathBuf::new();
        let Some(above) = path.parent() else {
            return Ok(made);
        };
        for step in above.components() {
            let parent = if below.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                below.clone()
            };
            below.push(step);
            match self.folder_by(&below, links) {
                Err(WorkspaceError::Missing { .. }) => {}
                Err(error) => return Err(error),
                Ok(_) => continue,
            }
            let shown = below.display().to_string();
            let parent = self.folder_by(&parent, links)?;
            match rustix::fs::mkdirat(&parent, step.as_os_str(), Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push(below.clone()),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(WorkspaceError::system("making", &shown, error)),
            }
            // What stands there now may be somebody's link.
            self.folder_by(&below, links)?;
        }
        Ok(made)
    }

    /// Where a link leads, relative to the folder.
    fn target_of(&self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let shown = path.display().to_string();
        let outside = || WorkspaceError::Outside {
            path: shown.clone(),
        };
        let target = self.beneath(path, beneath::LOOK, Links::Followed)?;
        let target = beneath::path_of(&target).ok_or_else(outside)?;
        let below = target.strip_prefix(&self.path).map_err(|_| outside())?;
        Ok(below.to_owned())
    }
}

// === impl Place ===

impl Place {
    /// Writes the file: whole or not at all, on disk when this returns. What was
    /// there must still be there as it was seen. It keeps the mode that it has,
    /// where none is given.
    pub(in super::super) fn replace(
        &self,
        bytes: &[u8],
        mode: Option<u32>,
    ) -> Result<(), WorkspaceError> {
        let shown = self.path.display().to_string();
        let fail = |what| {
            let shown = shown.clone();
            move |error: Errno| WorkspaceError::system(what, &shown, error)
        };
        let new = self.new_name()?;
        let kept = mode
            .or(self.there.map(|seen| seen.mode))
            .map(|mode| mode & 0o777);
        let mode = kept.unwrap_or(0o666);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.parent, &new, flags, Mode::from_raw_mode(mode as _))
            .map_err(fail("writing"))?;
        let written = (|| {
            let mut file = File::from(file);
            file.write_all(bytes)
                .map_err(|error| WorkspaceError::system("writing", &shown, error))?;
            if kept.is_some() {
                self.keep_owner(&file);
                rustix::fs::fchmod(&file, Mode::from_raw_mode(mode as _))
                    .map_err(fail("writing"))?;
            }
            file.sync_all()
                .map_err(|error| WorkspaceError::system("writing", &shown, error))?;
            self.is_as_seen()?;
            rustix::fs::renameat(&self.parent, &new, &self.parent, &self.name)
                .map_err(fail("replacing"))?;
            rustix::fs::fsync(&self.parent).map_err(fail("syncing the folder of"))
        })();
        if written.is_err() {
            // The write has failed already; that the leftover stays is the lesser news.
            let _stays = rustix::fs::unlinkat(&self.parent, &new, AtFlags::empty());
        }
        written
    }

    /// Puts a link there, as what was there is replaced by a file.
    pub(in super::super) fn relink(&self, target: &[u8]) -> Result<(), WorkspaceError> {
        let shown = self.path.display().to_string();
        let new = self.new_name()?;
        let target = OsStr::from_bytes(target);
        rustix::fs::symlinkat(target, &self.parent, &new)
            .map_err(|error| WorkspaceError::system("linking", &shown, error))?;
        let put = self.is_as_seen().and_then(|()| {
            rustix::fs::renameat(&self.parent, &new, &self.parent, &self.name)
                .and_then(|()| rustix::fs::fsync(&self.parent))
                .map_err(|error| WorkspaceError::system("linking", &shown, error))
        });
        if put.is_err() {
            // As with a file.
            let _stays = rustix::fs::unlinkat(&self.parent, &new, AtFlags::empty());
        }
        put
    }

    /// Takes the file away.
    pub(in super::super) fn remove(&self) -> Result<(), WorkspaceError> {
        let shown = self.path.display().to_string();
        self.is_as_seen()?;
        rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::empty())
            .and_then(|()| rustix::fs::fsync(&self.parent))
            .map_err(|error| WorkspaceError::system("removing", &shown, error))
    }

    /// Where the link that is there leads, by its own words.
    pub(super) fn target(&self) -> Option<Vec<u8>> {
        let target = rustix::fs::readlinkat(&self.parent, &self.name, Vec::new()).ok()?;
        Some(target.into_bytes())
    }

    fn is_as_seen(&self) -> Result<(), WorkspaceError> {
        let now = match rustix::fs::statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(Seen::of(&stat)),
            Err(_) => None,
        };
        if now == self.there {
            return Ok(());
        }
        let path = self.path.display().to_string();
        Err(WorkspaceError::Changed { path })
    }

    /// A name beside the file that nothing has.
    fn new_name(&self) -> Result<String, WorkspaceError> {
        let random = legation_core::id::random_hex().map_err(|_| {
            let error = std::io::Error::other("the system has no randomness to give");
            let shown = self.path.display().to_string();
            WorkspaceError::system("naming a new file for", &shown, error)
        })?;
        Ok(format!(".legation-{random}"))
    }

    /// A file of somebody else's stays theirs where this process may say so.
    fn keep_owner(&self, file: &File) {
        let Some((user, group)) = self.owner else {
            return;
        };
        let user = rustix::fs::Uid::from_raw(user);
        let group = rustix::fs::Gid::from_raw(group);
        let _kept = rustix::fs::fchown(file, Some(user), Some(group));
    }
}
