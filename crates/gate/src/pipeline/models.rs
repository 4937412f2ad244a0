//! The stages that a request of the hub to a model passes.

use legation_core::error::chain;
use legation_core::{Caller, EntityLabels, OpContext};
use legation_ledger::{Detail, Durability, Intent, LedgerError, ModelUse, Refused, Verb};
use legation_policy::registry::EventName;
use legation_wire::json::Raw;

use super::{EntityId, Gate};
use crate::journal::ALLOWED;
use crate::model::{ModelRecord, ModelRefused, ModelRequest, Restoring};
use crate::redaction::RedactionError;
use crate::stage::NotAuthentic;

/// The chain of what concerns several entities.
const SEVERAL: &str = "all";

impl Gate {
    /// Whether a caller's credential is good.
    ///
    /// # Errors
    /// When it is not.
    pub fn model_caller(&self, caller: &Caller) -> Result<(), NotAuthentic> {
        self.clients.load().check(&caller.principal)
    }

    /// Words on their way to a model, without what identifies a person in the
    /// data of these entities. What the tokens stand for is on disk on return.
    ///
    /// # Errors
    /// When they must not be sent.
    pub fn redact_for_model(
        &self,
        entities: &EntityLabels,
        conversation: &str,
        words: &Raw,
    ) -> Result<Raw, RedactionError> {
        let redaction = self.redaction.as_ref();
        let redaction = redaction.ok_or(RedactionError::NoRedactor)?;
        redaction.redact(entities.as_slice(), conversation, words)
    }

    /// Whether nothing in these words identifies a person in the data of these
    /// entities; no where nobody can tell.
    #[must_use]
    pub fn is_clean_for_model(&self, entities: &EntityLabels, words: &Raw) -> bool {
        let redaction = self.redaction.as_ref();
        redaction.is_some_and(|redaction| redaction.is_clean(entities.as_slice(), words))
    }

    /// The way back for what a model answers to such words.
    ///
    /// # Errors
    /// When nobody can say what their tokens stand for.
    pub fn restoring(
        &self,
        entities: &EntityLabels,
        conversation: &str,
    ) -> Result<Restoring, RedactionError> {
        let Some(redaction) = self.redaction.as_ref().filter(|_| !entities.is_empty()) else {
            return Ok(Restoring::default());
        };
        let vaults = redaction.held(entities.as_slice(), conversation)?;
        Ok(Restoring::new(vaults))
    }

    /// Records that a request is about to be sent. Without this record it must
    /// not be.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub async fn model_intent(
        &self,
        context: &OpContext,
        request: &ModelRequest<'_>,
    ) -> Result<ModelRecord, LedgerError> {
        let rule = format!("provider.{}", request.source);
        let principal = &context.caller.principal;
        let entity = of_labels(request.labels);
        let intent = Intent {
            call: self.ledger.next_call(),
            entity: &entity,
            client: &principal.client,
            via: principal.via,
            server: None,
            verb: Verb::AskModel,
            item: request.model,
            definition: None,
            rule: &rule,
            args: Some(request.body),
            detail: Detail {
                labels: request.labels.as_slice(),
                entities: several(request.labels),
                provider: Some(request.provider),
                policy: Some(request.policy),
                event: Some(EventName::LlmProviderSelected.as_str()),
                governance_result: Some(ALLOWED),
                model: Some(ModelUse {
                    job: Some(request.job),
                    source: Some(request.source),
                    conversation: Some(request.conversation),
                    ..ModelUse::default()
                }),
                ..Detail::default()
            },
        };
        let durability = match request.stays {
            true => Durability::PageCache,
            false => Durability::Disk,
        };
        let ticket = self.ledger.intent(&intent, durability).await?;
        Ok(ModelRecord::new(&self.ledger, ticket, request.provider))
    }

    /// Records that nobody got a request, or that nobody answered it.
    pub async fn model_refused(&self, context: &OpContext, refused: &ModelRefused<'_>) {
        let principal = &context.caller.principal;
        let entity = of_labels(refused.labels);
        let intent = Intent {
            call: self.ledger.next_call(),
            entity: &entity,
            client: &principal.client,
            via: principal.via,
            server: None,
            verb: Verb::AskModel,
            item: refused.job,
            definition: None,
            rule: "provider.none",
            args: None,
            detail: Detail {
                labels: refused.labels.as_slice(),
                entities: several(refused.labels),
                provider: Some(refused.provider.unwrap_or("none")),
                reason_code: Some(refused.code.as_str()),
                policy: Some(refused.policy),
                event: Some(refused.event.as_str()),
                governance_result: Some(refused.code.as_str()),
                model: Some(ModelUse {
                    job: Some(refused.job),
                    conversation: Some(refused.conversation),
                    ..ModelUse::default()
                }),
                ..Detail::default()
            },
        };
        let refused = Refused {
            intent,
            code: None,
            reason: refused.reason,
        };
        if let Err(error) = self.ledger.refused(&refused).await {
            tracing::error!(error = %chain(&error), "that no model got a request was not recorded");
        }
    }
}

/// In whose chain it belongs.
fn of_labels(labels: &EntityLabels) -> EntityId {
    match labels.as_slice() {
        [] => EntityId::personal(),
        [one] => one.clone(),
        _ => EntityId::new(SEVERAL),
    }
}

/// Whose data it is, where the chain does not say it.
fn several(labels: &EntityLabels) -> Option<&[EntityId]> {
    let labels = labels.as_slice();
    (labels.len() > 1).then_some(labels)
}
