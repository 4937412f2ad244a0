//! The gate itself: the stages in their order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use legation_core::{Caller, EntityId, OpContext, ServerName, TaskHandle};
use legation_ledger::Ledger;
use legation_policy::{Rules, Target, Verb};
use legation_wire::json::Raw;

use crate::stage::{self, KnownClients};
use crate::{
    Call, Description, Endpoint, Item, ListKind, Listing, Outcome, Peer, Refusal, Request,
    ServerSet, Subscription, TaskVerb,
};

/// How many filtered lists are kept; past that they are made anew.
const FILTERED_MAX: usize = 256;

/// Everything a call passes.
#[derive(Debug)]
pub struct Gate {
    servers: Arc<dyn ServerSet>,
    ledger: Arc<Ledger>,
    rules: ArcSwap<Rules>,
    clients: ArcSwap<KnownClients>,
    entity: EntityId,
    filtered: Mutex<HashMap<FilterKey, Arc<Listing>>>,
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
        rules: Rules,
        clients: KnownClients,
    ) -> Self {
        Self {
            servers,
            ledger,
            rules: ArcSwap::from_pointee(rules),
            clients: ArcSwap::from_pointee(clients),
            entity: EntityId::personal(),
            filtered: Mutex::new(HashMap::new()),
        }
    }

    /// Puts new rules in force for every call that has not been decided yet.
    pub fn set_rules(&self, rules: Rules) {
        self.rules.store(Arc::new(rules));
        self.filtered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Replaces the clients whose credentials are good.
    pub fn set_clients(&self, clients: KnownClients) {
        self.clients.store(Arc::new(clients));
    }

    /// The rules in force.
    #[must_use]
    pub fn rules(&self) -> Arc<Rules> {
        self.rules.load_full()
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
    pub async fn call(&self, context: &OpContext, request: Request) -> Result<Outcome, Refusal> {
        self.clients.load().check(&context.caller.principal)?;
        let target = match stage::resolve::resolve(
            self.servers.as_ref(),
            context,
            &request.endpoint,
            &request.item,
        )
        .await
        {
            Ok(target) => target,
            Err(unresolved) => {
                let refusal = Refusal::from(unresolved);
                let subject = (request.item.verb(), None, request.item.name());
                return Err(self.refuse(context, subject, refusal).await);
            }
        };
        let permitted = self.decide(context, target).await?;
        let arguments = request.params.get("arguments").cloned();
        let ticket =
            stage::record::intent(&self.ledger, &self.entity, &permitted, arguments.as_ref())
                .await
                .map_err(Refusal::NotRecorded)?;
        let Request {
            item,
            params,
            retry,
            task,
            peer,
            endpoint: _,
        } = request;
        let call = Call {
            item,
            params,
            retry,
            task,
            peer,
        };
        let outcome = self.servers.call(context.clone(), permitted, call).await;
        stage::record::outcome(&self.ledger, ticket, &outcome);
        Ok(outcome)
    }

    /// Reads, answers or cancels a task of the caller's. Reading one is not
    /// recorded: clients poll, and nothing is done.
    ///
    /// # Errors
    /// A [`Refusal`] when a stage stopped it.
    pub async fn task(
        &self,
        context: &OpContext,
        handle: TaskHandle,
        verb: TaskVerb,
        peer: Arc<dyn Peer>,
    ) -> Result<Outcome, Refusal> {
        self.clients.load().check(&context.caller.principal)?;
        let mut target = self.servers.task_target(&context.caller, &handle)?;
        let recorded = match &verb {
            TaskVerb::Get => None,
            TaskVerb::Update(responses) => Some((Verb::TaskUpdate, Some(responses.to_raw()))),
            TaskVerb::Cancel => Some((Verb::TaskCancel, None)),
        };
        let Some((act, arguments)) = recorded else {
            let permitted = self.decide(context, target).await?;
            return Ok(self
                .servers
                .task(context.clone(), permitted, handle, verb, peer)
                .await);
        };
        target.verb = act;
        let permitted = self.decide(context, target).await?;
        let ticket =
            stage::record::intent(&self.ledger, &self.entity, &permitted, arguments.as_ref())
                .await
                .map_err(Refusal::NotRecorded)?;
        let outcome = self
            .servers
            .task(context.clone(), permitted, handle, verb, peer)
            .await;
        stage::record::outcome(&self.ledger, ticket, &outcome);
        Ok(outcome)
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
        let target =
            stage::resolve::resolve(self.servers.as_ref(), context, endpoint, &item).await?;
        let permitted = self.decide(context, target).await?;
        Ok(self.servers.subscribe(&context.caller, &permitted))
    }

    async fn decide(
        &self,
        context: &OpContext,
        target: Target,
    ) -> Result<legation_policy::Permitted, Refusal> {
        let decided = stage::decide::decide(&self.rules.load(), context, target);
        match decided {
            Ok(permitted) => Ok(permitted),
            Err(denied) => {
                let target = denied.target.clone();
                let subject = (target.verb, Some(&target.server), &*target.item);
                Err(self.refuse(context, subject, Refusal::Denied(denied)).await)
            }
        }
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

#[cfg(test)]
mod tests;

/// The digest of a definition that decides whether it is still the same.
#[must_use]
pub fn definition_hash(definition: &Raw) -> legation_policy::DefinitionHash {
    use sha2::{Digest as _, Sha256};
    legation_policy::DefinitionHash(Sha256::digest(definition.sha256_input()).into())
}
