//! What an answer allows.

use legation_policy::{Grant, GrantId, GrantScope, Rung};

use super::{Answer, Answered, Approval, State};

/// What the name of a grant that goes beyond one call begins with.
pub(super) const LASTING: &str = "g-";
/// How long an answer for a session lasts at most: a seat that is never closed
/// must not keep it for ever.
const SESSION_TTL_MS: i64 = 12 * 60 * 60 * 1000;

/// What an approval that was granted once allows.
pub(super) fn once(open: &Approval) -> Option<Grant> {
    let answered = open.answered.as_ref()?;
    if open.state != State::Granted || answered.answer != Answer::Once {
        return None;
    }
    Some(Grant {
        id: GrantId::new(open.id.as_str()),
        args_digest: Some(open.bound.arguments),
        policy_version: Some(open.bound.policy_version),
        scope: GrantScope::Once,
        seat: None,
        workspace: None,
        expires_ms: Some(open.expires_ms),
        uses_left: Some(1),
        ..of_call(open, answered)
    })
}

/// What an answer allows beyond its call. An answer for a session or a folder
/// ends with the rules it was given under; one for always ends with the
/// definition.
pub(super) fn lasting(open: &Approval, answer: Answer) -> Option<(Grant, Approval)> {
    let answered = open.answered.as_ref()?;
    let bound = &open.bound;
    let (seat, workspace, expires_ms, version) = match answer {
        Answer::Once | Answer::Deny => return None,
        Answer::Session => (
            Some(open.seat.clone()),
            None,
            Some(answered.at_ms + SESSION_TTL_MS),
            Some(bound.policy_version),
        ),
        Answer::Here => (
            None,
            open.workspace.clone(),
            None,
            Some(bound.policy_version),
        ),
        Answer::Always => {
            let until = open
                .lasts_ms
                .map(|lasts| answered.at_ms.saturating_add(lasts));
            (None, None, until, None)
        }
    };
    let scope = match (answer, expires_ms) {
        (Answer::Always, Some(_)) => GrantScope::Until,
        (answer, _) => answer.scope()?,
    };
    let grant = Grant {
        id: GrantId::new(format!("{LASTING}{}", open.id)),
        policy_version: version,
        scope,
        seat,
        workspace,
        expires_ms,
        ..of_call(open, answered)
    };
    Some((grant, open.clone()))
}

/// The members that every grant of an approval has in common.
fn of_call(open: &Approval, answered: &Answered) -> Grant {
    let bound = &open.bound;
    Grant {
        id: GrantId::new(open.id.as_str()),
        client: bound.client.clone(),
        on_behalf_of: bound.on_behalf_of.clone(),
        server: bound.server.clone(),
        item: bound.item.clone(),
        verb: bound.verb,
        definition: bound.definition,
        args_digest: None,
        entity: bound.entity.clone(),
        rung: Rung::Execute,
        policy_version: None,
        scope: GrantScope::Always,
        seat: None,
        workspace: None,
        expires_ms: None,
        uses_left: None,
        approver: answered.channel.as_str().into(),
    }
}
