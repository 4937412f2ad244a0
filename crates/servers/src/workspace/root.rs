//! The folder that a call works in, and no way out of it.
//!
//! Every path is resolved by the kernel below the folder's own descriptor
//! (`openat2` with `RESOLVE_BENEATH`), at every use: what was checked before and
//! looked up again could have been swapped in between. Where a kernel has no
//! `openat2`, links are not followed at all.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::error::WorkspaceError;

mod beneath;

/// Longest file that is worked on whole.
pub(super) const FILE_MAX: u64 = 16 << 20;
/// Where data of other processes is shown as files.
#[cfg(target_os = "linux")]
const NOT_FILES: [i64; 5] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x27_e0eb,   // cgroup
];

/// A folder that is worked in.
#[derive(Debug)]
pub(super) struct Root {
    folder: OwnedFd,
    path: PathBuf,
    /// The hub's data directory, canonical.
    home: PathBuf,
    /// Whether the data directory lies in the folder.
    holds_home: bool,
    linked: OnceLock<HashSet<FileId>>,
}

/// A file of whatever name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileId {
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// A file as it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) id: FileId,
    pub(super) bytes: u64,
    /// When its content changed, in nanoseconds since 1970.
    pub(super) modified: i128,
    /// When anything of it changed, in nanoseconds since 1970.
    pub(super) changed: i128,
    pub(super) mode: u32,
    pub(super) links: u64,
}

/// Where a file is to be written: its folder, its name there, and what is there
/// now.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) parent: OwnedFd,
    pub(super) name: OsString,
    pub(super) there: Option<Seen>,
    /// Relative to the folder that is worked in, links resolved.
    pub(super) path: PathBuf,
    owner: Option<(u32, u32)>,
}

// === impl Seen ===

impl Seen {
    #[expect(
        clippy::useless_conversion,
        reason = "the widths of these fields differ between platforms"
    )]
    pub(super) fn of(stat: &Stat) -> Self {
        let time = |seconds: i64, nanos: i128| i128::from(seconds) * 1_000_000_000 + nanos;
        Self {
            id: FileId {
                device: u64::try_from(stat.st_dev).unwrap_or(0),
                inode: stat.st_ino,
            },
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            modified: time(stat.st_mtime, i128::from(stat.st_mtime_nsec)),
            changed: time(stat.st_ctime, i128::from(stat.st_ctime_nsec)),
            mode: u32::from(stat.st_mode),
            links: u64::from(stat.st_nlink),
        }
    }

    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }
}

// === impl Root ===

impl Root {
    /// The folder of a caller. `home` is the hub's data directory.
    pub(super) fn open(folder: &Path, home: &Path) -> Result<Self, WorkspaceError> {
        let wrong = |why| WorkspaceError::Folder {
            folder: folder.to_owned(),
            why,
        };
        let path = std::fs::canonicalize(folder).map_err(|_| wrong("it is not there"))?;
        let home = std::fs::canonicalize(home).unwrap_or_else(|_| home.to_owned());
        if path.parent().is_none() {
            return Err(wrong("it is the whole system"));
        }
        if path.starts_with(&home) {
            return Err(wrong("it is the hub's own data"));
        }
        let flags = beneath::LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder_fd = rustix::fs::open(&path, flags, Mode::empty())
            .map_err(|_| wrong("it is no folder that can be opened"))?;
        let root = Self {
            holds_home: home.starts_with(&path),
            folder: folder_fd,
            path,
            home,
            linked: OnceLock::new(),
        };
        if !is_files(&root.folder) {
            return Err(wrong("it holds no files of yours"));
        }
        Ok(root)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A path as it was given, relative to the folder.
    pub(super) fn relative(&self, given: &str) -> Result<PathBuf, WorkspaceError> {
        let outside = || WorkspaceError::Outside {
            path: given.to_owned(),
        };
        if given.contains('\0') {
            return Err(outside());
        }
        let given_path = Path::new(given.trim());
        let below = if given_path.is_absolute() {
            given_path.strip_prefix(&self.path).map_err(|_| outside())?
        } else {
            given_path
        };
        let mut path = PathBuf::new();
        for step in below.components() {
            match step {
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                Component::ParentDir if path.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(outside());
                }
            }
        }
        if path.as_os_str().is_empty() {
            path.push(".");
        }
        Ok(path)
    }

