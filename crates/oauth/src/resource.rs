//! What the hub's own front is for an authorization server: a resource that its tokens
//! open (RFC 9728, RFC 9068, RFC 8725).
//!
//! A token is judged where it came in, with keys that are kept; only where a key is
//! missing somebody waits. Introspection (RFC 7662) was not taken: it would ask the
//! issuer about every request, and tell it of each.

mod claims;
mod jws;
mod keys;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use legation_core::id::hex;
use legation_core::{SharedClock, Wall};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::error::OAuthError;
use crate::fetch::{Ask, Fetch, Reach};
use crate::metadata::{MetadataError, issuer_places};
use crate::url::{BadUrl, WebUrl};

use self::claims::Claims;
use self::jws::Signed;
use self::keys::KeySet;

/// After so long keys are asked for again, so that one that was taken back goes.
const REFRESH: Duration = Duration::from_secs(600);
/// Keys of an issuer that cannot be reached are believed for so long.
const LAST: Duration = Duration::from_secs(3600);
/// How often a key that is not known may have the issuer asked.
const COOLDOWN: Duration = Duration::from_secs(30);
/// The same after an issuer could not be asked.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
/// Letters of the name of somebody who comes with a token.
const NAME_LENGTH: usize = 20;

const OF_ISSUER: &str = "the issuer's own description";
const KEYS: &str = "the issuer's keys";

/// Whose tokens open the front, and for what they must be.
#[derive(Debug, Clone)]
pub struct ResourceSettings {
    /// `iss`, to the letter.
    pub issuer: Box<str>,
    /// `aud`: what the front is called, which is the address clients have of it.
    pub audience: Box<str>,
    /// Where the issuer's keys are; what it says of itself where this is not said.
    pub keys_at: Option<Box<str>>,
    /// Whose tokens are taken (`sub`); everybody's where nobody is named.
    pub subjects: Vec<Box<str>>,
    /// Scopes that the front knows, for its description.
    pub scopes: Vec<Box<str>>,
}

/// Judges the tokens of one issuer.
pub struct ResourceServer {
    settings: ResourceSettings,
    issuer: WebUrl,
    audience: WebUrl,
    keys_at: Option<WebUrl>,
    fetch: Arc<dyn Fetch>,
    clock: SharedClock,
    state: Mutex<State>,
    /// One asks for keys at a time.
    turn: tokio::sync::Mutex<()>,
}

/// What a token comes to.
pub enum Judged {
    /// It is good.
    Good(Bearer),
    /// It cannot be told before this is over; then the token is to be judged again.
    Wait(BoxFuture<'static, ()>),
    /// It is not.
    Bad(BadToken),
}

/// Who comes with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// A name made of issuer, person and program: the same for all their tokens, and
    /// nobody else's. It says nothing of the person.
    pub name: Box<str>,
    /// What the token is good for.
    pub scopes: Vec<Box<str>>,
    /// When it is no longer taken.
    pub until: Wall,
}

/// A token that opens nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    /// It is no signed JWT, or one that asks for what is not known here.
    #[error("it is no signed JWT that could be read")]
    Unreadable,
    /// `alg` is none of those that are taken.
    #[error("its algorithm is not one of ES256, ES384, RS256, PS256 and EdDSA")]
    Algorithm,
    /// The issuer has no such key.
    #[error("the issuer has no key of that name and kind")]
    Key,
    /// The signature is not the key's.
    #[error("its signature is not the issuer's")]
    Signature,
    /// Another issued it.
    #[error("it is of another issuer")]
    Issuer,
    /// It is for somebody else.
    #[error("it is for another resource")]
    Audience,
    /// It is over.
    #[error("it has expired")]
    Expired,
    /// It is not good yet.
    #[error("it is not good yet")]
    Early,
    /// It is bound to a key or certificate, of which nothing was shown.
    #[error("it is bound to a key that was not shown")]
    Bound,
    /// Nobody, or nobody whose tokens are taken.
    #[error("it is of nobody who may come")]
    Subject,
    /// The issuer's keys could not be had.
    #[error("the issuer's keys could not be had")]
    NoKeys,
}

