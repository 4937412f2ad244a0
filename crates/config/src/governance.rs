//! The governance files, as they lie on the disk.
//!
//! Rules are only worth as much as the file they stand in. A file that another
//! user could have written, that is reached through a link, or that is not
//! plain text is not read but reported as [`Found::Unusable`], and the policy
//! denies what it governs. What a file says is none of this crate's business.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use legation_core::Home;

use crate::environment::Environment;

/// The files of the governance folder.
pub const NAMES: [&str; 12] = [
    "operator_profile.json",
    "role_cards.json",
    "hard_bans.json",
    "autonomy_ladder.json",
    "llm_provider.json",
    "output_contracts.json",
    "brief_config.json",
    "urgency_rules.json",
    "draft_style.json",
    "para_rules.json",
    "policy.cedar",
    "permissions.toml",
];

/// The folder below the governance folder that holds rosters.
const ROSTERS: &str = "rosters";

/// Names the template a governance folder began with. A folder without it was
/// never finished, and the next start finishes it.
const MARKER: &str = "template";

/// The policy of the organisation this machine belongs to.
const ENTERPRISE: &str = "/etc/legation/policy.toml";

/// Names a second enterprise policy, which is read in addition and so can only
/// take away.
const ENTERPRISE_VARIABLE: &str = "LEGATION_ENTERPRISE_POLICY";

/// The rules that a folder brings along; they may only deny and ask.
const WORKSPACE_RULES: &str = ".legation/permissions.toml";

/// The largest governance file, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The most rosters. More are a mistake, and all are held in memory.
const MAX_ROSTERS: usize = 256;

/// What stands at a path. `Debug` shows no text.
#[derive(Clone, PartialEq, Eq)]
pub enum Found {
    /// A file that can be believed: its text.
    Text(String),
    /// Nothing.
    Absent,
    /// Something that cannot be believed: why.
    Unusable(String),
}

/// Everything that governs, unread.
#[derive(Clone, Debug)]
pub struct Files {
    /// The files of [`NAMES`].
    pub named: BTreeMap<&'static str, Found>,
    /// Rosters, by the name that `roster_files` uses.
    pub rosters: BTreeMap<Box<str>, Found>,
    /// Rules of folders: the folder, its file. Only of folders that have one.
    pub workspaces: Vec<(Box<str>, Found)>,
    /// Enterprise policies.
    pub enterprise: Vec<Found>,
}

/// Who may have written a file for it to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writers {
    /// Its owner alone, who must be this user or the system's.
    Owner,
    /// Anybody: it can only take away.
    Anyone,
}

/// Reads everything that governs, for clients that work in `folders`.
pub fn read(home: &Home, environment: &Environment, folders: &[PathBuf]) -> Files {
    read_folder(&home.governance(), environment, folders)
}

/// As [`read`], with another folder in the place of the governance folder.
pub fn read_folder(folder: &Path, environment: &Environment, folders: &[PathBuf]) -> Files {
    let closed = closed_folder(folder);
    let one = |name: &str| match &closed {
        Ok(()) => find(&folder.join(name), Writers::Owner),
        Err(why) => Found::Unusable(why.clone()),
    };
    Files {
        named: NAMES.into_iter().map(|name| (name, one(name))).collect(),
        rosters: rosters(folder, one),
        workspaces: workspace_files(folders)
            .into_iter()
            .map(|(folder, file)| (folder, find(&file, Writers::Anyone)))
            .filter(|(_, found)| *found != Found::Absent)
            .collect(),
        enterprise: enterprise_files(environment)
            .iter()
            .map(|file| find(file, Writers::Owner))
            .collect(),
    }
}

/// The files whose change may change what governs; they need not exist.
pub fn watched(home: &Home, environment: &Environment, folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = home_files(home);
    files.extend(enterprise_files(environment));
    files.extend(workspace_files(folders).into_iter().map(|(_, file)| file));
    files
}

/// Those of them in the data directory.
pub(crate) fn home_files(home: &Home) -> Vec<PathBuf> {
    let folder = home.governance();
    let mut files: Vec<PathBuf> = NAMES.iter().map(|name| folder.join(name)).collect();
    files.push(marker(home));
    let rosters = folder.join(ROSTERS);
    if let Ok(names) = roster_names(&rosters) {
        files.extend(names.iter().map(|name| folder.join(&**name)));
    }
    // The folder itself changes when a roster comes or goes.
    files.push(rosters);
    files
}

/// The file that names the template.
pub fn marker(home: &Home) -> PathBuf {
    home.governance().join(MARKER)
}

/// The template that the governance folder began with; `None` before it has
/// one, or when the file cannot be believed.
pub fn template(home: &Home) -> Option<String> {
    match find(&marker(home), Writers::Owner) {
        Found::Text(text) => Some(text.trim().to_owned()),
        Found::Absent | Found::Unusable(_) => None,
    }
}

