//! `envFile`: variables of a server that stand in a file of their own.
//!
//! Of a server that a folder brings along the owner agrees to what is in the
//! file too, by its hash: a variable such as `NODE_OPTIONS` is as good as a
//! command. A file that is another one by the time the server starts fails the
//! start.

use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::Source;
use crate::environment::{Template, dotenv};
use crate::file;

/// A file of variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvFile {
    /// Its path as written.
    pub path: Template,
    /// Where a relative path starts; absent for the user's home directory.
    base: Option<PathBuf>,
    /// The folder that it must lie in, and what was in it when it was agreed to.
    agreed: Option<(PathBuf, [u8; 32])>,
}

/// What the owner agrees to of a file that an entry of `folder` names.
pub(crate) fn digest(folder: &Path, path: &str) -> [u8; 32] {
    let text = inside(folder, Path::new(path)).and_then(|path| file::read(&path).ok().flatten());
    let mut hash = Sha256::new();
    // That there is none is agreed to as well.
    hash.update([u8::from(text.is_some())]);
    hash.update(text.unwrap_or_default());
    hash.finalize().into()
}

/// The place of a path that lies in `folder`, links followed.
fn inside(folder: &Path, path: &Path) -> Option<PathBuf> {
    if path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let folder = folder.canonicalize().ok()?;
    let path = folder.join(path).canonicalize().ok()?;
    path.starts_with(&folder).then_some(path)
}

// === impl EnvFile ===

impl EnvFile {
    /// The file that an entry of `source` names, with what is in it now as what was agreed to.
    pub(super) fn new(path: Template, source: &Source) -> Self {
        let folder = source.trusted_folder();
        let agreed = folder.map(|folder| (folder.to_owned(), digest(folder, path.as_str())));
        let base = match source {
            Source::Builtin | Source::User { .. } | Source::Additional { file: None } => None,
            Source::Default { file } | Source::Additional { file: Some(file) } => {
                file.parent().map(Path::to_owned)
            }
            Source::Workspace { .. } | Source::Plugin { .. } | Source::Agent { .. } => {
                folder.map(Path::to_owned)
            }
        };
        Self { path, base, agreed }
    }

    /// Its variables; what is wrong with it, in words that follow its name.
    pub(super) fn read(
        &self,
        path: &Path,
        home: Option<PathBuf>,
    ) -> Result<Vec<(String, String)>, &'static str> {
        let path = match &self.agreed {
            Some((folder, _)) => {
                inside(folder, path).ok_or("is not there, or lies outside its folder")?
            }
            None if path.is_absolute() => path.to_owned(),
            None => {
                let base = self.base.clone().or(home);
                base.ok_or("is relative and there is no home directory to start from")?
                    .join(path)
            }
        };
        let text = file::read(&path).map_err(|_| "cannot be read")?;
        let text = text.ok_or("is not there")?;
        if let Some((folder, agreed)) = &self.agreed
            && digest(folder, self.path.as_str()) != *agreed
        {
            return Err("is not what you agreed to any more");
        }
        dotenv(&text).map_err(|_| "has a line that is not NAME=value")
    }
}
