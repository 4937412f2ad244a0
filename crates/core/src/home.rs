//! The data directory, `$LEGATION_HOME`: where everything lies, and how a file
//! in it is written so that neither a crash nor another user sees half of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The data directory and the paths in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// A file or folder of the data directory could not be made.
#[derive(Debug, thiserror::Error)]
#[error("{what} {} failed, nothing was changed there", path.display())]
pub struct HomeError {
    /// What was tried.
    pub what: &'static str,
    /// On which path.
    pub path: PathBuf,
    /// Why it failed.
    #[source]
    pub source: io::Error,
}

/// What only one process has of a data directory; dropping this gives it up.
#[derive(Debug)]
pub struct HomeLock {
    _file: File,
}

// === impl Home ===

impl Home {
    /// A data directory at `root`; nothing is made yet.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The hub's settings.
    #[must_use]
    pub fn settings(&self) -> PathBuf {
        self.root.join("legation.toml")
    }

    /// The owner's MCP servers.
    #[must_use]
    pub fn servers(&self) -> PathBuf {
        self.root.join("mcp.json")
    }

    /// Folders of plugins, whose servers the owner may trust.
    #[must_use]
    pub fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// The rules.
    #[must_use]
    pub fn governance(&self) -> PathBuf {
        self.root.join("governance")
    }

    /// The owner's HTTP bearer token.
    #[must_use]
    pub fn token(&self) -> PathBuf {
        self.root.join("token")
    }

    /// The clients and the hashes of their credentials.
    #[must_use]
    pub fn clients(&self) -> PathBuf {
        self.root.join("clients.json")
    }

    /// The credentials that bridges show, one file a client.
    #[must_use]
    pub fn client_tokens(&self) -> PathBuf {
        self.root.join("clients")
    }

    /// The folders whose servers the owner trusts.
    #[must_use]
    pub fn trust(&self) -> PathBuf {
        self.root.join("trust.json")
    }

    /// The hub's Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.root.join("mcp.sock")
    }

    /// The store.
    #[must_use]
    pub fn state_db(&self) -> PathBuf {
        self.root.join("state.db")
    }

    /// The keys of what is sealed and signed, and the PIN.
    #[must_use]
    pub fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// Tokens and other secrets, sealed.
    #[must_use]
    pub fn secrets(&self) -> PathBuf {
        self.root.join("secrets")
    }

    /// What people wrote to agents, and who has read it.
    #[must_use]
    pub fn inbox(&self) -> PathBuf {
        self.root.join("inbox")
    }

    /// Which sessions of agents run, and who is woken for what.
    #[must_use]
    pub fn wake(&self) -> PathBuf {
        self.root.join("wake")
    }

    /// The chats whose messages come into the inbox.
    #[must_use]
    pub fn watched_chats(&self) -> PathBuf {
        self.root.join("watched_chats.json")
    }

    /// What delegated work can take back.
    #[must_use]
    pub fn undo(&self) -> PathBuf {
        self.root.join("undo")
    }

    /// Log files.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Held by the process that owns the directory.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.root.join("hub.lock")
    }

    /// Makes the directory and its folders, closed to everyone else.
    ///
    /// # Errors
    /// When one of them cannot be made or closed.
    pub fn create(&self) -> Result<(), HomeError> {
        for path in [self.root.clone(), self.governance(), self.logs()] {
            create_private_dir(&path)?;
        }
        Ok(())
    }

    /// Takes the directory for this process, or says `None` when another has it.
    ///
    /// # Errors
    /// When the lock file cannot be opened.
    pub fn lock(&self) -> Result<Option<HomeLock>, HomeError> {
        let path = self.lock_file();
        let file = open_lock(&path)?;
        match file.try_lock() {
            Ok(()) => {
                // Who has it is a help, not a condition.
                let pid = format!("{}\n", std::process::id());
                drop(
                    file.set_len(0)
                        .and_then(|()| (&file).write_all(pid.as_bytes())),
                );
                Ok(Some(HomeLock { _file: file }))
            }
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(source)) => Err(HomeError {
                what: "locking",
                path,
                source,
            }),
        }
    }

    /// Which process has the directory, if it said so.
    #[must_use]
    pub fn owner(&self) -> Option<u32> {
        let text = fs::read_to_string(self.lock_file()).ok()?;
        text.trim().parse().ok()
    }

    /// Waits until nobody else changes one of the owner's files, for commands
    /// that read one, change it and write it. Held for as long as a command
    /// takes, so that waiting is better than failing.
    ///
    /// # Errors
    /// When the lock file cannot be opened or locked.
    pub fn edit_lock(&self) -> Result<HomeLock, HomeError> {
        let path = self.root.join("edit.lock");
        let file = open_lock(&path)?;
        match file.lock() {
            Ok(()) => Ok(HomeLock { _file: file }),
            Err(source) => Err(HomeError {
                what: "locking",
                path,
                source,
            }),
        }
    }
}

