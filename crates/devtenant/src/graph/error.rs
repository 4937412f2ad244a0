//! What Graph refuses, in its words.

use legation_core::Wall;
use serde_json::{Value, json};

use crate::random;
use crate::web::{Answer, Ask, base64_std};

/// A refusal.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) headers: Vec<(&'static str, String)>,
}

// === impl Failure ===

impl Failure {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            headers: Vec::new(),
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// A directory object that is not there.
    pub(crate) fn no_resource(id: &str) -> Self {
        Self::new(
            404,
            "Request_ResourceNotFound",
            format!(
                "Resource '{id}' does not exist or one of its queried reference-property objects \
                 are not present."
            ),
        )
    }

    /// A mail, folder or event that is not there.
    pub(crate) fn no_item() -> Self {
        Self::new(
            404,
            "ErrorItemNotFound",
            "The specified object was not found in the store.",
        )
    }

    /// The token does not do.
    pub(crate) fn token(ask: &Ask, message: &str, error: Option<&str>) -> Self {
        let mut challenge = format!(
            "Bearer realm=\"\", authorization_uri=\"{}/common/oauth2/authorize\", \
             client_id=\"00000003-0000-0000-c000-000000000000\"",
            ask.origin
        );
        if let Some(error) = error {
            challenge.push_str(&format!(", error=\"{error}\""));
        }
        let mut failure = Self::new(401, "InvalidAuthenticationToken", message);
        failure.headers.push(("www-authenticate", challenge));
        failure
    }

    /// The token was good and is not any more: get another with these claims.
    pub(crate) fn challenge(ask: &Ask, now: Wall) -> Self {
        let claims = json!({
            "access_token": {
                "nbf": {"essential": true, "value": (now.0.div_euclid(1000)).to_string()},
            },
        });
        let challenge = format!(
            "Bearer realm=\"\", authorization_uri=\"{}/common/oauth2/authorize\", \
             client_id=\"00000003-0000-0000-c000-000000000000\", error=\"insufficient_claims\", \
             claims=\"{}\"",
            ask.origin,
            base64_std(claims.to_string().as_bytes())
        );
        let mut failure = Self::new(
            401,
            "InvalidAuthenticationToken",
            "Continuous access evaluation resulted in challenge with result: \
             InteractionRequired and code: TokenIssuedBeforeRevocationTimestamp",
        );
        failure.headers.push(("www-authenticate", challenge));
        failure
    }

    /// The HTTP answer.
    pub(crate) fn answer(&self, ask: &Ask, now: Wall, request_id: &str) -> Answer {
        let client = ask
            .header("client-request-id")
            .map_or_else(random::guid, str::to_owned);
        let stamp = &now.to_string()[..19];
        let body: Value = json!({
            "error": {
                "code": self.code,
                "message": self.message,
                "innerError": {
                    "date": stamp,
                    "request-id": request_id,
                    "client-request-id": client,
                },
            },
        });
        let mut answer = Answer::json(self.status, &body);
        answer.headers.extend(self.headers.iter().cloned());
        answer
    }
}