/// Settings that make no resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {bad}")]
pub struct BadResource {
    /// Which setting.
    pub key: &'static str,
    /// What is wrong with it.
    pub bad: BadUrl,
}

#[derive(Debug, Default)]
struct State {
    keys: Option<Kept>,
    /// When the issuer may be asked again.
    next: Option<Instant>,
}

#[derive(Debug, Clone)]
struct Kept {
    keys: Arc<KeySet>,
    since: Instant,
}

/// What is wanted of an issuer's description.
#[derive(Deserialize)]
struct Described {
    issuer: String,
    jwks_uri: String,
}

// === impl ResourceServer ===

impl ResourceServer {
    /// A judge without keys yet.
    ///
    /// # Errors
    /// See [`BadResource`].
    pub fn new(
        settings: ResourceSettings,
        fetch: Arc<dyn Fetch>,
        clock: SharedClock,
    ) -> Result<Arc<Self>, BadResource> {
        let read =
            |key, text: &str| WebUrl::parse_safe(text).map_err(|bad| BadResource { key, bad });
        let keys_at = settings.keys_at.as_deref();
        Ok(Arc::new(Self {
            issuer: read("issuer", &settings.issuer)?,
            audience: read("audience", &settings.audience)?,
            keys_at: keys_at.map(|text| read("jwks_uri", text)).transpose()?,
            settings,
            fetch,
            clock,
            state: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }))
    }

    /// Judges a token.
    pub fn judge(self: &Arc<Self>, token: &str) -> Judged {
        let mut looked = self.look(token);
        if matches!(looked, Err(BadToken::Key | BadToken::NoKeys)) {
            if self.may_ask() {
                return Judged::Wait(Box::pin(Arc::clone(self).refresh()));
            }
            // Somebody may just have brought them.
            looked = self.look(token);
        }
        match looked {
            Ok(bearer) => Judged::Good(bearer),
            Err(bad) => Judged::Bad(bad),
        }
    }

