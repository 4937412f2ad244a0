//! The gate itself: the stages in their order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use legation_core::{Caller, EntityId, OpContext, ServerName, TaskHandle};
use legation_ledger::{Claim, Ledger, LedgerError, Ticket};
use legation_policy::{
    Arguments, AskKind, Decision, Inquiry, Permitted, Policy, Receipt, Target, Verb,
};
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

use crate::approval::Approvals;
use crate::proposal::Proposal;
use crate::redaction::Redaction;
use crate::stage::ask::{Agreed, Question, Unapproved};
use crate::stage::{self, Cleaning, KnownClients};
use crate::{
    Ask, Asking, Call, Description, Endpoint, Item, ListKind, Listing, Outcome, Peer, Refusal,
    Request, ServerSet, Subscription, TaskVerb,
};

/// How often a call is decided before it is given up: a person is asked once,
/// and other calls of the conversation may come between.
const ROUNDS: usize = 8;
/// In a request's `_meta`, for a server that can tell a repeated request from a
/// new one: what an applied proposal is known by.
const IDEMPOTENCY_KEY: &str = "io.legation/idempotencyKey";

/// How many filtered lists are kept; past that they are made anew.
const FILTERED_MAX: usize = 256;

/// Everything a call passes.
#[derive(Debug)]
pub struct Gate {
    servers: Arc<dyn ServerSet>,
    ledger: Arc<Ledger>,
    rules: ArcSwap<Policy>,
    clients: ArcSwap<KnownClients>,
    cleaning: ArcSwap<Cleaning>,
    redaction: Option<Redaction>,
    asking: Asking,
    /// The chain of refusals that name nobody's data.
    entity: EntityId,
    filtered: Mutex<HashMap<FilterKey, Arc<Listing>>>,
}

/// A call that may be made, and what making it uses up.
#[derive(Debug)]
struct Cleared {
    permitted: Permitted,
    uses: Uses,
}

/// What the record of an intent uses up.
#[derive(Debug)]
enum Uses {
    Nothing,
    Approval(legation_core::ApprovalId),
    Proposal(Box<Proposal>),
}

/// A call on its way to a decision.
#[derive(Debug, Clone, Copy)]
struct Asks<'a> {
    item: &'a Item,
    peer: &'a Arc<dyn Peer>,
    arguments: Option<&'a Raw>,
}

/// A list, a client and a state of the rules.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FilterKey {
    listing: u64,
    rules: u64,
    client: legation_core::ClientId,
}

// === impl Gate ===

impl Gate {
    /// A gate before these servers.
    #[must_use]
    pub fn new(
        servers: Arc<dyn ServerSet>,
        ledger: Arc<Ledger>,
        rules: Policy,
        clients: KnownClients,
        asking: Asking,
    ) -> Self {
        asking.policy_changed(rules.version());
        Self {
            servers,
            ledger,
            rules: ArcSwap::from_pointee(rules),
            clients: ArcSwap::from_pointee(clients),
            cleaning: ArcSwap::from_pointee(Cleaning::default()),
            redaction: None,
            asking,
            entity: EntityId::personal(),
            filtered: Mutex::new(HashMap::new()),
        }
    }

    /// With redactors; without them, what would be redacted is withheld.
    #[must_use]
    pub fn with_redaction(mut self, redaction: Redaction) -> Self {
        redaction.set_rules(self.rules.load().governance());
        self.redaction = Some(redaction);
        self
    }

