//! What the first start writes, and the governance file afterwards.
//!
//! The first start makes everything explicit, so that a file which is missing
//! later was removed by somebody. It is then not made again: the permissions
//! a deleted file would come back with are not the ones its owner had.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use legation_core::Home;
use legation_core::home::{HomeError, create_private_dir, write_private};
use thiserror::Error;

use crate::file::{self, ReadError, Turn};
use crate::governance::{self, Found};
use crate::settings;

/// What a first start made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstRun {
    /// The files that were not there before.
    pub created: Vec<PathBuf>,
}

/// Governance files to begin with. The texts belong to the policy crate.
#[derive(Clone, Debug)]
pub struct Template<'t> {
    /// Its name, which stays beside the files.
    pub name: &'t str,
    /// Names below the governance folder, and texts.
    pub files: Vec<(Cow<'t, str>, Cow<'t, str>)>,
}

/// What becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The file.
    pub file: PathBuf,
    /// What becomes of it.
    pub change: Change,
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is not there yet.
    Create,
    /// It is there, with this very text.
    Keep,
    /// It is there with another text, or cannot be believed.
    Replace,
}

/// A template was not written.
#[derive(Debug, Error)]
pub enum InitError {
    /// Files with another text stand there.
    #[error("{} governance files are there already, and nothing was written", files.len())]
    Exists {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// Something cannot be made.
    #[error("the template could not be written")]
    Write(#[from] FirstRunError),
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
/// `legation.toml`, `mcp.json` and the governance files is not there yet.
/// Nothing is ever overwritten, and the governance files are written once
/// only: with the template's name beside them, one that is missing was removed
/// by somebody and stays away.
///
/// # Errors
///
/// [`FirstRunError`] when something cannot be made.
pub fn first_run(home: &Home, template: &Template<'_>) -> Result<FirstRun, FirstRunError> {
    home.create().map_err(FirstRunError::Write)?;
    let _turn = Turn::take(home).map_err(FirstRunError::Read)?;
    let mut made = FirstRun::default();
    let marker = governance::marker(home);
    if !exists(&marker)? {
        for (name, text) in &template.files {
            made.write_if_absent(governance_file(home, name)?, text)?;
        }
        // Last, so that a start that was cut short is still the first.
        write_marker(home, template.name)?;
    }
    made.write_if_absent(home.servers(), "{\n  \"mcpServers\": {}\n}\n")?;
    made.write_if_absent(home.settings(), &settings::commented_defaults())?;
    Ok(made)
}

/// Writes a template into the governance folder, over what stands there when
/// `replace` is set; a file that is replaced is kept beside the new one as
/// `NAME.old`. Returns the files that were written.
///
/// # Errors
///
/// [`InitError::Exists`] when files with another text stand there and
/// `replace` is not set; nothing was written then.
pub fn init(
    home: &Home,
    template: &Template<'_>,
    replace: bool,
) -> Result<Vec<PathBuf>, InitError> {
    home.create().map_err(FirstRunError::Write)?;
    let _turn = Turn::take(home).map_err(FirstRunError::Read)?;
    let plan = plan(home, template)?;
    let in_the_way: Vec<PathBuf> = plan
        .iter()
        .filter(|step| step.change == Change::Replace)
        .map(|step| step.file.clone())
        .collect();
    if !replace && !in_the_way.is_empty() {
        return Err(InitError::Exists { files: in_the_way });
    }
    let mut written = Vec::new();
    for (step, (name, text)) in plan.into_iter().zip(&template.files) {
        if step.change == Change::Keep {
            continue;
        }
        let file = governance_file(home, name)?;
        if step.change == Change::Replace {
            keep_old(&file)?;
        }
        write_private(&file, text.as_bytes()).map_err(FirstRunError::Write)?;
        written.push(file);
    }
    write_marker(home, template.name)?;
    Ok(written)
}

/// Writes those of the files that are not there, and nothing over those that are. Returns the
/// files that were written.
///
/// # Errors
///
/// [`FirstRunError`] when something cannot be made.
pub fn add(
    home: &Home,
    files: &[(Cow<'_, str>, Cow<'_, str>)],
) -> Result<Vec<PathBuf>, FirstRunError> {
    home.create().map_err(FirstRunError::Write)?;
    let _turn = Turn::take(home).map_err(FirstRunError::Read)?;
    let mut made = FirstRun::default();
    for (name, text) in files {
        made.write_if_absent(governance_file(home, name)?, text)?;
    }
    Ok(made.created)
}

/// What [`init`] would do, file by file. Writes nothing.
///
/// # Errors
///
/// [`FirstRunError`] when something in the way cannot be read.
pub fn plan(home: &Home, template: &Template<'_>) -> Result<Vec<Step>, FirstRunError> {
    let steps = template.files.iter().map(|(name, text)| {
        let file = home.governance().join(&**name);
        let change = match governance::read_one(&file) {
            Found::Absent => Change::Create,
            Found::Text(there) if there == **text => Change::Keep,
            Found::Text(_) | Found::Unusable(_) => Change::Replace,
        };
        Ok(Step { file, change })
    });
    steps.collect()
}

/// The path of a governance file, in a folder that is there and closed.
fn governance_file(home: &Home, name: &str) -> Result<PathBuf, FirstRunError> {
    let file = home.governance().join(name);
    if let Some(folder) = file.parent() {
        create_private_dir(folder).map_err(FirstRunError::Write)?;
    }
    Ok(file)
}

fn write_marker(home: &Home, template: &str) -> Result<(), FirstRunError> {
    let text = format!("{template}\n");
    write_private(&governance::marker(home), text.as_bytes()).map_err(FirstRunError::Write)
}

/// Moves a file aside, whatever it is, so that its text is not lost.
fn keep_old(file: &Path) -> Result<(), FirstRunError> {
    let mut old = file.as_os_str().to_owned();
    old.push(".old");
    fs::rename(file, old).map_err(|source| {
        FirstRunError::Write(HomeError {
            what: "moving aside",
            path: file.to_owned(),
            source,
        })
    })
}

/// Whether anything stands at `path`, a dangling link included.
fn exists(path: &Path) -> Result<bool, FirstRunError> {
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

// === impl Change ===

impl Change {
    /// As a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Keep => "keep",
            Self::Replace => "replace",
        }
    }
}

// === impl InitError ===

impl InitError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Exists { .. } => "`legation governance diff` shows what differs; `--force` \
                                    replaces the files and keeps the old ones as NAME.old."
                .to_owned(),
            Self::Write(error) => error.hint(),
        }
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
                "Restore the file from a backup, or remove governance/template and start \
                 again to have the personal template written anew."
                    .to_owned()
            }
            Self::Read(error) => format!("Check that you may read {}.", error.path.display()),
        }
    }
}

#[cfg(test)]
mod tests;
