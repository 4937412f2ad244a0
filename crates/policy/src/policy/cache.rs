//! Decisions that nothing but their key can change.

use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use legation_core::context::Principal;
use legation_core::{EntityLabels, QuickMap, QuickState};

use super::judge::Judged;
use crate::decision::Inquiry;
use crate::target::Target;

/// How many are kept; past that they are made anew.
const ENTRIES_MAX: usize = 16 * 1024;

/// The decisions so far. The lock is held for a look-up.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: Mutex<QuickMap<u64, Entry>>,
    hasher: QuickState,
}

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
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
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
