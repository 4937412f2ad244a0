//! Approvals and grants as rows, and how a row proves that the hub wrote it.
//!
//! The detail of an approval is sealed with its other columns beside it, so
//! none of them can be exchanged. An answer carries a MAC of its own, because it
//! is written later: without one, a hand that sets `state` to granted would be
//! as good as the owner's word.

use legation_core::{ApprovalId, ClientId, EntityId, SeatId, ServerName};
use legation_keystore::{Key, KeystoreError};
use legation_policy::{AskKind, DefinitionHash, Grant, GrantId, GrantScope, Rung, Verb};
use legation_store::{ApprovalRow, ApprovalState, GrantRow};
use serde::{Deserialize, Serialize};

use super::{Answer, Answered, Approval, Bound, Channel, State};

/// What is sealed in a row's `detail`.
#[derive(Serialize, Deserialize)]
struct Detail {
    workspace: Option<Box<str>>,
    has_session: bool,
    kind: Box<str>,
    rung: Box<str>,
    lasting: Vec<Box<str>>,
    lasts_ms: Option<i64>,
    rule: Box<str>,
    reason: Box<str>,
    preview: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_behalf_of: Option<Box<str>>,
}

/// A row that the hub did not write, or not so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {id} was not written by this hub as it stands, and is not honoured: {problem}")]
pub(super) struct Forged {
    pub(super) what: &'static str,
    pub(super) id: String,
    pub(super) problem: &'static str,
}

/// The row of an approval that waits.
pub(super) fn of_approval(approval: &Approval, key: &Key) -> Result<ApprovalRow, KeystoreError> {
    let bound = &approval.bound;
    let mut row = ApprovalRow {
        id: approval.id.as_str().to_owned(),
        state: ApprovalState::Pending,
        client: bound.client.as_str().to_owned(),
        seat: approval.seat.as_str().to_owned(),
        server: bound.server.as_str().to_owned(),
        item: bound.item.to_string(),
        verb: bound.verb.as_str().to_owned(),
        entity: bound.entity.as_str().to_owned(),
        definition: bound.definition.map(|hash| hash.0),
        args_digest: bound.arguments,
        policy_version: bound.policy_version,
        created_ms: approval.created_ms,
        expires_ms: approval.expires_ms,
        decided_ms: None,
        decided_by: None,
        detail: Vec::new(),
    };
    let detail = Detail {
        workspace: approval.workspace.clone(),
        has_session: approval.has_session,
        kind: approval.kind.as_str().into(),
        rung: approval.rung.as_str().into(),
        lasting: approval
            .lasting
            .iter()
            .map(|answer| answer.as_str().into())
            .collect(),
        lasts_ms: approval.lasts_ms,
        rule: approval.rule.clone(),
        reason: approval.reason.clone(),
        preview: approval.preview.clone(),
        on_behalf_of: bound.on_behalf_of.as_ref().map(|by| by.as_str().into()),
    };
    let plain = serde_json::to_vec(&detail).unwrap_or_default();
    row.detail = key.seal(&columns(&row), &plain)?;
    Ok(row)
}

