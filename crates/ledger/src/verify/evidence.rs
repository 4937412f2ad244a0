//! What the chains are compared with: checkpoints of the store and of wherever
//! they were exported to, and the keys that sign them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use legation_core::EntityId;
use legation_store::{CheckpointRow, LedgerRow};
use memchr::memmem;

use super::{Fault, FaultKind, Report};
use crate::chain::Hash;
use crate::checkpoint::{Announced, Checkpoint, KEY_TOPIC, PublicKey, hub_entity, split};
use crate::stored::Record;

/// Longest file that can be a checkpoint, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// What somebody holds against the ledger: exported checkpoints, and keys that
/// are trusted. Without keys the first one that the ledger names is believed.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    notes: Vec<(String, String)>,
    keys: Vec<PublicKey>,
}

/// A folder of exported checkpoints could not be read.
#[derive(Debug, thiserror::Error)]
#[error("reading the checkpoints in {} failed; nothing was compared", path.display())]
pub struct EvidenceError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// Checkpoints on their way past the rows.
#[derive(Debug, Default)]
pub(super) struct Compared {
    statements: Vec<Statement>,
    chains: HashMap<EntityId, Wanted>,
    keys: Vec<PublicKey>,
    /// Records that name a signing key.
    announced: Vec<(Fault, String)>,
    bad: Vec<Fault>,
}

/// A checkpoint that could be read.
#[derive(Debug)]
struct Statement {
    name: String,
    note: String,
    checkpoint: Checkpoint,
}

/// Who signed a checkpoint.
enum Signed {
    /// A trusted key.
    Trusted,
    /// It names a trusted key, whose signature it is not.
    Falsely,
    /// Nobody who is trusted.
    Otherwise,
}

/// What checkpoints say of one chain.
#[derive(Debug, Default)]
struct Wanted {
    /// Statements and hashes by place.
    ends: BTreeMap<i64, Vec<(usize, Hash)>>,
    /// The last record walked.
    last: i64,
    /// Where the chain is the one that was signed, and by which statement.
    agreed: Vec<(i64, usize)>,
    /// Where it is not, and which statement says so.
    rewritten: Option<(i64, i64, usize)>,
}

// === impl Evidence ===

impl Evidence {
    /// Adds every file of a folder, and of folders in it, whose name ends in
    /// `.checkpoint`.
    ///
    /// # Errors
    /// See [`EvidenceError`].
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), EvidenceError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| EvidenceError { path, source }
        };
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for file in fs::read_dir(&folder).map_err(fail(&folder))? {
                let path = file.map_err(fail(&folder))?.path();
                let about = fs::symlink_metadata(&path).map_err(fail(&path))?;
                if about.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "checkpoint") {
                    self.add_file(&path, about.len()).map_err(fail(&path))?;
                }
            }
        }
        self.notes.sort_unstable();
        Ok(())
    }

    fn add_file(&mut self, path: &Path, length: u64) -> io::Result<()> {
        // What is no text is no checkpoint either, and is reported as that.
        let bytes = if length <= FILE_MAX {
            fs::read(path)?
        } else {
            Vec::new()
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let name = path.file_name().unwrap_or(path.as_os_str());
        self.notes.push((name.to_string_lossy().into_owned(), text));
        Ok(())
    }

    /// Adds one checkpoint under a name for messages.
    pub fn add(&mut self, name: &str, note: &str) {
        self.notes.push((name.to_owned(), note.to_owned()));
    }

    /// Trusts this key, and keys it has vouched for.
    pub fn trust(&mut self, key: PublicKey) {
        self.keys.push(key);
    }

    pub(super) fn compared(&self, stored: &[CheckpointRow]) -> Compared {
        let mut compared = Compared {
            keys: self.keys.clone(),
            ..Compared::default()
        };
        for row in stored {
            let name = format!("{} of the store", row.size);
            let note = String::from_utf8_lossy(&row.note);
            compared.add(&name, &note, |checkpoint| {
                i64::try_from(checkpoint.size) == Ok(row.size) && checkpoint.origin == row.origin
            });
        }
        for (name, note) in &self.notes {
            compared.add(name, note, |_| true);
        }
        compared
    }
}

// === impl Compared ===

impl Compared {
    fn add(&mut self, name: &str, note: &str, fits: impl Fn(&Checkpoint) -> bool) {
        let Some(checkpoint) = Checkpoint::parse(note).ok().filter(fits) else {
            self.bad
                .push(of_checkpoint(FaultKind::BadCheckpoint, 0, name));
            return;
        };
        let index = self.statements.len();
        for head in &checkpoint.heads {
            let wanted = self
                .chains
                .entry(EntityId::new(head.entity.as_str()))
                .or_default();
            wanted
                .ends
                .entry(head.seq)
                .or_default()
                .push((index, head.hash));
        }
        self.statements.push(Statement {
            name: name.to_owned(),
            note: note.to_owned(),
            checkpoint,
        });
    }