    /// What the front says of itself (RFC 9728, section 2).
    #[must_use]
    pub fn document(&self) -> String {
        let mut document = json!({
            "resource": self.settings.audience,
            "authorization_servers": [self.settings.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "Legation",
        });
        if !self.settings.scopes.is_empty() {
            document["scopes_supported"] = json!(self.settings.scopes);
        }
        document.to_string()
    }

    /// Where it says so (RFC 9728, section 3.1).
    #[must_use]
    pub fn document_url(&self) -> String {
        let path = self.audience.path().trim_end_matches('/');
        let origin = self.audience.origin();
        format!("{origin}/.well-known/oauth-protected-resource{path}")
    }

    /// The address clients have of the front.
    #[must_use]
    pub fn audience(&self) -> &WebUrl {
        &self.audience
    }

    fn look(&self, token: &str) -> Result<Bearer, BadToken> {
        let signed = Signed::read(token)?;
        let claims = Claims::read(signed.payload())?;
        // Nobody makes the hub ask for keys with a token that would be none anyway.
        let now = self.clock.wall().0.div_euclid(1000);
        claims.check(&self.settings, now)?;
        let kept = self.lock().keys.clone().ok_or(BadToken::NoKeys)?;
        let age = self.clock.now().saturating_duration_since(kept.since);
        if age >= LAST || (age >= REFRESH && self.may_ask()) {
            return Err(BadToken::NoKeys);
        }
        signed.verify(&kept.keys)?;
        let name = self.name_of(&claims);
        Ok(Bearer {
            name,
            scopes: claims.scopes(),
            until: claims.until(),
        })
    }

    fn name_of(&self, claims: &Claims) -> Box<str> {
        let mut hash = Sha256::new();
        let program = claims.program().unwrap_or_default();
        for part in [&*self.settings.issuer, claims.subject(), program] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
        let mut name = hex(&hash.finalize());
        name.truncate(NAME_LENGTH);
        name.into()
    }

    /// Whether the issuer may be asked, or is being asked.
    fn may_ask(&self) -> bool {
        let is_due = |next: Instant| self.clock.now() >= next;
        self.lock().next.is_none_or(is_due) || self.turn.try_lock().is_err()
    }

    /// Asks for keys, unless somebody just did. What cannot be had changes nothing.
    async fn refresh(self: Arc<Self>) {
        let _turn = self.turn.lock().await;
        let now = self.clock.now();
        {
            let mut state = self.lock();
            if state.next.is_some_and(|next| now < next) {
                return;
            }
            // Whoever gives up waiting begins nothing anew for the next one.
            state.next = Some(now + AFTER_FAILURE);
        }
        match self.keys().await {
            Ok(keys) => {
                let now = self.clock.now();
                let kept = Kept {
                    keys: Arc::new(keys),
                    since: now,
                };
                *self.lock() = State {
                    keys: Some(kept),
                    next: Some(now + COOLDOWN),
                };
            }
            Err(error) => {
                let error = legation_core::error::chain(&error);
                let issuer = &*self.settings.issuer;
                tracing::warn!(
                    issuer,
                    error,
                    "the keys of the front's issuer could not be had"
                );
            }
        }
    }

    async fn keys(&self) -> Result<KeySet, OAuthError> {
        let reach = Reach::default().and(&self.issuer);
        let (at, reach) = match &self.keys_at {
            Some(at) => (at.clone(), reach.and(at)),
            None => (self.described(&reach).await?, reach),
        };
        let body = self.document_at(at, &reach, KEYS).await?;
        let failed = |source| OAuthError::Metadata { what: KEYS, source };
        let body = body.ok_or(failed(MetadataError::Unreadable {
            why: "there is none",
        }))?;
        KeySet::read(&body).map_err(failed)
    }

    /// Where the issuer says that its keys are.
    async fn described(&self, reach: &Reach) -> Result<WebUrl, OAuthError> {
        let failed = |source| OAuthError::Metadata {
            what: OF_ISSUER,
            source,
        };
        for place in issuer_places(&self.issuer) {
            let Some(body) = self.document_at(place, reach, OF_ISSUER).await? else {
                continue;
            };
            let Ok(found) = serde_json::from_slice::<Described>(&body) else {
                continue;
            };
            if *found.issuer != *self.settings.issuer {
                return Err(failed(MetadataError::other_issuer(&found.issuer)));
            }
            return WebUrl::parse_safe(&found.jwks_uri).map_err(|bad| {
                failed(MetadataError::Endpoint {
                    member: "jwks_uri",
                    bad,
                })
            });
        }
        Err(OAuthError::NoIssuer {
            issuer: self.settings.issuer.to_string(),
        })
    }

    async fn document_at(
        &self,
        at: WebUrl,
        reach: &Reach,
        what: &'static str,
    ) -> Result<Option<bytes::Bytes>, OAuthError> {
        let reply = self.fetch.fetch(Ask::get(at), reach.clone()).await;
        let reply = reply.map_err(|source| OAuthError::Fetch { what, source })?;
        Ok((reply.status == 200).then_some(reply.body))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ResourceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceServer")
            .field("issuer", &self.settings.issuer)
            .field("audience", &self.settings.audience)
            .finish_non_exhaustive()
    }
}

// === impl Judged ===

impl fmt::Debug for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good(bearer) => f.debug_tuple("Good").field(bearer).finish(),
            Self::Wait(_) => f.debug_tuple("Wait").finish(),
            Self::Bad(bad) => f.debug_tuple("Bad").field(bad).finish(),
        }
    }
}

// === impl BadToken ===

impl BadToken {
    /// Whether it may be good all the same.
    #[must_use]
    pub fn is_passing(self) -> bool {
        matches!(self, Self::NoKeys)
    }
}

#[cfg(test)]
mod tests;
