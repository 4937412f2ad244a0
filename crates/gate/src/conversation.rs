//! Whose data each conversation holds.
//!
//! A hub sees no conversations, only who calls: a bridge instance or a session
//! (its seat), or a credential where there is neither. What came back to one may
//! turn up in any later call of it, so labels only ever grow, survive the hub,
//! and go only when the owner resets them. The alternative, looking for the
//! data in later arguments, was rejected: a model paraphrases.

use std::sync::{Arc, PoisonError, RwLock};

use legation_core::{Caller, EntityId, EntityLabels, QuickMap, SeatId, Via};
use legation_store::{Store, StoreError};

/// How many conversations are kept in memory; the store keeps them all.
const HELD_MAX: usize = 8_192;

/// How the names of seats begin that are conversations of their own: see [`apart`].
const APART: &str = "apart/";

/// The labels of every conversation.
#[derive(Debug)]
pub struct Conversations {
    store: Arc<Store>,
    held: RwLock<QuickMap<Box<str>, EntityLabels>>,
}

/// The labels are others than those a decision was made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved;

// === impl Conversations ===

impl Conversations {
    /// The conversations of a store.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            held: RwLock::default(),
        }
    }

    /// What a caller's conversation holds.
    ///
    /// # Errors
    /// When the store cannot say; nothing may be decided then.
    pub fn labels(&self, caller: &Caller) -> Result<EntityLabels, StoreError> {
        let holder = holder(caller);
        {
            let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(labels) = held.get(holder) {
                return Ok(labels.clone());
            }
        }
        let labels = self.store.label_get(holder)?;
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= HELD_MAX {
            held.clear();
        }
        Ok(held.entry(holder.into()).or_insert(labels).clone())
    }

    /// Adds what a call will bring to a conversation, if its labels still are
    /// what the decision was made on: two calls under way at once must not each
    /// be judged as if the other were not.
    ///
    /// # Errors
    /// [`Moved`] inside when another call was first and the decision has to be
    /// made again; the store's error when the labels cannot be kept.
    pub(crate) fn join(
        &self,
        caller: &Caller,
        decided_on: &EntityLabels,
        more: &EntityLabels,
    ) -> Result<Result<(), Moved>, StoreError> {
        let joined = decided_on.join(more);
        if joined == *decided_on {
            return Ok(Ok(()));
        }
        let holder = holder(caller);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let now = match held.get(holder) {
            Some(labels) => labels.clone(),
            None => self.store.label_get(holder)?,
        };
        if now != *decided_on {
            held.insert(holder.into(), now);
            return Ok(Err(Moved));
        }
        self.store.label_put(holder, &joined)?;
        held.insert(holder.into(), joined);
        Ok(Ok(()))
    }

    /// Adds to what a caller's conversation holds what it brings from elsewhere, and says
    /// what it holds then.
    ///
    /// # Errors
    /// When the store cannot keep it; nothing may be called then.
    pub fn carry(&self, caller: &Caller, more: &EntityLabels) -> Result<EntityLabels, StoreError> {
        loop {
            let held = self.labels(caller)?;
            if self.join(caller, &held, more)?.is_ok() {
                return Ok(held.join(more));
            }
        }
    }

    /// Forgets what a conversation holds; only its owner may say that.
    ///
    /// # Errors
    /// When the store cannot; it stays as it was then.
    pub fn reset(&self, holder: &str) -> Result<(), StoreError> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        self.store.label_clear(holder)?;
        held.remove(holder);
        Ok(())
    }
}

/// The seat of what the hub does for its owner with one entity's rows and nothing else, such as
/// filing a letter. Nothing that the owner saw elsewhere gets into such a call, so it is a
/// conversation of its own; only the hub itself names seats of callers by [`Via::Admin`].
#[must_use]
pub fn apart(entity: &EntityId) -> SeatId {
    SeatId::new(format!("{APART}{entity}"))
}

/// Who holds what a call brings back: the seat where there is one that lives as
/// long as a conversation, else the credential.
#[must_use]
pub fn holder(caller: &Caller) -> &str {
    match caller.principal.via {
        Via::Socket | Via::Copilot => caller.seat.as_str(),
        Via::Admin if caller.seat.as_str().starts_with(APART) => caller.seat.as_str(),
        Via::Http | Via::Sse | Via::Admin | Via::Web | Via::NoAuth => {
            caller.principal.client.as_str()
        }
    }
}
