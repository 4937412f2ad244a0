//! A record of the calls that were executed, kept outside the hub.
//!
//! A campaign that kills the hub compares it with the hub's own records: what stands here was
//! called, whatever the hub believes. The servers before and after a kill append to the same file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A file with one line a call: the tool, a space, and the text.
#[derive(Debug)]
pub struct Journal(Mutex<File>);

// === impl Journal ===

impl Journal {
    /// Opens the file, which is created if there is none.
    ///
    /// # Errors
    /// The file's.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self(Mutex::new(file)))
    }

    /// Writes a call down; it is on the disk when this returns.
    ///
    /// # Errors
    /// The disk's; then nobody may say that the call was executed.
    pub fn write(&self, tool: &str, text: &str) -> io::Result<()> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One write, so that a kill leaves a whole line or none.
        file.write_all(format!("{tool} {text}\n").as_bytes())?;
        file.sync_data()
    }
}
