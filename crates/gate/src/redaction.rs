//! Tokens in the place of what identifies a person, and back.
//!
//! Every entity that holds health information has a redactor, built when the
//! rules are, and a vault for each conversation, whose rows are sealed by a key
//! of the entity's own: destroying that key forgets the values for good. A
//! profile without such an entity costs one look at an empty map.

mod envelope;
mod vault;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use legation_core::{EntityId, EntityLabels, SharedClock};
use legation_keystore::Keystore;
use legation_policy::governance::{Governance, RedactionPlan};
use legation_policy::registry::ReasonCode;
use legation_redact::{Class, MemoryVault, Redactor, RedactorSpec, RosterEntry};
use legation_store::Store;
use legation_wire::json::{Limits, Raw};

use vault::Vaults;

pub(crate) use vault::Held;

/// Text that may still identify somebody with more than this certainty is not
/// handed on, from 0 to 1.
const RESIDUAL_MAX: f32 = 0.5;

/// The beginnings of every spelling in which a token may come back.
const SPELLINGS: [&str; 7] = ["⟦", "[[", "\\", "&#", "&l", "%e2", "%E2"];

/// The redactors in force and the vaults.
#[derive(Debug)]
pub struct Redaction {
    redactors: ArcSwap<Redactors>,
    vaults: Vaults,
}

/// The redactor of each entity with health information; `None` where its
/// roster or its patterns are broken.
type Redactors = HashMap<EntityId, Option<Redactor>>;

/// Why a text could not be made fit to be handed on, or tokens be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedactionError {
    /// The entity's roster or patterns cannot be used.
    #[error("there is no redactor for the data it holds")]
    NoRedactor,
    /// What tokens stand for cannot be kept or read.
    #[error("what redaction tokens stand for could not be kept or read")]
    Vault,
    /// Too much may still identify somebody.
    #[error("what is left may still identify a person")]
    Residual,
    /// What came out is no message any more.
    #[error("the redacted text cannot be put together again")]
    Broken,
    /// An address with something in it that must not leave leads nowhere
    /// without it.
    #[error("an address that its server did not list may carry the data it holds")]
    Address,
}

// === impl Redaction ===

impl Redaction {
    /// No redactors yet; vaults in this store, under keys of this keystore.
    #[must_use]
    pub fn new(store: Arc<Store>, keys: Arc<Keystore>, clock: SharedClock) -> Self {
        Self {
            redactors: ArcSwap::default(),
            vaults: Vaults::new(store, keys, clock),
        }
    }

    /// Builds the redactors of these rules.
    pub(crate) fn set_rules(&self, governance: &Governance) {
        let mut redactors = Redactors::new();
        let entities = governance.profile.good().map(|profile| &profile.entities);
        for (id, _) in entities
            .into_iter()
            .flatten()
            .filter(|(_, entity)| entity.phi_auto_redact)
        {
            redactors.insert(id.clone(), built(governance, id));
        }
        self.redactors.store(Arc::new(redactors));
    }

    /// Whether nothing is ever redacted.
    pub(crate) fn is_idle(&self) -> bool {
        self.redactors.load().is_empty()
    }

    /// The entities among these whose data is redacted where it leaves them.
    pub(crate) fn leaving(&self, labels: &EntityLabels, home: Option<&EntityId>) -> Vec<EntityId> {
        let redactors = self.redactors.load();
        let of = |entity: &&EntityId| redactors.contains_key(*entity) && Some(*entity) != home;
        labels.iter().filter(of).cloned().collect()
    }

    /// Arguments with the values of this entity's tokens of this conversation
    /// in their places; `None` where there is none. Other tokens stay.
    ///
    /// # Errors
    /// [`RedactionError::Vault`] when nobody can say what they stand for.
    pub(crate) fn restore(
        &self,
        entity: &EntityId,
        conversation: &str,
        arguments: &Raw,
    ) -> Result<Option<Raw>, RedactionError> {
        let text = arguments.as_text();
        if !self.redactors.load().contains_key(entity)
            || !SPELLINGS.iter().any(|start| text.contains(start))
        {
            return Ok(None);
        }
        let Some(held) = self.vaults.existing(entity, conversation)? else {
            return Ok(None);
        };
        let restored = held.restore(text);
        if restored == text {
            return Ok(None);
        }
        parsed(restored).map(Some)
    }

