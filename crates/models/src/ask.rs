//! Every request of the hub to a model goes this way.
//!
//! Its labels are joined by whoever asks; here they choose the provider, say
//! what is redacted, and stand in the record. The order is the point: the rules
//! are asked, what must be redacted is, the request is recorded as it is sent,
//! and only then it is sent. Rules that change meanwhile begin it anew.

mod error;
mod stream;

use std::sync::{Arc, Weak};

use futures_util::StreamExt as _;
use legation_core::error::chain;
use legation_core::{EntityLabels, OpContext, Secret};
use legation_gate::Gate;
use legation_gate::model::{ModelRecord, ModelRefused, ModelRequest, Restoring};
use legation_gate::redaction::RedactionError;
use legation_policy::Policy;
use legation_policy::governance::{Governance, ProviderKind};
use legation_policy::provider::Selected;

use crate::request::ChatRequest;
use crate::resume::Resumption;
use crate::router::{Failure, Pass, Plan, RouteError, RoutedStream, Router, Sending, Wanted};
use crate::words;

pub use error::AskError;
pub use stream::GatedStream;

/// How many providers are asked at once what they are.
const PROSPECTS_AT_ONCE: usize = 8;
/// How often a request is begun anew because the rules changed meanwhile.
pub(crate) const ROUNDS: usize = 8;

/// The models of a hub.
#[derive(Debug)]
pub struct Models {
    /// The gate has servers that ask models.
    gate: Weak<Gate>,
    router: Router,
}

/// A request, and what is known of it.
#[derive(Clone, Debug)]
pub struct ModelAsk {
    /// Whose data it holds: the join of the labels of everything in it.
    pub labels: EntityLabels,
    /// Of which conversation: its redaction tokens are good in all of it.
    pub conversation: String,
    /// The job it is for, as `per_job_overrides` names it.
    pub job: &'static str,
    /// The provider, where one is wanted; the rules decide whether it may.
    pub provider: Option<String>,
    /// The model, where one is wanted.
    pub model: Option<String>,
    /// Whether a request that a local model should have may go to one that
    /// costs money instead.
    pub may_cost: bool,
    /// The token of a Copilot user, where one came with the request.
    pub copilot_token: Option<Secret>,
    /// What is asked.
    pub request: ChatRequest,
}

/// Who would have a request, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prospect {
    /// Its name.
    pub provider: String,
    /// How it is spoken to.
    pub kind: ProviderKind,
    /// The model; `None` where nobody names one and it has not just one.
    pub model: Option<String>,
    /// Whether its data stays on the owner's machine.
    pub is_local: bool,
    /// What serves it, where that is known.
    pub server: Option<&'static str>,
    /// How many tokens a conversation may have, where the server says.
    pub context_tokens: Option<u64>,
    /// Whether it can call tools, where the server says.
    pub tools: Option<bool>,
    /// What an answer that is gone on with is worth there.
    pub resumption: Resumption,
    /// Whether the owner says that health information may go there.
    pub hipaa_cleared: bool,
    /// Whether it answered when it was last asked what it is; `None` for
    /// services, which are not asked.
    pub answers: Option<bool>,
    /// Why it did not.
    pub problem: Option<String>,
}

/// What the records say of a request beside who gets it.
#[derive(Clone, Copy)]
pub(crate) struct About<'a> {
    pub(crate) job: &'static str,
    pub(crate) conversation: &'a str,
    pub(crate) labels: &'a EntityLabels,
}

/// Lets requests past that are on record under the rules in force.
pub(crate) struct Recording<'a> {
    pub(crate) gate: &'a Gate,
    pub(crate) policy: &'a Arc<Policy>,
    pub(crate) about: About<'a>,
}

// === impl Models ===

impl Models {
    /// The models behind a gate.
    #[must_use]
    pub fn new(gate: Weak<Gate>, router: Router) -> Self {
        Self { gate, router }
    }

    /// Asks, and waits for the first word.
    ///
    /// # Errors
    /// See [`AskError`]; nothing was answered then.
    pub async fn ask(&self, ctx: &OpContext, ask: ModelAsk) -> Result<GatedStream, AskError> {
        let gate = self.gate.upgrade().ok_or(AskError::Closing)?;
        gate.model_caller(&ctx.caller)?;
        let mut rounds = 0;
        loop {
            let policy = gate.rules();
            rounds += 1;
            match self.once(ctx, &gate, &policy, &ask).await {
                Ok((routed, restoring)) => {
                    return Ok(GatedStream::new(gate, routed, restoring));
                }
                Err(error) if rounds < ROUNDS && error.is_moved() => {}
                Err(error) => {
                    refused(ctx, &gate, &policy, ask.about(), &error).await;
                    return Err(error);
                }
            }
        }
    }