    /// Puts new rules in force for every call that has not been decided yet.
    pub fn set_rules(&self, rules: Policy) {
        let version = rules.version();
        if let Some(redaction) = &self.redaction {
            redaction.set_rules(rules.governance());
        }
        self.rules.store(Arc::new(rules));
        self.asking.policy_changed(version);
        self.filtered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Replaces the clients whose credentials are good.
    pub fn set_clients(&self, clients: KnownClients) {
        self.clients.store(Arc::new(clients));
    }

    /// Puts other filters in force for what comes back from now on.
    pub fn set_cleaning(&self, cleaning: Cleaning) {
        self.cleaning.store(Arc::new(cleaning));
    }

    /// The rules in force.
    #[must_use]
    pub fn rules(&self) -> Arc<Policy> {
        self.rules.load_full()
    }

    /// Approvals, proposals, labels and budgets.
    #[must_use]
    pub fn asking(&self) -> &Asking {
        &self.asking
    }

    /// The servers, for what needs no decision: seats, tasks' handles, events.
    #[must_use]
    pub fn servers(&self) -> &Arc<dyn ServerSet> {
        &self.servers
    }

    /// Brings one call to its server, through every stage.
    ///
    /// # Errors
    /// A [`Refusal`] when a stage stopped it; nothing reached a server then.
    pub async fn call(
        self: &Arc<Self>,
        context: &OpContext,
        mut request: Request,
    ) -> Result<Outcome, Refusal> {
        self.clients.load().check(&context.caller.principal)?;
        let resolved = stage::resolve::resolve(self.servers.as_ref(), context, &mut request).await;
        let target = match resolved {
            Ok(target) => target,
            Err(unresolved) => {
                let subject = (request.item.verb(), None, request.item.name());
                return Err(self.refuse(context, subject, unresolved.into()).await);
            }
        };
        if let Err(early) = stage::limit::limit(&self.asking.rates, context, &target) {
            let subject = (target.verb, Some(&target.server), &*target.item);
            return Err(self.refuse(context, subject, early.into()).await);
        }
        let mut arguments = request.params.get("arguments").cloned();
        if let Some(prepared) = self.prepare(context, &target, arguments.as_ref()).await? {
            request.params.set("arguments", prepared.clone());
            arguments = Some(prepared);
        }
        let asks = Asks {
            item: &request.item,
            peer: &request.peer,
            arguments: arguments.as_ref(),
        };
        let cleared = self.clear(context, target, asks).await?;
        let ticket = self.intend(context, &cleared, arguments.as_ref()).await?;
        let Cleared { permitted, uses } = cleared;
        let Request {
            item,
            mut params,
            retry,
            task,
            peer,
            endpoint: _,
        } = request;
        if let Uses::Proposal(proposal) = uses {
            legation_wire::meta::set(
                &mut params,
                IDEMPOTENCY_KEY,
                Raw::str(&proposal.idempotency_key),
            );
        }
        let peer = stage::sample::guard(self, context, permitted.target(), peer);
        let call = Call {
            item,
            params,
            retry,
            task,
            peer,
        };
        let receipt = permitted.receipt();
        let outcome = self.servers.call(context.clone(), permitted, call).await;
        self.hand_on(context, &receipt, ticket, outcome)
    }

    /// Reads, answers or cancels a task of the caller's. Reading one is not
    /// recorded: clients poll, and nothing is done.
    ///
    /// # Errors
    /// A [`Refusal`] when a stage stopped it.
    pub async fn task(
        self: &Arc<Self>,
        context: &OpContext,
        handle: TaskHandle,
        verb: TaskVerb,
        peer: Arc<dyn Peer>,
    ) -> Result<Outcome, Refusal> {
        self.clients.load().check(&context.caller.principal)?;
        let mut target = self.servers.task_target(&context.caller, &handle)?;
        let item = Item::Tool(target.item.clone());
        let recorded = match &verb {
            TaskVerb::Get => None,
            TaskVerb::Update(responses) => Some((Verb::TaskUpdate, Some(responses.to_raw()))),
            TaskVerb::Cancel => Some((Verb::TaskCancel, None)),
        };
        let Some((act, arguments)) = recorded else {
            self.asking.rates.poll(&context.caller.principal.client)?;
            // The call that began the task was decided on what it carried; what
            // is read now must only still be allowed to this client at all.
            let permitted = self.watch(context, target).await?;
            let peer = stage::sample::guard(self, context, permitted.target(), peer);
            let receipt = permitted.receipt();
            let outcome = self
                .servers
                .task(context.clone(), permitted, handle, verb, peer)
                .await;
            return stage::result::handed_on(
                &self.rules.load(),
                &self.cleaning.load(),
                (self.redaction.as_ref(), &context.caller),
                &receipt,
                outcome,
            );
        };
        target.verb = act;
        let asks = Asks {
            item: &item,
            peer: &peer,
            arguments: arguments.as_ref(),
        };
        let cleared = self.clear(context, target, asks).await?;
        let ticket = self.intend(context, &cleared, arguments.as_ref()).await?;
        let permitted = cleared.permitted;
        let peer = stage::sample::guard(self, context, permitted.target(), peer);
        let receipt = permitted.receipt();
        let outcome = self
            .servers
            .task(context.clone(), permitted, handle, verb, peer)
            .await;
        self.hand_on(context, &receipt, ticket, outcome)
    }

    /// Brings a server's wish to use the client's model to the client, through
    /// the same decision and record as a call.
    pub(crate) async fn sample(
        self: &Arc<Self>,
        context: &OpContext,
        target: Target,
        peer: Arc<dyn Peer>,
        ask: Ask,
    ) -> Result<Raw, ErrorObject> {
        let item = Item::Tool(target.item.clone());
        let asks = Asks {
            item: &item,
            peer: &peer,
            arguments: Some(&ask.params),
        };
        let told = |refusal: Refusal| refusal.to_error();
        let cleared = self.clear(context, target, asks).await.map_err(told)?;
        let ticket = self
            .intend(context, &cleared, Some(&ask.params))
            .await
            .map_err(told)?;
        let answer = peer.ask(ask).await;
        let outcome = match &answer {
            Ok(raw) => Outcome::Complete(raw.clone()),
            Err(error) => Outcome::Error(error.clone()),
        };
        stage::record::outcome(&self.ledger, ticket, &outcome);
        answer
    }

    /// The handles of the caller's tasks.
    #[must_use]
    pub fn tasks(&self, caller: &Caller) -> Vec<TaskHandle> {
        self.servers.tasks(caller)
    }

    /// One list, without what the caller may never use. The same `Arc` comes
    /// back while nothing changed.
    ///
    /// # Errors
    /// A [`Refusal`] when the endpoint does not exist or the credential is not good.
    pub fn listing(
        &self,
        context: &OpContext,
        endpoint: &Endpoint,
        kind: ListKind,
    ) -> Result<Arc<Listing>, Refusal> {
        self.clients.load().check(&context.caller.principal)?;
        self.asking.rates.poll(&context.caller.principal.client)?;
        let whole = self.servers.listing(&context.caller, endpoint, kind)?;
        let rules = self.rules.load();
        let key = FilterKey {
            listing: whole.version,
            rules: rules.version(),
            client: context.caller.principal.client.clone(),
        };
        let mut filtered = self.filtered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listing) = filtered.get(&key) {
            return Ok(Arc::clone(listing));
        }
        let listing = match stage::decide::visible(&rules, context, kind.verb(), &whole) {
            None => whole,
            Some(entries) => Arc::new(Listing {
                version: whole.version,
                entries,
            }),
        };
        if filtered.len() >= FILTERED_MAX {
            filtered.clear();
        }
        filtered.insert(key, Arc::clone(&listing));
        Ok(listing)
    }

