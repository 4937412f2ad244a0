//! What waits for a person, answered by the owner's commands.

use std::sync::Arc;

use legation_api::Done;
use legation_api::approvals::{
    Answer, Answered, Certify, Find, Grant, List, ListAnswer, Posted, ResetLabels, Revoke, Waiting,
};
use legation_core::clock::Wall;
use legation_core::{ApprovalId, EntityId, ProposalId};
use legation_gate::approval::{self, AnswerError, Approval, Channel, NotOpen};
use legation_gate::code::normalised;
use legation_gate::desk::{Permission, Question};
use legation_gate::policy::GrantId;
use legation_gate::proposal::{Proposal, ProposalError};
use legation_keystore::{HumanProof, Pin};
use legation_wire::message::ErrorObject;

use super::super::events;
use super::super::hub::Inner;
use super::{failed, failed_with, missing, unavailable};

/// Most characters of a proposal's arguments that are shown.
const SHOWN_MAX: usize = 20_000;

/// Everything that waits.
pub(super) fn list(hub: &Inner, _request: List) -> ListAnswer {
    let asking = hub.gate.asking();
    let mut waiting: Vec<Waiting> = asking.approvals.list().iter().map(of_approval).collect();
    waiting.extend(asking.proposals.list().iter().map(of_proposal));
    waiting.extend(asking.permissions.list().iter().map(of_permission));
    for one in &mut waiting {
        one.posted = posted(hub, &one.id);
    }
    let grants = asking.approvals.grants().into_iter().map(|lasting| Grant {
        id: lasting.grant.id.to_string(),
        client: lasting.grant.client.to_string(),
        on_behalf_of: lasting.grant.on_behalf_of.as_ref().map(ToString::to_string),
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

/// One that waits, by its id or its code.
pub(super) fn find(hub: &Inner, request: &Find) -> Result<Waiting, ErrorObject> {
    let id = meant(hub, &request.id);
    let all = list(hub, List {}).waiting;
    all.into_iter().find(|one| one.id == id).ok_or_else(|| {
        let shown = approval::escaped(request.id.trim(), 40);
        let message = format!("nothing of the id {shown:?} waits; nothing was changed");
        missing(
            &message,
            Some("`legation approvals` shows what waits".to_owned()),
        )
    })
}

/// The id of what somebody typed. A code says which question is meant and
/// proves nothing here: whoever may run this command may answer by the id.
fn meant(hub: &Inner, typed: &str) -> String {
    let id = normalised(typed);
    let desk = hub.approvals_here.as_ref().map(|here| &here.desk);
    desk.and_then(|desk| desk.with_code(&id)).unwrap_or(id)
}

/// Takes an answer that came by a road.
pub(super) fn answer(
    hub: &Inner,
    channel: Channel,
    request: &Answer,
) -> Result<Answered, ErrorObject> {
    let Some(answer) = approval::Answer::parse(&request.answer) else {
        let message = format!("{:?} is no answer; nothing was changed", request.answer);
        let hint = "say once, session, here, always or deny".to_owned();
        return Err(failed(&message, Some(hint)));
    };
    let id = meant(hub, &request.id);
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
            .map_err(of_proposals);
    }
    if id.starts_with("C-") {
        return permitted(hub, &id, answer, channel);
    }
    asking
        .approvals
        .answer(&ApprovalId::new(id), answer, channel)
        .map(answered)
        .map_err(|error| {
            let hint = "`legation approvals` shows what waits".to_owned();
            let what = legation_core::error::chain(&error);
            match error {
                AnswerError::NotOpen(NotOpen::Unknown) => missing(&what, Some(hint)),
                AnswerError::NotOpen(_) => failed(&what, Some(hint)),
                AnswerError::NotKept(_) | AnswerError::NotSealed(_) => {
                    unavailable(&what, Some(hint))
                }
            }
        })
}

/// Answers what a client asks of its own: once, or no.
fn permitted(
    hub: &Inner,
    id: &str,
    answer: approval::Answer,
    channel: Channel,
) -> Result<Answered, ErrorObject> {
    let allow = match answer {
        approval::Answer::Once => true,
        approval::Answer::Deny => false,
        _ => {
            let message = "a client's own question takes a yes once, or a no; nothing was changed";
            return Err(failed(message, Some("say once or deny".to_owned())));
        }
    };
    let permissions = &hub.gate.asking().permissions;
    let taken = permissions.answer(id, allow, channel);
    taken.map(|()| answered(answer)).map_err(|error| {
        let hint = "`legation approvals` shows what waits".to_owned();
        failed(&legation_core::error::chain(&error), Some(hint))
    })
}

/// Where else a question was put.
fn posted(hub: &Inner, id: &str) -> Option<Posted> {
    let desk = hub.approvals_here.as_ref().map(|here| &here.desk)?;
    let (account, _) = hub.approvals_here.as_ref()?.accounts.first()?;
    let posting = desk.posting(id);
    let account = posting.as_ref().map_or(account, |one| &one.account);
    let sent = posting.as_ref().filter(|one| one.message.is_some());
    let state = match sent {
        Some(one) if one.is_shown => "sent",
        Some(_) => "announced",
        None => "not sent",
    };
    Some(Posted {
        to: "teams".to_owned(),
        account: account.to_string(),
        state: state.to_owned(),
        at: sent.map(|one| Wall(one.asked_ms).to_string()),
        // What was sent may have an answer that cannot be read.
        problem: desk.problem(account).map(String::from),
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
        missing(
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
        .map_err(of_proposals)
}

fn of_proposals(error: ProposalError) -> ErrorObject {
    let what = legation_core::error::chain(&error);
    match error {
        ProposalError::Unknown => missing(&what, None),
        ProposalError::Over | ProposalError::Full => failed(&what, None),
        ProposalError::NotKept(_) | ProposalError::NotSealed(_) | ProposalError::NoRandomness => {
            unavailable(&what, None)
        }
    }
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
        Ok(false) => Err(missing(
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
        on_behalf_of: open.bound.on_behalf_of.as_ref().map(ToString::to_string),
        server: open.bound.server.to_string(),
        item: open.bound.item.to_string(),
        entity: open.bound.entity.to_string(),
        rule: open.rule.to_string(),
        reason: open.reason.to_string(),
        arguments: open.preview.to_string(),
        answers: open.answers().map(|answer| answer.to_string()).collect(),
        digest: Some(legation_core::id::hex(&open.digest())),
        short_digest: Some(approval::short_digest(&open.digest())),
        posted: None,
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
        on_behalf_of: open.bound.on_behalf_of.as_ref().map(ToString::to_string),
        server: open.bound.server.to_string(),
        item: open.bound.item.to_string(),
        entity: open.bound.entity.to_string(),
        rule: open.rule.to_string(),
        reason: open.reason.to_string(),
        arguments: approval::escaped(&open.arguments, SHOWN_MAX),
        answers: vec!["certify".to_owned(), "deny".to_owned()],
        digest: Some(legation_core::id::hex(&open.digest)),
        short_digest: Some(approval::short_digest(&open.digest)),
        posted: None,
        created: Wall(open.created_ms).to_string(),
        expires: Wall(open.expires_ms).to_string(),
    }
}

fn of_permission(open: &Permission) -> Waiting {
    let question = Question::from(open);
    let entities: Vec<&str> = open.entities.iter().map(EntityId::as_str).collect();
    Waiting {
        id: open.id.to_string(),
        kind: question.kind.as_str().to_owned(),
        state: "pending".to_owned(),
        client: open.client.to_string(),
        on_behalf_of: None,
        server: String::new(),
        item: open.tool.to_string(),
        entity: entities.join(" "),
        rule: String::new(),
        reason: open.description.to_string(),
        arguments: open.preview.to_string(),
        answers: vec!["once".to_owned(), "deny".to_owned()],
        digest: Some(legation_core::id::hex(&question.digest)),
        short_digest: Some(question.short_digest()),
        posted: None,
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