/// An approval out of its row.
pub(super) fn to_approval(row: &ApprovalRow, key: &Key) -> Result<Approval, Forged> {
    let forged = |problem| Forged {
        what: "approval",
        id: row.id.chars().take(32).collect(),
        problem,
    };
    let plain = key
        .open(&columns(row), &row.detail)
        .map_err(|_| forged("its columns do not belong together"))?;
    let detail: Detail =
        serde_json::from_slice(&plain).map_err(|_| forged("its detail cannot be read"))?;
    let unknown = || forged("it has a word that is not known");
    let (state, answered) = match row.state {
        ApprovalState::Pending => (State::Pending, None),
        ApprovalState::Granted => (State::Granted, Some(answered(row, key)?)),
        ApprovalState::Denied => (State::Denied, Some(answered(row, key)?)),
        ApprovalState::Consumed | ApprovalState::Expired | ApprovalState::Voided => {
            return Err(forged("it is closed"));
        }
    };
    Ok(Approval {
        id: ApprovalId::new(row.id.as_str()),
        bound: Bound {
            client: ClientId::new(row.client.as_str()),
            on_behalf_of: detail.on_behalf_of.map(ClientId::new),
            server: ServerName::parse(&row.server).map_err(|_| unknown())?,
            verb: Verb::parse(&row.verb).ok_or_else(unknown)?,
            item: row.item.as_str().into(),
            entity: EntityId::new(row.entity.as_str()),
            definition: row.definition.map(DefinitionHash),
            arguments: row.args_digest,
            policy_version: row.policy_version,
        },
        seat: SeatId::new(row.seat.as_str()),
        workspace: detail.workspace,
        has_session: detail.has_session,
        kind: kind(&detail.kind).ok_or_else(unknown)?,
        rung: Rung::parse(&detail.rung).ok_or_else(unknown)?,
        lasting: detail
            .lasting
            .iter()
            .filter_map(|word| Answer::parse(word))
            .collect(),
        lasts_ms: detail.lasts_ms,
        rule: detail.rule,
        reason: detail.reason,
        preview: detail.preview,
        created_ms: row.created_ms,
        expires_ms: row.expires_ms,
        state,
        answered,
    })
}

fn kind(word: &str) -> Option<AskKind> {
    [
        AskKind::Permission,
        AskKind::FirstSight,
        AskKind::Draft,
        AskKind::Certify,
        AskKind::Sampling,
    ]
    .into_iter()
    .find(|kind| kind.as_str() == word)
}

/// What stands in `decided_by`: the road, the answer, and the MAC over both,
/// the approval and the time.
pub(super) fn decided_by(id: &str, answered: &Answered, key: &Key) -> String {
    let mac = key.mac(&decision(
        id,
        answered.channel,
        answered.answer,
        &answered.at_ms.to_le_bytes(),
    ));
    format!(
        "{} {} {}",
        answered.channel.as_str(),
        answered.answer,
        legation_core::id::hex(&mac)
    )
}

fn answered(row: &ApprovalRow, key: &Key) -> Result<Answered, Forged> {
    let read = || {
        let at_ms = row.decided_ms?;
        let mut words = row.decided_by.as_deref()?.split(' ');
        let channel = Channel::parse(words.next()?)?;
        let answer = Answer::parse(words.next()?)?;
        let granted = answer != Answer::Deny;
        let fits = granted == (row.state == ApprovalState::Granted);
        let mac = key.mac(&decision(&row.id, channel, answer, &at_ms.to_le_bytes()));
        // The MAC is compared as text of fixed length; its prefix tells nothing
        // to somebody who can read the row anyway.
        (fits && words.next()? == legation_core::id::hex(&mac) && words.next().is_none()).then_some(
            Answered {
                answer,
                channel,
                at_ms,
            },
        )
    };
    read().ok_or_else(|| Forged {
        what: "approval",
        id: row.id.chars().take(32).collect(),
        problem: "its answer was not given to the hub",
    })
}

fn decision<'a>(
    id: &'a str,
    channel: Channel,
    answer: Answer,
    at_ms: &'a [u8; 8],
) -> [&'a [u8]; 5] {
    [
        b"approval decided",
        id.as_bytes(),
        channel.as_str().as_bytes(),
        answer.as_str().as_bytes(),
        at_ms,
    ]
}

/// Everything in a row that its detail is sealed with, each with its length.
fn columns(row: &ApprovalRow) -> Vec<u8> {
    let mut beside = Vec::with_capacity(256);
    let mut add = |part: &[u8]| {
        beside.extend_from_slice(&(part.len() as u64).to_le_bytes());
        beside.extend_from_slice(part);
    };
    add(b"approval");
    for text in [
        &row.id,
        &row.client,
        &row.seat,
        &row.server,
        &row.item,
        &row.verb,
        &row.entity,
    ] {
        add(text.as_bytes());
    }
    add(row.definition.as_ref().map_or(&[], |hash| &hash[..]));
    add(&row.args_digest);
    add(&row.policy_version.to_le_bytes());
    add(&row.created_ms.to_le_bytes());
    add(&row.expires_ms.to_le_bytes());
    beside
}

