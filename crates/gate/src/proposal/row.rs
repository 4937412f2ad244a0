//! Proposals as rows, and how a row proves that the hub wrote it.

use legation_core::{ClientId, EntityId, ProposalId};
use legation_keystore::{Key, KeystoreError};
use legation_policy::{DefinitionHash, Verb};
use legation_store::{ProposalRow, ProposalState};
use serde::{Deserialize, Serialize};

use super::Proposal;
use crate::approval::Bound;

/// What is sealed in a row's `plan`.
#[derive(Serialize, Deserialize)]
struct Plan {
    client: Box<str>,
    server: Box<str>,
    verb: Box<str>,
    item: Box<str>,
    entity: Box<str>,
    definition: Option<[u8; 32]>,
    args_digest: [u8; 32],
    policy_version: u64,
    rule: Box<str>,
    reason: Box<str>,
    arguments: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_behalf_of: Option<Box<str>>,
}

pub(super) fn certified_by(
    id: &str,
    digest: &[u8; 32],
    how: &str,
    at_ms: i64,
    key: &Key,
) -> String {
    let mac = key.mac(&[
        b"proposal certified",
        id.as_bytes(),
        digest,
        how.as_bytes(),
        &at_ms.to_le_bytes(),
    ]);
    format!("{how} {}", legation_core::id::hex(&mac))
}

pub(super) fn of_proposal(proposal: &Proposal, key: &Key) -> Result<ProposalRow, KeystoreError> {
    let bound = &proposal.bound;
    let plan = Plan {
        client: bound.client.as_str().into(),
        server: bound.server.as_str().into(),
        verb: bound.verb.as_str().into(),
        item: bound.item.clone(),
        entity: bound.entity.as_str().into(),
        definition: bound.definition.map(|hash| hash.0),
        args_digest: bound.arguments,
        policy_version: bound.policy_version,
        rule: proposal.rule.clone(),
        reason: proposal.reason.clone(),
        arguments: proposal.arguments.clone(),
        on_behalf_of: bound.on_behalf_of.as_ref().map(|by| by.as_str().into()),
    };
    let mut row = ProposalRow {
        id: proposal.id.as_str().to_owned(),
        state: ProposalState::Proposed,
        client: bound.client.as_str().to_owned(),
        entity: bound.entity.as_str().to_owned(),
        digest: proposal.digest,
        created_ms: proposal.created_ms,
        expires_ms: proposal.expires_ms,
        certified_by: None,
        certified_ms: None,
        idempotency_key: proposal.idempotency_key.to_string(),
        plan: Vec::new(),
    };
    let plain = serde_json::to_vec(&plan).unwrap_or_default();
    row.plan = key.seal(&columns(&row), &plain)?;
    Ok(row)
}

pub(super) fn to_proposal(row: &ProposalRow, key: &Key) -> Option<Proposal> {
    let plain = key.open(&columns(row), &row.plan).ok()?;
    let plan: Plan = serde_json::from_slice(&plain).ok()?;
    let certified = match (row.state, row.certified_ms, row.certified_by.as_deref()) {
        (ProposalState::Proposed, ..) => None,
        (ProposalState::Certified, Some(at_ms), Some(by)) => {
            let how = by.rsplit_once(' ')?.0;
            if certified_by(&row.id, &row.digest, how, at_ms, key) != by {
                return None;
            }
            Some((how.into(), at_ms))
        }
        _ => return None,
    };
    Some(Proposal {
        id: ProposalId::new(row.id.as_str()),
        bound: Bound {
            client: ClientId::new(&*plan.client),
            on_behalf_of: plan.on_behalf_of.map(ClientId::new),
            server: legation_core::ServerName::parse(&plan.server).ok()?,
            verb: Verb::parse(&plan.verb)?,
            item: plan.item,
            entity: EntityId::new(&*plan.entity),
            definition: plan.definition.map(DefinitionHash),
            arguments: plan.args_digest,
            policy_version: plan.policy_version,
        },
        rule: plan.rule,
        reason: plan.reason,
        arguments: plan.arguments,
        digest: row.digest,
        idempotency_key: row.idempotency_key.as_str().into(),
        created_ms: row.created_ms,
        expires_ms: row.expires_ms,
        certified,
    })
}

/// Everything in a row that its plan is sealed with.
fn columns(row: &ProposalRow) -> Vec<u8> {
    let mut beside = Vec::with_capacity(192);
    let mut add = |part: &[u8]| {
        beside.extend_from_slice(&(part.len() as u64).to_le_bytes());
        beside.extend_from_slice(part);
    };
    add(b"proposal");
    for text in [&row.id, &row.client, &row.entity, &row.idempotency_key] {
        add(text.as_bytes());
    }
    add(&row.digest);
    add(&row.created_ms.to_le_bytes());
    add(&row.expires_ms.to_le_bytes());
    beside
}
