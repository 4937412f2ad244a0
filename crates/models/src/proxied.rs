//! Servers that are said to be local and have a model elsewhere answer.
//!
//! That nothing shows is no proof: the owner's word stays the owner's word.
//! But where a server says so itself, that word is not true.

use http::HeaderMap;

/// Fields that only a service, or a program that passes requests on to one,
/// puts in front of an answer; and what their presence means.
const FIELDS: &[(&str, &str)] = &[
    ("x-litellm-version", "LiteLLM passes requests on"),
    ("x-litellm-model-id", "LiteLLM passes requests on"),
    ("openai-organization", "OpenAI answered"),
    ("openai-processing-ms", "OpenAI answered"),
    ("anthropic-organization-id", "Anthropic answered"),
    ("apim-request-id", "Azure answered"),
    ("x-ms-region", "Azure answered"),
    ("x-portkey-provider", "Portkey passes requests on"),
    ("x-groq-region", "Groq answered"),
    ("cf-ray", "a public network answered"),
];

/// How the head of an answer shows it.
pub(crate) fn in_headers(headers: &HeaderMap) -> Option<&'static str> {
    let found = FIELDS.iter().find(|(name, _)| headers.contains_key(*name));
    found.map(|(_, evidence)| *evidence)
}
