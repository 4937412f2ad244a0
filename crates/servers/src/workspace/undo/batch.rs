//! What is kept in one go: a few facts, then the copies.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use legation_core::id::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What a batch says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// What files held that are about to be changed.
    Before,
    /// What files held when a command was started that may change any.
    Snapshot,
    /// What files hold after a change.
    After,
    /// What files hold that a command changed, once it ended.
    Ended,
    /// What cannot be taken back.
    Note,
}

/// SHA-256 of a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest([u8; 32]);

/// What a file holds after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Now {
    Absent,
    Holds(Digest),
    /// It is a link, by the digest of where it leads.
    Leads(Digest),
    /// It could not be read whole.
    Unknown,
}

/// What is known of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// There was no such file.
    Absent,
    /// What it held.
    File { mode: u32, bytes: Vec<u8> },
    /// It was a link, and where it led by its own words.
    Link { target: Vec<u8> },
    /// No copy was kept.
    Unkept { why: String },
    /// There was no such folder.
    NoFolder,
    /// After a change.
    Now(Now),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Relative to the batch's folder.
    pub(super) path: PathBuf,
    pub(super) state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) kind: Kind,
    pub(super) folder: PathBuf,
    pub(super) note: Option<String>,
    pub(super) entries: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    kind: Kind,
    folder: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    entries: Vec<Line>,
}

/// Paths are written as hexadecimal: a name need not be text.
#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    #[serde(flatten)]
    state: Written,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum Written {
    Absent,
    File { mode: u32, length: usize },
    Link { target: String },
    Unkept { why: String },
    NoFolder,
    NowAbsent,
    NowHolds { digest: String },
    NowLeads { digest: String },
    NowUnknown,
}

// === impl Digest ===

impl Digest {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    fn read(text: &str) -> Option<Self> {
        unhex(text)?.try_into().ok().map(Self)
    }
}

// === impl State ===

impl State {
    /// What a file holds that is in this state; `None` where that is not known.
    pub(super) fn as_now(&self) -> Option<Now> {
        match self {
            Self::Absent => Some(Now::Absent),
            Self::File { bytes, .. } => Some(Now::Holds(Digest::of(bytes))),
            Self::Link { target } => Some(Now::Leads(Digest::of(target))),
            Self::Unkept { .. } | Self::NoFolder => None,
            Self::Now(now) => Some(*now),
        }
    }
}

// === impl Entry ===

impl Entry {
    pub(super) fn new(path: &Path, state: State) -> Self {
        Self {
            path: path.to_owned(),
            state,
        }
    }
}

// === impl Batch ===

impl Batch {
    pub(super) fn new(kind: Kind, folder: &Path, entries: Vec<Entry>) -> Self {
        Self {
            kind,
            folder: folder.to_owned(),
            note: None,
            entries,
        }
    }

    pub(super) fn note(folder: &Path, text: String) -> Self {
        Self {
            kind: Kind::Note,
            folder: folder.to_owned(),
            note: Some(text),
            entries: Vec::new(),
        }
    }

    /// How many bytes its copies have.
    pub(super) fn copies(&self) -> u64 {
        let lengths = self.entries.iter().map(|entry| match &entry.state {
            State::File { bytes, .. } => bytes.len() as u64,
            _ => 0,
        });
        lengths.sum()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let written = |state: &State| match state {
            State::Absent => Written::Absent,
            State::File { mode, bytes } => Written::File {
                mode: *mode,
                length: bytes.len(),
            },
            State::Link { target } => Written::Link {
                target: hex(target),
            },
            State::Unkept { why } => Written::Unkept { why: why.clone() },
            State::NoFolder => Written::NoFolder,
            State::Now(Now::Absent) => Written::NowAbsent,
            State::Now(Now::Holds(digest)) => Written::NowHolds {
                digest: hex(&digest.0),
            },
            State::Now(Now::Leads(digest)) => Written::NowLeads {
                digest: hex(&digest.0),
            },
            State::Now(Now::Unknown) => Written::NowUnknown,
        };
        let lines = self.entries.iter().map(|entry| Line {
            path: hex(entry.path.as_os_str().as_bytes()),
            state: written(&entry.state),
        });
        let head = Head {
            kind: self.kind,
            folder: hex(self.folder.as_os_str().as_bytes()),
            note: self.note.clone(),
            entries: lines.collect(),
        };
        let head = serde_json::to_vec(&head).expect("texts and numbers always serialise");
        let mut bytes = u32::try_from(head.len())
            .unwrap_or(u32::MAX)
            .to_le_bytes()
            .to_vec();
        bytes.extend_from_slice(&head);
        for entry in &self.entries {
            if let State::File { bytes: copy, .. } = &entry.state {
                bytes.extend_from_slice(copy);
            }
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (head, mut copies) = rest.split_at_checked(length)?;
        let head: Head = serde_json::from_slice(head).ok()?;
        let mut entries = Vec::with_capacity(head.entries.len());
        for line in head.entries {
            let state = match line.state {
                Written::Absent => State::Absent,
                Written::File { mode, length } => {
                    let (copy, after) = copies.split_at_checked(length)?;
                    copies = after;
                    State::File {
                        mode,
                        bytes: copy.to_vec(),
                    }
                }
                Written::Link { target } => State::Link {
                    target: unhex(&target)?,
                },
                Written::Unkept { why } => State::Unkept { why },
                Written::NoFolder => State::NoFolder,
                Written::NowAbsent => State::Now(Now::Absent),
                Written::NowHolds { digest } => State::Now(Now::Holds(Digest::read(&digest)?)),
                Written::NowLeads { digest } => State::Now(Now::Leads(Digest::read(&digest)?)),
                Written::NowUnknown => State::Now(Now::Unknown),
            };
            entries.push(Entry {
                path: path(&line.path)?,
                state,
            });
        }
        Some(Self {
            kind: head.kind,
            folder: path(&head.folder)?,
            note: head.note,
            entries,
        })
    }
}

fn path(text: &str) -> Option<PathBuf> {
    let bytes = unhex(text)?;
    let name: &OsStr = &std::ffi::OsString::from_vec(bytes);
    Some(PathBuf::from(name))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let byte = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    pairs.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_read_as_it_was_written() {
        let states = [
            State::Absent,
            State::File {
                mode: 0o640,
                bytes: b"\x00first\xff".to_vec(),
            },
            State::Unkept {
                why: "too long".to_owned(),
            },
            State::File {
                mode: 0o755,
                bytes: Vec::new(),
            },
            State::NoFolder,
            State::Link {
                target: b"../a\xff".to_vec(),
            },
            State::Now(Now::Absent),
            State::Now(Now::Holds(Digest::of(b"x"))),
            State::Now(Now::Leads(Digest::of(b"a"))),
            State::Now(Now::Unknown),
        ];
        let odd = PathBuf::from(std::ffi::OsString::from_vec(b"a\xffb".to_vec()));
        let entries = states.into_iter().map(|state| Entry::new(&odd, state));
        let batch = Batch::new(Kind::Snapshot, Path::new("/w"), entries.collect());
        let bytes = batch.to_bytes();
        assert_eq!(Batch::from_bytes(&bytes).as_ref(), Some(&batch));
        assert_eq!(batch.copies(), 7);
        for end in 0..bytes.len() {
            assert_eq!(Batch::from_bytes(&bytes[..end]), None, "cut at {end}");
        }
    }
}
