//! Which file a command name means.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A command that cannot be started, known before anything is started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No directory of PATH has such a file.
    #[error("command `{command}` was not found in PATH ({path})")]
    NotInPath {
        /// The command as it was written.
        command: String,
        /// The PATH that was searched.
        path: String,
    },
    /// The command names a file that is not there.
    #[error("command `{command}` does not exist ({file} is not there)")]
    NoSuchFile {
        /// The command as it was written.
        command: String,
        /// The file that was looked for.
        file: String,
    },
    /// The file is there but may not be run.
    #[error("command `{command}` cannot be run ({file} is not an executable file)")]
    NotExecutable {
        /// The command as it was written.
        command: String,
        /// The file that was found.
        file: String,
    },
}

// === impl FindError ===

impl FindError {
    /// What the user can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotInPath { .. } => {
                "install it, write its full path, or set PATH in the server's env"
            }
            Self::NoSuchFile { .. } => "check the path; a relative one starts at the server's cwd",
            Self::NotExecutable { .. } => "make it executable (chmod +x), or name its interpreter",
        }
    }
}

/// The file that `command` means: as given where it holds a slash (a relative
/// one starts at `cwd`), else the first executable file of that name in `path`,
/// a colon-separated list.
pub fn find_program(
    command: &OsStr,
    path: Option<&OsStr>,
    cwd: Option<&Path>,
) -> Result<PathBuf, FindError> {
    let text = || command.to_string_lossy().into_owned();
    if command.as_encoded_bytes().contains(&b'/') {
        let file = cwd.map_or_else(|| PathBuf::from(command), |cwd| cwd.join(command));
        let shown = file.display().to_string();
        return match is_executable(&file) {
            Some(true) => Ok(file),
            Some(false) => Err(FindError::NotExecutable {
                command: text(),
                file: shown,
            }),
            None => Err(FindError::NoSuchFile {
                command: text(),
                file: shown,
            }),
        };
    }
    let path = path.map_or_else(
        || OsString::from("/usr/local/bin:/usr/bin:/bin"),
        OsString::from,
    );
    let mut refused = None;
    if !command.is_empty() {
        for folder in std::env::split_paths(&path) {
            // An empty or relative entry would mean whatever folder the hub
            // happens to stand in, so it is resolved like the program itself.
            let folder = cwd.map_or_else(|| folder.clone(), |cwd| cwd.join(&folder));
            let file = folder.join(command);
            match is_executable(&file) {
                Some(true) => return Ok(file),
                Some(false) => refused = refused.or(Some(file)),
                None => {}
            }
        }
    }
    Err(match refused {
        Some(file) => FindError::NotExecutable {
            command: text(),
            file: file.display().to_string(),
        },
        None => FindError::NotInPath {
            command: text(),
            path: path.to_string_lossy().into_owned(),
        },
    })
}

fn is_executable(file: &Path) -> Option<bool> {
    let meta = std::fs::metadata(file).ok()?;
    Some(meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
