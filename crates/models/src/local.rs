//! Servers of models on the owner's machine: what runs there, what it has, and
//! whether it is what it is said to be.
//!
//! A server is known by what it says of itself, not by its port. Nothing that
//! is found is used: that an address is the owner's machine is the owner's
//! word, in `llm_provider.json`.

mod models;
mod resume;

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use legation_core::{OpContext, Secret};
use serde_json::Value;

use crate::client::{ModelClient, Plain};
use crate::endpoint::Endpoint;
use crate::error::ModelError;
use crate::limits::Timeouts;
use crate::proxied;
use crate::resume::{GoOn, Resumption};
use crate::target::{Target, is_word};

/// A server that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// Where it is.
    pub endpoint: Endpoint,
    /// What it is.
    pub kind: LocalKind,
    /// Its version, if it tells.
    pub version: Option<String>,
    /// What it has.
    pub models: Vec<LocalModel>,
}

/// A model that a server has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalModel {
    /// Its name.
    pub name: String,
    /// How many tokens of a conversation it is run with; `None` where the
    /// server does not say.
    pub context: Option<u64>,
    /// Whether it can call tools; `None` where the server does not say.
    pub tools: Option<bool>,
    /// How it shows that it runs elsewhere.
    pub elsewhere: Option<&'static str>,
}

/// A program that serves models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// llama.cpp's server.
    LlamaCpp,
    /// Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// vLLM.
    Vllm,
    /// Another one that speaks like OpenAI's.
    Other,
}

/// What is known of a model at a local provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// What serves it.
    pub kind: LocalKind,
    /// The model.
    pub model: LocalModel,
    /// What a turn that is gone on with is worth there.
    pub resumption: Resumption,
    /// How it is gone on with.
    pub go_on: GoOn,
}

/// Asks local providers what they are, once for each model.
#[derive(Debug, Default)]
pub struct Probes {
    /// Bounded by [`KNOWN_MAX`].
    known: Mutex<HashMap<(Endpoint, String), (Known, Instant)>>,
}

/// Where the usual servers listen.
const PLACES: [(&str, u16); 4] = [
    ("llama.cpp", 8080),
    ("Ollama", 11434),
    ("LM Studio", 1234),
    ("vLLM", 8000),
];
/// How long what a server said is believed: models are exchanged behind names.
const FRESH: Duration = Duration::from_secs(600);
const KNOWN_MAX: usize = 256;

// === impl LocalServer ===

impl LocalServer {
    /// Looks for servers where they usually listen on this machine.
    pub async fn find(client: &ModelClient, ctx: &OpContext) -> Vec<Self> {
        let mut found = Vec::new();
        for (_, port) in PLACES {
            let Ok(place) = Endpoint::parse(&format!("http://127.0.0.1:{port}")) else {
                continue;
            };
            if let Ok(Some(server)) = Self::at(client, ctx, &place, None).await {
                found.push(server);
            }
        }
        found
    }

    /// What answers at an address; `None` where nothing does that has models.
    ///
    /// # Errors
    /// [`ModelError`] when nothing answers at all.
    pub async fn at(
        client: &ModelClient,
        ctx: &OpContext,
        place: &Endpoint,
        key: Option<&Secret>,
    ) -> Result<Option<Self>, ModelError> {
        Ask::new(client, ctx, place, key).look().await
    }
}

// === impl LocalKind ===

impl LocalKind {
    /// What people call it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LlamaCpp => "llama.cpp",
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::Vllm => "vLLM",
            Self::Other => "another",
        }
    }
}

// === impl Probes ===

impl Probes {
    /// What a local provider is, and whether it is local: asked before the first
    /// request, and again when what it said is old.
    ///
    /// # Errors
    /// [`ModelError::Proxied`] where the model runs elsewhere, and others where
    /// the server cannot be asked. Nobody's data was sent.
    pub async fn known(
        &self,
        client: &ModelClient,
        ctx: &OpContext,
        target: &Target,
        key: Option<&Secret>,
    ) -> Result<Known, ModelError> {
        let name = (target.endpoint.clone(), target.model.clone());
        let now = client.clock().now();
        if let Some((known, since)) = self.lock().get(&name)
            && now.saturating_duration_since(*since) < FRESH
        {
            return Ok(known.clone());
        }
        let place = target.server();
        let ask = Ask::new(client, ctx, &place, key);
        let known = ask.known(target).await?;
        let mut all = self.lock();
        if all.len() >= KNOWN_MAX {
            all.retain(|_, (_, since)| now.saturating_duration_since(*since) < FRESH);
        }
        if all.len() < KNOWN_MAX {
            all.insert(name, (known.clone(), now));
        }
        Ok(known)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(Endpoint, String), (Known, Instant)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Questions to one server.
struct Ask<'a> {
    client: &'a ModelClient,
    ctx: &'a OpContext,
    place: &'a Endpoint,
    key: Option<&'a Secret>,
    /// How the head of an answer showed that another machine gave it.
    elsewhere: OnceLock<&'static str>,
}

// === impl Ask ===

impl<'a> Ask<'a> {
    fn new(
        client: &'a ModelClient,
        ctx: &'a OpContext,
        place: &'a Endpoint,
        key: Option<&'a Secret>,
    ) -> Self {
        Self {
            client,
            ctx,
            place,
            key,
            elsewhere: OnceLock::new(),
        }
    }

