//! What a token says (RFC 7519 section 4.1, RFC 9068 section 2.2).

use legation_core::Wall;
use serde::Deserialize;
use serde_json::{Number, Value};

use super::{BadToken, ResourceSettings};

/// How far the issuer's clock may be ahead of this machine's or behind it, in seconds.
const SKEW_S: i64 = 10;
/// Most scopes that are read.
const SCOPES_MAX: usize = 256;

/// What a token says, as far as it is of use.
#[derive(Deserialize)]
pub(super) struct Claims {
    iss: String,
    #[serde(default)]
    sub: String,
    aud: Audience,
    exp: Number,
    nbf: Option<Number>,
    iat: Option<Number>,
    /// Divided by spaces (RFC 8693, section 4.2).
    scope: Option<String>,
    /// What some issuers have in its place, as a text or a list.
    scp: Option<Value>,
    client_id: Option<String>,
    /// What OpenID Connect calls it.
    azp: Option<String>,
    /// The key it is bound to (RFC 7800).
    cnf: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

// === impl Claims ===

impl Claims {
    pub(super) fn read(payload: &[u8]) -> Result<Self, BadToken> {
        serde_json::from_slice(payload).map_err(|_| BadToken::Unreadable)
    }

    /// Whether it is for this resource and now; `now` in seconds since 1970.
    pub(super) fn check(&self, settings: &ResourceSettings, now: i64) -> Result<(), BadToken> {
        if *self.iss != *settings.issuer {
            return Err(BadToken::Issuer);
        }
        let audience = &*settings.audience;
        let is_here = match &self.aud {
            Audience::One(one) => one == audience,
            Audience::Several(several) => several.iter().any(|one| one == audience),
        };
        if !is_here {
            return Err(BadToken::Audience);
        }
        let seconds = |number: &Number| seconds(number).ok_or(BadToken::Unreadable);
        if now.saturating_sub(SKEW_S) >= seconds(&self.exp)? {
            return Err(BadToken::Expired);
        }
        for begins in [&self.nbf, &self.iat].into_iter().flatten() {
            if now.saturating_add(SKEW_S) < seconds(begins)? {
                return Err(BadToken::Early);
            }
        }
        // Whoever stole it could use it: here it is shown like one that is bound to
        // nothing (RFC 9449, section 7.2).
        if self.cnf.is_some() {
            return Err(BadToken::Bound);
        }
        let named = &settings.subjects;
        let may_come = named.is_empty() || named.iter().any(|one| **one == *self.sub);
        if self.sub.is_empty() || !may_come {
            return Err(BadToken::Subject);
        }
        Ok(())
    }

    /// When [`check`](Self::check) begins to refuse it for its age.
    pub(super) fn until(&self) -> Wall {
        let ends = seconds(&self.exp).unwrap_or_default();
        Wall(ends.saturating_add(SKEW_S).saturating_mul(1000))
    }

    pub(super) fn subject(&self) -> &str {
        &self.sub
    }

    /// The program that the token was given to.
    pub(super) fn program(&self) -> Option<&str> {
        self.client_id.as_deref().or(self.azp.as_deref())
    }

    pub(super) fn scopes(&self) -> Vec<Box<str>> {
        let mut scopes: Vec<&str> = Vec::new();
        if let Some(scope) = &self.scope {
            scopes.extend(scope.split_ascii_whitespace());
        }
        match &self.scp {
            Some(Value::String(text)) => scopes.extend(text.split_ascii_whitespace()),
            Some(Value::Array(list)) => scopes.extend(list.iter().filter_map(Value::as_str)),
            _ => {}
        }
        scopes
            .into_iter()
            .take(SCOPES_MAX)
            .map(Into::into)
            .collect()
    }
}

/// A date in seconds; a fraction is cut off (RFC 7519, section 2).
fn seconds(number: &Number) -> Option<i64> {
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    // What is beyond the bounds is cut off at them.
    number.as_f64().map(|real| real.floor() as i64)
}
