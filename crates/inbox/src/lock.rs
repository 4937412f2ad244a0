//! One owner of the inbox, who can be named.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Held by the process that writes; dropping it gives the inbox up.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Takes the inbox, or says which process has it.
pub(crate) fn take(folder: &Path) -> io::Result<Result<Lock, Option<u32>>> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(folder.join("lock"))?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            writeln!(file, "{}", std::process::id())?;
            Ok(Ok(Lock { _file: file }))
        }
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            // Who has it is a help, not a condition.
            let read = file.read_to_string(&mut text);
            Ok(Err(read.ok().and_then(|_| text.trim().parse().ok())))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}