    /// What an endpoint says of itself.
    ///
    /// # Errors
    /// A [`Refusal`] when it does not exist or the credential is not good.
    pub fn describe(
        &self,
        context: &OpContext,
        endpoint: &Endpoint,
    ) -> Result<Description, Refusal> {
        self.clients.load().check(&context.caller.principal)?;
        Ok(self.servers.describe(&context.caller, endpoint)?)
    }

    /// Subscribes to the changes of a resource the caller may read.
    ///
    /// # Errors
    /// A [`Refusal`] when a stage stopped it.
    pub async fn subscribe(
        &self,
        context: &OpContext,
        endpoint: &Endpoint,
        uri: &str,
    ) -> Result<Subscription, Refusal> {
        self.clients.load().check(&context.caller.principal)?;
        let item = Item::Resource(uri.into());
        let target = match self.servers.resolve(&context.caller, endpoint, &item) {
            crate::Resolve::Ready(target) => target?,
            crate::Resolve::Wait(target) => target.await?,
        };
        let permitted = self.watch(context, target).await?;
        Ok(self.servers.subscribe(&context.caller, &permitted))
    }

    /// The arguments as the server would get them, where they change.
    async fn prepare(
        &self,
        context: &OpContext,
        target: &Target,
        arguments: Option<&Raw>,
    ) -> Result<Option<Raw>, Refusal> {
        let (Some(redaction), Some(arguments)) = (&self.redaction, arguments) else {
            return Ok(None);
        };
        let prepared = stage::restore::prepared(
            redaction,
            (&self.rules.load(), &self.asking.conversations),
            &context.caller,
            target,
            arguments,
        );
        match prepared {
            Ok(prepared) => Ok(prepared),
            Err(refusal) => Err(self.refuse_known(context, refusal).await),
        }
    }

