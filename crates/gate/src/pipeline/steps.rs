//! The steps of a call, between who calls and what comes back.

use super::*;

/// What one decision leads to.
enum Step {
    /// It may be made.
    Cleared(Cleared),
    /// The conversation moved on meanwhile: decide again.
    Again(Target),
    /// A person has to agree first.
    Ask(Box<legation_policy::Asked>),
}

/// Whether what was permitted is what a person certified, to the letter.
fn is_as_certified(permitted: &Permitted, delegation: &Delegation, proposal: &Proposal) -> bool {
    let (target, bound) = (permitted.target(), &proposal.bound);
    permitted.principal().client == bound.client
        && delegation.delegator() == bound.on_behalf_of.as_ref()
        && target.server == bound.server
        && target.verb == bound.verb
        && target.item == bound.item
        && target.definition == bound.definition
        && *permitted.entity() == bound.entity
        && permitted.args_digest() == Some(&bound.arguments)
        && permitted.policy_version() == bound.policy_version
}

/// The refusal of what the ledger could not take.
fn not_recorded(server: Option<&ServerName>, item: &str, source: LedgerError) -> Refusal {
    let action = match server {
        Some(server) => format!("{server}/{item}"),
        None => item.to_owned(),
    };
    Refusal::NotRecorded {
        action: action.into(),
        source,
    }
}

impl Gate {
    /// Decides a call, and has a person asked where one is needed, until it is
    /// permitted or refused.
    pub(super) async fn clear(
        &self,
        context: &OpContext,
        mut target: Target,
        asks: Asks<'_>,
    ) -> Result<Cleared, Refusal> {
        let mut certified = None;
        for _ in 0..ROUNDS {
            let carried = (asks.arguments, asks.delegation);
            match self.decide_once(context, target, carried, certified.as_deref()) {
                Err(refusal) => {
                    return Err(self
                        .refuse_delegated(context, asks.delegation, refusal)
                        .await);
                }
                Ok(Step::Cleared(cleared)) => {
                    return Ok(match certified {
                        Some(proposal) => Cleared {
                            uses: Uses::Proposal(proposal),
                            ..cleared
                        },
                        None => cleared,
                    });
                }
                Ok(Step::Again(again)) => target = again,
                Ok(Step::Ask(asked)) => {
                    let about = asked.about();
                    match self.agree(context, *asked, asks).await {
                        Ok(Agreed::Granted(again)) => target = again,
                        Ok(Agreed::Certified(again, proposal)) => {
                            target = again;
                            certified = Some(proposal);
                        }
                        Err(unapproved) => {
                            let refusal = Refusal::Unapproved(Box::new(unapproved));
                            return Err(self.refuse_about(context, Some(&about), refusal).await);
                        }
                    }
                }
            }
        }
        let unapproved = Unapproved::Voided {
            rule: "approval.void".into(),
            target: Box::new(target),
        };
        let refusal = Refusal::Unapproved(Box::new(unapproved));
        Err(self.refuse_known(context, refusal).await)
    }

    /// One decision, on what is known at one moment.
    fn decide_once(
        &self,
        context: &OpContext,
        target: Target,
        (arguments, delegation): (Option<&Raw>, &Delegation),
        certified: Option<&Proposal>,
    ) -> Result<Step, Refusal> {
        let caller = &context.caller;
        let conversations = &self.asking.conversations;
        let labels = conversations.labels(caller).map_err(Refusal::NoLabels)?;
        let sent_to = arguments
            .filter(|_| target.origin == legation_policy::Origin::Builtin)
            .and_then(|raw| self.servers.recipient(&target, raw));
        let arguments = arguments.map(|raw| Arguments::new(raw.as_text()));
        let grants = self.asking.approvals.index();
        let decision = stage::decide::decide(
            &self.rules.load(),
            &Inquiry {
                principal: &caller.principal,
                on_behalf_of: delegation.on_behalf_of.as_ref(),
                seat: &caller.seat,
                workspace: caller.workspace.as_deref(),
                labels: &labels,
                arguments: arguments.as_ref(),
                sent_to: sent_to.as_deref(),
                unredacted_phi: None,
                confidence: delegation.confidence,
                certified: certified.is_some(),
                grants: &grants,
                now_ms: self.asking.approvals.now_ms(),
            },
            target,
        );
        let permitted = match decision {
            Decision::Permitted(permitted) => permitted,
            Decision::Ask(asked) => return Ok(Step::Ask(asked)),
            Decision::Denied(denied) => return Err(denied.into()),
        };
        if let Some(proposal) = certified
            && !is_as_certified(&permitted, delegation, proposal)
        {
            let unapproved = Unapproved::Voided {
                rule: permitted.rule().as_str().into(),
                target: Box::new(permitted.target().clone()),
            };
            return Err(Box::new(unapproved).into());
        }
        let joined = conversations
            .join(caller, &labels, permitted.labels())
            .map_err(Refusal::NoLabels)?;
        if joined.is_err() {
            return Ok(Step::Again(permitted.target().clone()));
        }
        let uses = permitted.grant().and_then(Approvals::used_by);
        Ok(Step::Cleared(Cleared {
            permitted,
            uses: uses.map_or(Uses::Nothing, Uses::Approval),
        }))
    }

