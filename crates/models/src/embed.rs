//! Texts as vectors, by a model on one of the owner's machines.

use bytes::Bytes;
use legation_core::{EntityLabels, OpContext};
use legation_policy::Policy;
use legation_policy::governance::{Governance, Loaded, ProviderKind};
use legation_policy::provider::{ChoiceSource, Selected};
use serde_json::{Value, json};

use crate::ask::{About, AskError, Models, ROUNDS, Recording, refused};
use crate::delta::Usage;
use crate::error::ModelError;
use crate::limits::Limits;
use crate::proxied;
use crate::router::{Failure, Pass, Plan, RouteError, Router, Sending, Tried, Wanted, named};

/// Most bytes of an answer: some dozen vectors of the largest models, in digits.
const ANSWER_MAX: usize = 8 << 20;

/// Texts, and what is known of them.
#[derive(Clone, Copy, Debug)]
pub struct EmbedAsk<'a> {
    /// The provider, and a model of it.
    pub place: (&'a str, &'a str),
    /// The job it is for, as the records name it.
    pub job: &'static str,
    /// Of which conversation they are.
    pub conversation: &'a str,
    /// Whose data is in them.
    pub labels: &'a EntityLabels,
    /// The texts.
    pub texts: &'a [String],
}

/// Texts that did not become vectors.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// It is not a machine of the owner's.
    #[error("the provider {provider:?} is not of kind `local_model`; nothing was sent")]
    NotLocal {
        /// Which was named.
        provider: String,
    },
    /// The rules keep them from it, or it does not answer.
    #[error(transparent)]
    Unasked(#[from] AskError),
    /// It has no embeddings, or not of this model.
    #[error(
        "the provider {provider:?} has no embeddings of the model {model:?}: it answered {status}"
    )]
    Refused {
        /// Which.
        provider: String,
        /// The model.
        model: String,
        /// The answer's HTTP status.
        status: u16,
    },
    /// Its answer makes no sense.
    #[error("the provider {provider:?} answered with something else than a vector for each text")]
    Shape {
        /// Which.
        provider: String,
    },
}

// === impl EmbedError ===

impl EmbedError {
    /// Whether rules keep the texts from the provider.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Unasked(error) if error.is_refused())
    }
}

// === impl Models ===

impl Models {
    /// The vectors of texts, in their order, all of one size. Only a provider of kind `local_model`
    /// is asked, if the rules let it have them as they are, and none that answers from elsewhere.
    /// Each request is on record, as other requests to models are.
    ///
    /// # Errors
    /// See [`EmbedError`].
    pub async fn embed(
        &self,
        ctx: &OpContext,
        ask: EmbedAsk<'_>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let (gate, router) = self.parts().ok_or(AskError::Closing)?;
        gate.model_caller(&ctx.caller).map_err(AskError::from)?;
        let about = About {
            job: ask.job,
            conversation: ask.conversation,
            labels: ask.labels,
        };
        let mut rounds = 0;
        loop {
            let policy = gate.rules();
            rounds += 1;
            let pass = Recording {
                gate: &gate,
                policy: &policy,
                about,
            };
            match router.embed(ctx, &policy, ask, &pass).await {
                Err(EmbedError::Unasked(error)) if rounds < ROUNDS && error.is_moved() => {}
                Err(EmbedError::Unasked(error)) => {
                    refused(ctx, &gate, &policy, about, &error).await;
                    return Err(error.into());
                }
                vectors => return vectors,
            }
        }
    }
}

// === impl Router ===

impl Router {
    async fn embed(
        &self,
        ctx: &OpContext,
        policy: &Policy,
        ask: EmbedAsk<'_>,
        pass: &impl Pass,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let governance = policy.governance();
        let (provider, model) = ask.place;
        let wanted = Wanted {
            labels: Some(ask.labels.clone()),
            job: Some(ask.job.to_owned()),
            ..Wanted::for_nobody()
        };
        let mut selected = self.may_embed(governance, provider, &wanted)?;
        if selected.kind != ProviderKind::LocalModel {
            let provider = provider.to_owned();
            return Err(EmbedError::NotLocal { provider });
        }
        selected.model = Some(model.to_owned());
        let answer = self
            .vectors(ctx, governance, (&selected, model), &wanted, ask, pass)
            .await;
        match answer {
            Ok(Answered::Vectors(vectors)) => Ok(vectors),
            Ok(Answered::Status(status)) => Err(EmbedError::Refused {
                provider: provider.to_owned(),
                model: model.to_owned(),
                status,
            }),
            Ok(Answered::Nonsense) => Err(EmbedError::Shape {
                provider: provider.to_owned(),
            }),
            Err(failure) => {
                let tried = Tried {
                    provider: provider.to_owned(),
                    source: ChoiceSource::Named,
                    failure,
                };
                let tried = vec![tried];
                Err(AskError::Route(RouteError::Unanswered { tried }).into())
            }
        }
    }

