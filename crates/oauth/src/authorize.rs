//! The road of a person's browser: the address it is sent to, and what it brings
//! back (OAuth 2.1 section 4.1; PKCE, RFC 7636; `iss`, RFC 9207).

use legation_core::Secret;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::jwt::{KeyError, base64url, unique};
use crate::metadata::Issuer;
use crate::url::{WebUrl, pairs, put};

/// One sign-in under way.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// Comes back with the browser; good once.
    state: Secret,
    /// PKCE.
    pub(crate) verifier: Secret,
    /// Where the browser comes back to.
    pub(crate) redirect: String,
}

/// What the browser brought is no sign-in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It belongs to no sign-in, or to another.
    #[error("the answer belongs to no sign-in that was begun here; nothing was sent")]
    State,
    /// Another authorization server answered (a mix-up; RFC 9207).
    #[error(
        "the answer is not from the authorization server that was asked; its code was not sent"
    )]
    OtherIssuer,
    /// The authorization server refused, or the person did.
    #[error("the sign-in was refused: {error}")]
    Refused {
        /// Its code (RFC 6749, section 4.1.2.1).
        error: Box<str>,
    },
    /// It is not the address that the browser was to come back to.
    #[error("this is not the address that a browser ends at after this sign-in; nothing was sent")]
    Address,
    /// It is unreadable, or has no code.
    #[error("the answer holds no code")]
    Unreadable,
}

// === impl Attempt ===

impl Attempt {
    pub(crate) fn new(redirect: String) -> Result<Self, KeyError> {
        Ok(Self {
            state: Secret::new(unique()?),
            verifier: Secret::new(unique()?),
            redirect,
        })
    }

    /// Where the browser is sent.
    pub(crate) fn url(
        &self,
        endpoint: &WebUrl,
        client_id: &str,
        resource: Option<&str>,
        scope: Option<&str>,
    ) -> String {
        let mut query = String::new();
        put(&mut query, "response_type", "code");
        put(&mut query, "client_id", client_id);
        put(&mut query, "redirect_uri", &self.redirect);
        put(&mut query, "state", self.state.reveal());
        let challenge = base64url(&Sha256::digest(self.verifier.reveal()));
        put(&mut query, "code_challenge", &challenge);
        put(&mut query, "code_challenge_method", "S256");
        if let Some(resource) = resource {
            put(&mut query, "resource", resource);
        }
        if let Some(scope) = scope {
            put(&mut query, "scope", scope);
            if scope.split(' ').any(|one| one == "offline_access") {
                // OpenID Connect Core, section 11.
                put(&mut query, "prompt", "consent");
            }
        }
        let text = endpoint.as_str();
        let mark = if text.contains('?') { '&' } else { '?' };
        format!("{text}{mark}{query}")
    }

    /// Whether an answer is of this sign-in at all.
    pub(crate) fn is_of(&self, query: &str) -> bool {
        let pairs = pairs(query).unwrap_or_default();
        let mut states = pairs.iter().filter(|(name, _)| name == "state");
        match (states.next(), states.next()) {
            (Some((_, state)), None) => {
                let ours = self.state.reveal().as_bytes();
                ours.ct_eq(state.as_bytes()).into()
            }
            _ => false,
        }
    }

    /// The code of an answer, once everything about it is right. `iss` is compared
    /// to the letter, on refusals too.
    pub(crate) fn code(&self, query: &str, issuer: &Issuer) -> Result<Secret, AnswerError> {
        if !self.is_of(query) {
            return Err(AnswerError::State);
        }
        let pairs = pairs(query).ok_or(AnswerError::Unreadable)?;
        let get = |wanted: &str| {
            let mut found = pairs.iter().filter(|(name, _)| name == wanted);
            found.next().map(|(_, value)| value.as_str())
        };
        match get("iss") {
            Some(iss) if *iss != *issuer.issuer => return Err(AnswerError::OtherIssuer),
            None if issuer.sends_iss => return Err(AnswerError::OtherIssuer),
            _ => {}
        }
        if let Some(error) = get("error") {
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
            let known = error.len() <= 64 && error.bytes().all(plain);
            let error = if known { error } else { "an unknown error" };
            return Err(AnswerError::Refused {
                error: error.into(),
            });
        }
        let code = get("code").filter(|code| !code.is_empty());
        code.map(Secret::new).ok_or(AnswerError::Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::{AnswerError, Attempt};
    use crate::metadata::Issuer;
    use crate::url::WebUrl;

    fn issuer(sends_iss: bool) -> Issuer {
        let server = WebUrl::parse("https://as.example.com").unwrap();
        Issuer {
            sends_iss,
            ..Issuer::assumed(&server).unwrap()
        }
    }

    #[test]
    fn an_answer_is_of_its_own_sign_in_and_its_own_issuer() {
        let attempt = Attempt::new("http://127.0.0.1:1/callback".to_owned()).unwrap();
        let other = Attempt::new("http://127.0.0.1:1/callback".to_owned()).unwrap();
        let url = WebUrl::parse("https://as.example.com/authorize?tenant=x").unwrap();
        let sent = attempt.url(&url, "me", Some("https://example.com/mcp"), Some("a b"));
        assert!(sent.starts_with("https://as.example.com/authorize?tenant=x&response_type=code&"));
        let state = sent.split("state=").nth(1).unwrap();
        let state = state.split('&').next().unwrap();
        let iss = "iss=https%3A%2F%2Fas.example.com";
        for (query, sends_iss, expected) in [
            (format!("code=c&state={state}&{iss}"), true, Ok("c")),
            (format!("code=c&state={state}"), false, Ok("c")),
            (
                format!("code=c&state={state}"),
                true,
                Err(AnswerError::OtherIssuer),
            ),
            (
                format!("code=c&state={state}&iss=https%3A%2F%2Fevil.example.com"),
                false,
                Err(AnswerError::OtherIssuer),
            ),
            (
                format!("code=c&state={state}&{iss}%2F"),
                true,
                Err(AnswerError::OtherIssuer),
            ),
            (
                format!("error=access_denied&state={state}&{iss}"),
                true,
                Err(AnswerError::Refused {
                    error: "access_denied".into(),
                }),
            ),
            (
                format!("error=access_denied&state={state}"),
                true,
                Err(AnswerError::OtherIssuer),
            ),
            ("code=c".to_owned(), false, Err(AnswerError::State)),
            ("code=c&state=".to_owned(), false, Err(AnswerError::State)),
            ("code=c&state=x".to_owned(), false, Err(AnswerError::State)),
            (
                format!("code=c&state={state}&state={state}"),
                false,
                Err(AnswerError::State),
            ),
            (
                format!("state={state}"),
                false,
                Err(AnswerError::Unreadable),
            ),
            (
                format!("code=&state={state}"),
                false,
                Err(AnswerError::Unreadable),
            ),
        ] {
            let code = attempt.code(&query, &issuer(sends_iss));
            let code = code
                .as_ref()
                .map(|code| code.reveal())
                .map_err(Clone::clone);
            assert_eq!(code, expected, "{query}");
            assert!(!other.is_of(&query));
        }
    }
}
