//! Reading small files, and taking turns at changing them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use legation_core::Home;
use thiserror::Error;

/// The largest configuration file that is read, in bytes. A larger one is a
/// mistake or an attack, and all of it would be held in memory.
const MAX_BYTES: u64 = 4 << 20;

/// A file could not be read.
#[derive(Debug, Error)]
#[error("{} could not be read", path.display())]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// The text of a regular file, `None` when there is none. Anything else that
/// may stand at a path, a pipe for one, could keep the reader waiting for
/// ever and is refused.
pub(crate) fn read(path: &Path) -> Result<Option<String>, ReadError> {
    read_inner(path).map_err(|source| ReadError {
        path: path.to_owned(),
        source,
    })
}

fn read_inner(path: &Path) -> io::Result<Option<String>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES {
        return Err(io::Error::other("it is larger than 4 MiB"));
    }
    Ok(Some(text))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Held while a file of the data directory is read, changed and written, so
/// that two commands at once lose neither's change. It is not the hub's lock:
/// commands may change these files while the hub runs.
#[derive(Debug)]
pub(crate) struct Turn {
    _file: File,
}

// === impl Turn ===

impl Turn {
    pub(crate) fn take(home: &Home) -> Result<Self, ReadError> {
        let path = home.root().join(".edit.lock");
        let open = || -> io::Result<File> {
            home.create().map_err(io::Error::other)?;
            let mut options = OpenOptions::new();
            options.create(true).truncate(false).write(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let file = options.open(&path)?;
            file.lock()?;
            Ok(file)
        };
        match open() {
            Ok(file) => Ok(Self { _file: file }),
            Err(source) => Err(ReadError { path, source }),
        }
    }
}