    /// A record that is whole enough to have a place in its chain.
    pub(super) fn see(&mut self, row: &LedgerRow, hash: &Hash) {
        if let Some(wanted) = self.chains.get_mut(&row.entity) {
            wanted.see(row, hash, &self.statements);
        }
        if row.entity == hub_entity() && memmem::find(&row.bytes, KEY_TOPIC.as_bytes()).is_some() {
            let record = serde_json::from_slice::<Record>(&row.bytes).ok();
            let text = record
                .filter(|record| record.topic.as_deref() == Some(KEY_TOPIC))
                .and_then(|record| record.text);
            let fault = Fault {
                position: row.position,
                entity: row.entity.clone(),
                seq: row.seq,
                kind: FaultKind::KeyChanged,
                checkpoint: None,
            };
            self.announced.extend(text.map(|text| (fault, text)));
        }
    }

    pub(super) fn finish(mut self, report: &mut Report) {
        report.checkpoints = self.statements.len() as u64;
        for fault in std::mem::take(&mut self.bad) {
            report.add(fault);
        }
        self.differences(report);
        let unvouched = self.trust();
        let (mut covered, mut known) = (0, 0);
        let mut unsigned = Vec::new();
        for statement in &self.statements {
            match statement.signed_by(&self.keys) {
                Signed::Trusted => {
                    covered = covered.max(statement.checkpoint.size);
                    known = known.max(statement.end_of(&hub_entity()));
                }
                Signed::Falsely => {
                    let kind = FaultKind::BadCheckpoint;
                    report.add(of_checkpoint(kind, 0, &statement.name));
                }
                Signed::Otherwise => unsigned.push(statement),
            }
        }
        // Whatever a trusted checkpoint covers it vouches for.
        for fault in unvouched {
            if fault.seq > known {
                report.add(fault);
            }
        }
        for statement in unsigned {
            if statement.checkpoint.size > covered {
                let size = i64::try_from(statement.checkpoint.size).unwrap_or(i64::MAX);
                report.add(of_checkpoint(FaultKind::KeyChanged, size, &statement.name));
            }
        }
        report.covered = covered;
        report.keys = self.keys.iter().map(ToString::to_string).collect();
    }

    /// Where chains differ from what was signed.
    fn differences(&self, report: &mut Report) {
        let chains: BTreeMap<_, _> = self.chains.iter().collect();
        for (entity, wanted) in chains {
            let fault = |position, seq, kind, index: usize| Fault {
                position,
                entity: entity.clone(),
                seq,
                kind,
                checkpoint: Some(self.statements[index].name.clone()),
            };
            if let Some((position, seq, index)) = wanted.rewritten {
                report.add(fault(position, seq, FaultKind::Rewritten, index));
            }
            let beyond = wanted.ends.range(wanted.last + 1..).next();
            if let Some((index, _)) = beyond.and_then(|(_, ends)| ends.first()) {
                report.add(fault(0, wanted.last + 1, FaultKind::Cut, *index));
            }
        }
    }

    /// Adds the keys that trusted ones vouch for, in the order of the chain,
    /// and returns the records of the others.
    fn trust(&mut self) -> Vec<Fault> {
        let mut unvouched = Vec::new();
        for (fault, text) in std::mem::take(&mut self.announced) {
            let Some(announced) = Announced::parse(&text) else {
                unvouched.push(fault);
                continue;
            };
            if self.keys.is_empty() || announced.is_vouched_for(&self.keys) {
                if !self.keys.contains(&announced.key) {
                    self.keys.push(announced.key);
                }
            } else {
                unvouched.push(fault);
            }
        }
        unvouched
    }
}

// === impl Wanted ===

impl Wanted {
    fn see(&mut self, row: &LedgerRow, hash: &Hash, statements: &[Statement]) {
        self.last = row.seq;
        let Some(ends) = self.ends.get(&row.seq) else {
            return;
        };
        if let Some((index, _)) = ends.iter().find(|(_, wanted)| wanted != hash)
            && self.rewritten.is_none()
        {
            // What was signed later may be of the new chain already.
            let time = |index: usize| &statements[index].checkpoint.time;
            let before = self
                .agreed
                .iter()
                .filter(|(_, agreeing)| time(*agreeing) <= time(*index));
            let agreed = before.map(|(seq, _)| *seq).max().unwrap_or(0);
            self.rewritten = Some((row.position, agreed + 1, *index));
        }
        let agreeing = ends.iter().filter(|(_, wanted)| wanted == hash);
        self.agreed
            .extend(agreeing.map(|(index, _)| (row.seq, *index)));
    }
}

// === impl Statement ===

impl Statement {
    fn signed_by(&self, keys: &[PublicKey]) -> Signed {
        let Ok((body, signatures)) = split(&self.note) else {
            return Signed::Otherwise;
        };
        if keys.iter().any(|key| key.signed(body, &signatures)) {
            Signed::Trusted
        } else if keys.iter().any(|key| key.is_named_by(&signatures)) {
            Signed::Falsely
        } else {
            Signed::Otherwise
        }
    }

    fn end_of(&self, entity: &EntityId) -> i64 {
        let heads = &self.checkpoint.heads;
        let head = heads.iter().find(|head| head.entity == entity.as_str());
        head.map_or(0, |head| head.seq)
    }
}

fn of_checkpoint(kind: FaultKind, size: i64, name: &str) -> Fault {
    Fault {
        position: 0,
        entity: hub_entity(),
        seq: size,
        kind,
        checkpoint: Some(name.to_owned()),
    }
}
