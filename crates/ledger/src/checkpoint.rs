//! Signed statements of where every chain ends, in the form of C2SP
//! `tlog-checkpoint`: origin, size, root, extension lines, signatures.
//!
//! The extension lines hold the end of each chain, and the root is a hash over
//! exactly those lines. A verifier that walks the chains has their hashes at
//! hand, so that checking ten thousand checkpoints costs ten thousand look-ups.
//! A Merkle tree over the records was rejected: it would prove one record
//! without the others, which nobody asks of a ledger that its owner keeps
//! whole, and costs both verifiers a hash a record and more state. Against a
//! checkpoint kept elsewhere a chain that was cut off, put back to an older
//! state or written anew shows all the same, because its hash at a place that
//! the checkpoint names is another one, or none.

mod announced;
mod maker;
mod note;

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use legation_core::Wall;
use sha2::{Digest as _, Sha256};

use crate::chain::Hash;

pub(crate) use announced::{Announced, KEY_TOPIC, hub_entity};
pub use maker::Made;
pub(crate) use maker::Maker;
pub(crate) use note::split;
pub use note::{NoteError, PublicKey, PublicKeyError};

/// What one checkpoint says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which ledger.
    pub origin: String,
    /// How many records there were, over all chains.
    pub size: u64,
    /// When it was made, RFC 3339.
    pub time: String,
    /// The chains' ends, in the order of the entities' names.
    pub heads: Vec<Head>,
}

/// The end of one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Whose.
    pub entity: String,
    /// Its last record's place.
    pub seq: i64,
    /// Its last record's hash.
    pub hash: [u8; 32],
}

/// A checkpoint's text is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// It is no signed note.
    #[error("it is no signed note")]
    Note {
        /// Why not.
        #[source]
        source: NoteError,
    },
    /// A line is not what it must be.
    #[error("its line {line} is not what stands there in a checkpoint")]
    Line {
        /// From 1.
        line: usize,
    },
    /// Size or root are not those of its heads.
    #[error("its size or root is not that of its own lines")]
    Root,
}

/// What the root's hash begins with, so that it is a hash of nothing else.
const ROOT: &[u8] = b"legation heads\n";

// === impl Checkpoint ===

impl Checkpoint {
    /// A checkpoint of these ends at a time.
    pub(crate) fn new(origin: &str, at: Wall, mut heads: Vec<Head>) -> Self {
        heads.sort_unstable_by(|a, b| a.entity.cmp(&b.entity));
        Self {
            origin: origin.to_owned(),
            size: heads.iter().map(|head| head.seq.unsigned_abs()).sum(),
            time: at.to_string(),
            heads,
        }
    }

    /// The text that is signed.
    pub(crate) fn body(&self) -> String {
        let lines = self.head_lines();
        let root = BASE64.encode(root(&lines));
        format!(
            "{}\n{}\n{root}\ntime {}\n{lines}",
            self.origin, self.size, self.time
        )
    }

    /// Reads a signed checkpoint; its signatures are not checked.
    ///
    /// # Errors
    /// See [`CheckpointError`].
    pub fn parse(text: &str) -> Result<Self, CheckpointError> {
        let (body, _) = split(text).map_err(|source| CheckpointError::Note { source })?;
        Self::parse_body(body)
    }

    pub(crate) fn parse_body(body: &str) -> Result<Self, CheckpointError> {
        let mut lines = body.lines().enumerate();
        let bad = |line: usize| CheckpointError::Line { line: line + 1 };
        let mut next = |line: usize| lines.next().map(|(_, text)| text).ok_or_else(|| bad(line));
        let origin = next(0)?.to_owned();
        let size = next(1)?.parse().map_err(|_| bad(1))?;
        let stated = next(2)?.to_owned();
        let time = next(3)?.strip_prefix("time ").ok_or_else(|| bad(3))?;
        let time = time.to_owned();
        let mut heads = Vec::new();
        for (line, text) in lines {
            heads.push(Head::parse(text).ok_or_else(|| bad(line))?);
        }
        let checkpoint = Self {
            origin,
            size,
            time,
            heads,
        };
        let sorted = checkpoint
            .heads
            .is_sorted_by(|one, next| one.entity < next.entity);
        // Written out again it must be the same text: there is one form of it.
        let total: u64 = checkpoint
            .heads
            .iter()
            .map(|head| head.seq.unsigned_abs())
            .sum();
        let root = BASE64.encode(root(&checkpoint.head_lines()));
        if !sorted || total != size || root != stated || checkpoint.body() != body {
            return Err(CheckpointError::Root);
        }
        Ok(checkpoint)
    }

    /// The hash over its heads.
    pub(crate) fn root(&self) -> Hash {
        root(&self.head_lines())
    }

    fn head_lines(&self) -> String {
        let mut lines = String::new();
        for head in &self.heads {
            let entity = serde_json::to_string(&head.entity).expect("a string is JSON");
            let hash = BASE64.encode(head.hash);
            writeln!(lines, "head {} {hash} {entity}", head.seq)
                .expect("a String takes everything");
        }
        lines
    }
}

// === impl Head ===

impl Head {
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.strip_prefix("head ")?.splitn(3, ' ');
        let seq = parts.next()?.parse().ok().filter(|seq| *seq > 0)?;
        let hash = BASE64.decode(parts.next()?).ok()?;
        Some(Self {
            entity: serde_json::from_str(parts.next()?).ok()?,
            seq,
            hash: Hash::try_from(hash).ok()?,
        })
    }
}

fn root(lines: &str) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update(ROOT);
    hasher.update(lines);
    hasher.finalize().into()
}

#[cfg(test)]
mod tests;