/// Reads one file as carefully as a governance file.
pub fn read_one(path: &Path) -> Found {
    find(path, Writers::Owner)
}

fn enterprise_files(environment: &Environment) -> Vec<PathBuf> {
    let extra = environment
        .get_os(ENTERPRISE_VARIABLE)
        .filter(|path| !path.is_empty());
    let standard = PathBuf::from(ENTERPRISE);
    [standard]
        .into_iter()
        .chain(extra.map(PathBuf::from))
        .collect()
}

fn workspace_files(folders: &[PathBuf]) -> Vec<(Box<str>, PathBuf)> {
    let mut files: Vec<(Box<str>, PathBuf)> = Vec::new();
    for folder in folders {
        for level in crate::servers::workspace_levels(folder) {
            // A folder whose name is not Unicode cannot be named by a client.
            if let Some(text) = level.to_str()
                && files.iter().all(|(known, _)| **known != *text)
            {
                files.push((text.into(), level.join(WORKSPACE_RULES)));
            }
        }
    }
    files
}

fn rosters(folder: &Path, one: impl Fn(&str) -> Found) -> BTreeMap<Box<str>, Found> {
    let place = folder.join(ROSTERS);
    let closed = closed_folder(&place);
    let names = match roster_names(&place) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return BTreeMap::new(),
        Err(error) => {
            tracing::warn!(%error, "the rosters cannot be listed");
            return BTreeMap::new();
        }
    };
    names
        .into_iter()
        .map(|name| {
            let found = match &closed {
                Ok(()) => one(&name),
                Err(why) => Found::Unusable(why.clone()),
            };
            (name, found)
        })
        .collect()
}

/// `rosters/NAME` for each of them, in order.
fn roster_names(place: &Path) -> io::Result<Vec<Box<str>>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(place)? {
        if let Some(name) = entry?.file_name().to_str()
            && !name.starts_with('.')
        {
            names.push(format!("{ROSTERS}/{name}").into_boxed_str());
        }
    }
    names.sort_unstable();
    names.truncate(MAX_ROSTERS);
    Ok(names)
}

/// Whether others can put files into a folder: then none in it is believed.
fn closed_folder(folder: &Path) -> Result<(), String> {
    let stat = match fs::symlink_metadata(folder) {
        Ok(stat) => stat,
        // Its files are then absent, which says more.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("its folder cannot be looked at: {error}")),
    };
    if stat.is_symlink() {
        return Err("its folder is a symbolic link".to_owned());
    }
    writers(&stat).map_err(|why| format!("its folder {why}"))
}

fn find(path: &Path, writers: Writers) -> Found {
    match look(path, writers) {
        Ok(Some(text)) => Found::Text(text),
        Ok(None) => Found::Absent,
        Err(why) => Found::Unusable(why),
    }
}

fn look(path: &Path, who: Writers) -> Result<Option<String>, String> {
    // Looked at before it is opened, for a better word than "loop" on a link;
    // the checks that count are made on the open file, which nobody can swap.
    match fs::symlink_metadata(path) {
        Ok(stat) if stat.is_symlink() => return Err("is a symbolic link".to_owned()),
        Ok(_) => {}
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(format!("cannot be looked at: {error}")),
    }
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(format!("cannot be opened: {error}")),
    };
    let stat = file
        .metadata()
        .map_err(|error| format!("cannot be looked at: {error}"))?;
    if !stat.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if who == Writers::Owner {
        writers(&stat)?;
    }
    text_of(file).map(Some)
}

/// Follows no link at the end of the path, and waits for nobody at a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn writers(stat: &fs::Metadata) -> Result<(), String> {
    let mode = stat.mode();
    if mode & 0o002 != 0 {
        return Err("can be written by every user".to_owned());
    }
    if mode & 0o020 != 0 {
        return Err("can be written by its group".to_owned());
    }
    let me = rustix::process::geteuid().as_raw();
    if stat.uid() != me && stat.uid() != 0 {
        return Err("belongs to another user".to_owned());
    }
    Ok(())
}

fn text_of(file: File) -> Result<String, String> {
    let length = file.metadata().map_or(0, |found| found.len());
    let mut bytes = Vec::with_capacity(length.min(MAX_BYTES) as usize + 1);
    let read = file
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if read as u64 > MAX_BYTES {
        return Err("is larger than 1 MiB".to_owned());
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err("begins with a byte-order mark".to_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        format!("is not UTF-8 (line {line})")
    })
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

// === impl Found ===

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Absent => f.write_str("Absent"),
            Self::Unusable(why) => write!(f, "Unusable({why})"),
        }
    }
}

#[cfg(test)]
mod tests;