/// The row of what an answer grants beyond its call.
pub(super) fn of_grant(grant: &Grant, approval: &Approval, now_ms: i64, key: &Key) -> GrantRow {
    let mut row = GrantRow {
        id: grant.id.as_str().to_owned(),
        client: grant.client.as_str().to_owned(),
        on_behalf_of: grant.on_behalf_of.as_ref().map(|by| by.as_str().to_owned()),
        server: grant.server.as_str().to_owned(),
        item: grant.item.to_string(),
        verb: grant.verb.as_str().to_owned(),
        entity: grant.entity.as_str().to_owned(),
        definition: grant.definition.map(|hash| hash.0),
        args_digest: grant.args_digest,
        rung: grant.rung.as_str().to_owned(),
        policy_version: grant.policy_version,
        scope: grant.scope.as_str().to_owned(),
        seat: grant.seat.as_ref().map(|seat| seat.as_str().to_owned()),
        workspace: grant.workspace.as_deref().map(str::to_owned),
        created_ms: now_ms,
        expires_ms: grant.expires_ms,
        uses_left: None,
        approval: Some(approval.id.as_str().to_owned()),
        approver: approval
            .answered
            .as_ref()
            .map_or("", |answered| answered.channel.as_str())
            .to_owned(),
        mac: [0; 32],
    };
    row.mac = key.mac(&[&members(&row)]);
    row
}

/// A grant out of its row.
pub(super) fn to_grant(row: &GrantRow, key: &Key) -> Result<Grant, Forged> {
    let forged = |problem| Forged {
        what: "grant",
        id: row.id.chars().take(32).collect(),
        problem,
    };
    if !key.verify(&[&members(row)], &row.mac) {
        return Err(forged("its MAC does not fit"));
    }
    let unknown = || forged("it has a word that is not known");
    Ok(Grant {
        id: GrantId::new(row.id.as_str()),
        client: ClientId::new(row.client.as_str()),
        on_behalf_of: row.on_behalf_of.as_deref().map(ClientId::new),
        server: ServerName::parse(&row.server).map_err(|_| unknown())?,
        item: row.item.as_str().into(),
        verb: Verb::parse(&row.verb).ok_or_else(unknown)?,
        definition: row.definition.map(DefinitionHash),
        args_digest: row.args_digest,
        entity: EntityId::new(row.entity.as_str()),
        rung: Rung::parse(&row.rung).ok_or_else(unknown)?,
        policy_version: row.policy_version,
        scope: GrantScope::parse(&row.scope).ok_or_else(unknown)?,
        seat: row.seat.as_deref().map(SeatId::new),
        workspace: row.workspace.as_deref().map(Into::into),
        expires_ms: row.expires_ms,
        uses_left: None,
        approver: row.approver.as_str().into(),
    })
}

/// Everything in a grant's row but the MAC itself, each with its length.
fn members(row: &GrantRow) -> Vec<u8> {
    let mut all = Vec::with_capacity(384);
    let mut add = |part: &[u8]| {
        all.extend_from_slice(&(part.len() as u64).to_le_bytes());
        all.extend_from_slice(part);
    };
    add(b"grant");
    for text in [
        &row.id,
        &row.client,
        &row.server,
        &row.item,
        &row.verb,
        &row.entity,
        &row.rung,
        &row.scope,
        &row.approver,
    ] {
        add(text.as_bytes());
    }
    for text in [&row.seat, &row.workspace, &row.approval] {
        add(&[u8::from(text.is_some())]);
        add(text.as_deref().unwrap_or_default().as_bytes());
    }
    for digest in [&row.definition, &row.args_digest] {
        add(digest.as_ref().map_or(&[], |digest| &digest[..]));
    }
    for number in [
        row.policy_version.map(u64::cast_signed),
        row.expires_ms,
        row.uses_left,
    ] {
        add(&[u8::from(number.is_some())]);
        add(&number.unwrap_or_default().to_le_bytes());
    }
    add(&row.created_ms.to_le_bytes());
    // Only where there is one: grants from before have none, and stay good.
    if let Some(by) = &row.on_behalf_of {
        add(b"on behalf of");
        add(by.as_bytes());
    }
    all
}
