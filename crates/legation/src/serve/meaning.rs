//! What `find_tools` asks a model on one of the owner's machines.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_config::Settings;
use legation_core::error::chain;
use legation_core::{Cancel, EntityLabels, OpContext, SharedClock, TaskSet};
use legation_gate::conversation;
use legation_models::{EmbedAsk, EmbedError};
use legation_servers::hub::{Embedder, Meaning};
use legation_store::Store;

use super::admin::caller;
use super::natives::Windows;

/// Under which vectors are kept beside the definitions that they are of; no server is called so.
const KEPT: &str = "embeddings/";

/// The job, as `per_job_overrides` names it.
const JOB: &str = "discovery.embeddings";

/// What the model says where there is one to be asked.
type Answered = Result<Vec<Vec<f32>>, EmbedError>;

/// A model that makes vectors, reached once the hub has models.
struct Local {
    windows: Windows,
    store: Arc<Store>,
    clock: SharedClock,
    provider: Box<str>,
    model: Box<str>,
}

/// The meaning that the settings ask for, if they do.
pub(super) fn of(
    settings: &Settings,
    (store, clock): (&Arc<Store>, &SharedClock),
    (windows, tasks): (&Windows, &TaskSet),
) -> Option<Arc<Meaning>> {
    let (provider, model) = settings.discovery.embeddings.clone()?;
    let name = format!("{provider}/{model}");
    let local = Local {
        windows: windows.clone(),
        store: Arc::clone(store),
        clock: Arc::clone(clock),
        provider,
        model,
    };
    Some(Arc::new(Meaning::new(Arc::new(local), name, tasks.clone())))
}

// === impl Local ===

impl Local {
    fn key(&self) -> String {
        format!("{KEPT}{}/{}", self.provider, self.model)
    }

    /// Texts that hold the data of `labels`.
    fn asked(
        &self,
        context: OpContext,
        labels: EntityLabels,
        texts: Vec<String>,
    ) -> BoxFuture<'static, Result<Answered, String>> {
        let models = self.windows.models();
        let (provider, model) = (self.provider.clone(), self.model.clone());
        Box::pin(async move {
            let models = models.ok_or_else(|| "the hub is starting or stopping".to_owned())?;
            let ask = EmbedAsk {
                place: (&provider, &model),
                job: JOB,
                conversation: conversation::holder(&context.caller),
                labels: &labels,
                texts: &texts,
            };
            Ok(models.embed(&context, ask).await)
        })
    }
}

impl Embedder for Local {
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, String>> {
        let context = OpContext::new(caller(None), Cancel::new());
        let asked = self.asked(context, EntityLabels::none(), texts);
        Box::pin(async move {
            let vectors = asked.await?;
            vectors.map_err(|error| chain(&error))
        })
    }

    fn ask(
        &self,
        context: &OpContext,
        question: String,
    ) -> BoxFuture<'static, Result<Option<Vec<f32>>, String>> {
        let gate = self.windows.gate();
        let labels = gate.and_then(|gate| {
            let conversations = &gate.asking().conversations;
            conversations.labels(&context.caller).ok()
        });
        let Some(labels) = labels else {
            return Box::pin(std::future::ready(Ok(None)));
        };
        let asked = self.asked(context.clone(), labels, vec![question]);
        Box::pin(async move {
            match asked.await? {
                Ok(vectors) => Ok(vectors.into_iter().next()),
                Err(error) if error.is_kept() => Ok(None),
                Err(error) => Err(chain(&error)),
            }
        })
    }

    fn recall(&self) -> Vec<u8> {
        match self.store.definition_get(&self.key()) {
            Ok(kept) => kept.map_or_else(Vec::new, |kept| kept.blob),
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(
                    error,
                    "embeddings that were kept cannot be read and are made again"
                );
                Vec::new()
            }
        }
    }

    fn keep(&self, vectors: &[u8]) {
        let now = self.clock.wall().0;
        if let Err(error) = self.store.definition_put(&self.key(), vectors, now) {
            let error = chain(&error);
            tracing::warn!(
                error,
                "embeddings cannot be kept and are made again at the next start"
            );
        }
    }
}

impl std::fmt::Debug for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = format!("{}/{}", self.provider, self.model);
        f.debug_tuple("Local").field(&name).finish()
    }
}