    /// Decides a call, and has a person asked where one is needed, until it is
    /// permitted or refused.
    async fn clear(
        &self,
        context: &OpContext,
        mut target: Target,
        asks: Asks<'_>,
    ) -> Result<Cleared, Refusal> {
        let mut certified = None;
        for _ in 0..ROUNDS {
            match self.decide_once(context, target, asks.arguments, certified.as_deref()) {
                Err(refusal) => return Err(self.refuse_known(context, refusal).await),
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
                Ok(Step::Ask(asked)) => match self.agree(context, *asked, asks).await {
                    Ok(Agreed::Granted(again)) => target = again,
                    Ok(Agreed::Certified(again, proposal)) => {
                        target = again;
                        certified = Some(proposal);
                    }
                    Err(unapproved) => {
                        let refusal = Refusal::Unapproved(Box::new(unapproved));
                        return Err(self.refuse_known(context, refusal).await);
                    }
                },
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
        arguments: Option<&Raw>,
        certified: Option<&Proposal>,
    ) -> Result<Step, Refusal> {
        let caller = &context.caller;
        let conversations = &self.asking.conversations;
        let labels = conversations.labels(caller).map_err(Refusal::NoLabels)?;
        let arguments = arguments.map(|raw| Arguments::new(raw.as_text()));
        let grants = self.asking.approvals.index();
        let decision = stage::decide::decide(
            &self.rules.load(),
            &Inquiry {
                principal: &caller.principal,
                on_behalf_of: None,
                seat: &caller.seat,
                workspace: caller.workspace.as_deref(),
                labels: &labels,
                arguments: arguments.as_ref(),
                unredacted_phi: None,
                confidence: None,
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
            && !is_as_certified(&permitted, proposal)
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
    async fn watch(&self, context: &OpContext, target: Target) -> Result<Permitted, Refusal> {
        match self.decide_once(context, target, None, None) {
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

    async fn agree(
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
        };
        if asked.kind == AskKind::Certify {
            return stage::ask::propose(&self.asking.proposals, &question, asked);
        }
        stage::ask::ask(&self.asking.approvals, &question, asked).await
    }

    /// Judges and cleans what a call brought, and records it.
    fn hand_on(
        &self,
        context: &OpContext,
        receipt: &Receipt,
        ticket: Ticket,
        outcome: Outcome,
    ) -> Result<Outcome, Refusal> {
        let handed = stage::result::handed_on(
            &self.rules.load(),
            &self.cleaning.load(),
            (self.redaction.as_ref(), &context.caller),
            receipt,
            outcome,
        );
        match &handed {
            Ok(outcome) => stage::record::outcome(&self.ledger, ticket, outcome),
            Err(refusal) => stage::record::withheld(&self.ledger, ticket, refusal),
        }
        handed
    }

    /// Records the intent, and tells the approvals what it used up.
    async fn intend(
        &self,
        context: &OpContext,
        cleared: &Cleared,
        arguments: Option<&Raw>,
    ) -> Result<Ticket, Refusal> {
        let claim = match &cleared.uses {
            Uses::Nothing => None,
            Uses::Approval(id) => Some(Claim::Approval(id.as_str())),
            Uses::Proposal(proposal) => Some(Claim::Proposal(proposal.id.as_str())),
        };
        let recorded =
            stage::record::intent(&self.ledger, &cleared.permitted, claim, arguments).await;
        let spent = matches!(recorded, Err(LedgerError::Claimed { .. }));
        if spent || recorded.is_ok() {
            match &cleared.uses {
                Uses::Nothing => {}
                Uses::Approval(id) => self.asking.approvals.consumed(id),
                Uses::Proposal(proposal) => self.asking.proposals.applied(&proposal.id),
            }
        }
        if spent {
            let unapproved = Unapproved::Spent {
                rule: cleared.permitted.rule().as_str().into(),
                target: Box::new(cleared.permitted.target().clone()),
            };
            let refusal = Refusal::Unapproved(Box::new(unapproved));
            return Err(self.refuse_known(context, refusal).await);
        }
        recorded.map_err(Refusal::NotRecorded)
    }

    /// Records a refusal that names its target.
    async fn refuse_known(&self, context: &OpContext, refusal: Refusal) -> Refusal {
        let Some(target) = refusal.target().cloned() else {
            return refusal;
        };
        let subject = (target.verb, Some(&target.server), &*target.item);
        self.refuse(context, subject, refusal).await
    }

    /// A refusal is recorded too; the caller hears of a ledger that cannot.
    async fn refuse(
        &self,
        context: &OpContext,
        subject: (Verb, Option<&ServerName>, &str),
        refusal: Refusal,
    ) -> Refusal {
        let recorded =
            stage::record::refused(&self.ledger, &self.entity, context, subject, &refusal).await;
        match recorded {
            Ok(()) => refusal,
            Err(error) => Refusal::NotRecorded(error),
        }
    }
}

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
fn is_as_certified(permitted: &Permitted, proposal: &Proposal) -> bool {
    let (target, bound) = (permitted.target(), &proposal.bound);
    permitted.principal().client == bound.client
        && target.server == bound.server
        && target.verb == bound.verb
        && target.item == bound.item
        && target.definition == bound.definition
        && *permitted.entity() == bound.entity
        && permitted.args_digest() == Some(&bound.arguments)
        && permitted.policy_version() == bound.policy_version
}

#[cfg(test)]
mod tests;

/// The digest of a definition that decides whether it is still the same.
#[must_use]
pub fn definition_hash(definition: &Raw) -> legation_policy::DefinitionHash {
    use sha2::{Digest as _, Sha256};
    legation_policy::DefinitionHash(Sha256::digest(definition.sha256_input()).into())
}
