//! A provider as the client sees it.

use legation_policy::governance::{Provider, ProviderKind};

use crate::endpoint::{Endpoint, EndpointError};
use crate::error::ModelError;
use crate::limits::Timeouts;
use crate::resume::GoOn;

/// Where a request goes, and in which interface it is said.
#[derive(Clone, Debug)]
pub struct Target {
    /// The provider's name.
    pub provider: String,
    /// Its interface.
    pub dialect: Dialect,
    /// Where it is, without what the interface adds.
    pub endpoint: Endpoint,
    /// The model; for Azure, the deployment.
    pub model: String,
    /// Whether the owner says that it is a machine of theirs.
    pub is_local: bool,
    /// How it goes on with a turn that was begun.
    pub go_on: GoOn,
    /// How long it is waited for.
    pub timeouts: Timeouts,
}

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's chat completions.
    OpenAi,
    /// The same as others understand it.
    Compatible,
    /// The same at GitHub Copilot.
    Copilot,
    /// The same in Azure, without versions: the deployment is the model.
    AzureV1,
    /// The same in Azure, with a version and the deployment in the path.
    AzureDated {
        /// The version, such as 2024-10-21.
        api_version: String,
    },
    /// Anthropic's messages.
    Anthropic,
}

// === impl Target ===

impl Target {
    /// A model of a provider, as `llm_provider.json` has it. `timeout_ms` is
    /// the file's.
    ///
    /// # Errors
    /// [`ModelError::Endpoint`], and [`ModelError::Unsayable`] where the entry
    /// does not say how it is spoken to.
    pub fn of(
        name: &str,
        provider: &Provider,
        model: &str,
        timeout_ms: Option<u64>,
    ) -> Result<Self, ModelError> {
        let kind = provider.kind_as(name).ok_or(ModelError::Unsayable {
            what: "neither its name nor `kind` says how the provider is spoken to",
        })?;
        let endpoint = Endpoint::parse(provider.endpoint().unwrap_or_default())
            .map_err(|source| ModelError::Endpoint { source })?;
        if !is_model(model) {
            return Err(ModelError::Unsayable {
                what: "the model's name has characters that no model has",
            });
        }
        let dialect = Dialect::of(kind, provider.api_version.as_deref());
        let is_local = kind == ProviderKind::LocalModel;
        let mut timeouts = match is_local {
            true => Timeouts::local(),
            false => Timeouts::remote(),
        };
        if let Some(ms) = timeout_ms {
            timeouts.first = std::time::Duration::from_millis(ms);
        }
        Ok(Self {
            provider: name.to_owned(),
            endpoint: dialect.base(&endpoint),
            dialect,
            model: model.to_owned(),
            is_local,
            go_on: GoOn::Never,
            timeouts,
        })
    }

    /// The server itself, which is asked about its models.
    pub(crate) fn server(&self) -> Endpoint {
        self.endpoint.at(self.endpoint.path_without("/v1"))
    }

    /// What is asked for, and of whom.
    pub(crate) fn path_and_query(&self) -> Result<http::uri::PathAndQuery, EndpointError> {
        let path = match &self.dialect {
            Dialect::OpenAi | Dialect::Compatible | Dialect::Copilot | Dialect::AzureV1 => {
                "/chat/completions".to_owned()
            }
            Dialect::AzureDated { api_version } => format!(
                "/deployments/{}/chat/completions?api-version={}",
                escaped(&self.model),
                escaped(api_version)
            ),
            Dialect::Anthropic => "/v1/messages".to_owned(),
        };
        self.endpoint.target(&path)
    }
}

// === impl Dialect ===

impl Dialect {
    fn of(kind: ProviderKind, api_version: Option<&str>) -> Self {
        let version = api_version.filter(|text| !text.is_empty());
        match (kind, version) {
            (ProviderKind::OpenaiDirect, _) => Self::OpenAi,
            (ProviderKind::AzureOpenai, None | Some("v1" | "preview")) => Self::AzureV1,
            (ProviderKind::AzureOpenai, Some(version)) => Self::AzureDated {
                api_version: version.to_owned(),
            },
            (ProviderKind::AnthropicDirect, _) => Self::Anthropic,
            (ProviderKind::CopilotExtension, _) => Self::Copilot,
            (ProviderKind::OpenaiCompatible | ProviderKind::LocalModel, _) => Self::Compatible,
        }
    }

    /// The address without what the interface adds. People write all of it, or
    /// the part before it, or the host alone, as their provider's page has it.
    fn base(&self, endpoint: &Endpoint) -> Endpoint {
        let path = match self {
            Self::Anthropic => endpoint
                .path_without("/messages")
                .trim_end_matches("/v1")
                .to_owned(),
            Self::OpenAi | Self::Compatible => {
                let path = endpoint.path_without("/chat/completions");
                let is_bare = path.is_empty();
                if is_bare { "/v1" } else { path }.to_owned()
            }
            Self::Copilot => endpoint.path_without("/chat/completions").to_owned(),
            Self::AzureV1 => {
                let path = endpoint.path_without("/chat/completions");
                let path = path.trim_end_matches("/v1").trim_end_matches("/openai");
                format!("{path}/openai/v1")
            }
            Self::AzureDated { .. } => {
                let path = endpoint.path();
                let path = path.split("/deployments/").next().unwrap_or_default();
                format!("{}/openai", path.trim_end_matches("/openai"))
            }
        };
        endpoint.at(&path)
    }
}

/// Letters, digits and the few signs that names are made of.
pub(crate) fn is_word(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(is_sign)
}

/// What a model may be called: a path, for servers that load files.
fn is_model(text: &str) -> bool {
    !text.is_empty() && text.len() <= 512 && !text.chars().any(char::is_control)
}

/// A text as part of a path or a query (RFC 3986 section 2.1).
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
