//! Writing the files of a bundle that was checked.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Seek};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use zip::ZipArchive;

use super::entries::Entry;
use super::{BadBundle, unreadable};

/// Writes all of it into `folder`, which is new and the caller's to take away again.
pub(super) fn unpack<R: io::Read + Seek>(
    archive: &mut ZipArchive<R>,
    entries: &[Entry],
    folder: &Path,
) -> Result<(), BadBundle> {
    for entry in entries {
        let path = folder.join(&entry.name);
        let parent = if entry.is_folder {
            Some(path.as_path())
        } else {
            path.parent()
        };
        if let Some(parent) = parent {
            let mut builder = DirBuilder::new();
            let made = builder.recursive(true).mode(0o700).create(parent);
            made.map_err(BadBundle::Write)?;
        }
        if entry.is_folder {
            continue;
        }
        let mut file = OpenOptions::new();
        let mode = if entry.is_executable { 0o700 } else { 0o600 };
        let file = file.write(true).create_new(true).mode(mode).open(&path);
        let mut file = file.map_err(BadBundle::Write)?;
        let packed = archive.by_index(entry.index).map_err(unreadable)?;
        // One byte more than it says, so that a lie about the length is seen.
        let copied = io::copy(&mut packed.take(entry.size + 1), &mut file);
        let refused = |why| BadBundle::Entry {
            entry: entry.name.clone(),
            why,
        };
        match copied {
            Ok(length) if length == entry.size => {}
            Ok(_) => return Err(refused("is not as long as it says")),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(refused("is damaged"));
            }
            Err(error) => return Err(BadBundle::Write(error)),
        }
    }
    Ok(())
}
