//! From a request to the model that answers it.
//!
//! Which providers may have a request, and in which order they are asked, is
//! the policy's decision; nothing here adds to it. What is added is what files
//! cannot know: whether a local server is one, whether there is a key, and
//! whether somebody answers. Another provider is asked only as long as nobody
//! has seen a word of the answer.

mod error;
mod pass;
mod plan;
mod stream;

use std::sync::Arc;

use legation_core::{EntityLabels, OpContext, Secret};
use legation_policy::Policy;
use legation_policy::governance::{Governance, LlmProviders, Loaded, Provider, ProviderKind};
use legation_policy::provider::{ProviderDecision, ProviderInquiry, Selected, Whose};

use crate::client::ModelClient;
use crate::keys::{KeyPlace, Keys};
use crate::local::{Known, LocalServer, Probes};
use crate::request::ChatRequest;
use crate::spend::Meter;
use crate::target::Target;

use pass::Unrecorded;

pub(crate) use pass::{Pass, Sending};
pub(crate) use plan::named;

pub use error::{Failure, RouteError, Tried};
pub use plan::Plan;
pub use stream::RoutedStream;

/// Asks the model that should have a request.
#[derive(Debug)]
pub struct Router {
    client: ModelClient,
    keys: Arc<Keys>,
    probes: Probes,
    pub(crate) meter: Arc<Meter>,
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
    pub(crate) fn is_redacted(&self, decision: &ProviderDecision) -> Result<(), RouteError> {
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
    /// A router that asks through `client` with `keys`, and counts in `meter`.
    #[must_use]
    pub fn new(client: ModelClient, keys: Keys, meter: Arc<Meter>) -> Self {
        Self {
            client,
            keys: Arc::new(keys),
            probes: Probes::default(),
            meter,
        }
    }

    /// The client it asks through.
    #[must_use]
    pub fn client(&self) -> &ModelClient {
        &self.client
    }

    /// Asks, and waits for the first word. Nothing is recorded.
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
        self.through(ctx, policy, wanted, request, plan, &Unrecorded)
            .await
    }

    /// Asks one provider and no other, where it may have the request at all.
    /// Nothing is recorded.
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
        let plan = plan.only(governance, provider)?;
        self.through(ctx, policy, wanted, request, plan, &Unrecorded)
            .await
    }

    /// Asks whom a plan names, as far as `pass` lets the request out.
    pub(crate) async fn through(
        &self,
        ctx: &OpContext,
        policy: &Arc<Policy>,
        wanted: &Wanted,
        request: &ChatRequest,
        plan: Plan,
        pass: &impl Pass,
    ) -> Result<RoutedStream, RouteError> {
        if let Err(source) = plan.decision.outcome {
            return Err(RouteError::Blocked { source });
        }
        wanted.is_redacted(&plan.decision)?;
        // Nobody can have been chosen then.
        let Loaded::Good(providers) = &policy.governance().providers else {
            return Err(RouteError::Rules);
        };
        let mut tried = Vec::new();
        for selected in plan.candidates {
            let asks = Asks {
                providers,
                wanted,
                request,
            };
            let failure = match self.ask(ctx, &selected, asks, pass).await {
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
        let selected = named(governance, provider).ok_or(Failure::Gone)?;
        self.known_of(ctx, governance, &selected).await
    }

    /// As [`Router::known`], of the model that was chosen.
    pub(crate) async fn known_of(
        &self,
        ctx: &OpContext,
        governance: &Governance,
        selected: &Selected,
    ) -> Result<Option<Known>, Failure> {
        let Loaded::Good(providers) = &governance.providers else {
            return Err(Failure::Gone);
        };
        if selected.kind != ProviderKind::LocalModel {
            return Ok(None);
        }
        Ok(self.ready(ctx, providers, selected, None).await?.known)
    }

    async fn ask(
        &self,
        ctx: &OpContext,
        selected: &Selected,
        asks: Asks<'_>,
        pass: &impl Pass,
    ) -> Result<stream::Begun, Failure> {
        let (providers, wanted) = (asks.providers, asks.wanted);
        let token = wanted.copilot_token.as_ref();
        let ready = self.ready(ctx, providers, selected, token).await?;
        let has_tools = !asks.request.tools.is_empty();
        if has_tools && ready.known.as_ref().and_then(|known| known.model.tools) == Some(false) {
            return Err(Failure::NoTools);
        }
        let target = &ready.target;
        let body = self.client.body(target, asks.request);
        let body = body.map_err(Failure::Model)?;
        if let Some(provider) = providers.providers.get(&selected.provider) {
            self.meter
                .admit(&selected.provider, provider)
                .map_err(Failure::Limited)?;
        }
        let sending = Sending {
            selected,
            model: &target.model,
            body: &body,
        };
        let record = pass.out(ctx, sending).await?;
        let model = target.model.as_str();
        let mut entry = self
            .meter
            .entry(providers, selected, ("chat", model), wanted);
        entry.record(record);
        let key = ready.key.as_ref();
        match self.client.send(ctx, target, key, body).await {
            Ok(answer) => {
                // From here on it costs, whatever becomes of it.
                entry.begun();
                let model = ready.target.model;
                Ok(stream::Begun::new(answer, model, ready.known, entry))
            }
            Err(error) => {
                entry.failed(&error);
                Err(Failure::Model(error))
            }
        }
    }

    /// Everything that is needed to ask one provider.
    pub(crate) async fn ready(
        &self,
        ctx: &OpContext,
        providers: &LlmProviders,
        selected: &Selected,
        copilot_token: Option<&Secret>,
    ) -> Result<Ready, Failure> {
        let name = selected.provider.as_str();
        let provider = providers.providers.get(name).ok_or(Failure::Gone)?;
        let key = self.key(name, provider, copilot_token).await?;
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

    async fn key(
        &self,
        name: &str,
        provider: &Provider,
        copilot_token: Option<&Secret>,
    ) -> Result<Option<Secret>, Failure> {
        if KeyPlace::of(name, provider) != KeyPlace::Keystore {
            let key = self.keys.get(name, provider, copilot_token);
            return key.map_err(Failure::Key);
        }
        // The system's keystore may ask a person first.
        let keys = Arc::clone(&self.keys);
        let (name, provider) = (name.to_owned(), provider.clone());
        let got = tokio::task::spawn_blocking(move || keys.get(&name, &provider, None)).await;
        got.map_err(|_| Failure::Gone)?.map_err(Failure::Key)
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

/// What one provider is asked.
#[derive(Clone, Copy)]
struct Asks<'a> {
    providers: &'a LlmProviders,
    wanted: &'a Wanted,
    request: &'a ChatRequest,
}

pub(crate) struct Ready {
    pub(crate) target: Target,
    pub(crate) key: Option<Secret>,
    known: Option<Known>,
}

#[cfg(test)]
mod tests;