    /// A regular file, opened for reading.
    pub(super) fn file(&self, path: &Path) -> Result<(File, Seen), WorkspaceError> {
        let shown = path.display().to_string();
        let read = |what| {
            let shown = shown.clone();
            move |error: Errno| WorkspaceError::system(what, &shown, error)
        };
        // Looked at before it is opened for good: opening a device can do something.
        let look = self.beneath(path, beneath::LOOK, Mode::empty())?;
        let stat = rustix::fs::fstat(&look).map_err(read("reading"))?;
        is_regular(&shown, &Seen::of(&stat))?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.beneath(path, flags, Mode::empty())?;
        let seen = Seen::of(&rustix::fs::fstat(&file).map_err(read("reading"))?);
        is_regular(&shown, &seen)?;
        self.admit(&file, &seen, &shown)?;
        Ok((File::from(file), seen))
    }

    /// What is there, if it is a file of the caller's.
    pub(super) fn seen(&self, path: &Path) -> Option<Seen> {
        let look = self.beneath(path, beneath::LOOK, Mode::empty()).ok()?;
        let seen = Seen::of(&rustix::fs::fstat(&look).ok()?);
        is_regular("", &seen).ok()?;
        Some(seen)
    }

    /// The whole of a regular file.
    pub(super) fn bytes(&self, path: &Path) -> Result<(Vec<u8>, Seen), WorkspaceError> {
        let shown = path.display().to_string();
        let (file, seen) = self.file(path)?;
        let too_long = |bytes| WorkspaceError::TooLong {
            path: shown.clone(),
            bytes,
            max: FILE_MAX,
        };
        if seen.bytes > FILE_MAX {
            return Err(too_long(seen.bytes));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(seen.bytes).unwrap_or(0));
        file.take(FILE_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| WorkspaceError::system("reading", &shown, error))?;
        if bytes.len() as u64 > FILE_MAX {
            return Err(too_long(bytes.len() as u64));
        }
        Ok((bytes, seen))
    }

    /// A folder below, opened for reading its names.
    pub(super) fn folder(&self, path: &Path) -> Result<OwnedFd, WorkspaceError> {
        let folder = self.beneath(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        let shown = path.display().to_string();
        let stat = rustix::fs::fstat(&folder)
            .map_err(|error| WorkspaceError::system("reading", &shown, error))?;
        self.admit(&folder, &Seen::of(&stat), &shown)?;
        Ok(folder)
    }

    /// Where a file of that path is written. Links are followed as long as they
    /// stay below the folder.
    pub(super) fn place(&self, path: &Path) -> Result<Place, WorkspaceError> {
        let shown = path.display().to_string();
        let mut path = path.to_owned();
        // A link that leads to a link is resolved by the kernel in one step.
        for _ in 0..4 {
            let Some(name) = path.file_name().map(ToOwned::to_owned) else {
                return Err(WorkspaceError::Kind {
                    path: shown,
                    found: "a folder",
                    wanted: "a file",
                });
            };
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            let parent = self.folder(above.unwrap_or(Path::new(".")))?;
            let stat = match rustix::fs::statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Some(stat),
                Err(Errno::NOENT) => None,
                Err(error) => return Err(WorkspaceError::system("reading", &shown, error)),
            };
            let there = stat.as_ref().map(Seen::of);
            if let Some(seen) = &there
                && seen.kind() == FileType::Symlink
            {
                path = self.target_of(&path)?;
                continue;
            }
            if let Some(seen) = &there {
                is_regular(&shown, seen)?;
            }
            return Ok(Place {
                parent,
                name,
                there,
                path,
                owner: stat.map(|stat| (stat.st_uid, stat.st_gid)),
            });
        }
        Err(WorkspaceError::Outside { path: shown })
    }

