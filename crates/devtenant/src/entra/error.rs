//! What the token endpoint refuses, in Entra's words.
//!
//! Statuses, codes and suberrors are a table because clients branch on them; the texts are only
//! read by people.

use legation_core::Wall;
use serde_json::{Value, json};

use crate::random;
use crate::web::Answer;

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) error: &'static str,
    pub(crate) code: u32,
    pub(crate) suberror: Option<&'static str>,
    pub(crate) text: String,
    /// What a client must ask for next time, as JSON in a text.
    pub(crate) claims: Option<String>,
    /// Seconds, or a date.
    pub(crate) retry_after: Option<String>,
}

/// Code, HTTP status, `error`, `suberror`.
const TABLE: &[(u32, u16, &str, Option<&str>)] = &[
    (7_000_215, 401, "invalid_client", None),
    (7_000_222, 401, "invalid_client", None),
    (7_000_218, 401, "invalid_client", None),
    (7_000_112, 401, "unauthorized_client", None),
    (700_027, 401, "invalid_client", None),
    (700_024, 401, "invalid_client", None),
    (700_021, 401, "invalid_client", None),
    (700_025, 401, "invalid_client", None),
    (700_212, 401, "invalid_client", None),
    (50_027, 400, "invalid_request", None),
    (50_059, 400, "invalid_request", None),
    (90_094, 400, "invalid_grant", Some("consent_required")),
    (700_211, 401, "invalid_client", None),
    (700_213, 401, "invalid_client", None),
    (700_016, 400, "unauthorized_client", None),
    (50_173, 400, "invalid_grant", Some("bad_token")),
    (700_082, 400, "invalid_grant", Some("token_expired")),
    (70_043, 400, "invalid_grant", Some("token_expired")),
    (50_132, 400, "invalid_grant", Some("bad_token")),
    (50_133, 400, "invalid_grant", Some("bad_token")),
    (70_000, 400, "invalid_grant", None),
    (50_057, 400, "invalid_grant", None),
    (500_131, 400, "invalid_grant", None),
    (500_133, 400, "invalid_grant", None),
    (50_013, 400, "invalid_grant", None),
    (50_034, 400, "invalid_grant", None),
    (50_105, 400, "invalid_grant", None),
    (65_001, 400, "invalid_grant", Some("consent_required")),
    (50_076, 400, "interaction_required", Some("basic_action")),
    (50_079, 400, "interaction_required", Some("basic_action")),
    (53_003, 400, "interaction_required", Some("message_only")),
    (
        53_000,
        400,
        "interaction_required",
        Some("additional_action"),
    ),
    (530_035, 400, "interaction_required", Some("message_only")),
    (70_011, 400, "invalid_scope", None),
    (1_002_012, 400, "invalid_scope", None),
    (700_022, 400, "invalid_scope", None),
    (500_011, 400, "invalid_resource", None),
    (70_003, 400, "unsupported_grant_type", None),
    (900_144, 400, "invalid_request", None),
    (50_196, 400, "invalid_request", None),
    (50_049, 400, "invalid_instance", None),
    (90_002, 400, "invalid_tenant", None),
    (90_013, 400, "invalid_request", None),
    (82_001, 400, "invalid_request", None),
    (82_002, 400, "invalid_request", None),
    (90_055, 429, "temporarily_unavailable", None),
    (90_033, 503, "temporarily_unavailable", None),
    (70_016, 400, "authorization_pending", None),
    (70_018, 400, "bad_verification_code", None),
    (70_019, 400, "expired_token", None),
    (70_020, 400, "expired_token", None),
    (90_120, 400, "invalid_grant", None),
    (50_134, 400, "invalid_grant", None),
    (7_000_014, 400, "authorization_declined", None),
];

// === impl Refusal ===

impl Refusal {
    /// A refusal by its number. A number that is not in the table is a plain `invalid_request`.
    pub(crate) fn new(code: u32, text: impl Into<String>) -> Self {
        let row = TABLE.iter().find(|row| row.0 == code);
        let (status, error, suberror) =
            row.map_or((400, "invalid_request", None), |row| (row.1, row.2, row.3));
        Self {
            status,
            error,
            code,
            suberror,
            text: text.into(),
            claims: None,
            retry_after: None,
        }
    }

    /// A refusal that was ordered, with a general text.
    pub(crate) fn ordered(code: u32) -> Self {
        match code {
            50_076 | 50_079 | 53_003 | 53_000 => Self::interaction(code),
            _ => Self::new(code, "The request was refused because a fault was ordered."),
        }
    }

    /// A person has to do something; the claims say what.
    pub(crate) fn interaction(code: u32) -> Self {
        let text = match code {
            50_079 => {
                "Due to a configuration change made by your administrator, or because you moved \
                 to a new location, you must enroll in multi-factor authentication to access the \
                 resource."
            }
            53_003 => {
                "Access has been blocked by Conditional Access policies. The access policy does \
                 not allow token issuance."
            }
            53_000 => {
                "Device is not in required device state. Conditional Access policy requires a \
                 compliant device, and the device is not compliant."
            }
            _ => {
                "Due to a configuration change made by your administrator, or because you moved \
                 to a new location, you must use multi-factor authentication to access the \
                 resource."
            }
        };
        let policy = random::guid();
        let claims = json!({
            "access_token": {
                "capolids": {"essential": true, "values": [policy]},
            },
        });
        Self {
            claims: Some(claims.to_string()),
            ..Self::new(code, text)
        }
    }

    pub(crate) fn missing(parameter: &str) -> Self {
        Self::new(
            900_144,
            format!("The request body must contain the following parameter: '{parameter}'."),
        )
    }

    /// The HTTP answer. `correlation` is the client's own request id, when it gave one.
    pub(crate) fn answer(&self, origin: &str, now: Wall, correlation: Option<&str>) -> Answer {
        let trace = random::guid();
        let correlation = correlation.map_or_else(random::guid, str::to_owned);
        let stamp = stamp(now);
        let code = self.code;
        let mut body = json!({
            "error": self.error,
            "error_description": format!(
                "AADSTS{code}: {} Trace ID: {trace} Correlation ID: {correlation} Timestamp: {stamp}",
                self.text
            ),
            "error_codes": [code],
            "timestamp": stamp,
            "trace_id": trace,
            "correlation_id": correlation,
            "error_uri": format!("{origin}/error?code={code}"),
        });
        if let Some(suberror) = self.suberror {
            body["suberror"] = suberror.into();
        }
        if let Some(claims) = &self.claims {
            body["claims"] = Value::from(claims.as_str());
        }
        let answer = Answer::json(self.status, &body)
            .with("x-ms-request-id", trace)
            .with("client-request-id", correlation);
        match &self.retry_after {
            Some(told) => answer.with("retry-after", told.as_str()),
            None => answer,
        }
    }
}

/// A time as Entra writes it in errors.
fn stamp(now: Wall) -> String {
    let text = now.to_string();
    format!("{} {}Z", &text[..10], &text[11..19])
}
