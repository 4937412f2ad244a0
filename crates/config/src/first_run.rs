//! What the first start writes, and the governance file afterwards.
//!
//! The first start makes everything explicit, so that a file which is missing
//! later was removed by somebody. It is then not made again: the permissions
//! a deleted file would come back with are not the ones its owner had.

use std::io;
use std::path::PathBuf;

use legation_core::Home;
use legation_core::home::{HomeError, write_private};
use thiserror::Error;

use crate::file::{self, ReadError, Turn};
use crate::settings;

/// What a first start made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstRun {
    /// The files that were not there before.
    pub created: Vec<PathBuf>,
}

/// The data directory could not be prepared.
#[derive(Debug, Error)]
pub enum FirstRunError {
    /// A folder or file cannot be made.
    #[error("the data directory could not be prepared")]
    Write(#[source] HomeError),
    /// Something in the way cannot be read.
    #[error("the data directory could not be looked at")]
    Read(#[source] ReadError),
}

/// There are no rules to ask; everything is denied.
#[derive(Debug, Error)]
pub enum PermissionsError {
    /// The file is gone.
    #[error("{} is missing, so everything is refused", file.display())]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// The file cannot be read.
    #[error("the rules cannot be read, so everything is refused")]
    Read(#[source] ReadError),
}

/// Where the permission rules stand.
pub fn permissions_path(home: &Home) -> PathBuf {
    home.governance().join("permissions.toml")
}

/// The text of the permission rules.
///
/// # Errors
///
/// [`PermissionsError`]; the caller denies everything.
pub fn permissions(home: &Home) -> Result<String, PermissionsError> {
    let file = permissions_path(home);
    file::read(&file)
        .map_err(PermissionsError::Read)?
        .ok_or(PermissionsError::Missing { file })
}

/// Prepares the data directory: folders closed to other users, and whatever of
/// `legation.toml`, `mcp.json` and `governance/permissions.toml` is not there
/// yet. `permissions` is the text of the last, which the policy crate owns.
/// Nothing is ever overwritten, and the permissions are written once only.
///
/// # Errors
///
/// [`FirstRunError`] when something cannot be made.
pub fn first_run(home: &Home, permissions: &str) -> Result<FirstRun, FirstRunError> {
    home.create().map_err(FirstRunError::Write)?;
    let _turn = Turn::take(home).map_err(FirstRunError::Read)?;
    let mut made = FirstRun::default();
    let marker = home.governance().join(".initialized");
    if !exists(&marker)? {
        made.write_if_absent(permissions_path(home), permissions)?;
        // Last, so that a start that was cut short is still the first.
        write_private(&marker, b"").map_err(FirstRunError::Write)?;
    }
    made.write_if_absent(home.servers(), "{\n  \"mcpServers\": {}\n}\n")?;
    made.write_if_absent(home.settings(), &settings::commented_defaults())?;
    Ok(made)
}

/// Whether anything stands at `path`, a dangling link included.
fn exists(path: &std::path::Path) -> Result<bool, FirstRunError> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(FirstRunError::Read(ReadError {
            path: path.to_path_buf(),
            source,
        })),
    }
}

// === impl FirstRun ===

impl FirstRun {
    fn write_if_absent(&mut self, path: PathBuf, text: &str) -> Result<(), FirstRunError> {
        if !exists(&path)? {
            write_private(&path, text.as_bytes()).map_err(FirstRunError::Write)?;
            self.created.push(path);
        }
        Ok(())
    }
}

// === impl FirstRunError ===

impl FirstRunError {
    /// What to do next.
    pub fn hint(&self) -> String {
        let path = match self {
            Self::Write(error) => &error.path,
            Self::Read(error) => &error.path,
        };
        format!(
            "Check that {} is yours, or set LEGATION_HOME to another folder.",
            path.display()
        )
    }
}

// === impl PermissionsError ===

impl PermissionsError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing { .. } => {
                "Restore the file from a backup, or remove governance/.initialized and start \
                 again to have the personal template written anew."
                    .to_owned()
            }
            Self::Read(error) => format!("Check that you may read {}.", error.path.display()),
        }
    }
}

#[cfg(test)]
mod tests;
