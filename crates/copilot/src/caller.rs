//! Whose token came with a request, which GitHub alone can tell.
//!
//! A token is neither kept nor logged: for some minutes it is remembered by its digest whose it is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderValue, StatusCode, header};
use legation_core::error::chain;
use legation_core::{Secret, SharedClock};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::github::{Github, GithubError};

/// For how long it is known whose a token is; one that is taken back lives on for no longer.
const KNOWN_FOR: Duration = Duration::from_secs(2 * 60);
/// Most tokens that are known at once.
const KNOWN_MAX: usize = 256;
/// Most characters of a login, and of a token.
const LOGIN_MAX: usize = 64;
const TOKEN_MAX: usize = 4 * 1024;

/// Nobody is known by this token.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallerError {
    /// No token, or one that cannot be sent.
    #[error("the request brought no token of its user's")]
    NoToken,
    /// GitHub does not take it.
    #[error("GitHub does not know the token")]
    Refused,
    /// GitHub did not say.
    #[error("GitHub did not say whose the token is")]
    Unknown(#[source] GithubError),
}

/// Whose tokens are.
#[derive(Debug)]
pub(crate) struct Callers {
    github: Arc<Github>,
    clock: SharedClock,
    known: Mutex<HashMap<[u8; 32], (Instant, String)>>,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

// === impl Callers ===

impl Callers {
    pub(crate) fn new(github: Arc<Github>, clock: SharedClock) -> Self {
        Self {
            github,
            clock,
            known: Mutex::default(),
        }
    }

    /// The login that a token belongs to.
    pub(crate) async fn login(&self, token: &Secret) -> Result<String, CallerError> {
        let text = token.reveal();
        if text.is_empty() || text.len() > TOKEN_MAX {
            return Err(CallerError::NoToken);
        }
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        if let Some(login) = self.known(&digest) {
            return Ok(login);
        }
        let value = HeaderValue::try_from(format!("Bearer {text}"));
        let mut value = value.map_err(|_| CallerError::NoToken)?;
        value.set_sensitive(true);
        let fields = [(header::AUTHORIZATION, value)];
        let answer = self.github.get("/user", &fields).await;
        let answer = answer.map_err(|error| {
            tracing::warn!(error = %chain(&error), "GitHub did not say whose a token is");
            CallerError::Unknown(error)
        })?;
        match answer.status {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => {
                return Err(CallerError::Refused);
            }
            status => {
                let error = GithubError::Status(status.as_u16());
                return Err(CallerError::Unknown(error));
            }
        }
        let user: Option<User> = serde_json::from_slice(&answer.body).ok();
        let login = user.map(|user| user.login).filter(|login| is_login(login));
        let login = login.ok_or(CallerError::Unknown(GithubError::Unreadable))?;
        self.remember(digest, &login);
        Ok(login)
    }

    fn known(&self, digest: &[u8; 32]) -> Option<String> {
        let now = self.clock.now();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, login) = known.get(digest)?;
        (now.saturating_duration_since(*since) < KNOWN_FOR).then(|| login.clone())
    }

    fn remember(&self, digest: [u8; 32], login: &str) {
        let now = self.clock.now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (since, _)| now.saturating_duration_since(*since) < KNOWN_FOR);
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(digest, (now, login.to_owned()));
    }
}

/// Letters, digits and hyphens, which is all that GitHub gives (`_` for managed users, `[bot]` never
/// writes here).
fn is_login(login: &str) -> bool {
    (1..=LOGIN_MAX).contains(&login.len())
        && login
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