    /// A decision on what carries nothing and asks nobody: looking at what was
    /// begun, and being told of changes.
    pub(super) async fn watch(
        &self,
        context: &OpContext,
        target: Target,
    ) -> Result<Permitted, Refusal> {
        match self.decide_once(context, target, (None, &Delegation::NONE), None) {
            Ok(Step::Cleared(cleared)) => Ok(cleared.permitted),
            Ok(Step::Again(target)) => {
                let moved = Unapproved::Voided {
                    rule: "boundary.conversation_moved".into(),
                    target: Box::new(target),
                };
                Err(Box::new(moved).into())
            }
            Ok(Step::Ask(asked)) => {
                let denied = match Decision::Ask(asked).permitted() {
                    Ok(permitted) => return Ok(permitted),
                    Err(denied) => denied,
                };
                Err(self.refuse_known(context, denied.into()).await)
            }
            Err(refusal) => Err(self.refuse_known(context, refusal).await),
        }
    }

    /// A decision on the task of a call of the caller's own, for whom that was made. The call was
    /// decided on what it carried, and agreed to where somebody had to; it must only still be
    /// allowed at all.
    pub(super) async fn see_through(
        &self,
        context: &OpContext,
        mut target: Target,
        delegation: &Delegation,
    ) -> Result<Permitted, Refusal> {
        let caller = &context.caller;
        for _ in 0..ROUNDS {
            match self.decide_once(context, target, (None, delegation), None) {
                Ok(Step::Cleared(cleared)) => return Ok(cleared.permitted),
                Ok(Step::Again(again)) => target = again,
                Ok(Step::Ask(asked)) => {
                    let permitted = Decision::Ask(asked).begun(&caller.principal)?;
                    let conversations = &self.asking.conversations;
                    let held = conversations.labels(caller).map_err(Refusal::NoLabels)?;
                    let joined = conversations
                        .join(caller, &held, permitted.labels())
                        .map_err(Refusal::NoLabels)?;
                    if joined.is_ok() {
                        return Ok(permitted);
                    }
                    target = permitted.target().clone();
                }
                Err(refusal) => {
                    return Err(self.refuse_delegated(context, delegation, refusal).await);
                }
            }
        }
        let unapproved = Unapproved::Voided {
            rule: "boundary.conversation_moved".into(),
            target: Box::new(target),
        };
        Err(Box::new(unapproved).into())
    }

    pub(super) async fn agree(
        &self,
        context: &OpContext,
        asked: legation_policy::Asked,
        asks: Asks<'_>,
    ) -> Result<Agreed, Unapproved> {
        let question = Question {
            context,
            item: asks.item,
            peer: asks.peer,
            arguments: asks.arguments.map_or("", Raw::as_text),
            written: asks.written.map_or("", Raw::as_text),
            delegator: asks.delegation.delegator(),
        };
        if asked.kind == AskKind::Certify {
            return stage::ask::propose(&self.asking.proposals, &question, asked);
        }
        stage::ask::ask(&self.asking.approvals, &question, asked).await
    }

    /// Judges and cleans what a call brought, and records it.
    pub(super) fn hand_on(
        &self,
        context: &OpContext,
        receipt: &Receipt,
        (ticket, seen): (Ticket, &mut Seen),
        (outcome, room): (Outcome, Room),
    ) -> Result<Outcome, Refusal> {
        let handed = stage::result::handed_on(
            &self.rules.load(),
            &self.cleaning.load(),
            (self.redaction.as_ref(), &context.caller),
            receipt,
            outcome,
        );
        match &handed {
            Ok(outcome) => seen.recorded(stage::record::outcome(&self.ledger, ticket, outcome)),
            Err(refusal) => stage::record::withheld(&self.ledger, ticket, refusal),
        }
        // The record is of the whole, which the client can read.
        handed.map(|outcome| self.put_aside(context, receipt, outcome, room))
    }

