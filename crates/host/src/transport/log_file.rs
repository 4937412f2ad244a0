//! A server's stderr on disk.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// At this size the file becomes `NAME.1`, replacing the one before.
const ROTATE_AT: u64 = 1 << 20;

/// An append-only file of bounded size. Best effort: a full disk must not stop
/// a server, and the last lines are also in memory.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: Option<File>,
    size: u64,
}

// === impl LogFile ===

impl LogFile {
    pub(super) fn open(path: &Path) -> Self {
        let mut log = Self {
            path: path.to_owned(),
            file: None,
            size: 0,
        };
        log.reopen();
        log
    }

    pub(super) fn line(&mut self, line: &[u8]) {
        if self.size >= ROTATE_AT {
            self.rotate();
        }
        let Some(file) = &mut self.file else { return };
        let mut text = Vec::with_capacity(line.len() + 1);
        text.extend_from_slice(line);
        text.push(b'\n');
        if file.write_all(&text).is_ok() {
            self.size += text.len() as u64;
        }
    }

    fn rotate(&mut self) {
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        self.file = None;
        if std::fs::rename(&self.path, &old).is_err() {
            let _best_effort = std::fs::remove_file(&self.path);
        }
        self.reopen();
    }

    fn reopen(&mut self) {
        let opened = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path);
        self.file = opened.ok();
        self.size = self
            .file
            .as_ref()
            .and_then(|file| file.metadata().ok())
            .map_or(0, |meta| meta.len());
    }
}
