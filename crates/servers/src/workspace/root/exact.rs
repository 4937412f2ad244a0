//! Files by their very names: no link is followed, neither above them nor at their end.
//!
//! For taking back. What was changed is what stood under a name; where a link
//! stands there now, or above it, what it leads to is another file, and somebody
//! else's.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::FileType;

use super::super::error::WorkspaceError;
use super::beneath::Links;
use super::{Place, Root, Seen, is_regular};

/// What stands under a name.
#[derive(Debug)]
pub(in super::super) enum Stands {
    Nothing,
    File(Vec<u8>),
    /// A link, and where it leads by its own words.
    Link(Vec<u8>),
    /// A folder, a device, a file too long to be read.
    Other,
}

// === impl Root ===

impl Root {
    /// What stands there.
    pub(in super::super) fn stands(&self, path: &Path) -> Stands {
        let place = match self.place_by(path, Links::Refused) {
            Ok(place) => place,
            // A link above it, or a file, or nothing: it is not there.
            Err(
                WorkspaceError::Missing { .. }
                | WorkspaceError::Outside { .. }
                | WorkspaceError::Kind { .. },
            ) => return Stands::Nothing,
            Err(_) => return Stands::Other,
        };
        match place.there.map(|seen| seen.kind()) {
            None => Stands::Nothing,
            Some(FileType::Symlink) => place.target().map_or(Stands::Other, Stands::Link),
            Some(FileType::RegularFile) => {
                let read = self.bytes_by(path, Links::Refused);
                read.map_or(Stands::Other, |(bytes, _)| Stands::File(bytes))
            }
            Some(_) => Stands::Other,
        }
    }

    /// A file or a link, as it stands there.
    pub(in super::super) fn seen_there(&self, path: &Path) -> Option<Seen> {
        let seen = self.place_by(path, Links::Refused).ok()?.there?;
        matches!(seen.kind(), FileType::RegularFile | FileType::Symlink).then_some(seen)
    }

    /// Where a file or a link is to be put that stood there, with the folders
    /// above it.
    pub(in super::super) fn exact_place(&self, path: &Path) -> Result<Place, WorkspaceError> {
        self.make_above_by(path, Links::Refused)?;
        let place = self.place_by(path, Links::Refused)?;
        if let Some(seen) = &place.there
            && seen.kind() != FileType::Symlink
        {
            is_regular(&path.display().to_string(), seen)?;
        }
        Ok(place)
    }

    /// A folder that is one itself.
    pub(in super::super) fn exact_folder(&self, path: &Path) -> Result<OwnedFd, WorkspaceError> {
        self.folder_by(path, Links::Refused)
    }
}
