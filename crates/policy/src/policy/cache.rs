//! Decisions that nothing but their key can change.

use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use legation_core::context::Principal;
use legation_core::{EntityLabels, Parts, QuickMap, QuickState};

use super::judge::Judged;
use crate::decision::Inquiry;
use crate::target::Target;

/// How many each part keeps; past that they are made anew.
const ENTRIES_MAX: usize = 4 * 1024;

/// The decisions so far. Each thread keeps its own: one that two processors take from the same place costs both of them more
/// than all that was spared.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: Parts<Mutex<Entries>>,
    hasher: QuickState,
}

type Entries = QuickMap<u64, Entry>;

/// One decision and all that it was made of; equal hashes are no proof.
#[derive(Debug)]
struct Entry {
    principal: Principal,
    delegated: bool,
    target: Target,
    labels: EntityLabels,
    workspace: Option<PathBuf>,
    confidence: Option<u64>,
    certified: bool,
    judged: Arc<Judged>,
}

// === impl Cache ===

impl Cache {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        let entries = self.entries.mine().lock();
        entries.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn key(&self, principal: &Principal, inquiry: &Inquiry<'_>, target: &Target) -> u64 {
        self.hasher.hash_one((
            principal,
            target.server.as_str(),
            target.verb,
            &*target.item,
            target.definition,
            inquiry.labels,
            inquiry.workspace,
        ))
    }

    pub(super) fn get(
        &self,
        key: u64,
        principal: &Principal,
        inquiry: &Inquiry<'_>,
        target: &Target,
    ) -> Option<Arc<Judged>> {
        let entries = self.entries();
        let entry = entries.get(&key)?;
        entry
            .is_of(principal, inquiry, target)
            .then(|| Arc::clone(&entry.judged))
    }

    pub(super) fn put(
        &self,
        key: u64,
        principal: &Principal,
        inquiry: &Inquiry<'_>,
        target: &Target,
        judged: Arc<Judged>,
    ) {
        let entry = Entry {
            principal: principal.clone(),
            delegated: inquiry.on_behalf_of.is_some(),
            target: target.clone(),
            labels: inquiry.labels.clone(),
            workspace: inquiry.workspace.map(Path::to_path_buf),
            confidence: inquiry.confidence.map(f64::to_bits),
            certified: inquiry.certified,
            judged,
        };
        let mut entries = self.entries();
        if entries.len() >= ENTRIES_MAX {
            entries.clear();
        }
        entries.insert(key, entry);
    }
}

// === impl Entry ===

impl Entry {
    fn is_of(&self, principal: &Principal, inquiry: &Inquiry<'_>, target: &Target) -> bool {
        self.principal == *principal
            && self.delegated == inquiry.on_behalf_of.is_some()
            && self.target == *target
            && self.labels == *inquiry.labels
            && self.workspace.as_deref() == inquiry.workspace
            && self.confidence == inquiry.confidence.map(f64::to_bits)
            && self.certified == inquiry.certified
    }
}
