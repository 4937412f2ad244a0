//! The folder that a call works in, and no way out of it.
//!
//! Every path is resolved by the kernel below the folder's own descriptor
//! (`openat2` with `RESOLVE_BENEATH`), at every use: what was checked before and
//! looked up again could have been swapped in between. Where a kernel has no
//! `openat2`, links are not followed at all.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::error::WorkspaceError;

mod beneath;
mod exact;
mod place;

use beneath::Links;
pub(super) use exact::Stands;
pub(super) use place::Place;

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
        self.file_by(path, Links::Followed)
    }

    fn file_by(&self, path: &Path, links: Links) -> Result<(File, Seen), WorkspaceError> {
        let shown = path.display().to_string();
        let read = |what| {
            let shown = shown.clone();
            move |error: Errno| WorkspaceError::system(what, &shown, error)
        };
        // Looked at before it is opened for good: opening a device can do something.
        let look = self.beneath(path, beneath::LOOK, links)?;
        let stat = rustix::fs::fstat(&look).map_err(read("reading"))?;
        is_regular(&shown, &Seen::of(&stat))?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.beneath(path, flags, links)?;
        let seen = Seen::of(&rustix::fs::fstat(&file).map_err(read("reading"))?);
        is_regular(&shown, &seen)?;
        self.admit(&file, &seen, &shown)?;
        Ok((File::from(file), seen))
    }

    /// The whole of a regular file.
    pub(super) fn bytes(&self, path: &Path) -> Result<(Vec<u8>, Seen), WorkspaceError> {
        self.bytes_by(path, Links::Followed)
    }

    fn bytes_by(&self, path: &Path, links: Links) -> Result<(Vec<u8>, Seen), WorkspaceError> {
        let shown = path.display().to_string();
        let (file, seen) = self.file_by(path, links)?;
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
        self.folder_by(path, Links::Followed)
    }

    fn folder_by(&self, path: &Path, links: Links) -> Result<OwnedFd, WorkspaceError> {
        let folder = self.beneath(path, OFlags::RDONLY | OFlags::DIRECTORY, links)?;
        let shown = path.display().to_string();
        let stat = rustix::fs::fstat(&folder)
            .map_err(|error| WorkspaceError::system("reading", &shown, error))?;
        self.admit(&folder, &Seen::of(&stat), &shown)?;
        Ok(folder)
    }

    /// The links of files in the data directory: none of those may be used under
    /// another name.
    pub(super) fn linked_from_home(&self) -> &HashSet<FileId> {
        self.linked.get_or_init(|| beneath::linked(&self.home))
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    fn beneath(&self, path: &Path, flags: OFlags, links: Links) -> Result<OwnedFd, WorkspaceError> {
        let shown = || path.display().to_string();
        let flags = flags | OFlags::CLOEXEC;
        beneath::open(&self.folder, path, flags, Mode::empty(), links).map_err(
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
