//! `watched_chats.json`: the chats whose messages come into the inbox.
//!
//! A chat that was found is added once. One that nobody wants watched stays
//! there and says so, so that it is not found again. The hub, its tools, a
//! command and an owner with an editor all write it: each reads the file,
//! changes it and replaces it whole, with a lock held.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use legation_core::Wall;
use legation_core::home::write_private;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// The file. Clones are the same file.
#[derive(Debug, Clone)]
pub struct WatchedChats {
    path: PathBuf,
    changes: watch::Sender<()>,
}

/// A chat in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedChat {
    /// Its id at the source.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// The account that found it.
    pub account: String,
    /// When it was found.
    pub added_at: String,
    /// Whether its messages come in.
    pub is_watched: bool,
    /// Since when, where somebody began anew to watch it: what was written
    /// while nobody did does not come in.
    pub since: Option<Wall>,
}

/// Tells whether the file was written since.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp(Option<(SystemTime, u64)>);

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Entries(BTreeMap<String, Entry>);

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    title: String,
    added_at: String,
    account: String,
    #[serde(default = "yes")]
    watched: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    watched_since: Option<String>,
}

/// The file cannot be used, or not for this; nothing was watched that was not
/// before, and nothing left.
#[derive(Debug, thiserror::Error)]
pub enum WatchedError {
    /// It is broken. It is left as it is: it holds what its owner does not want
    /// watched.
    #[error("{} cannot be used: {why}", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// It could not be read or written.
    #[error("{} could not be read or written", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No such chat was found yet.
    #[error("no chat {id:?} is known; nothing was changed")]
    Unknown {
        /// What was asked for.
        id: String,
    },
}

fn yes() -> bool {
    true
}

// === impl WatchedChats ===

impl WatchedChats {
    /// The file at this path, which need not be there.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            changes: watch::Sender::new(()),
        }
    }

    /// Every chat in it, by id.
    ///
    /// # Errors
    /// See [`WatchedError`].
    pub fn list(&self) -> Result<Vec<WatchedChat>, WatchedError> {
        Ok(self.read()?.chats().collect())
    }

    /// Adds the chats of an account that are not in it, each with its title.
    ///
    /// # Errors
    /// See [`WatchedError`].
    pub fn found<'a>(
        &self,
        account: &str,
        chats: impl Iterator<Item = (&'a str, &'a str)>,
        now: Wall,
    ) -> Result<Vec<WatchedChat>, WatchedError> {
        let _alone = self.lock()?;
        let mut all = self.read()?;
        let before = all.0.len();
        for (id, title) in chats {
            all.0.entry(id.to_owned()).or_insert_with(|| Entry {
                title: title.to_owned(),
                added_at: now.to_string(),
                account: account.to_owned(),
                watched: true,
                watched_since: None,
            });
        }
        if all.0.len() > before {
            self.write(&all)?;
        }
        Ok(all.chats().collect())
    }

    /// Watches a chat, from now on, or no more; whether that is a change.
    ///
    /// # Errors
    /// See [`WatchedError`].
    pub fn set(
        &self,
        id: &str,
        is_watched: bool,
        now: Wall,
    ) -> Result<(WatchedChat, bool), WatchedError> {
        let _alone = self.lock()?;
        let mut all = self.read()?;
        let unknown = || WatchedError::Unknown { id: id.to_owned() };
        let entry = all.0.get_mut(id).ok_or_else(unknown)?;
        let is_change = entry.watched != is_watched;
        if is_change {
            entry.watched = is_watched;
            entry.watched_since = is_watched.then(|| now.to_string());
        }
        let chat = entry.chat(id);
        if is_change {
            self.write(&all)?;
            self.changes.send_replace(());
        }
        Ok((chat, is_change))
    }

    /// Tells when somebody in this process sets what is watched.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Changes whenever the file is written, whoever writes it.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        let data = std::fs::metadata(&self.path).ok();
        Stamp(data.and_then(|data| Some((data.modified().ok()?, data.len()))))
    }

    fn read(&self) -> Result<Entries, WatchedError> {
        match std::fs::read(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| WatchedError::Broken {
                path: self.path.clone(),
                why: error.to_string(),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Entries::default()),
            Err(source) => Err(self.io(source)),
        }
    }

    fn write(&self, all: &Entries) -> Result<(), WatchedError> {
        let text = serde_json::to_vec_pretty(all);
        let mut text = text.map_err(|error| self.io(io::Error::other(error)))?;
        text.push(b'\n');
        write_private(&self.path, &text).map_err(|error| self.io(error.source))
    }

    /// Held from reading the file until it is written: several look for chats
    /// at the same time, and each would write without what the other found.
    fn lock(&self) -> Result<File, WatchedError> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.path.with_extension("lock"))
            .map_err(|source| self.io(source))?;
        file.lock().map_err(|source| self.io(source))?;
        Ok(file)
    }

    fn io(&self, source: io::Error) -> WatchedError {
        WatchedError::Io {
            path: self.path.clone(),
            source,
        }
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

// === impl Entries ===

impl Entries {
    fn chats(&self) -> impl Iterator<Item = WatchedChat> {
        self.0.iter().map(|(id, entry)| entry.chat(id))
    }
}

impl Entry {
    fn chat(&self, id: &str) -> WatchedChat {
        WatchedChat {
            id: id.to_owned(),
            title: self.title.clone(),
            account: self.account.clone(),
            added_at: self.added_at.clone(),
            is_watched: self.watched,
            since: self.watched_since.as_deref().and_then(Wall::parse),
        }
    }
}

// === impl WatchedError ===

impl WatchedError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Broken { .. } => {
                "mend the file, or move it away: chats are then found anew, and all of them watched"
            }
            Self::Io { .. } => "check the disk and who owns the folder",
            Self::Unknown { .. } => {
                "`legation inbox chats` lists those there are; a hub that runs looks for new ones every two minutes"
            }
        }
    }
}
