//! Sixth stage: a person.
//!
//! It stands behind the decision, which says that one is needed, and before the
//! record, whose transaction uses the answer up. The call is held here, not its
//! connection: whoever cannot be asked, or does not answer, gets a pending
//! result and finds the answer by calling again.

use std::sync::Arc;
use std::time::Duration;

use legation_core::{ApprovalId, ClientId, OpContext, Via};
use legation_policy::{AskKind, Asked, Scope, Target};
use legation_store::ApprovalState;

use crate::approval::{
    self, APPROVAL_TTL_MS, Answer, AnswerError, Approval, Approvals, Bound, Channel, PREVIEW_MAX,
    State,
};
use crate::proposal::{Draft, Proposal, Proposals};
use crate::stage::unapproved::Unapproved;
use crate::{Item, Peer};

/// How long a client that is asked by a request is waited for: beyond it, its
/// own time limit for the call would end the call.
const WAIT: Duration = Duration::from_secs(45);

/// A call as it is put to a person.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) context: &'a OpContext,
    pub(crate) item: &'a Item,
    pub(crate) peer: &'a Arc<dyn Peer>,
    /// The arguments as the server would get them.
    pub(crate) arguments: &'a str,
    /// The arguments as the client wrote them.
    pub(crate) written: &'a str,
    /// For whom the call is made, if for another.
    pub(crate) delegator: Option<&'a ClientId>,
}

/// What stands behind a call that may be decided again.
#[derive(Debug)]
pub(crate) enum Agreed {
    /// A grant covers it now.
    Granted(Target),
    /// A person certified exactly this.
    Certified(Target, Box<Proposal>),
}

/// What a call and a question of its are bound to.
fn bound(question: &Question<'_>, asked: &Asked) -> Bound {
    Bound {
        client: question.context.caller.principal.client.clone(),
        on_behalf_of: question.delegator.cloned(),
        server: asked.target.server.clone(),
        verb: asked.target.verb,
        item: asked.target.item.clone(),
        entity: asked.entity.clone(),
        definition: asked.target.definition,
        arguments: asked.args_digest,
        policy_version: asked.policy_version,
    }
}

/// Finds a certificate for exactly this call, or proposes it.
pub(crate) fn propose(
    proposals: &Proposals,
    question: &Question<'_>,
    asked: Asked,
) -> Result<Agreed, Unapproved> {
    let bound = bound(question, &asked);
    let rule: Box<str> = asked.rule.as_str().into();
    let draft = Draft {
        rule: rule.clone(),
        reason: asked.reason,
        arguments: question.arguments.into(),
    };
    let target = Box::new(asked.target);
    match proposals.propose(bound, draft) {
        Ok((proposal, _)) if proposal.certified.is_some() => {
            Ok(Agreed::Certified(*target, Box::new(proposal)))
        }
        Ok((proposal, _)) => Err(Unapproved::Proposed {
            id: proposal.id,
            rule,
            target,
        }),
        Err(source) => Err(Unapproved::NotProposed {
            rule,
            target,
            source,
        }),
    }
}

/// Has a person asked, or finds what they said.
pub(crate) async fn ask(
    approvals: &Approvals,
    question: &Question<'_>,
    asked: Asked,
) -> Result<Agreed, Unapproved> {
    let bound = bound(question, &asked);
    let rule: Box<str> = asked.rule.as_str().into();
    let made = approvals.ask(bound, |bound, now_ms| {
        approval_of(question, &asked, bound, now_ms)
    });
    let target = Box::new(asked.target);
    let (approval, new) = match made {
        Ok(made) => made,
        Err(source) => {
            return Err(Unapproved::NotAsked {
                rule,
                target,
                source,
            });
        }
    };
    let state = match approval.state {
        State::Pending => answer(approvals, question, &approval, new).await,
        // The decision was made on an index that did not have it yet.
        State::Granted | State::Denied => Some(approval.state),
    };
    match state {
        Some(State::Granted) => Ok(Agreed::Granted(*target)),
        Some(State::Denied) => Err(Unapproved::Denied {
            id: approval.id,
            rule,
            target,
        }),
        Some(State::Pending) => Err(Unapproved::Pending {
            id: approval.id,
            rule,
            reason: approval.reason,
            code: asked.reason_code,
            target,
        }),
        None => Err(match approvals.ended(&approval.id) {
            Some(ApprovalState::Expired) => Unapproved::Expired { rule, target },
            _ => Unapproved::Spent { rule, target },
        }),
    }
}