    /// What answers; see [`LocalServer::at`].
    async fn look(&self) -> Result<Option<LocalServer>, ModelError> {
        // llama.cpp answers some of Ollama's questions too, so it comes first.
        let props = self.get("/props").await?;
        if props.get("default_generation_settings").is_some() {
            return Ok(Some(self.llama_cpp(&props).await?));
        }
        let version = self.get("/api/version").await?;
        if let Some(version) = version.get("version").and_then(Value::as_str) {
            return Ok(Some(self.ollama(version).await?));
        }
        let listed = self.get("/api/v0/models").await?;
        if let Some(models) = models::lm_studio(&listed) {
            return Ok(Some(self.server(LocalKind::LmStudio, None, models)));
        }
        let version = self.get("/version").await?;
        let version = version.get("version").and_then(Value::as_str);
        let listed = self.plain("/v1/models", None).await?;
        let Some(models) = models::listed(&listed.value) else {
            return Ok(None);
        };
        let is_vllm = models::is_owned_by(&listed.value, "vllm");
        let kind = match is_vllm {
            true => LocalKind::Vllm,
            false => LocalKind::Other,
        };
        Ok(Some(self.server(kind, version, models)))
    }

    /// What is there; null where the server does not know the question.
    async fn get(&self, path: &str) -> Result<Value, ModelError> {
        let answer = self.plain(path, None).await?;
        Ok(match answer.status {
            200 => answer.value,
            _ => Value::Null,
        })
    }

    async fn post(&self, path: &str, question: &Value) -> Result<Value, ModelError> {
        let answer = self.plain(path, Some(question)).await?;
        Ok(match answer.status {
            200 => answer.value,
            _ => Value::Null,
        })
    }

    async fn plain(&self, path: &str, question: Option<&Value>) -> Result<Plain, ModelError> {
        let timeouts = Timeouts {
            connect: Duration::from_secs(2),
            first: Duration::from_secs(5),
            ..Timeouts::local()
        };
        let target = self
            .place
            .target(path)
            .map_err(|source| ModelError::Endpoint { source })?;
        let answer = self
            .client
            .plain(
                self.ctx,
                self.place,
                target.as_str(),
                self.key,
                question.map(|question| question.to_string().into()),
                &timeouts,
            )
            .await?;
        if let Some(evidence) = proxied::in_headers(&answer.headers) {
            self.elsewhere.get_or_init(|| evidence);
        }
        Ok(answer)
    }

    fn server(
        &self,
        kind: LocalKind,
        version: Option<&str>,
        mut models: Vec<LocalModel>,
    ) -> LocalServer {
        for model in &mut models {
            model.elsewhere = model.elsewhere.or(self.elsewhere.get().copied());
        }
        LocalServer {
            endpoint: self.place.clone(),
            kind,
            version: version.filter(|text| is_word(text)).map(str::to_owned),
            models,
        }
    }

    async fn llama_cpp(&self, props: &Value) -> Result<LocalServer, ModelError> {
        let listed = self.plain("/v1/models", None).await?;
        let mut models = models::listed(&listed.value).unwrap_or_default();
        let context = props.pointer("/default_generation_settings/n_ctx");
        let caps = props.pointer("/chat_template_caps/supports_tools");
        for model in &mut models {
            model.context = context.and_then(Value::as_u64);
            model.tools = caps.and_then(Value::as_bool);
        }
        let version = props.get("build_info").and_then(Value::as_str);
        Ok(self.server(LocalKind::LlamaCpp, version, models))
    }

    async fn ollama(&self, version: &str) -> Result<LocalServer, ModelError> {
        let models = models::ollama(&self.get("/api/tags").await?);
        Ok(self.server(LocalKind::Ollama, Some(version), models))
    }

    async fn known(&self, target: &Target) -> Result<Known, ModelError> {
        let Some(server) = self.look().await? else {
            return Err(ModelError::Refused {
                status: 404,
                class: crate::error::ModelClass::NotFound,
                code: None,
                retry_after: None,
            });
        };
        let mut model = models::named(&server, &target.model);
        if server.kind == LocalKind::Ollama {
            // A model made of another one is listed as if it were its own.
            let question = serde_json::json!({ "model": target.model });
            models::shown(&self.post("/api/show", &question).await?, &mut model);
            if model.context.is_none() {
                model.context = models::running(&self.get("/api/ps").await?, &target.model);
            }
        }
        if let Some(evidence) = model.elsewhere.or(self.elsewhere.get().copied()) {
            return Err(ModelError::Proxied { evidence });
        }
        let resumption = match server.kind {
            LocalKind::LlamaCpp => self.llama_cpp_resumes().await?,
            LocalKind::Vllm => self.vllm_resumes(&target.model).await?,
            // They go on where their template lets them, and nothing tells.
            LocalKind::Ollama | LocalKind::LmStudio | LocalKind::Other => Resumption::Restart,
        };
        Ok(Known {
            kind: server.kind,
            model,
            resumption,
            go_on: match resumption {
                Resumption::Exact | Resumption::Prefill => GoOn::Flag,
                Resumption::Restart => GoOn::Never,
            },
        })
    }
}

#[cfg(test)]
mod tests;
