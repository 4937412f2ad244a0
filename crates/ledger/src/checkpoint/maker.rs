//! Making checkpoints: of what is on disk, by the present signing key.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legation_core::EntityId;
use legation_core::id::hex;
use legation_keystore::Signer;
use legation_store::{CheckpointRow, StoreError};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, oneshot};

use super::{Announced, Checkpoint, Head, KEY_TOPIC, PublicKey, hub_entity, note};
use crate::error::LedgerError;
use crate::ledger::{Durability, Inner};
use crate::queue::{Duty, Pending};
use crate::record::Note;

/// A checkpoint that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What it says.
    pub checkpoint: Checkpoint,
    /// The signed text.
    pub note: String,
}

/// What the next checkpoint needs to know of the last.
#[derive(Debug)]
pub(crate) struct Maker {
    /// `None` until the first one is made, so that a ledger can be opened, and
    /// calls be recorded, without a signing key.
    signing: Mutex<Option<Signing>>,
    /// The position from which on a checkpoint is due.
    due: AtomicI64,
    /// Why the last one was not made.
    trouble: Mutex<Option<String>>,
    pub(crate) nudge: Notify,
}

#[derive(Debug)]
struct Signing {
    origin: String,
    number: u32,
    signer: Signer,
    /// Whether the chain names the key.
    announced: bool,
    size: u64,
}

// === impl Maker ===

impl Default for Maker {
    fn default() -> Self {
        Self {
            signing: Mutex::default(),
            due: AtomicI64::new(i64::MAX),
            trouble: Mutex::default(),
            nudge: Notify::new(),
        }
    }
}

impl Maker {
    /// Tells whoever makes checkpoints when one is due.
    pub(crate) fn wrote(&self, position: i64) {
        if position >= self.due.load(Ordering::Relaxed) {
            self.due.store(i64::MAX, Ordering::Relaxed);
            self.nudge.notify_one();
        }
    }

    pub(crate) fn due_at(&self, position: i64) {
        self.due.store(position, Ordering::Relaxed);
    }

    pub(crate) fn is_troubled_by(&self, what: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |what| format!("no checkpoint of the ledger could be made: {what}; calls go on");
        trouble.iter().map(line).collect()
    }

    fn signing(&self) -> MutexGuard<'_, Option<Signing>> {
        self.signing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Signing ===

impl Signing {
    fn public(&self) -> PublicKey {
        PublicKey {
            name: self.origin.clone(),
            key: self.signer.public(),
        }
    }
}

// === impl Inner ===

impl Inner {
    /// Makes a checkpoint of everything recorded so far; `None` when the last
    /// one covers it. Blocks for a sync.
    pub(crate) fn checkpoint(self: &Arc<Self>) -> Result<Option<Made>, LedgerError> {
        let mut signing = self.maker.signing();
        let signing = self.signing(&mut signing)?;
        self.sign_off(signing)
    }

    /// Changes the signing key: the old one vouches for the new one in the
    /// chain, signs a last checkpoint, and is destroyed.
    pub(crate) fn rotate(self: &Arc<Self>) -> Result<PublicKey, LedgerError> {
        let mut signing = self.maker.signing();
        let signing = self.signing(&mut signing)?;
        self.sign_off(signing)?;
        if !signing.announced {
            self.announce(signing)?;
        }
        let number = signing.number + 1;
        let signer = self
            .keys
            .signer_numbered(number)
            .map_err(LedgerError::key)?;
        let new = PublicKey {
            name: signing.origin.clone(),
            key: signer.public(),
        };
        self.announced(&Announced::text(&new, Some(&signing.signer)))?;
        let old = std::mem::replace(&mut signing.number, number);
        signing.signer = signer;
        self.sign_off(signing)?;
        self.keys.destroy_signer(old).map_err(LedgerError::key)?;
        Ok(new)
    }

    /// The key that signs, with its name.
    pub(crate) fn public_key(&self) -> Result<PublicKey, LedgerError> {
        let mut signing = self.maker.signing();
        self.signing(&mut signing).map(|signing| signing.public())
    }