    /// The gate, unless it ends, and who asks.
    pub(crate) fn parts(&self) -> Option<(Arc<Gate>, &Router)> {
        Some((self.gate.upgrade()?, &self.router))
    }

    /// One attempt, under rules that do not change.
    async fn once(
        &self,
        ctx: &OpContext,
        gate: &Arc<Gate>,
        policy: &Arc<Policy>,
        ask: &ModelAsk,
    ) -> Result<(RoutedStream, Restoring), AskError> {
        let mut wanted = ask.wanted();
        let plan = self.plan_of(policy.governance(), &wanted, ask)?;
        let redact = match &plan.decision.outcome {
            Ok(_) => plan.decision.redact.clone(),
            Err(source) => {
                let source = source.clone();
                return Err(RouteError::Blocked { source }.into());
            }
        };
        let redacted = match redact.is_empty() {
            true => None,
            false => Some(redacted(gate, &redact, ask).await?),
        };
        let (request, restoring) = match &redacted {
            None => (&ask.request, Restoring::default()),
            Some((request, restoring)) => (request, restoring.clone()),
        };
        wanted.redacted = redact;
        let about = ask.about();
        let pass = Recording {
            gate,
            policy,
            about,
        };
        let through = self
            .router
            .through(ctx, policy, &wanted, request, plan, &pass);
        Ok((through.await?, restoring))
    }

    /// Who would be asked, in which order, and why nobody else.
    ///
    /// # Errors
    /// [`AskError::Closing`], or why a provider that was named may not.
    pub fn plan(&self, ask: &ModelAsk) -> Result<Plan, AskError> {
        let gate = self.gate.upgrade().ok_or(AskError::Closing)?;
        let policy = gate.rules();
        Ok(self.plan_of(policy.governance(), &ask.wanted(), ask)?)
    }

    fn plan_of(
        &self,
        governance: &Governance,
        wanted: &Wanted,
        ask: &ModelAsk,
    ) -> Result<Plan, RouteError> {
        let now_ms = self.router.client().clock().wall().0;
        let mut plan = Plan::of(governance, wanted, now_ms);
        if let Some(provider) = &ask.provider {
            plan = plan.only(governance, provider)?;
        }
        if let (Some(model), Some(first)) = (&ask.model, plan.candidates.first_mut()) {
            first.model = Some(model.clone());
        }
        Ok(plan)
    }

    /// Who would have such a request, and what is known of it. A local server is
    /// asked what it is; none of the request goes anywhere.
    ///
    /// # Errors
    /// Why nobody would.
    pub async fn prospect(&self, ctx: &OpContext, ask: &ModelAsk) -> Result<Prospect, AskError> {
        let plan = self.plan(ask)?;
        if let Err(source) = plan.decision.outcome {
            return Err(RouteError::Blocked { source }.into());
        }
        let gate = self.gate.upgrade().ok_or(AskError::Closing)?;
        let policy = gate.rules();
        let first = plan.candidates.first().ok_or(RouteError::Rules)?;
        let mut prospect = self.prospect_of(ctx, policy.governance(), first).await;
        if prospect.resumption == Resumption::Exact && !plan.decision.redact.is_empty() {
            // See [`GatedStream::resumption`].
            prospect.resumption = Resumption::Prefill;
        }
        Ok(prospect)
    }

    /// All providers that are on, and what is known of them.
    pub async fn prospects(&self, ctx: &OpContext) -> Vec<Prospect> {
        let Some(gate) = self.gate.upgrade() else {
            return Vec::new();
        };
        let policy = gate.rules();
        let governance = policy.governance();
        let Some(providers) = governance.providers.good() else {
            return Vec::new();
        };
        let on = providers
            .providers
            .iter()
            .filter(|(_, provider)| provider.enabled && provider.endpoint().is_some());
        let named: Vec<Selected> = on
            .filter_map(|(name, _)| crate::router::named(governance, name))
            .collect();
        // One that does not answer takes as long as it may, and holds the others up no longer.
        let found = named
            .iter()
            .map(|one| self.prospect_of(ctx, governance, one));
        let found: Vec<_> = found.map(Box::pin).collect();
        futures_util::stream::iter(found)
            .buffered(PROSPECTS_AT_ONCE)
            .collect()
            .await
    }

