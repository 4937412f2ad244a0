//! Opening files below a folder, and what a descriptor stands for.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::FileId;

/// Looking at a file without opening it.
#[cfg(target_os = "linux")]
pub(super) const LOOK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(super) const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

/// Files of the data directory that are looked at; it holds far fewer.
const HOME_MAX: usize = 200_000;

/// Whether links are followed on the way to a file, and at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    Followed,
    Refused,
}

/// Opens a path that does not leave `folder`. `EXDEV` and `ELOOP` say that it
/// would, or that there is a link where none is followed.
pub(super) fn open(
    folder: &OwnedFd,
    path: &Path,
    flags: OFlags,
    mode: Mode,
    links: Links,
) -> Result<OwnedFd, Errno> {
    // What only looks never waits, and openat2 refuses to be told so beside it.
    #[cfg(target_os = "linux")]
    let flags = match flags.contains(OFlags::PATH) {
        true => flags.difference(OFlags::NONBLOCK),
        false => flags,
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        if links == Links::Refused {
            resolve |= ResolveFlags::NO_SYMLINKS;
        }
        // `EAGAIN` says that something was renamed meanwhile, as openat2(2) has it.
        for _ in 0..64 {
            match rustix::fs::openat2(folder, path, flags, mode, resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOSYS) => return walk(folder, path, flags, mode),
                opened => return opened,
            }
        }
        Err(Errno::XDEV)
    }
    #[cfg(not(target_os = "linux"))]
    {
        // Links are followed nowhere here.
        let _: Links = links;
        walk(folder, path, flags, mode)
    }
}

/// Step by step, without following a link.
fn walk(folder: &OwnedFd, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let mut at = rustix::io::dup(folder)?;
    let mut steps = path.components().peekable();
    while let Some(step) = steps.next() {
        if matches!(step, std::path::Component::ParentDir) {
            return Err(Errno::XDEV);
        }
        let flags = match steps.peek() {
            Some(_) => LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC,
            None => flags,
        };
        at = rustix::fs::openat(&at, step.as_os_str(), flags | OFlags::NOFOLLOW, mode)?;
    }
    Ok(at)
}

/// The path of what was opened, where the system says it.
pub(super) fn path_of(file: impl AsFd) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    let number = file.as_fd().as_raw_fd();
    std::fs::read_link(format!("/proc/self/fd/{number}")).ok()
}

/// Files below the data directory that have more names than one.
pub(super) fn linked(home: &Path) -> HashSet<FileId> {
    let mut found = HashSet::new();
    let mut open = vec![home.to_owned()];
    let mut looked = 0;
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            looked += 1;
            let Ok(found_here) = entry.metadata() else {
                continue;
            };
            if looked > HOME_MAX {
                return found;
            }
            if found_here.is_dir() {
                open.push(entry.path());
            } else if found_here.nlink() > 1 {
                found.insert(FileId {
                    device: found_here.dev(),
                    inode: found_here.ino(),
                });
            }
        }
    }
    found
}
