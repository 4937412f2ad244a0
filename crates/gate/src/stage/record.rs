//! Last stage before the call and last behind it: the intent, and the outcome.
//!
//! The intent stands last before the call so that everything recorded as
//! intended was also permitted; when it cannot be written, nothing is called.

use legation_core::{CancelReason, ClientId, EntityId, EntityLabels, OpContext, ServerName};
use legation_ledger::{
    Claim, Detail, Durability, Intent, Ledger, LedgerError, OutcomeRecord, Refused, Status, Ticket,
};
use legation_policy::registry::EventName;
use legation_policy::{About, GrantId, Permitted, Rung, Target, Verb};
use legation_wire::json::Raw;

use crate::journal::ALLOWED;
use crate::stage::delegate::Delegation;
use crate::{CallFailure, Outcome, Refusal};

/// Most words of [`Target::traits`], and one more.
const TRAITS_MAX: usize = 6;
/// Of a call about every entity: each stands by itself in the answer. Whether that may be
/// depends on what the conversation held, which nothing else in a record says.
const APART: &str = "apart";

/// What an outcome says of the model that was used: the hub's own calls use
/// none, and what a client's model is the hub does not know.
const MODEL: Detail<'static> = Detail {
    labels: &[],
    rung: None,
    grant: None,
    approval: None,
    proposal: None,
    provider: Some("none"),
    on_behalf_of: None,
    reason_code: None,
    policy: None,
    entities: None,
    traits: &[],
    event: None,
    governance_result: None,
    tool_name: None,
    confidence: None,
    model: None,
    chat: None,
};

/// What is known of a call that was refused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'a> {
    /// What a decision found out.
    pub(crate) about: Option<&'a About>,
    /// For whom it was made.
    pub(crate) on_behalf_of: Option<&'a ClientId>,
}

/// Records what is about to be done, and uses up what allows it, in one
/// transaction.
pub(crate) async fn intent(
    ledger: &Ledger,
    permitted: &Permitted,
    claim: Option<Claim<'_>>,
    (arguments, delegation): (Option<&Raw>, &Delegation),
) -> Result<Ticket, LedgerError> {
    let target = permitted.target();
    let principal = permitted.principal();
    let (mut words, entities) = ([""; TRAITS_MAX], permitted.entities().as_slice());
    let intent = Intent {
        call: ledger.next_call(),
        entity: permitted.entity(),
        client: &principal.client,
        via: principal.via,
        server: Some(&target.server),
        verb: verb(target.verb),
        item: &target.item,
        definition: target.definition.as_ref().map(|hash| &hash.0),
        rule: permitted.rule().as_str(),
        args: arguments.map(Raw::sha256_input),
        detail: Detail {
            labels: permitted.labels().as_slice(),
            rung: (permitted.rung() != Rung::Execute).then(|| permitted.rung().as_str()),
            grant: permitted.grant().map(GrantId::as_str),
            policy: Some(permitted.policy_version()),
            // The chain says whose data it is, but for several.
            entities: (entities.len() > 1).then_some(entities),
            traits: traits(target, permitted.is_apart(), &mut words),
            on_behalf_of: delegation.delegator(),
            confidence: delegation.confidence,
            event: Some(event(target.verb).as_str()),
            governance_result: Some(ALLOWED),
            ..Detail::default()
        },
    };
    if let Some(claim) = claim {
        return ledger.intent_claiming(&intent, claim).await;
    }
    let durability = if permitted.reads_only() {
        Durability::PageCache
    } else {
        Durability::Disk
    };
    ledger.intent(&intent, durability).await
}

/// Records what became of it; in which word.
pub(crate) fn outcome(ledger: &Ledger, ticket: Ticket, outcome: &Outcome) -> Status {
    let record = match outcome {
        Outcome::Complete(raw) => OutcomeRecord {
            status: if is_tool_error(raw) {
                Status::ToolError
            } else {
                Status::Ok
            },
            code: None,
            result: Some(raw.sha256_input()),
            detail: MODEL,
        },
        Outcome::InputRequired(_) => bare(Status::InputRequired),
        Outcome::Task(_) => bare(Status::Task),
        Outcome::Error(error) => OutcomeRecord {
            status: Status::Error,
            code: Some(error.code),
            result: None,
            detail: MODEL,
        },
        Outcome::Failed(failure) => bare(status(failure)),
    };
    ledger.outcome(ticket, &record);
    record.status
}

