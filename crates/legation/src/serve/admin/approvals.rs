//! What waits for a person, answered by the owner's commands.

use std::sync::Arc;

use legation_api::Done;
use legation_api::approvals::{
    Answer, Answered, Certify, Grant, List, ListAnswer, ResetLabels, Revoke, Waiting,
};
use legation_core::clock::Wall;
use legation_core::{ApprovalId, ProposalId};
use legation_gate::approval::{self, Approval, Channel};
use legation_gate::code::normalised;
use legation_gate::policy::GrantId;
use legation_gate::proposal::Proposal;
use legation_keystore::{HumanProof, Pin};
use legation_wire::message::ErrorObject;

use super::super::events;
use super::super::hub::Inner;
use super::{failed, failed_with};

/// Most characters of a proposal's arguments that are shown.
const SHOWN_MAX: usize = 20_000;

/// Everything that waits.
pub(super) fn list(hub: &Inner, _request: List) -> ListAnswer {
    let asking = hub.gate.asking();
    let mut waiting: Vec<Waiting> = asking.approvals.list().iter().map(of_approval).collect();
    waiting.extend(asking.proposals.list().iter().map(of_proposal));
    let grants = asking.approvals.grants().into_iter().map(|lasting| Grant {
        id: lasting.grant.id.to_string(),
        client: lasting.grant.client.to_string(),
        server: lasting.grant.server.to_string(),
        item: lasting.grant.item.to_string(),
        entity: lasting.grant.entity.to_string(),
        scope: lasting.grant.scope.as_str().to_owned(),
        approver: lasting.grant.approver.to_string(),
        expires: lasting.grant.expires_ms.map(|at| Wall(at).to_string()),
    });
    ListAnswer {
        waiting,
        grants: grants.collect(),
        reported: asking.approvals.reported(),
    }
}

/// Takes an answer.
pub(super) fn answer(hub: &Inner, request: &Answer) -> Result<Answered, ErrorObject> {
    let Some(answer) = approval::Answer::parse(&request.answer) else {
        let message = format!("{:?} is no answer; nothing was changed", request.answer);
        let hint = "say once, session, here, always or deny".to_owned();
        return Err(failed(&message, Some(hint)));
    };
    let id = normalised(&request.id);
    let asking = hub.gate.asking();
    if id.starts_with("P-") {
        if answer != approval::Answer::Deny {
            let hint = format!("`legation approve {id}` at a terminal asks for the PIN");
            let message = "a proposal takes a person's PIN; nothing was changed";
            return Err(failed(message, Some(hint)));
        }
        return asking
            .proposals
            .reject(&ProposalId::new(id))
            .map(|()| answered(answer))
            .map_err(|error| failed_with(&error));
    }
    asking
        .approvals
        .answer(&ApprovalId::new(id), answer, Channel::Command)
        .map(answered)
        .map_err(|error| {
            let hint = "`legation approvals` shows what waits".to_owned();
            failed(&legation_core::error::chain(&error), Some(hint))
        })
}

fn answered(granted: approval::Answer) -> Answered {
    Answered {
        answer: granted.as_str().to_owned(),
    }
}

/// Certifies a proposal for a person who proves to be one. Computing the proof
/// takes long, on purpose, so it does not happen on the runtime.
pub(super) async fn certify(hub: Arc<Inner>, request: Certify) -> Result<Done, ErrorObject> {
    let certified = tokio::task::spawn_blocking(move || certify_now(&hub, &request));
    certified.await.map_err(|error| failed_with(&error))?
}

