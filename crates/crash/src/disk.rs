//! A disk that has lost power.
//!
//! What was synced is there. Of everything else since, any part may be there:
//! each write whole, torn at a sector, or not at all, whatever its order; each
//! new name, other name, removal and cut likewise. A change of a name is in one
//! piece: no file system loses a file by giving it another name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use crate::random::Random;
use crate::trace::Operation;

mod luck;

use luck::Luck;

/// The folder that is recorded.
const ROOT: usize = 0;

/// What the disk holds for certain, and what it may hold.
#[derive(Debug)]
pub struct Disk {
    nodes: Vec<Node>,
}

/// How much of what was not synced is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Nothing.
    None,
    /// Everything.
    All,
    /// What was done first.
    First,
    /// All but one.
    AllButOne,
    /// Any part.
    Any,
    /// Any part, and torn.
    Torn,
}

/// Files and folders by their names, from the recorded folder on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Image {
    /// The folders.
    pub folders: BTreeSet<String>,
    /// The files, and what is in them.
    pub files: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug)]
enum Node {
    File(File),
    Folder(Folder),
}

#[derive(Debug, Default)]
struct File {
    durable: Vec<u8>,
    pending: Vec<(usize, Change)>,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { size: usize },
}

#[derive(Debug, Default)]
struct Folder {
    /// Names that are durable, and those as the running program sees them.
    names: BTreeMap<String, usize>,
    seen: BTreeMap<String, usize>,
    /// Changes of names since the folder was synced, with when they were made.
    changes: Vec<(usize, Named)>,
}

#[derive(Debug, Clone)]
enum Named {
    Put {
        name: String,
        node: usize,
    },
    Gone {
        name: String,
    },
    Moved {
        from: String,
        to: String,
        node: usize,
    },
}

// === impl Disk ===

impl Default for Disk {
    fn default() -> Self {
        Self {
            nodes: vec![Node::Folder(Folder::default())],
        }
    }
}

impl Disk {
    /// Does the operation that is the `index`-th of its run.
    pub fn apply(&mut self, index: usize, operation: &Operation) {
        match operation {
            Operation::Create { file } => self.create(index, file, Node::File(File::default())),
            Operation::Folder { name } => {
                self.create(index, name, Node::Folder(Folder::default()));
            }
            Operation::Remove { name } => {
                let (folder, name) = split(name);
                let name = name.to_owned();
                self.name(index, folder, Named::Gone { name });
            }
            Operation::Rename { from, to } => {
                let (folder, from, to) = (split(from).0, split(from).1, split(to).1);
                if let Some(node) = self.find(&joined(folder, from)) {
                    let (from, to) = (from.to_owned(), to.to_owned());
                    self.name(index, folder, Named::Moved { from, to, node });
                }
            }
            Operation::Write {
                file,
                offset,
                bytes,
            } => {
                let (offset, bytes) = (*offset, bytes.clone());
                self.change(index, file, Change::Write { offset, bytes });
            }
            Operation::Truncate { file, size } => {
                self.change(index, file, Change::Truncate { size: *size });
            }
            Operation::Sync { name, begun } => {
                if let Some(node) = self.find(name) {
                    self.nodes[node].sync(*begun);
                }
            }
            Operation::Fact(_) => {}
        }
    }

    /// How long a file is as the running program sees it, in bytes.
    #[must_use]
    pub fn size(&self, file: &str) -> usize {
        match self.find(file).map(|node| &self.nodes[node]) {
            Some(Node::File(file)) => file.size(),
            _ => 0,
        }
    }

    fn create(&mut self, index: usize, path: &str, node: Node) {
        if self.find(path).is_some() {
            return;
        }
        self.nodes.push(node);
        let node = self.nodes.len() - 1;
        let (folder, name) = split(path);
        let name = name.to_owned();
        self.name(index, folder, Named::Put { name, node });
    }

    fn name(&mut self, index: usize, folder: &str, change: Named) {
        // A folder whose name is gone is nobody's any more.
        let Some(node) = self.find(folder) else {
            return;
        };
        if let Node::Folder(folder) = &mut self.nodes[node] {
            change.happen(&mut folder.seen);
            folder.changes.push((index, change));
        }
    }