fn open_lock(path: &Path) -> Result<File, HomeError> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(|source| HomeError {
            what: "opening",
            path: path.to_owned(),
            source,
        })
}

/// Makes a folder that is closed to everyone else, or closes the one there is. One
/// that is new is on disk when this returns.
///
/// # Errors
/// When it cannot be made or closed.
pub fn create_private_dir(path: &Path) -> Result<(), HomeError> {
    let fail = |what| {
        let path = path.to_owned();
        move |source| HomeError { what, path, source }
    };
    let is_new = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let new: Vec<&Path> = path.ancestors().take_while(is_new).collect();
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(fail("creating"))?;
    for path in new {
        sync_name(path).map_err(fail("syncing the name of"))?;
    }
    let mode = fs::metadata(path)
        .map_err(fail("reading"))?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))
            .map_err(fail("closing to other users"))?;
    }
    Ok(())
}

/// Puts the name of a file or folder on disk, which its own sync does not do.
///
/// # Errors
/// When the folder that it is in cannot be synced.
pub fn sync_name(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|path| !path.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Writes a file that only its owner can read: whole or not at all, and on disk
/// when this returns.
///
/// # Errors
/// When it could not be written; the old file is then untouched.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), HomeError> {
    let fail = |what| {
        let path = path.to_owned();
        move |source| HomeError { what, path, source }
    };
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let parent = path.parent().unwrap_or_else(|| Path::new("."));
    let suffix = crate::id::random_hex().map_err(|error| HomeError {
        what: "naming a new file for",
        path: path.to_owned(),
        source: io::Error::other(error.to_string()),
    })?;
    let new = parent.join(format!(".{name}.{suffix}"));
    let written = (|| {
        let mut file = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        File::open(parent)?.sync_all()
    })();
    if written.is_err() {
        // The write has failed already; that the leftover stays is the lesser news.
        drop(fs::remove_file(&new));
    }
    written.map_err(fail("writing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_closed_even_when_it_stood_open() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("home");
        fs::create_dir(&root).expect("made");
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).expect("opened");
        let home = Home::at(&root);
        home.create().expect("created");
        for path in [home.root().to_owned(), home.governance(), home.logs()] {
            let mode = fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", path.display());
        }
    }

    #[test]
    fn one_owner_at_a_time() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = Home::at(dir.path());
        let first = home.lock().expect("locked");
        assert!(first.is_some());
        assert!(home.lock().expect("asked").is_none());
        drop(first);
        assert!(home.lock().expect("asked again").is_some());
    }

    #[test]
    fn a_private_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("token");
        write_private(&path, b"one").expect("written");
        write_private(&path, b"two").expect("replaced");
        assert_eq!(fs::read(&path).expect("read"), b"two");
        assert_eq!(
            fs::metadata(&path).expect("there").permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 1);
        let error = write_private(&dir.path().join("no/where"), b"x").expect_err("no folder");
        assert!(error.to_string().contains("nothing was changed"), "{error}");
    }
}
