//! What stands for the ledger: the numbers of the records it was told of, in a file.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use legation_core::{EntityId, SharedClock};
use legation_inbox::{Governor, Inbox, Message, OpenError, Options};
use legation_keystore::Keystore;

use crate::messages::SEALED;

const ENTRY: u64 = 8;

#[derive(Debug)]
pub(crate) struct Book {
    file: File,
    end: Mutex<u64>,
}

// === impl Book ===

impl Book {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(folder.join("book"))?;
        File::open(folder)?.sync_all()?;
        let end = file.metadata()?.len() / ENTRY * ENTRY;
        Ok(Self {
            file,
            end: Mutex::new(end),
        })
    }

    /// The records in it.
    pub(crate) fn read(folder: &Path) -> io::Result<BTreeSet<u64>> {
        let bytes = std::fs::read(folder.join("book"))?;
        let entries = bytes.chunks_exact(ENTRY as usize);
        let numbers = entries.map(|entry| entry.try_into().map_or(0, u64::from_le_bytes));
        Ok(numbers.collect())
    }
}

impl Governor for Book {
    fn must_seal(&self, entity: &EntityId) -> bool {
        entity.as_str() == SEALED
    }

    fn records(&self) -> bool {
        true
    }

    fn record(&self, messages: &[Message]) -> Result<(), String> {
        let mut end = self.end.lock().expect("whole");
        let bytes: Vec<u8> = messages
            .iter()
            .flat_map(|message| message.seq.0.to_le_bytes())
            .collect();
        let written = self.file.write_all_at(&bytes, *end);
        let synced = written.and_then(|()| self.file.sync_data());
        synced.map_err(|error| error.to_string())?;
        *end += bytes.len() as u64;
        Ok(())
    }
}

/// Why an inbox with its keys and its book could not be opened.
#[derive(Debug)]
pub(crate) enum NotOpened {
    Beside(String),
    Inbox(OpenError),
}

/// Opens the inbox of a folder, with its keys and its book.
pub(crate) fn open(folder: &Path, clock: SharedClock) -> Result<Inbox, NotOpened> {
    let keys = Keystore::open(&folder.join("keys"));
    let keys = keys.map_err(|error| NotOpened::Beside(error.to_string()))?;
    let book = Book::open(folder).map_err(|error| NotOpened::Beside(error.to_string()))?;
    Inbox::open(Options {
        folder: folder.join("inbox"),
        keystore: Arc::new(keys),
        clock,
        governor: Arc::new(book),
    })
    .map_err(NotOpened::Inbox)
}
