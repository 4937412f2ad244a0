//! Making the socket: in a folder that is the owner's alone, and never in the
//! place of something else.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use legation_core::home::HomeLock;
use tokio::net::UnixListener;

/// The socket was not made.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The folder is not the owner's alone.
    #[error("{} is not closed to other users; the socket was not made", path.display())]
    OpenFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Something else is where the socket belongs.
    #[error("{} is {what}, not a socket of this user; it was left alone and the socket was not made", path.display())]
    Foreign {
        /// Where the socket belongs.
        path: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// A hub answers there although its lock is free.
    #[error("something answers on {} already; the socket was not made", path.display())]
    InUse {
        /// Where the socket belongs.
        path: PathBuf,
    },
    /// The system said no.
    #[error("{what} {} failed; the socket was not made", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

// === impl SocketError ===

impl SocketError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::OpenFolder { path } => format!("chmod 700 {}", path.display()),
            Self::Foreign { path, .. } => {
                format!("look at {} and move it away if it is yours", path.display())
            }
            Self::InUse { path } => format!("find out who has {} open and stop it", path.display()),
            Self::Io { path, .. } => format!("see that {} can be written", path.display()),
        }
    }
}

/// Makes the socket, mode 0600. The socket a dead hub left behind is replaced;
/// holding the data directory's lock is what makes sure that it is dead. To be
/// called on the runtime that will serve it.
///
/// # Errors
/// See [`SocketError`]; nothing was changed then.
pub fn bind(path: &Path, _lock: &HomeLock) -> Result<UnixListener, SocketError> {
    let fail = |what| {
        let path = path.to_owned();
        move |source| SocketError::Io { what, path, source }
    };
    let own = rustix::process::getuid().as_raw();
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let meta = fs::metadata(folder).map_err(fail("looking at the folder of"))?;
    if meta.uid() != own || meta.permissions().mode() & 0o077 != 0 {
        return Err(SocketError::OpenFolder {
            path: folder.to_owned(),
        });
    }
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(fail("looking at")(error)),
        Ok(meta) => {
            if let Some(what) = foreign(&meta, own) {
                return Err(SocketError::Foreign {
                    path: path.to_owned(),
                    what,
                });
            }
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(SocketError::InUse {
                    path: path.to_owned(),
                });
            }
            fs::remove_file(path).map_err(fail("removing the old"))?;
        }
    }
    let listener = UnixListener::bind(path).map_err(fail("binding"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(fail("closing"))?;
    Ok(listener)
}

fn foreign(meta: &fs::Metadata, own: u32) -> Option<&'static str> {
    let kind = meta.file_type();
    if kind.is_symlink() {
        Some("a symbolic link")
    } else if kind.is_dir() {
        Some("a folder")
    } else if !kind.is_socket() {
        Some("a file")
    } else if meta.uid() != own {
        Some("another user's socket")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use legation_core::Home;

    use super::*;

    #[tokio::test]
    async fn a_dead_hubs_socket_is_replaced_and_nothing_else_is() {
        let dir = tempfile::tempdir().expect("a folder");
        let home = Home::at(dir.path().join("home"));
        home.create().expect("created");
        let lock = home.lock().expect("asked").expect("free");
        let path = home.socket();

        let listener = bind(&path, &lock).expect("bound");
        assert_eq!(
            fs::metadata(&path).expect("there").permissions().mode() & 0o777,
            0o600
        );
        let error = bind(&path, &lock).expect_err("in use");
        assert!(matches!(error, SocketError::InUse { .. }), "{error}");
        drop(listener);
        bind(&path, &lock).expect("a stale socket is replaced");

        fs::remove_file(&path).expect("removed");
        let elsewhere = dir.path().join("elsewhere");
        fs::write(&elsewhere, "mine").expect("written");
        std::os::unix::fs::symlink(&elsewhere, &path).expect("linked");
        let error = bind(&path, &lock).expect_err("a link");
        assert!(error.to_string().contains("a symbolic link"), "{error}");
        fs::remove_file(&path).expect("removed");
        fs::write(&path, "x").expect("written");
        let error = bind(&path, &lock).expect_err("a file");
        assert!(error.to_string().contains("is a file"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("left alone"), "x");
        fs::remove_file(&path).expect("removed");

        fs::set_permissions(home.root(), fs::Permissions::from_mode(0o750)).expect("opened");
        let error = bind(&path, &lock).expect_err("an open folder");
        assert!(matches!(error, SocketError::OpenFolder { .. }), "{error}");
    }
}