    fn may_embed(
        &self,
        governance: &Governance,
        provider: &str,
        wanted: &Wanted,
    ) -> Result<Selected, AskError> {
        let now = self.client().clock().wall().0;
        let plan = Plan::of(governance, wanted, now).only(governance, provider)?;
        wanted.is_redacted(&plan.decision)?;
        Ok(named(governance, provider).ok_or(RouteError::Rules)?)
    }

    async fn vectors(
        &self,
        ctx: &OpContext,
        governance: &Governance,
        (selected, model): (&Selected, &str),
        wanted: &Wanted,
        ask: EmbedAsk<'_>,
        pass: &impl Pass,
    ) -> Result<Answered, Failure> {
        let Loaded::Good(providers) = &governance.providers else {
            return Err(Failure::Gone);
        };
        let ready = self.ready(ctx, providers, selected, None).await?;
        let endpoint = &ready.target.endpoint;
        let path = endpoint
            .target("/embeddings")
            .map_err(|source| Failure::Model(ModelError::Endpoint { source }))?;
        let question = json!({"model": model, "input": ask.texts, "encoding_format": "float"});
        let body = Bytes::from(question.to_string());
        if let Some(provider) = providers.providers.get(&selected.provider) {
            let admitted = self.meter.admit(&selected.provider, provider);
            admitted.map_err(Failure::Limited)?;
        }
        let sending = Sending {
            selected,
            model,
            body: &body,
        };
        let record = pass.out(ctx, sending).await?;
        let mut entry = self
            .meter
            .entry(providers, selected, ("embeddings", model), wanted);
        entry.record(record);
        let client = self.client().with_limits(Limits {
            plain: ANSWER_MAX,
            ..Limits::default()
        });
        let (key, timeouts) = (ready.key.as_ref(), &ready.target.timeouts);
        let answer = client
            .plain(ctx, endpoint, path.as_str(), key, Some(body), timeouts)
            .await;
        let answer = match answer {
            Ok(answer) => match proxied::in_headers(&answer.headers) {
                Some(evidence) => Err(ModelError::Proxied { evidence }),
                None => Ok(answer),
            },
            Err(error) => Err(error),
        };
        let answer = answer.map_err(|error| {
            entry.failed(&error);
            Failure::Model(error)
        })?;
        if answer.status != 200 {
            entry.broken();
            return Ok(Answered::Status(answer.status));
        }
        // From here on it costs, whatever becomes of it.
        entry.begun();
        let read = answer.value["usage"]["prompt_tokens"].as_u64();
        entry.count(Usage {
            input: read,
            ..Usage::default()
        });
        let vectors = vectors(&answer.value, ask.texts.len());
        match vectors {
            Some(_) => entry.done(),
            None => entry.broken(),
        }
        Ok(vectors.map_or(Answered::Nonsense, Answered::Vectors))
    }
}

/// What a server answered.
enum Answered {
    Vectors(Vec<Vec<f32>>),
    /// Another status than 200.
    Status(u16),
    Nonsense,
}

/// The vectors of an answer (OpenAI's `/v1/embeddings`), in the order of the texts.
fn vectors(answer: &Value, count: usize) -> Option<Vec<Vec<f32>>> {
    let data = answer.get("data")?.as_array()?;
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
    for (at, one) in data.iter().enumerate() {
        let at = match one.get("index") {
            Some(index) => usize::try_from(index.as_u64()?).ok()?,
            None => at,
        };
        let numbers = one.get("embedding")?.as_array()?.iter();
        // Digits beyond those of a float say nothing of a direction.
        let vector: Option<Vec<f32>> = numbers
            .map(|number| number.as_f64().map(|number| number as f32))
            .collect();
        *vectors.get_mut(at)? = Some(vector?);
    }
    let vectors: Vec<Vec<f32>> = vectors.into_iter().collect::<Option<_>>()?;
    let size = vectors.first().map_or(0, Vec::len);
    let alike = vectors
        .iter()
        .all(|vector| vector.len() == size && size > 0);
    alike.then_some(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_a_vector_or_the_answer_is_none() {
        let good = json!({"data": [
            {"index": 1, "embedding": [0.5, 1]},
            {"index": 0, "embedding": [1e-3, -2.0]},
        ]});
        let read = vectors(&good, 2).expect("vectors");
        assert_eq!(read, [vec![0.001, -2.0], vec![0.5, 1.0]]);
        for bad in [
            json!({}),
            json!({"data": []}),
            json!({"data": [{"index": 0, "embedding": [1.0]}]}),
            json!({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]}),
            json!({"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}]}),
            json!({"data": [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": [1.0]}]}),
            json!({"data": [{"index": 7, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]}),
        ] {
            assert_eq!(vectors(&bad, 2), None, "{bad}");
        }
    }
}