    /// A document without what identifies a person in these entities' data;
    /// every new token is on disk on return.
    ///
    /// # Errors
    /// When it must not be handed on.
    pub(crate) fn redact(
        &self,
        entities: &[EntityId],
        conversation: &str,
        document: &Raw,
    ) -> Result<Raw, RedactionError> {
        let redactors = self.redactors.load();
        let mut text = document.as_text().to_owned();
        for entity in entities {
            let redactor = redactors.get(entity).and_then(Option::as_ref);
            let redactor = redactor.ok_or(RedactionError::NoRedactor)?;
            let held = self.vaults.open(entity, conversation)?;
            let redacted = held.redact(|vault| redactor.redact_json(&text, vault))?;
            if redacted.residual_risk > RESIDUAL_MAX {
                return Err(RedactionError::Residual);
            }
            text = redacted.json;
        }
        parsed(text)
    }

    /// The vaults of these entities and a conversation.
    ///
    /// # Errors
    /// [`RedactionError::Vault`] when one cannot be opened.
    pub(crate) fn held(
        &self,
        entities: &[EntityId],
        conversation: &str,
    ) -> Result<Vec<Arc<Held>>, RedactionError> {
        let open = |entity| self.vaults.open(entity, conversation);
        entities.iter().map(open).collect()
    }

    /// Whether nothing in these texts identifies a person in the entities' data;
    /// no where nobody can tell.
    pub(crate) fn is_clean(&self, entities: &[EntityId], texts: &Raw) -> bool {
        let redactors = self.redactors.load();
        entities.iter().all(|entity| {
            let redactor = redactors.get(entity).and_then(Option::as_ref);
            redactor.is_some_and(|redactor| {
                let redacted = redactor.redact_json(texts.as_text(), &mut MemoryVault::new());
                redacted.findings.is_empty() && redacted.residual_risk <= RESIDUAL_MAX
            })
        })
    }

    /// A server's result without what identifies a person; the words of the
    /// protocol around it stay.
    ///
    /// # Errors
    /// As [`Redaction::redact`].
    pub(crate) fn redact_result(
        &self,
        entities: &[EntityId],
        conversation: &str,
        result: &Raw,
    ) -> Result<Raw, RedactionError> {
        let redacted = self.redact(entities, conversation, result)?;
        envelope::mended(result, &redacted).ok_or(RedactionError::Broken)
    }
}

// === impl RedactionError ===

impl RedactionError {
    /// The rule that stops what cannot be redacted.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::NoRedactor => "redaction.no_redactor",
            Self::Vault => "redaction.vault",
            Self::Residual => "redaction.residual_risk",
            Self::Broken => "redaction.broken",
            Self::Address => "redaction.address",
        }
    }

    /// The reason as a word that programs compare.
    #[must_use]
    pub fn code(self) -> ReasonCode {
        match self {
            Self::Residual => ReasonCode::ResidualRisk,
            Self::NoRedactor | Self::Vault | Self::Broken | Self::Address => {
                ReasonCode::UnredactedPhi
            }
        }
    }

    /// Why, in words that name nobody's data.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoRedactor => "there is no redactor for the data it holds",
            Self::Vault => "what redaction tokens stand for could not be kept or read",
            Self::Residual => "what is left of it may still identify a person",
            Self::Broken => "its redacted text cannot be put together again",
            Self::Address => "an address that its server did not list may carry the data it holds",
        }
    }
}

fn parsed(text: String) -> Result<Raw, RedactionError> {
    Raw::parse(Bytes::from(text), &Limits::UPSTREAM).map_err(|_| RedactionError::Broken)
}

fn built(governance: &Governance, entity: &EntityId) -> Option<Redactor> {
    let plan = match governance.redaction(entity) {
        Ok(plan) => plan,
        Err(broken) => {
            tracing::error!(%entity, file = broken.file, reason = broken.reason, "nothing of this entity can be redacted");
            return None;
        }
    };
    match Redactor::build(&spec(plan)) {
        Ok(redactor) => Some(redactor),
        Err(error) => {
            tracing::error!(%entity, error = %error, hint = error.hint(), "nothing of this entity can be redacted");
            None
        }
    }
}

fn spec(plan: RedactionPlan) -> RedactorSpec {
    let names = plan.names.into_iter().map(RosterEntry::person);
    let known = plan.identifiers.into_iter();
    let known = known.map(|value| RosterEntry::value(Class::Other, value));
    RedactorSpec {
        fields: plan.fields,
        roster: names.chain(known).collect(),
        safe_words: plan.safe_words,
        patterns: plan.patterns,
        ..RedactorSpec::default()
    }
}