fn certify_now(hub: &Inner, request: &Certify) -> Result<Done, ErrorObject> {
    let id = ProposalId::new(normalised(&request.id));
    let proposals = &hub.gate.asking().proposals;
    let found = proposals.get(&id).ok_or_else(|| {
        let hint = "`legation approvals` shows what waits".to_owned();
        failed(
            "no proposal of this id waits; nothing was certified",
            Some(hint),
        )
    })?;
    if legation_core::id::hex(&found.digest) != request.digest {
        let message = "the proposal is not the one that was shown; nothing was certified";
        return Err(failed(message, Some("look at it again".to_owned())));
    }
    let proof = prove(hub, &found, request.pin.as_deref())?;
    proposals
        .certify(&id, &found.digest, &proof)
        .map(|()| Done {})
        .map_err(|error| failed_with(&error))
}

fn prove(hub: &Inner, found: &Proposal, pin: Option<&str>) -> Result<HumanProof, ErrorObject> {
    let Some(pin) = pin else {
        let consent = legation_keystore::platform(environment(hub));
        let what = format!(
            "{} may run {}/{} (proposal {})",
            approval::escaped(found.bound.client.as_str(), 60),
            approval::escaped(found.bound.server.as_str(), 60),
            approval::escaped(&found.bound.item, 80),
            found.id
        );
        return consent.ask(&what).map_err(|error| {
            let hint = "set a PIN with `legation pin`, and certify with it".to_owned();
            failed(&legation_core::error::chain(&error), Some(hint))
        });
    };
    Pin::new(&hub.keystore)
        .verify(pin, hub.clock.wall())
        .map_err(|error| {
            let hint = error.hint().to_owned();
            failed(&legation_core::error::chain(&error), Some(hint))
        })
}

/// Takes a grant back.
pub(super) fn revoke(hub: &Inner, request: &Revoke) -> Result<Done, ErrorObject> {
    match hub
        .gate
        .asking()
        .approvals
        .grant_remove(&GrantId::new(request.id.as_str()))
    {
        Ok(true) => Ok(Done {}),
        Ok(false) => Err(failed(
            "there is no grant of this id; nothing was changed",
            Some("`legation approvals` shows the grants".to_owned()),
        )),
        Err(error) => Err(failed_with(&error)),
    }
}

/// Forgets whose data a conversation holds.
pub(super) fn reset_labels(hub: &Inner, request: &ResetLabels) -> Result<Done, ErrorObject> {
    hub.gate
        .asking()
        .conversations
        .reset(&request.holder)
        .map_err(|error| failed_with(&error))?;
    events::labels_cleared(hub, &request.holder);
    Ok(Done {})
}

fn of_approval(open: &Approval) -> Waiting {
    Waiting {
        id: open.id.to_string(),
        kind: "approval".to_owned(),
        state: open.state.as_str().to_owned(),
        client: open.bound.client.to_string(),
        server: open.bound.server.to_string(),
        item: open.bound.item.to_string(),
        entity: open.bound.entity.to_string(),
        rule: open.rule.to_string(),
        reason: open.reason.to_string(),
        arguments: open.preview.to_string(),
        answers: open.answers().map(|answer| answer.to_string()).collect(),
        digest: None,
        created: Wall(open.created_ms).to_string(),
        expires: Wall(open.expires_ms).to_string(),
    }
}

fn of_proposal(open: &Proposal) -> Waiting {
    let state = match open.certified {
        Some(_) => "granted",
        None => "pending",
    };
    Waiting {
        id: open.id.to_string(),
        kind: "proposal".to_owned(),
        state: state.to_owned(),
        client: open.bound.client.to_string(),
        server: open.bound.server.to_string(),
        item: open.bound.item.to_string(),
        entity: open.bound.entity.to_string(),
        rule: open.rule.to_string(),
        reason: open.reason.to_string(),
        arguments: open.arguments.chars().take(SHOWN_MAX).collect(),
        answers: vec!["certify".to_owned(), "deny".to_owned()],
        digest: Some(legation_core::id::hex(&open.digest)),
        created: Wall(open.created_ms).to_string(),
        expires: Wall(open.expires_ms).to_string(),
    }
}

/// What a program that asks a person needs of the environment: their display.
fn environment(hub: &Inner) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    hub.environment
        .inherited_by_children()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