/// Records that a call was made and its result kept from the client.
pub(crate) fn withheld(ledger: &Ledger, ticket: Ticket, refusal: &Refusal) {
    let record = OutcomeRecord {
        detail: Detail {
            reason_code: Some(refusal.reason_code().as_str()),
            governance_result: Some(refusal.reason_code().as_str()),
            ..MODEL
        },
        ..OutcomeRecord::bare(Status::Ok)
    };
    ledger.outcome(ticket, &record);
}

/// Records what was not done, and why.
pub(crate) async fn refused(
    ledger: &Ledger,
    entity: &EntityId,
    context: &OpContext,
    subject: (Verb, Option<&ServerName>, &str),
    known: Known<'_>,
    refusal: &Refusal,
) -> Result<(), LedgerError> {
    let (act, server, item) = subject;
    let about = known.about;
    let (mut words, target) = ([""; TRAITS_MAX], refusal.target());
    let intent = Intent {
        call: ledger.next_call(),
        entity,
        client: &context.caller.principal.client,
        via: context.caller.principal.via,
        server,
        verb: verb(act),
        item,
        definition: target
            .and_then(|target| target.definition.as_ref())
            .map(|hash| &hash.0),
        rule: refusal.rule(),
        args: None,
        detail: Detail {
            labels: about.map_or(&[], |about| about.labels.as_slice()),
            policy: about.map(|about| about.policy_version),
            entities: about
                .and_then(|about| about.entities.as_ref())
                .map(EntityLabels::as_slice),
            traits: target.map_or(&[], |target| {
                traits(target, about.is_some_and(|about| about.apart), &mut words)
            }),
            on_behalf_of: known.on_behalf_of,
            reason_code: Some(refusal.reason_code().as_str()),
            event: Some(event(act).as_str()),
            governance_result: Some(refusal.reason_code().as_str()),
            ..Detail::default()
        },
    };
    let reason = refusal.to_string();
    let refused = Refused {
        intent,
        code: Some(refusal.code()),
        reason: &reason,
    };
    ledger.refused(&refused).await
}

fn bare(status: Status) -> OutcomeRecord<'static> {
    OutcomeRecord {
        detail: MODEL,
        ..OutcomeRecord::bare(status)
    }
}

/// The event of the registry that a call is.
fn event(verb: Verb) -> EventName {
    match verb {
        Verb::CallTool => EventName::McpToolCall,
        Verb::ReadResource => EventName::McpResourceRead,
        Verb::GetPrompt => EventName::McpPromptGet,
        Verb::Complete => EventName::McpCompletion,
        Verb::TaskUpdate | Verb::TaskCancel => EventName::McpTask,
        Verb::Sample => EventName::McpSampling,
    }
}

/// What the rules knew of a call, without making a list of it.
fn traits<'w>(
    target: &Target,
    apart: bool,
    words: &'w mut [&'static str; TRAITS_MAX],
) -> &'w [&'static str] {
    let mut count = 0;
    let known = target.traits().chain(apart.then_some(APART));
    for (place, word) in words.iter_mut().zip(known) {
        *place = word;
        count += 1;
    }
    &words[..count]
}

fn verb(verb: Verb) -> legation_ledger::Verb {
    match verb {
        Verb::CallTool => legation_ledger::Verb::CallTool,
        Verb::ReadResource => legation_ledger::Verb::ReadResource,
        Verb::GetPrompt => legation_ledger::Verb::GetPrompt,
        Verb::Complete => legation_ledger::Verb::Complete,
        Verb::TaskUpdate => legation_ledger::Verb::TaskUpdate,
        Verb::TaskCancel => legation_ledger::Verb::TaskCancel,
        Verb::Sample => legation_ledger::Verb::Sample,
    }
}

fn status(failure: &CallFailure) -> Status {
    match failure {
        CallFailure::TimedOut { .. } | CallFailure::Cancelled(CancelReason::Deadline) => {
            Status::Timeout
        }
        CallFailure::Cancelled(
            CancelReason::ClientCancelled | CancelReason::Disconnected | CancelReason::Shutdown,
        ) => Status::Cancelled,
        CallFailure::Lost { .. } => Status::Unknown,
        CallFailure::NotConnected { .. }
        | CallFailure::DefinitionChanged { .. }
        | CallFailure::Protocol { .. }
        | CallFailure::NeedsAuth { .. }
        | CallFailure::MissingCapability { .. }
        | CallFailure::Busy { .. } => Status::Error,
    }
}

/// A result of megabytes is not read a second time for one flag.
fn is_tool_error(result: &Raw) -> bool {
    const SMALL: usize = 64 * 1024;
    result.as_bytes().len() <= SMALL
        && result
            .get("isError")
            .and_then(|value| value.to_bool())
            .unwrap_or(false)
}
