//! From a request to the model that answers it.
//!
//! Which providers may have a request, and in which order they are asked, is
//! the policy's decision; nothing here adds to it. What is added is what files
//! cannot know: whether a local server is one, whether there is a key, and
//! whether somebody answers. Another provider is asked only as long as nobody
//! has seen a word of the answer.

mod error;
mod stream;

use std::sync::Arc;

use legation_core::{EntityLabels, OpContext, Secret};
use legation_policy::Policy;
use legation_policy::governance::{Governance, LlmProviders, Loaded, ProviderKind};
use legation_policy::provider::{
    ChoiceSource, ProviderDecision, ProviderInquiry, Selected, Whose, choose,
};

use crate::client::ModelClient;
use crate::keys::Keys;
use crate::local::{Known, LocalServer, Probes};
use crate::request::ChatRequest;
use crate::target::Target;

pub use error::{Failure, RouteError, Tried};
pub use stream::RoutedStream;

/// Asks the model that should have a request.
#[derive(Debug)]
pub struct Router {
    client: ModelClient,
    keys: Keys,
    probes: Probes,
}

/// What is wanted, beside the request itself.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Whose data the request holds; `None` where nobody knows, which counts
    /// as everybody's.
    pub labels: Option<EntityLabels>,
    /// Whose data was redacted in it.
    pub redacted: EntityLabels,
    /// The job it is for.
    pub job: Option<String>,
    /// The token of a Copilot user, where one came with the request.
    pub copilot_token: Option<Secret>,
    /// Whether a request that a local model should have may go to one that
    /// costs money instead.
    pub may_cost: bool,
}

/// Who is asked, in which order, before anybody is.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The policy's decision.
    pub decision: ProviderDecision,
    /// The chosen provider and then the others, as far as they are asked.
    pub candidates: Vec<Selected>,
    /// Fallbacks that the policy allows and that are not asked, because they
    /// cost money.
    pub too_dear: Vec<String>,
}

// === impl Plan ===

impl Plan {
    /// Decides who is asked. Sends nothing, and reads nothing but its arguments.
    #[must_use]
    pub fn of(governance: &Governance, wanted: &Wanted, now_ms: i64) -> Self {
        let decision = choose(governance, &wanted.inquiry(now_ms));
        let mut candidates = Vec::new();
        let mut too_dear = Vec::new();
        if let Ok(selected) = &decision.outcome {
            let is_local = selected.kind == ProviderKind::LocalModel;
            candidates.push(selected.clone());
            for other in &decision.fallbacks {
                let is_free = other.kind == ProviderKind::LocalModel;
                if is_local && !is_free && !wanted.may_cost {
                    too_dear.push(other.provider.clone());
                } else {
                    candidates.push(other.clone());
                }
            }
        }
        Self {
            decision,
            candidates,
            too_dear,
        }
    }
}

// === impl Wanted ===

impl Wanted {
    /// A request that holds nobody's data.
    #[must_use]
    pub fn for_nobody() -> Self {
        Self {
            labels: Some(EntityLabels::none()),
            redacted: EntityLabels::none(),
            job: None,
            copilot_token: None,
            may_cost: false,
        }
    }

    /// Nothing is sent before everything that must be redacted was.
    fn is_redacted(&self, decision: &ProviderDecision) -> Result<(), RouteError> {
        let is_done = |entity| self.redacted.iter().any(|done| done == entity);
        match decision.redact.iter().all(is_done) {
            true => Ok(()),
            false => Err(RouteError::NotRedacted),
        }
    }

    pub(crate) fn inquiry(&self, now_ms: i64) -> ProviderInquiry<'_> {
        ProviderInquiry {
            whose: self.labels.as_ref().map_or(Whose::All, Whose::Labels),
            job: self.job.as_deref(),
            copilot_token: self.copilot_token.is_some(),
            now_ms,
        }
    }
}

// === impl Router ===

impl Router {
    /// A router that asks through `client` with `keys`.
    #[must_use]
    pub fn new(client: ModelClient, keys: Keys) -> Self {
        Self {
            client,
            keys,
            probes: Probes::default(),
        }
    }

    /// The client it asks through.
    #[must_use]
    pub fn client(&self) -> &ModelClient {
        &self.client
    }

    /// Asks, and waits for the first word.
    ///
    /// # Errors
    /// See [`RouteError`]. Nothing was answered then.
    pub async fn stream(
        &self,
        ctx: &OpContext,
        policy: &Arc<Policy>,
        wanted: &Wanted,
        request: &ChatRequest,
    ) -> Result<RoutedStream, RouteError> {
        let plan = Plan::of(policy.governance(), wanted, self.client.clock().wall().0);
        if let Err(source) = plan.decision.outcome {
            return Err(RouteError::Blocked { source });
        }
        wanted.is_redacted(&plan.decision)?;
        self.first(ctx, policy, wanted, request, plan.candidates)
            .await
    }

    /// Asks one provider and no other, where it may have the request at all.
    ///
    /// # Errors
    /// See [`RouteError`]. Nothing was answered then.
    pub async fn only(
        &self,
        ctx: &OpContext,
        policy: &Arc<Policy>,
        wanted: &Wanted,
        request: &ChatRequest,
        provider: &str,
    ) -> Result<RoutedStream, RouteError> {
        let governance = policy.governance();
        let plan = Plan::of(governance, wanted, self.client.clock().wall().0);
        let mut all = plan.decision.considered.iter();
        match (
            all.find(|one| one.provider == provider),
            &plan.decision.outcome,
        ) {
            (Some(found), _) if found.is_in() => {}
            (Some(found), _) => {
                return Err(RouteError::Excluded {
                    provider: provider.to_owned(),
                    why: found.out.clone(),
                });
            }
            (None, Err(source)) => {
                let source = source.clone();
                return Err(RouteError::Blocked { source });
            }
            (None, Ok(_)) => return Err(RouteError::Rules),
        }
        wanted.is_redacted(&plan.decision)?;
        let Some(selected) = named(governance, provider) else {
            return Err(RouteError::Rules);
        };
        self.first(ctx, policy, wanted, request, vec![selected])
            .await
    }