    fn change(&mut self, index: usize, path: &str, change: Change) {
        let Some(node) = self.find(path) else {
            return;
        };
        if let Node::File(file) = &mut self.nodes[node] {
            file.pending.push((index, change));
        }
    }

    /// What a name means to the running program.
    fn find(&self, path: &str) -> Option<usize> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        let mut node = ROOT;
        for part in parts {
            let Node::Folder(folder) = &self.nodes[node] else {
                return None;
            };
            node = *folder.seen.get(part)?;
        }
        Some(node)
    }

    /// How many changes are not synced.
    #[must_use]
    pub fn pending(&self) -> usize {
        let counts = self.nodes.iter().map(|node| match node {
            Node::File(file) => file.pending.len(),
            Node::Folder(folder) => folder.changes.len(),
        });
        counts.sum()
    }

    /// The files after the power has failed.
    pub fn image(&self, fate: Fate, random: &mut Random) -> Image {
        let mut luck = Luck::new(fate, self.pending(), random);
        let mut image = Image::default();
        self.gather(ROOT, "", &mut luck, &mut image);
        image
    }

    fn gather(&self, node: usize, path: &str, luck: &mut Luck<'_>, image: &mut Image) {
        match &self.nodes[node] {
            Node::File(file) => {
                let mut bytes = file.durable.clone();
                for (_, change) in &file.pending {
                    luck.let_happen(&mut bytes, change);
                }
                image.files.insert(path.to_owned(), bytes);
            }
            Node::Folder(folder) => {
                if !path.is_empty() {
                    image.folders.insert(path.to_owned());
                }
                let mut names = folder.names.clone();
                for (_, change) in &folder.changes {
                    if luck.keeps() {
                        change.happen(&mut names);
                    }
                }
                for (name, node) in names {
                    self.gather(node, &joined(path, &name), luck, image);
                }
            }
        }
    }
}

fn joined(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

/// The folder of a name, and the name in it.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

// === impl Image ===

impl Image {
    /// Puts it into a folder, in the place of what is there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn lay(&self, place: &Path) -> io::Result<()> {
        for entry in fs::read_dir(place)? {
            let path = entry?.path();
            match path.is_dir() {
                true => fs::remove_dir_all(path)?,
                false => fs::remove_file(path)?,
            }
        }
        for folder in &self.folders {
            fs::create_dir(place.join(folder))?;
        }
        for (name, bytes) in &self.files {
            fs::write(place.join(name), bytes)?;
        }
        Ok(())
    }
}

// === impl Node ===

impl Node {
    fn sync(&mut self, begun: usize) {
        match self {
            Self::File(file) => {
                let left = file.pending.partition_point(|(index, _)| *index < begun);
                for (_, change) in file.pending.drain(..left) {
                    change.happen(&mut file.durable);
                }
            }
            Self::Folder(folder) => {
                let left = folder.changes.partition_point(|(index, _)| *index < begun);
                for (_, change) in folder.changes.drain(..left) {
                    change.happen(&mut folder.names);
                }
            }
        }
    }
}

impl File {
    fn size(&self) -> usize {
        let pending = self.pending.iter();
        pending.fold(self.durable.len(), |size, (_, change)| match change {
            Change::Write { offset, bytes } => size.max(offset + bytes.len()),
            Change::Truncate { size } => *size,
        })
    }
}

impl Named {
    fn happen(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Put { name, node } => {
                names.insert(name.clone(), *node);
            }
            Self::Gone { name } => {
                names.remove(name);
            }
            Self::Moved { from, to, node } => {
                names.remove(from);
                names.insert(to.clone(), *node);
            }
        }
    }
}

impl Change {
    fn happen(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write {
                offset,
                bytes: more,
            } => put(bytes, *offset, more),
            Self::Truncate { size } => bytes.resize(*size, 0),
        }
    }
}

/// Writes, with zeros where there was nothing before.
fn put(bytes: &mut Vec<u8>, offset: usize, more: &[u8]) {
    let end = offset + more.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(more);
}