    /// Makes the folders above a file; returns those that are new.
    pub(super) fn make_above(&self, path: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
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
            match self.folder(&below) {
                Err(WorkspaceError::Missing { .. }) => {}
                Err(error) => return Err(error),
                Ok(_) => continue,
            }
            let shown = below.display().to_string();
            let parent = self.folder(&parent)?;
            match rustix::fs::mkdirat(&parent, step.as_os_str(), Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push(below.clone()),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(WorkspaceError::system("making", &shown, error)),
            }
            // What stands there now may be somebody's link.
            self.folder(&below)?;
        }
        Ok(made)
    }

    /// The links of files in the data directory: none of those may be used under
    /// another name.
    pub(super) fn linked_from_home(&self) -> &HashSet<FileId> {
        self.linked.get_or_init(|| beneath::linked(&self.home))
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    fn beneath(&self, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, WorkspaceError> {
        let shown = || path.display().to_string();
        beneath::open(&self.folder, path, flags | OFlags::CLOEXEC, mode).map_err(
            |error| match error {
                Errno::XDEV | Errno::LOOP => WorkspaceError::Outside { path: shown() },
                Errno::NOENT => WorkspaceError::Missing { path: shown() },
                Errno::NOTDIR => WorkspaceError::Kind {
                    path: shown(),
                    found: "no folder, or lies below a file",
                    wanted: "a folder",
                },
                error => WorkspaceError::system("opening", &shown(), error),
            },
        )
    }

    /// What is the hub's own is refused by whatever name it was reached.
    fn admit(&self, file: &OwnedFd, seen: &Seen, shown: &str) -> Result<(), WorkspaceError> {
        let hubs = || WorkspaceError::Hubs {
            path: shown.to_owned(),
        };
        if !is_files(file) {
            return Err(WorkspaceError::Outside {
                path: shown.to_owned(),
            });
        }
        if seen.links > 1
            && seen.kind() == FileType::RegularFile
            && self.linked_from_home().contains(&seen.id)
        {
            return Err(hubs());
        }
        if self.holds_home {
            match beneath::path_of(file) {
                Some(path) if !path.starts_with(&self.home) => {}
                _ => return Err(hubs()),
            }
        }
        Ok(())
    }

    /// Where a link leads, relative to the folder.
    fn target_of(&self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let shown = path.display().to_string();
        let outside = || WorkspaceError::Outside {
            path: shown.clone(),
        };
        let target = self.beneath(path, beneath::LOOK, Mode::empty())?;
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
    pub(super) fn replace(&self, bytes: &[u8], mode: Option<u32>) -> Result<(), WorkspaceError> {
        let shown = self.path.display().to_string();
        let fail = |what| {
            let shown = shown.clone();
            move |error: Errno| WorkspaceError::system(what, &shown, error)
        };
        let random = legation_core::id::random_hex().map_err(|_| {
            let error = std::io::Error::other("the system has no randomness to give");
            WorkspaceError::system("naming a new file for", &shown, error)
        })?;
        let new = format!(".legation-{random}");
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

    /// Takes the file away.
    pub(super) fn remove(&self) -> Result<(), WorkspaceError> {
        let shown = self.path.display().to_string();
        self.is_as_seen()?;
        rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::empty())
            .and_then(|()| rustix::fs::fsync(&self.parent))
            .map_err(|error| WorkspaceError::system("removing", &shown, error))
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

fn is_regular(shown: &str, seen: &Seen) -> Result<(), WorkspaceError> {
    let found = match seen.kind() {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a folder",
        FileType::Symlink => "a link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    };
    Err(WorkspaceError::Kind {
        path: shown.to_owned(),
        found,
        wanted: "a file",
    })
}

/// Whether it is of a file system that holds files.
#[cfg(target_os = "linux")]
#[expect(
    clippy::useless_conversion,
    reason = "the width of this field differs between architectures"
)]
fn is_files(file: impl AsFd) -> bool {
    rustix::fs::fstatfs(file)
        .is_ok_and(|found| !NOT_FILES.contains(&i64::try_from(found.f_type).unwrap_or(0)))
}

#[cfg(not(target_os = "linux"))]
fn is_files(_file: impl AsFd) -> bool {
    true
}