    fn signing<'a>(
        &self,
        signing: &'a mut Option<Signing>,
    ) -> Result<&'a mut Signing, LedgerError> {
        if let Some(signing) = signing {
            return Ok(signing);
        }
        let (number, signer) = self.keys.signer().map_err(LedgerError::key)?;
        let last = self
            .store
            .reader()
            .checkpoint_newest()
            .map_err(LedgerError::read)?;
        let (origin, size, note) = match last {
            Some(row) => (row.origin, row.size.unsigned_abs(), row.note),
            None => (origin(&signer), 0, Vec::new()),
        };
        let mut new = Signing {
            origin,
            number,
            signer,
            announced: false,
            size,
        };
        let note = String::from_utf8_lossy(&note);
        new.announced = note::split(&note)
            .is_ok_and(|(body, signatures)| new.public().signed(body, &signatures));
        Ok(signing.insert(new))
    }

    fn sign_off(self: &Arc<Self>, signing: &mut Signing) -> Result<Option<Made>, LedgerError> {
        let write = |source| LedgerError::Write {
            source: Arc::new(source),
        };
        self.commit_all()
            .map_err(|source| LedgerError::Write { source })?;
        if self.chain().total() == signing.size {
            return Ok(None);
        }
        if !signing.announced {
            self.announce(signing)?;
        }
        let ends = self
            .chain()
            .ends()
            .ok_or_else(|| write(StoreError::Reopened))?;
        // What is signed must not be lost to a power failure: the chain would
        // look as if somebody had cut it off.
        if let Some(commit) = ends.commit {
            self.store.sync(commit).map_err(write)?;
        }
        let heads = ends.heads.into_iter().map(|(entity, seq, hash)| Head {
            entity: entity.as_str().to_owned(),
            seq,
            hash,
        });
        let at = self.clock.wall();
        let checkpoint = Checkpoint::new(&signing.origin, at, heads.collect());
        let note = note::sign(&checkpoint.body(), &signing.origin, &signing.signer);
        let row = CheckpointRow {
            origin: signing.origin.clone(),
            size: i64::try_from(checkpoint.size).unwrap_or(i64::MAX),
            at_ms: at.0,
            root: checkpoint.root(),
            note: note.clone().into_bytes(),
        };
        self.store.checkpoint_put(&row).map_err(write)?;
        signing.size = checkpoint.size;
        Ok(Some(Made { checkpoint, note }))
    }

    /// Names the key in the chain. The key before it vouches for it, where it is
    /// still there: a start may have come between the two.
    fn announce(self: &Arc<Self>, signing: &mut Signing) -> Result<(), LedgerError> {
        let before = signing.number.checked_sub(1).filter(|number| *number > 0);
        let before = before
            .and_then(|number| self.keys.existing_signer(number).transpose())
            .transpose()
            .map_err(LedgerError::key)?;
        self.announced(&Announced::text(&signing.public(), before.as_ref()))?;
        signing.announced = true;
        Ok(())
    }

    fn announced(self: &Arc<Self>, text: &str) -> Result<(), LedgerError> {
        self.note_now(&hub_entity(), KEY_TOPIC, text)
    }

    /// Records a note at once, in this thread; on disk on return.
    pub(crate) fn note_now(
        self: &Arc<Self>,
        entity: &EntityId,
        topic: &str,
        text: &str,
    ) -> Result<(), LedgerError> {
        let (waiter, mut told) = oneshot::channel();
        let pending = Pending {
            members: Note::new(entity, topic, text).members(self.identities.load().of(entity)),
            entity: entity.clone(),
            at_ms: self.clock.wall().0,
            duty: Duty::Plain {
                durability: Durability::PageCache,
                waiter,
            },
        };
        self.commit(vec![pending])
            .map_err(|source| LedgerError::Write { source })?;
        told.try_recv().unwrap_or(Err(LedgerError::Stopped))?;
        let last = self.chain().last();
        last.map_or(Ok(()), |commit| self.store.sync(commit))
            .map_err(|source| LedgerError::Write {
                source: Arc::new(source),
            })
    }
}

/// A name that no other ledger has.
fn origin(signer: &Signer) -> String {
    let digest = Sha256::digest(signer.public().0);
    format!("legation-ledger/{}", hex(&digest[..8]))
}
