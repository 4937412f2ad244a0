//! The board's file, and the lock that makes its changes one after the other.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use legation_core::home::{HomeError, create_private_dir, write_private};

use crate::board::Board;

/// Where the board is.
#[derive(Debug, Clone)]
pub struct BoardFile {
    folder: PathBuf,
}

/// The board, for one change; others wait until this is dropped.
#[derive(Debug)]
pub struct BoardLock {
    /// What is on it.
    pub board: Board,
    saved: Board,
    path: PathBuf,
    _lock: File,
}

/// The board could not be used; nobody was woken.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// Its folder.
    #[error("the folder of what agents are woken for cannot be used")]
    Folder(#[source] HomeError),
    /// Its lock or file.
    #[error("{} cannot be used; nobody was woken", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The system's own words.
        #[source]
        source: io::Error,
    },
    /// It could not be written.
    #[error("who is woken cannot be noted, so nobody was")]
    Write(#[source] HomeError),
    /// It could not be put into words.
    #[error("who is woken cannot be noted, so nobody was")]
    Encode(#[source] serde_json::Error),
}

// === impl BoardFile ===

impl BoardFile {
    /// The board in a folder, which is made when it is first used.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes the board, once nobody else has it. A board that cannot be read is
    /// begun anew: sessions show themselves again, and messages wait in the inbox.
    ///
    /// # Errors
    /// When the folder, the lock or the file cannot be used.
    pub fn lock(&self) -> Result<BoardLock, BoardError> {
        create_private_dir(&self.folder).map_err(BoardError::Folder)?;
        let lock = self.folder.join("lock");
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| BoardError::File { path, source }
        };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&lock)
            .map_err(failed(&lock))?;
        file.lock().map_err(failed(&lock))?;
        let path = self.folder.join("board.json");
        let board: Board = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Board::default(),
            Err(error) => return Err(failed(&path)(error)),
        };
        Ok(BoardLock {
            saved: board.clone(),
            board,
            path,
            _lock: file,
        })
    }
}

// === impl BoardLock ===

impl BoardLock {
    /// Writes what changed, and gives the board to the next.
    ///
    /// # Errors
    /// When it could not be written; then nothing of it counts.
    pub fn save(self) -> Result<(), BoardError> {
        if self.board == self.saved {
            return Ok(());
        }
        let text = serde_json::to_vec(&self.board).map_err(BoardError::Encode)?;
        write_private(&self.path, &text).map_err(BoardError::Write)
    }
}

// === impl BoardError ===

impl BoardError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "look at the folder `wake` in the data directory; it can be removed, and is made again"
    }
}