    /// The first of these that answers.
    async fn first(
        &self,
        ctx: &OpContext,
        policy: &Arc<Policy>,
        wanted: &Wanted,
        request: &ChatRequest,
        candidates: Vec<Selected>,
    ) -> Result<RoutedStream, RouteError> {
        // Nobody can have been chosen then.
        let Loaded::Good(providers) = &policy.governance().providers else {
            return Err(RouteError::Rules);
        };
        let mut tried = Vec::new();
        for selected in candidates {
            let asked = self.ask(ctx, providers, &selected, wanted, request).await;
            let failure = match asked {
                Ok(mut stream) => match stream.first().await {
                    Ok(()) => {
                        let policy = Arc::clone(policy);
                        return Ok(stream.routed(selected, tried, policy, wanted.clone()));
                    }
                    Err(error) => Failure::Model(error),
                },
                Err(failure) => failure,
            };
            let goes_on = failure.may_fall_back();
            tracing::info!(
                provider = %selected.provider, class = failure.as_str(), goes_on,
                "a provider did not answer"
            );
            let (provider, source) = (selected.provider, selected.source);
            tried.push(Tried {
                provider,
                source,
                failure,
            });
            if !goes_on {
                break;
            }
        }
        Err(RouteError::Unanswered { tried })
    }

    /// What a local provider is; `None` for one that is not local.
    ///
    /// # Errors
    /// Why it cannot be told, or that it is not local.
    pub async fn known(
        &self,
        ctx: &OpContext,
        governance: &Governance,
        provider: &str,
    ) -> Result<Option<Known>, Failure> {
        let Loaded::Good(providers) = &governance.providers else {
            return Err(Failure::Gone);
        };
        let selected = named(governance, provider).ok_or(Failure::Gone)?;
        if selected.kind != ProviderKind::LocalModel {
            return Ok(None);
        }
        Ok(self.ready(ctx, providers, &selected, None).await?.known)
    }

    async fn ask(
        &self,
        ctx: &OpContext,
        providers: &LlmProviders,
        selected: &Selected,
        wanted: &Wanted,
        request: &ChatRequest,
    ) -> Result<stream::Begun, Failure> {
        let token = wanted.copilot_token.as_ref();
        let ready = self.ready(ctx, providers, selected, token).await?;
        let has_tools = !request.tools.is_empty();
        if has_tools && ready.known.as_ref().and_then(|known| known.model.tools) == Some(false) {
            return Err(Failure::NoTools);
        }
        let answer = self
            .client
            .stream(ctx, &ready.target, ready.key.as_ref(), request)
            .await;
        Ok(stream::Begun::new(
            answer.map_err(Failure::Model)?,
            ready.target.model,
        ))
    }

    /// Everything that is needed to ask one provider.
    async fn ready(
        &self,
        ctx: &OpContext,
        providers: &LlmProviders,
        selected: &Selected,
        copilot_token: Option<&Secret>,
    ) -> Result<Ready, Failure> {
        let name = selected.provider.as_str();
        let provider = providers.providers.get(name).ok_or(Failure::Gone)?;
        let key = self.keys.get(name, provider, copilot_token);
        let key = key.map_err(Failure::Key)?;
        let is_local = selected.kind == ProviderKind::LocalModel;
        let timeout = providers.timeout_ms;
        let target = |model: &str| Target::of(name, provider, model, timeout);
        let mut target = match &selected.model {
            Some(model) => target(model).map_err(Failure::Model)?,
            // The address is read before there is a model to ask for.
            None if is_local => {
                let place = target("any").map_err(Failure::Model)?;
                let model = self.only_model(ctx, &place, key.as_ref()).await?;
                target(&model).map_err(Failure::Model)?
            }
            None => return Err(Failure::NoModel),
        };
        let mut known = None;
        if is_local {
            let told = self
                .probes
                .known(&self.client, ctx, &target, key.as_ref())
                .await
                .map_err(Failure::Model)?;
            target.go_on = told.go_on;
            known = Some(told);
        }
        Ok(Ready { target, key, known })
    }

    /// The model of a local server that has one only.
    async fn only_model(
        &self,
        ctx: &OpContext,
        place: &Target,
        key: Option<&Secret>,
    ) -> Result<String, Failure> {
        let server = LocalServer::at(&self.client, ctx, &place.server(), key).await;
        let models = server
            .map_err(Failure::Model)?
            .map_or(Vec::new(), |server| server.models);
        match models.as_slice() {
            [only] => Ok(only.name.clone()),
            _ => Err(Failure::NoModel),
        }
    }
}

/// A provider as whoever names it gets it.
fn named(governance: &Governance, name: &str) -> Option<Selected> {
    let providers = governance.providers.good()?;
    let provider = providers.providers.get(name)?;
    let model = provider.default_model.as_ref();
    Some(Selected {
        provider: name.to_owned(),
        kind: provider.kind_as(name)?,
        model: model.or(providers.default_model.as_ref()).cloned(),
        source: ChoiceSource::Named,
    })
}

struct Ready {
    target: Target,
    key: Option<Secret>,
    known: Option<Known>,
}

#[cfg(test)]
mod tests;
