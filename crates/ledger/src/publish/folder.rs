//! A folder, which somebody else copies or which lies on another machine.

use std::fs;
use std::path::Path;

use legation_core::home::write_private;
use legation_store::CheckpointRow;

use super::{PublishError, file_name};

/// Writes a file a checkpoint; one that is there already stays as it is.
pub(super) fn take(folder: &Path, rows: &[CheckpointRow]) -> Result<(), PublishError> {
    let fail = |source| PublishError::Folder {
        path: folder.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(fail)?;
    for row in rows {
        let path = folder.join(file_name(row));
        if !path.exists() {
            write_private(&path, &row.note).map_err(|source| PublishError::File { source })?;
        }
    }
    compare(folder, rows.last().map_or(0, |row| row.size))
}

/// Whether the folder knows of no more records than the last checkpoint here.
pub(super) fn compare(folder: &Path, here: i64) -> Result<(), PublishError> {
    let fail = |source| PublishError::Folder {
        path: folder.to_owned(),
        source,
    };
    let (mut there, here) = (0, here.unsigned_abs());
    for file in fs::read_dir(folder).map_err(fail)? {
        let name = file.map_err(fail)?.file_name();
        let size = name.to_str().and_then(|name| name.split_once('-'));
        let size = size.and_then(|(size, _)| size.parse::<u64>().ok());
        there = there.max(size.unwrap_or(0));
    }
    if there > here {
        return Err(PublishError::Ahead { there, here });
    }
    Ok(())
}
