//! Going through the folder, by descriptors: nobody who swaps a folder for a
//! link while it is gone through leads out of it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use legation_core::Cancel;
use rustix::fs::{AtFlags, Dir, FileType};

use super::error::WorkspaceError;
use super::ignored::{IGNORE_MAX, Rules, is_ignored};
use super::root::{Root, Seen};
use super::text;

/// Most entries that one call looks at.
const ENTRIES_MAX: usize = 200_000;
/// Deepest folder that is gone into.
const DEPTH_MAX: usize = 64;
/// Ignore files, the later the stronger.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Goes through files in the order of their names.
#[derive(Debug)]
pub(super) struct Walk<'r> {
    root: &'r Root,
    cancel: &'r Cancel,
    ignored: bool,
    left: usize,
    /// What was not looked at, because there is too much.
    pub(super) cut: bool,
    /// The ignore files that were read.
    pub(super) rules: BTreeMap<PathBuf, Seen>,
}

/// What a visitor wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    GoOn,
    Stop,
}

struct Folder {
    path: PathBuf,
    rules: Vec<Arc<Rules>>,
    depth: usize,
}

// === impl Walk ===

impl<'r> Walk<'r> {
    /// `ignored` says that ignore files count for nothing.
    pub(super) fn new(root: &'r Root, cancel: &'r Cancel, ignored: bool) -> Self {
        Self {
            root,
            cancel,
            ignored,
            left: ENTRIES_MAX,
            cut: false,
            rules: BTreeMap::new(),
        }
    }

    /// Shows every file below `start`, which is relative to the folder, or
    /// `start` itself where it is a file.
    pub(super) fn run(
        &mut self,
        start: &Path,
        mut visit: impl FnMut(&Path, FileType) -> Next,
    ) -> Result<(), WorkspaceError> {
        let start = if start == Path::new(".") {
            PathBuf::new()
        } else {
            start.to_owned()
        };
        match self.open(&start) {
            Err(WorkspaceError::Kind { .. }) => {
                self.root.file(&start)?;
                visit(&start, FileType::RegularFile);
                return Ok(());
            }
            opened => drop(opened?),
        }
        let mut rules = Vec::new();
        // What stands above the start counts too.
        let mut above = PathBuf::new();
        for step in &start {
            self.add_rules(&above, &mut rules);
            above.push(step);
        }
        let mut open = vec![Folder {
            depth: start.components().count(),
            path: start,
            rules,
        }];
        while let Some(folder) = open.pop() {
            if self.cancel.reason().is_some() {
                return Err(WorkspaceError::Cancelled);
            }
            let Ok(opened) = self.open(&folder.path) else {
                // It went away, or nobody may read it.
                continue;
            };
            let mut rules = folder.rules;
            self.add_rules(&folder.path, &mut rules);
            let mut below = Vec::new();
            for (name, kind) in self.entries(&opened) {
                let path = folder.path.join(&name);
                let is_folder = kind == FileType::Directory;
                if is_folder && name == ".git" || is_ignored(&rules, &path, is_folder) {
                    continue;
                }
                if !is_folder {
                    if visit(&path, kind) == Next::Stop {
                        return Ok(());
                    }
                } else if folder.depth < DEPTH_MAX {
                    below.push(path);
                } else {
                    self.cut = true;
                }
            }
            open.extend(below.into_iter().rev().map(|path| Folder {
                path,
                rules: rules.clone(),
                depth: folder.depth + 1,
            }));
        }
        Ok(())
    }

    fn open(&self, path: &Path) -> Result<OwnedFd, WorkspaceError> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        self.root.folder(path)
    }

    /// The names in a folder, in order.
    fn entries(&mut self, folder: &OwnedFd) -> Vec<(OsString, FileType)> {
        let mut found = Vec::new();
        let Ok(entries) = Dir::read_from(folder) else {
            return found;
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if self.left == 0 {
                self.cut = true;
                break;
            }
            self.left -= 1;
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat =
                        rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                    stat.map_or(FileType::Unknown, |stat| {
                        FileType::from_raw_mode(stat.st_mode)
                    })
                }
                kind => kind,
            };
            found.push((OsString::from_vec(name.to_vec()), kind));
        }
        found.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        found
    }

    fn add_rules(&mut self, folder: &Path, rules: &mut Vec<Arc<Rules>>) {
        if self.ignored {
            return;
        }
        let mut files: Vec<PathBuf> = IGNORE_FILES.map(|name| folder.join(name)).into();
        if folder.as_os_str().is_empty() {
            files.insert(0, PathBuf::from(".git/info/exclude"));
        }
        for file in files {
            // One that cannot be read leaves nothing out.
            let Ok((_, seen)) = self.root.file(&file) else {
                continue;
            };
            self.rules.insert(file.clone(), seen);
            if seen.bytes > IGNORE_MAX {
                continue;
            }
            let text = self.root.bytes(&file).ok();
            let text = text.and_then(|(bytes, _)| text::decode(&bytes));
            let read = text.and_then(|(text, _)| Rules::read(folder, &text));
            rules.extend(read.map(Arc::new));
        }
    }
}
