//! What a provider's no means.
//!
//! The words of a refusal are looked at and thrown away: they may repeat what
//! was asked. Only a word of the kind that programs exchange is kept.

use std::time::Duration;

use http::HeaderMap;
use legation_core::Wall;
use serde_json::Value;

use crate::error::{ModelClass, ModelError};
use crate::target::is_word;

/// Waits longer than this are not believed.
const WAIT_MAX: Duration = Duration::from_secs(24 * 3600);

/// An answer whose status is not 200.
pub(crate) fn of_answer(status: u16, headers: &HeaderMap, body: &[u8], now: Wall) -> ModelError {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = Said::of(&value);
    ModelError::Refused {
        status,
        class: said.class(status),
        code: said.code,
        retry_after: retry_after(headers, now),
    }
}

/// A refusal in the middle of an answer, if an event is one.
pub(crate) fn in_stream(value: &Value, event: Option<&str>) -> Option<ModelError> {
    let has_error = value.get("error").is_some_and(|error| !error.is_null());
    let is_error = has_error || event == Some("error") || value["type"] == "error";
    is_error.then(|| {
        let said = Said::of(value);
        // llama.cpp says in a number what the status would have been.
        let status = value.pointer("/error/code").and_then(Value::as_u64);
        let status = status.and_then(|code| u16::try_from(code).ok());
        ModelError::Refused {
            status: 200,
            class: said.class(status.unwrap_or(500)),
            code: said.code,
            retry_after: None,
        }
    })
}

/// What a body says, in whatever of the usual shapes.
struct Said {
    code: Option<String>,
    /// In lower case; only ever searched.
    message: String,
}

// === impl Said ===

impl Said {
    fn of(value: &Value) -> Self {
        let error = value.get("error").unwrap_or(value);
        let word = |name: &str| {
            let word = error.get(name).and_then(Value::as_str);
            word.filter(|word| is_word(word)).map(str::to_owned)
        };
        let inner = error.pointer("/innererror/code").and_then(Value::as_str);
        let inner = inner.filter(|word| is_word(word)).map(str::to_owned);
        let message = ["message", "detail"]
            .iter()
            .find_map(|name| error.get(name)?.as_str())
            .or_else(|| error.as_str())
            .unwrap_or_default();
        Self {
            code: inner.or_else(|| word("code")).or_else(|| word("type")),
            message: message
                .chars()
                .take(4096)
                .collect::<String>()
                .to_lowercase(),
        }
    }

    fn class(&self, status: u16) -> ModelClass {
        let code = self.code.as_deref().unwrap_or_default().to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| self.message.contains(word));
        match code.as_str() {
            "context_length_exceeded" | "exceed_context_size_error" | "request_too_large" => {
                return ModelClass::TooLong;
            }
            "content_filter" | "content_policy_violation" | "responsibleaipolicyviolation" => {
                return ModelClass::Filtered;
            }
            "insufficient_quota" | "billing_error" | "billing_hard_limit_reached" => {
                return ModelClass::Quota;
            }
            "model_not_found" | "deploymentnotfound" | "not_found_error" => {
                return ModelClass::NotFound;
            }
            "overloaded_error" | "rate_limit_error" | "rate_limit_exceeded" => {
                return ModelClass::Busy;
            }
            "authentication_error" | "permission_error" | "invalid_api_key" => {
                return ModelClass::Credential;
            }
            _ => {}
        }
        match status {
            400 | 422 if says(&["credit balance"]) => ModelClass::Quota,
            400 | 422
                if says(&[
                    "prompt is too long",
                    "context length",
                    "context size",
                    "too many tokens",
                ]) =>
            {
                ModelClass::TooLong
            }
            400 if code == "invalid_request_error" => ModelClass::Request,
            401 | 403 | 407 => ModelClass::Credential,
            402 => ModelClass::Quota,
            // Where it moved to is not followed: the key would go along.
            300..=399 | 404 | 405 | 410 => ModelClass::NotFound,
            408 | 504 => ModelClass::Slow,
            413 => ModelClass::TooLong,
            425 | 429 | 503 | 529 => ModelClass::Busy,
            400..=499 => ModelClass::Request,
            _ if code == "invalid_request_error" => ModelClass::Request,
            _ => ModelClass::Server,
        }
    }
}

/// How long a provider wants to be left alone (RFC 9110 section 10.2.3).
fn retry_after(headers: &HeaderMap, now: Wall) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let ms = text("retry-after-ms").and_then(|ms| ms.parse::<u64>().ok());
    if let Some(ms) = ms {
        return Some(Duration::from_millis(ms).min(WAIT_MAX));
    }
    let text = text("retry-after")?;
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds).min(WAIT_MAX));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    let at = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    let now = Duration::from_millis(u64::try_from(now.0).ok()?);
    Some(at.saturating_sub(now).min(WAIT_MAX))
}