    async fn prospect_of(
        &self,
        ctx: &OpContext,
        governance: &Governance,
        selected: &Selected,
    ) -> Prospect {
        let is_local = selected.kind == ProviderKind::LocalModel;
        let providers = governance.providers.good();
        let provider = providers.and_then(|all| all.providers.get(&selected.provider));
        let mut prospect = Prospect {
            provider: selected.provider.clone(),
            kind: selected.kind,
            model: selected.model.clone(),
            is_local,
            server: None,
            context_tokens: None,
            tools: None,
            resumption: Resumption::Restart,
            hipaa_cleared: provider.is_some_and(|provider| provider.hipaa_cleared),
            answers: None,
            problem: None,
        };
        match self.router.known_of(ctx, governance, selected).await {
            Ok(None) => {}
            Ok(Some(known)) => {
                prospect.answers = Some(true);
                prospect.server = Some(known.kind.as_str());
                prospect.context_tokens = known.model.context;
                prospect.tools = known.model.tools;
                prospect.resumption = known.resumption;
                prospect.model.get_or_insert(known.model.name);
            }
            Err(failure) => {
                prospect.answers = Some(false);
                prospect.problem = Some(chain(&failure).to_string());
            }
        }
        prospect
    }
}

// === impl ModelAsk ===

impl ModelAsk {
    /// A request that holds nobody's data, for whoever may have it.
    #[must_use]
    pub fn new(job: &'static str, conversation: impl Into<String>, request: ChatRequest) -> Self {
        Self {
            labels: EntityLabels::none(),
            conversation: conversation.into(),
            job,
            provider: None,
            model: None,
            may_cost: false,
            copilot_token: None,
            request,
        }
    }

    fn about(&self) -> About<'_> {
        About {
            job: self.job,
            conversation: &self.conversation,
            labels: &self.labels,
        }
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            labels: Some(self.labels.clone()),
            redacted: EntityLabels::none(),
            job: Some(self.job.to_owned()),
            copilot_token: self.copilot_token.clone(),
            may_cost: self.may_cost,
        }
    }
}

// === impl Recording ===

impl Recording<'_> {
    fn still(&self) -> Result<(), Failure> {
        match Arc::ptr_eq(&self.gate.rules(), self.policy) {
            true => Ok(()),
            false => Err(Failure::Moved),
        }
    }
}

impl Pass for Recording<'_> {
    async fn out(
        &self,
        ctx: &OpContext,
        sending: Sending<'_>,
    ) -> Result<Option<ModelRecord>, Failure> {
        // Finding out what a server is takes time, and so does the disk.
        self.still()?;
        let selected = sending.selected;
        let request = ModelRequest {
            provider: &selected.provider,
            model: sending.model,
            job: self.about.job,
            source: selected.source.as_str(),
            conversation: self.about.conversation,
            labels: self.about.labels,
            policy: self.policy.version(),
            body: sending.body,
            stays: selected.kind == ProviderKind::LocalModel,
        };
        let record = self.gate.model_intent(ctx, &request).await;
        let record = record.map_err(Failure::NotRecorded)?;
        self.still()?;
        Ok(Some(record))
    }
}

/// Records that nobody had a request, or that nobody answered it.
pub(crate) async fn refused(
    ctx: &OpContext,
    gate: &Gate,
    policy: &Policy,
    about: About<'_>,
    error: &AskError,
) {
    let (event, code, reason) = error.record();
    let refused = ModelRefused {
        event,
        code,
        reason: &reason,
        provider: error.provider(),
        job: about.job,
        conversation: about.conversation,
        labels: about.labels,
        policy: policy.version(),
    };
    gate.model_refused(ctx, &refused).await;
}

/// A request with tokens in it, and the way back. A long conversation takes
/// many milliseconds, and new tokens wait for the disk; others go on meanwhile.
async fn redacted(
    gate: &Arc<Gate>,
    entities: &EntityLabels,
    ask: &ModelAsk,
) -> Result<(ChatRequest, Restoring), AskError> {
    let (gate, entities) = (Arc::clone(gate), entities.clone());
    let (conversation, request) = (ask.conversation.clone(), ask.request.clone());
    let work = tokio::task::spawn_blocking(move || {
        let request = words::redacted(&gate, &entities, &conversation, request)?;
        Ok((request, gate.restoring(&entities, &conversation)?))
    });
    // What broke on the way must not be sent.
    let done = work.await.unwrap_or(Err(RedactionError::Broken));
    done.map_err(AskError::NotRedacted)
}

#[cfg(test)]
mod tests;
