//! Texts as vectors, by a model on one of the owner's machines.

use legation_core::{EntityLabels, OpContext};
use legation_policy::governance::{Governance, Loaded, ProviderKind};
use serde_json::{Value, json};

use crate::ask::Models;
use crate::error::ModelError;
use crate::limits::Limits;
use crate::proxied;
use crate::router::{Failure, Plan, RouteError, Router, Wanted, named};

/// Most bytes of an answer: some dozen vectors of the largest models, in digits.
const ANSWER_MAX: usize = 8 << 20;

/// Texts that did not become vectors.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The hub ends.
    #[error("the hub is stopping")]
    Closing,
    /// It is not a machine of the owner's.
    #[error("the provider {provider:?} is not of kind `local_model`; nothing was sent")]
    NotLocal {
        /// Which was named.
        provider: String,
    },
    /// The rules keep them from it.
    #[error("the provider {provider:?} does not get the texts; nothing was sent")]
    Kept {
        /// Which.
        provider: String,
        /// Why.
        #[source]
        source: RouteError,
    },
    /// It could not be asked.
    #[error("the provider {provider:?} does not answer")]
    Provider {
        /// Which.
        provider: String,
        /// Why.
        #[source]
        source: Failure,
    },
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

impl Models {
    /// The vectors of texts, in their order, all of one size; `labels` says whose data is in them.
    /// Only a provider of kind `local_model` is asked, if the rules let it have them as they are,
    /// and none that answers from elsewhere.
    ///
    /// # Errors
    /// See [`EmbedError`].
    pub async fn embed(
        &self,
        ctx: &OpContext,
        (provider, model): (&str, &str),
        labels: &EntityLabels,
        texts: &[String],
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let (gate, router) = self.parts().ok_or(EmbedError::Closing)?;
        let policy = gate.rules();
        router
            .embed(ctx, policy.governance(), (provider, model), labels, texts)
            .await
    }
}

impl Router {
    pub(crate) async fn embed(
        &self,
        ctx: &OpContext,
        governance: &Governance,
        (provider, model): (&str, &str),
        labels: &EntityLabels,
        texts: &[String],
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.may_embed(governance, provider, labels)?;
        let failed = |source: Failure| EmbedError::Provider {
            provider: provider.to_owned(),
            source,
        };
        let Loaded::Good(providers) = &governance.providers else {
            return Err(failed(Failure::Gone));
        };
        let mut selected = named(governance, provider).ok_or_else(|| failed(Failure::Gone))?;
        if selected.kind != ProviderKind::LocalModel {
            let provider = provider.to_owned();
            return Err(EmbedError::NotLocal { provider });
        }
        selected.model = Some(model.to_owned());
        let ready = self.ready(ctx, providers, &selected, None).await;
        let ready = ready.map_err(failed)?;
        let endpoint = &ready.target.endpoint;
        let path = endpoint
            .target("/embeddings")
            .map_err(|source| failed(Failure::Model(ModelError::Endpoint { source })))?;
        let question = json!({"model": model, "input": texts, "encoding_format": "float"});
        let client = self.client().with_limits(Limits {
            plain: ANSWER_MAX,
            ..Limits::default()
        });
        let (key, timeouts) = (ready.key.as_ref(), &ready.target.timeouts);
        let answer = client
            .plain(ctx, endpoint, path.as_str(), key, Some(&question), timeouts)
            .await
            .map_err(|error| failed(Failure::Model(error)))?;
        if let Some(evidence) = proxied::in_headers(&answer.headers) {
            return Err(failed(Failure::Model(ModelError::Proxied { evidence })));
        }
        if answer.status != 200 {
            return Err(EmbedError::Refused {
                provider: provider.to_owned(),
                model: model.to_owned(),
                status: answer.status,
            });
        }
        vectors(&answer.value, texts.len()).ok_or_else(|| EmbedError::Shape {
            provider: provider.to_owned(),
        })
    }

    fn may_embed(
        &self,
        governance: &Governance,
        provider: &str,
        labels: &EntityLabels,
    ) -> Result<(), EmbedError> {
        let wanted = Wanted {
            labels: Some(labels.clone()),
            ..Wanted::for_nobody()
        };
        let now = self.client().clock().wall().0;
        let plan = Plan::of(governance, &wanted, now).only(governance, provider);
        plan.and_then(|plan| wanted.is_redacted(&plan.decision))
            .map_err(|source| EmbedError::Kept {
                provider: provider.to_owned(),
                source,
            })
    }
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
