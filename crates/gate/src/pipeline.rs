//! The gate itself: the stages in their order.

mod begun;
mod models;
mod permissions;
mod pushes;
mod roads;
mod seen;
mod spilled;
mod steps;
mod told;
mod upkeep;
mod watched;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use permissions::NotAskedFor;

use arc_swap::ArcSwap;
use legation_core::{Caller, EntityId, OpContext, ServerName, TaskHandle};
use legation_ledger::{Claim, Ledger, LedgerError, Ticket};
use legation_policy::{
    About, Arguments, AskKind, Decision, Inquiry, Permitted, Policy, Receipt, Target, Verb,
};
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;

use crate::approval::Approvals;
use crate::pipeline::seen::Seen;
use crate::pipeline::spilled::Room;
use crate::proposal::Proposal;
use crate::redaction::Redaction;
use crate::spill::Spills;
use crate::stage::ask::{Agreed, Question};
use crate::stage::delegate::Delegation;
use crate::stage::unapproved::Unapproved;
use crate::stage::{self, Cleaning, KnownClients};
use crate::watch::Watcher;
use crate::{
    Ask, Asking, Call, Description, Endpoint, Item, ListKind, Listing, Outcome, Peer, Refusal,
    Request, Sampler, ServerSet, Subscription, TaskVerb,
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
    spills: Option<Spills>,
    asking: Asking,
    watcher: OnceLock<Arc<dyn Watcher>>,
    /// The chain of refusals that name nobody's data.
    entity: EntityId,
    filtered: Mutex<HashMap<FilterKey, Arc<Listing>>>,
    /// Made after the gate, through which it asks models.
    sampler: OnceLock<Arc<dyn Sampler>>,
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
    /// As the server would get them.
    arguments: Option<&'a Raw>,
    /// As the client wrote them, which is all that it is shown again.
    written: Option<&'a Raw>,
    delegation: &'a Delegation,
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
    /// A gate before these servers. What was asked under other rules is not
    /// voided yet: the rules a hub starts with keep everything out until the
    /// owner's are read, and it is those that answers were given under.
    #[must_use]
    pub fn new(
        servers: Arc<dyn ServerSet>,
        ledger: Arc<Ledger>,
        rules: Policy,
        clients: KnownClients,
        asking: Asking,
    ) -> Self {
        asking.check_against(&ledger);
        Self {
            servers,
            ledger,
            rules: ArcSwap::from_pointee(rules),
            clients: ArcSwap::from_pointee(clients),
            cleaning: ArcSwap::from_pointee(Cleaning::default()),
            redaction: None,
            spills: None,
            asking,
            watcher: OnceLock::new(),
            entity: EntityId::personal(),
            filtered: Mutex::new(HashMap::new()),
            sampler: OnceLock::new(),
        }
    }

    /// With redactors; without them, what would be redacted is withheld.
    #[must_use]
    pub fn with_redaction(mut self, redaction: Redaction) -> Self {
        redaction.set_rules(self.rules.load().governance());
        self.redaction = Some(redaction);
        self
    }

    /// Has somebody answer servers that ask for a model on behalf of clients that have none to
    /// offer, as far as rules allow it. The first one stays.
    pub fn set_sampler(&self, sampler: Arc<dyn Sampler>) {
        self.sampler.get_or_init(|| sampler);
    }

    /// Who answers them, where some rule allows it at all.
    pub(crate) fn sampler(&self) -> Option<&Arc<dyn Sampler>> {
        self.sampler_under(&self.rules.load())
    }

    /// Who answers them, where some of these rules allows it.
    pub(crate) fn sampler_under(&self, rules: &Policy) -> Option<&Arc<dyn Sampler>> {
        let sampler = self.sampler.get()?;
        rules.lends_models().then_some(sampler)
    }

    /// Lets somebody look on while calls are under way; the first one counts.
    pub fn set_watcher(&self, watcher: Arc<dyn Watcher>) {
        self.watcher.get_or_init(|| watcher);
    }

    /// Puts new rules in force for every call that has not been decided yet.
    pub fn set_rules(&self, rules: Policy) {
        let version = rules.version();
        if let Some(redaction) = &self.redaction {
            redaction.set_rules(rules.governance());
        }
        self.rules.store(Arc::new(rules));
        self.asking.policy_changed(version);
        self.forget_filtered();
    }

    /// Replaces the clients whose credentials are good.
    pub fn set_clients(&self, clients: KnownClients) {
        self.clients.store(Arc::new(clients));
        self.forget_filtered();
    }

    fn forget_filtered(&self) {
        self.filtered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
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

    /// The rules in force, for a look.
    pub(crate) fn in_force(&self) -> arc_swap::Guard<Arc<Policy>> {
        self.rules.load()
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
        request: Request,
    ) -> Result<Outcome, Refusal> {
        let mut seen = Seen::begin(request.item.verb(), Some(&request.params));
        let result = self.stages(context, request, &mut seen).await;
        seen.over(&result);
        result
    }

    async fn stages(
        self: &Arc<Self>,
        context: &OpContext,
        mut request: Request,
        seen: &mut Seen,
    ) -> Result<Outcome, Refusal> {
        self.clients.load().check(&context.caller.principal)?;
        if let Item::Resource(uri) = &request.item
            && uri.starts_with(crate::spill::SCHEME)
        {
            let page = self.page(context, uri).await;
            seen.read(&page);
            return page;
        }
        let delegation = match Delegation::take(&mut request.params, &context.caller) {
            Ok(delegation) => delegation,
            Err(malformed) => {
                let subject = (request.item.verb(), None, request.item.name());
                return Err(self.refuse(context, subject, None, malformed.into()).await);
            }
        };
        let target = self.found(context, &mut request, seen).await?;
        // Where nothing is redacted, what goes to the server is what was written.
        let written = if self.redacts() {
            let written = stage::restore::carried(&request).map(Cow::into_owned);
            self.prepare(context, &target, &mut request, written.as_ref())
                .await?;
            Some(written)
        } else {
            None
        };
        let arguments = stage::restore::carried(&request);
        let arguments = arguments.as_deref();
        let asks = Asks {
            item: &request.item,
            peer: &request.peer,
            arguments,
            written: written.as_ref().map_or(arguments, Option::as_ref),
            delegation: &delegation,
        };
        let span = seen.stage("legation.decide");
        let cleared = self.clear(context, target, asks).await;
        drop(span);
        let cleared = cleared?;
        seen.cleared(&cleared.permitted);
        let span = seen.stage("legation.record");
        let ticket = self.intend(context, &cleared, asks).await;
        drop(span);
        let ticket = ticket?;
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
        let at_server = seen.to_server(permitted.target(), Some(&mut params));
        let room = Room::of(&item, peer.result_max());
        let peer = seen.shown(self.watcher.get(), (&permitted, ticket.call()), peer);
        let peer = stage::sample::guard(self, context, &permitted, delegation.wishes(), peer);
        let call = Call {
            item,
            params,
            retry,
            task,
            peer,
        };
        let receipt = permitted.receipt();
        let told = context.clone().on_behalf_of(delegation.on_behalf_of);
        let outcome = self.servers.call(told, permitted, call).await;
        seen.back(at_server);
        let _span = seen.stage("legation.result");
        self.hand_on(context, &receipt, (ticket, seen), (outcome, room))
    }

    /// Where a call's name leads to, if it does not come too soon.
    async fn found(
        &self,
        context: &OpContext,
        request: &mut Request,
        seen: &mut Seen,
    ) -> Result<Target, Refusal> {
        let span = seen.stage("legation.resolve");
        let resolved = stage::resolve::resolve(self.servers.as_ref(), context, request).await;
        drop(span);
        let target = match resolved {
            Ok(target) => target,
            Err(unresolved) => {
                let subject = (request.item.verb(), None, request.item.name());
                return Err(self.refuse(context, subject, None, unresolved.into()).await);
            }
        };
        seen.resolved(&target);
        if let Err(early) = stage::limit::limit(&self.asking.rates, context, &target) {
            let subject = (target.verb, Some(&target.server), &*target.item);
            return Err(self.refuse(context, subject, None, early.into()).await);
        }
        Ok(target)
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
        let mut verb = verb;
        let mut written = None;
        if let TaskVerb::Update(responses) = &mut verb {
            written = Some(responses.to_raw());
            self.prepare_answers(context, &target, responses).await?;
        }
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
            let peer = stage::sample::guard(self, context, &permitted, Delegation::NONE, peer);
            let receipt = permitted.receipt();
            let outcome = self
                .servers
                .task(context.clone(), permitted, handle, verb, peer)
                .await;
            return self.told_of_task(context, &receipt, outcome);
        };
        target.verb = act;
        let mut seen = Seen::begin(act, None);
        seen.resolved(&target);
        let asks = Asks {
            item: &item,
            peer: &peer,
            arguments: arguments.as_ref(),
            written: written.as_ref(),
            delegation: &Delegation::NONE,
        };
        let cleared = self.clear(context, target, asks).await;
        let cleared = cleared.inspect_err(|refusal| seen.refused(refusal))?;
        seen.cleared(&cleared.permitted);
        let ticket = self.intend(context, &cleared, asks).await;
        let ticket = ticket.inspect_err(|refusal| seen.refused(refusal))?;
        let permitted = cleared.permitted;
        let peer = stage::sample::guard(self, context, &permitted, Delegation::NONE, peer);
        let receipt = permitted.receipt();
        let at_server = seen.to_server(permitted.target(), None);
        let outcome = self
            .servers
            .task(context.clone(), permitted, handle, verb, peer)
            .await;
        seen.back(at_server);
        let result = self.hand_on(
            context,
            &receipt,
            (ticket, &mut seen),
            (outcome, Room::Bounded(None)),
        );
        seen.over(&result);
        result
    }

    /// Brings a server's wish to use the client's model to the client, or to the hub's own models
    /// where it has none, through the same decision and record as a call.
    pub(crate) async fn sample(
        self: &Arc<Self>,
        context: &OpContext,
        (target, delegation): (Target, &Delegation),
        peer: Arc<dyn Peer>,
        ask: Ask,
    ) -> Result<Raw, ErrorObject> {
        let item = Item::Tool(target.item.clone());
        let asks = Asks {
            item: &item,
            peer: &peer,
            arguments: Some(&ask.params),
            written: Some(&ask.params),
            delegation,
        };
        let told = |refusal: Refusal| refusal.to_error();
        let cleared = self.clear(context, target, asks).await.map_err(told)?;
        let ticket = self.intend(context, &cleared, asks).await.map_err(told)?;
        let answer = match self.sampler() {
            Some(sampler) if !peer.capabilities().sampling => {
                let labels = cleared.permitted.labels().clone();
                sampler.sample(context.clone(), labels, ask.params).await
            }
            _ => peer.ask(ask).await,
        };
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
        let listing = self.without_names(context, kind, listing);
        if filtered.len() >= FILTERED_MAX {
            filtered.clear();
        }
        filtered.insert(key, Arc::clone(&listing));
        Ok(listing)
    }

    /// Whether an endpoint exists for a caller, whose credential was looked at.
    ///
    /// # Errors
    /// A [`Refusal`] when it does not.
    pub fn endpoint(&self, caller: &Caller, endpoint: &Endpoint) -> Result<(), Refusal> {
        Ok(self.servers.endpoint(caller, endpoint)?)
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
        self.check_address(context, endpoint, &item, &target)
            .await?;
        let permitted = self.watch(context, target).await?;
        Ok(self.servers.subscribe(&context.caller, &permitted))
    }
}

#[cfg(test)]
mod tests;

/// The digest of a definition that decides whether it is still the same.
#[must_use]
pub fn definition_hash(definition: &Raw) -> legation_policy::DefinitionHash {
    use sha2::{Digest as _, Sha256};
    legation_policy::DefinitionHash(Sha256::digest(definition.sha256_input()).into())
}