/// Waits for an answer where there is somebody to wait for; how the approval
/// stands then, or `None` when it is gone.
async fn answer(
    approvals: &Approvals,
    question: &Question<'_>,
    approval: &Approval,
    new: bool,
) -> Option<State> {
    let peer = question.peer;
    let can_ask = peer.capabilities().elicitation_form && is_held(question.item);
    if can_ask && new && peer.takes_input_required() {
        // Such a client is away until it comes back with an answer. What others
        // said meanwhile counts then, so that nothing runs that nobody reads.
        let response = peer
            .ask(approval::question(approval, question.written))
            .await;
        take(approvals, approval, response.ok().as_ref());
    } else if can_ask && !peer.takes_input_required() {
        let asked = new.then(|| peer.ask(approval::question(approval, question.written)));
        wait(approvals, approval, asked).await;
    }
    state(approvals, &approval.id)
}

/// Waits for the client, or for whoever answers elsewhere, whichever is first.
async fn wait(
    approvals: &Approvals,
    approval: &Approval,
    asked: Option<
        futures_util::future::BoxFuture<
            'static,
            Result<legation_wire::json::Raw, legation_wire::message::ErrorObject>,
        >,
    >,
) {
    let mut changes = approvals.changes();
    let elsewhere = async {
        while state(approvals, &approval.id) == Some(State::Pending) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    };
    let limit = tokio::time::sleep(WAIT);
    match asked {
        Some(asked) => tokio::select! {
            response = asked => take(approvals, approval, response.ok().as_ref()),
            () = elsewhere => {}
            () = limit => {}
        },
        None => tokio::select! {
            () = elsewhere => {}
            () = limit => {}
        },
    }
}

/// Takes an answer of the client's, if it is one. A dialog that was closed, and
/// a client that declines by itself, have said nothing.
fn take(approvals: &Approvals, approval: &Approval, response: Option<&legation_wire::json::Raw>) {
    let Some(answer) = response.and_then(|response| approval::read_answer(approval, response))
    else {
        return;
    };
    if let Err(error) = approvals.answer(&approval.id, answer, Channel::Elicitation) {
        tracing::info!(approval = %approval.id, error = %legation_core::error::chain(&error), "an answer came too late");
    }
}

fn state(approvals: &Approvals, id: &ApprovalId) -> Option<State> {
    approvals.get(id).map(|open| open.state)
}

/// Completions are asked for while a person types.
fn is_held(item: &Item) -> bool {
    match item {
        Item::Tool(_)
        | Item::Resource(_)
        | Item::Prompt(_)
        | Item::Skill(_)
        | Item::Directory(_) => true,
        Item::PromptArgument(_) | Item::ResourceArgument(_) => false,
    }
}

fn approval_of(
    question: &Question<'_>,
    asked: &Asked,
    bound: Bound,
    now_ms: i64,
) -> Result<Approval, AnswerError> {
    let caller = &question.context.caller;
    let code = crate::code::short().ok_or(AnswerError::NotOpen(approval::NotOpen::Full))?;
    let mut lasting = Vec::new();
    let mut lasts_ms = None;
    for scope in &asked.scopes {
        match scope {
            Scope::Once => {}
            Scope::Session => lasting.push(Answer::Session),
            Scope::Here => lasting.push(Answer::Here),
            Scope::Always => lasting.push(Answer::Always),
            Scope::Until(time) => {
                lasting.push(Answer::Always);
                lasts_ms = Some(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
            }
        }
    }
    if asked.scopes.contains(&Scope::Always) {
        lasts_ms = None;
    }
    Ok(Approval {
        id: ApprovalId::new(code),
        bound,
        seat: caller.seat.clone(),
        workspace: caller
            .workspace
            .as_ref()
            .map(|folder| folder.to_string_lossy().into()),
        has_session: has_session(question),
        kind: if asked.kind == AskKind::Certify {
            AskKind::Permission
        } else {
            asked.kind
        },
        rung: asked.rung,
        lasting,
        lasts_ms,
        rule: asked.rule.as_str().into(),
        reason: asked.reason.clone(),
        preview: question.arguments.chars().take(PREVIEW_MAX).collect(),
        created_ms: now_ms,
        expires_ms: now_ms.saturating_add(APPROVAL_TTL_MS),
        state: State::Pending,
        answered: None,
    })
}

/// Whether the caller's seat lives as long as a session: a bridge does, and so
/// does a client of the handshake era; a credential does not.
fn has_session(question: &Question<'_>) -> bool {
    match question.context.caller.principal.via {
        Via::Socket | Via::Sse => true,
        Via::Http | Via::NoAuth => !question.peer.revision().is_modern(),
        Via::Admin | Via::Web | Via::Copilot => false,
    }
}
