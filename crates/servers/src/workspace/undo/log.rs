//! The files below `undo`: one folder for each piece of work, one sealed file
//! for each batch.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use legation_core::home::{create_private_dir, write_private};
use legation_core::id::hex;
use legation_core::{EntityId, EntityLabels, Home, TaskId};
use legation_keystore::{Key, Keystore};
use sha2::{Digest as _, Sha256};

use super::super::root::Seen;
use super::LogError;
use super::batch::{Batch, State};

/// Most bytes of copies that are kept of one piece of work.
const COPIES_MAX: u64 = 256 << 20;
/// Longest name of a key, in bytes.
const KEY_NAME_MAX: usize = 100;

/// What is kept of one piece of work.
#[derive(Debug)]
pub(super) struct Log {
    folder: PathBuf,
    /// What the names of its files are bound to.
    name: String,
    next: u32,
    copies: u64,
    /// Files whose content is kept as they are now, by the folder worked in.
    kept: HashMap<PathBuf, HashMap<PathBuf, Seen>>,
}

/// The folder of a piece of work. An id that could mean another path is not
/// taken as a name.
pub(super) fn folder(home: &Home, task: &TaskId) -> PathBuf {
    home.undo().join(name_of(task))
}

fn name_of(task: &TaskId) -> String {
    let id = task.as_str();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=80).contains(&id.len()) && id.bytes().all(plain) {
        return id.to_owned();
    }
    hex(&Sha256::digest(id.as_bytes()))
}

// === impl Log ===

impl Log {
    pub(super) fn open(home: &Home, task: &TaskId) -> Result<Self, LogError> {
        let mut log = Self {
            folder: folder(home, task),
            name: name_of(task),
            next: 0,
            copies: 0,
            kept: HashMap::new(),
        };
        for (number, path) in log.files()? {
            log.next = log.next.max(number + 1);
            log.copies += fs::metadata(path).map_or(0, |found| found.len());
        }
        Ok(log)
    }

    /// Adds a batch, which is on disk when this returns. Past the bound the
    /// copies are left out, and said to be.
    pub(super) fn add(
        &mut self,
        keystore: &Keystore,
        labels: &EntityLabels,
        batch: &Batch,
    ) -> Result<(), LogError> {
        let lighter;
        let mut batch = batch;
        if self.copies + batch.copies() > COPIES_MAX {
            lighter = without_copies(batch);
            batch = &lighter;
        }
        create_private_dir(&self.folder).map_err(|source| LogError::Home { source })?;
        let names = key_names(labels);
        let beside = self.beside(self.next, &names);
        let mut bytes = batch.to_bytes();
        for name in names.split(',') {
            let key = keystore
                .key(name)
                .map_err(|source| LogError::Keys { source })?;
            let sealed = key.seal(&beside, &bytes);
            bytes = sealed.map_err(|source| LogError::Keys { source })?;
        }
        let mut file = names.into_bytes();
        file.push(b'\n');
        file.append(&mut bytes);
        let path = self.folder.join(format!("{:06}", self.next));
        write_private(&path, &file).map_err(|source| LogError::Home { source })?;
        self.next += 1;
        self.copies += file.len() as u64;
        Ok(())
    }

    /// Every batch, in order.
    pub(super) fn read_all(&self, keystore: &Keystore) -> Result<Vec<Batch>, LogError> {
        let mut batches = Vec::new();
        for (number, path) in self.files()? {
            let bytes = fs::read(path).map_err(|source| LogError::Disk { source })?;
            batches.push(self.open_batch(keystore, number, &bytes)?);
        }
        Ok(batches)
    }

    /// The files whose content is not kept as it is now.
    pub(super) fn not_kept(
        &self,
        folder: &Path,
        files: &BTreeMap<PathBuf, Seen>,
    ) -> Vec<(PathBuf, Seen)> {
        let kept = self.kept.get(folder);
        let is_kept = |path: &PathBuf, seen: &Seen| {
            kept.and_then(|kept| kept.get(path))
                .is_some_and(|known| known == seen)
        };
        files
            .iter()
            .filter(|(path, seen)| !is_kept(path, seen))
            .map(|(path, seen)| (path.clone(), *seen))
            .collect()
    }

    pub(super) fn kept(&mut self, folder: &Path, files: Vec<(PathBuf, Seen)>) {
        self.kept
            .entry(folder.to_owned())
            .or_default()
            .extend(files);
    }

    /// What was kept may not be what the files hold any more.
    pub(super) fn forget_snapshot(&mut self) {
        self.kept.clear();
    }

    fn open_batch(&self, keystore: &Keystore, number: u32, file: &[u8]) -> Result<Batch, LogError> {
        let end = file.iter().position(|byte| *byte == b'\n');
        let (names, sealed) = file.split_at(end.ok_or(LogError::Sealed)?);
        let names = std::str::from_utf8(names).map_err(|_| LogError::Sealed)?;
        let beside = self.beside(number, names);
        let mut bytes = sealed[1..].to_vec();
        for name in names.rsplit(',') {
            let key: Option<Key> = keystore
                .existing(name)
                .map_err(|source| LogError::Keys { source })?;
            let key = key.ok_or(LogError::Sealed)?;
            let open = key.open(&beside, &bytes).map_err(|_| LogError::Sealed)?;
            bytes = open.to_vec();
        }
        Batch::from_bytes(&bytes).ok_or(LogError::Sealed)
    }

    fn beside(&self, number: u32, names: &str) -> Vec<u8> {
        format!("undo {} {number} {names}", self.name).into_bytes()
    }

    /// Number and path of each file, in order.
    fn files(&self) -> Result<BTreeMap<u32, PathBuf>, LogError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(source) => return Err(LogError::Disk { source }),
        };
        let mut files = BTreeMap::new();
        for entry in entries {
            let entry = entry.map_err(|source| LogError::Disk { source })?;
            let name = entry.file_name();
            // What a crash left of a write has another name.
            if let Some(number) = name.to_str().and_then(|name| name.parse().ok()) {
                files.insert(number, entry.path());
            }
        }
        Ok(files)
    }
}

fn without_copies(batch: &Batch) -> Batch {
    let mut lighter = batch.clone();
    for entry in &mut lighter.entries {
        if matches!(entry.state, State::File { .. }) {
            entry.state = State::Unkept {
                why: format!(
                    "the task changed so much that no more copies were kept ({} MiB)",
                    COPIES_MAX >> 20
                ),
            };
        }
    }
    lighter
}

/// The keys under which something is sealed, one after another: with one of
/// them destroyed it opens no more.
fn key_names(labels: &EntityLabels) -> String {
    let personal = [EntityId::personal()];
    let entities = match labels.as_slice() {
        [] => &personal[..],
        several => several,
    };
    let names: Vec<String> = entities.iter().map(key_name).collect();
    names.join(",")
}

fn key_name(entity: &EntityId) -> String {
    let name = format!("undo-{}", hex(entity.as_str().as_bytes()));
    if name.len() <= KEY_NAME_MAX {
        return name;
    }
    // Cut, two entities could have one key, and end with one of them.
    format!("undo-{}", hex(&Sha256::digest(entity.as_str().as_bytes())))
}