    /// Records the intent, and tells the approvals what it used up.
    pub(super) async fn intend(
        &self,
        context: &OpContext,
        cleared: &Cleared,
        asks: Asks<'_>,
    ) -> Result<Ticket, Refusal> {
        let claim = match &cleared.uses {
            Uses::Nothing => None,
            Uses::Approval(id) => Some(Claim::Approval(id.as_str())),
            Uses::Proposal(proposal) => Some(Claim::Proposal(proposal.id.as_str())),
        };
        if let Uses::Approval(id) = &cleared.uses
            && self.asking.approvals.is_spent(id)
        {
            // Its row may say otherwise by now; that would be another's doing.
            self.asking.approvals.replayed(id);
            return Err(self.spent(context, cleared).await);
        }
        let recorded = stage::record::intent(
            &self.ledger,
            &cleared.permitted,
            claim,
            (asks.arguments, asks.delegation),
        )
        .await;
        let spent = matches!(recorded, Err(LedgerError::Claimed { .. }));
        if spent || recorded.is_ok() {
            match &cleared.uses {
                Uses::Nothing => {}
                Uses::Approval(id) => self.asking.approvals.consumed(id),
                Uses::Proposal(proposal) => {
                    self.asking
                        .proposals
                        .applied(&proposal.id, recorded.is_ok());
                }
            }
        }
        if spent {
            return Err(self.spent(context, cleared).await);
        }
        let target = cleared.permitted.target();
        recorded.map_err(|source| not_recorded(Some(&target.server), &target.item, source))
    }

    async fn spent(&self, context: &OpContext, cleared: &Cleared) -> Refusal {
        let unapproved = Unapproved::Spent {
            rule: cleared.permitted.rule().as_str().into(),
            target: Box::new(cleared.permitted.target().clone()),
        };
        let refusal = Refusal::Unapproved(Box::new(unapproved));
        self.refuse_known(context, refusal).await
    }

    /// As [`Gate::refuse_known`], for a call that was made for another.
    async fn refuse_delegated(
        &self,
        context: &OpContext,
        delegation: &Delegation,
        refusal: Refusal,
    ) -> Refusal {
        let (Some(by), Refusal::Denied(denied)) = (delegation.delegator(), &refusal) else {
            return self.refuse_known(context, refusal).await;
        };
        let target = denied.target.clone();
        let subject = (target.verb, Some(&target.server), &*target.item);
        let known = stage::record::Known {
            about: Some(&denied.about),
            on_behalf_of: Some(by),
        };
        let (ledger, chain) = (&self.ledger, &self.entity);
        let recorded =
            stage::record::refused(ledger, chain, context, subject, known, &refusal).await;
        match recorded {
            Ok(()) => refusal,
            Err(error) => not_recorded(subject.1, subject.2, error),
        }
    }

    /// Records a refusal that names its target.
    pub(super) async fn refuse_known(&self, context: &OpContext, refusal: Refusal) -> Refusal {
        let about = match &refusal {
            Refusal::Denied(denied) => Some(denied.about.clone()),
            _ => None,
        };
        self.refuse_about(context, about.as_ref(), refusal).await
    }

    /// As [`Gate::refuse_known`], with what a decision found out.
    async fn refuse_about(
        &self,
        context: &OpContext,
        about: Option<&About>,
        refusal: Refusal,
    ) -> Refusal {
        let Some(target) = refusal.target().cloned() else {
            return refusal;
        };
        let subject = (target.verb, Some(&target.server), &*target.item);
        self.refuse(context, subject, about, refusal).await
    }

    /// A refusal is recorded too; the caller hears of a ledger that cannot.
    pub(super) async fn refuse(
        &self,
        context: &OpContext,
        subject: (Verb, Option<&ServerName>, &str),
        about: Option<&About>,
        refusal: Refusal,
    ) -> Refusal {
        let known = stage::record::Known {
            about,
            on_behalf_of: None,
        };
        let (ledger, chain) = (&self.ledger, &self.entity);
        let recorded =
            stage::record::refused(ledger, chain, context, subject, known, &refusal).await;
        match recorded {
            Ok(()) => refusal,
            Err(error) => not_recorded(subject.1, subject.2, error),
        }
    }
}
