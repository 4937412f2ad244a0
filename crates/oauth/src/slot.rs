//! One sign-in: what one authorization server gave one client for one resource, where
//! entities have accounts of their own.
//!
//! Authorization servers that rotate refresh tokens take every use of an old one for
//! a theft and revoke the whole family. So a sign-in is renewed by one task, whoever
//! waits for it and from whichever server's connection; the task belongs to nobody
//! who waits, because a call that is given up must not take the only copy of a new
//! token with it; and what it got is on disk before anybody uses it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use legation_core::{Clock, Secret, Wall};

use crate::error::OAuthError;
use crate::jwt::ProofKey;
use crate::token::Tokens;
use crate::vault::{Kept, Name, Vault};

/// A token is renewed this part of its life before its end, so that it is good when
/// it arrives, …
const EARLY: u32 = 20;
/// … but at most so long before.
const EARLY_MAX: Duration = Duration::from_secs(60);

/// Numbers of tokens; each has its own.
static NUMBER: AtomicU64 = AtomicU64::new(1);

/// An access token.
pub struct Access {
    pub(crate) token: Secret,
    /// The key that it can only be used with.
    pub(crate) key: Option<Arc<ProofKey>>,
    /// From when on another is wanted; never, where nobody said how long it lives.
    stale_at: Option<Instant>,
    /// Tells it from every other.
    pub(crate) number: u64,
}

/// The state of one sign-in.
#[derive(Debug)]
pub(crate) struct Slot {
    name: Name,
    held: Mutex<Held>,
    /// One renewal at a time, across all servers that use this sign-in.
    pub(crate) turn: tokio::sync::Mutex<()>,
    /// What the token endpoint wants to find in proofs.
    nonce: Mutex<Option<Box<str>>>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    pub(crate) access: Option<Arc<Access>>,
    pub(crate) refresh: Option<Secret>,
    pub(crate) key: Option<Arc<ProofKey>>,
    /// What was granted, as far as it is known.
    pub(crate) scope: Option<Box<str>>,
}

/// The request that tokens came back for.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) key: Option<Arc<ProofKey>>,
    pub(crate) scope: Option<&'a str>,
    pub(crate) begun: Instant,
    /// Whether what was there before goes on where the answer is silent.
    pub(crate) is_renewal: bool,
}

// === impl Access ===

impl Access {
    /// Whether it is good for a request that begins now.
    pub(crate) fn is_fresh(&self, now: Instant) -> bool {
        self.stale_at.is_none_or(|stale_at| now < stale_at)
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

// === impl Slot ===

impl Slot {
    /// The sign-in of this name, as it is kept.
    pub(crate) async fn recall(
        name: Name,
        vault: &Vault,
        clock: &dyn Clock,
    ) -> Result<Self, OAuthError> {
        let kept: Kept = vault.get(&name).await?.unwrap_or_default();
        let key = kept.key.as_deref().map(Secret::new);
        let key = key.and_then(|key| ProofKey::read(&key).ok()).map(Arc::new);
        let left = |ends: i64| Duration::from_millis((ends - clock.wall().0).max(0).unsigned_abs());
        let access = kept.access.map(|token| {
            let lifetime = kept.expires_ms.map(left);
            let bound = key.clone().filter(|_| kept.is_bound);
            Arc::new(Access::new(
                Secret::new(token),
                bound,
                lifetime,
                clock.now(),
            ))
        });
        let held = Held {
            access,
            refresh: kept.refresh.map(Secret::new),
            key,
            scope: kept.scope.map(Into::into),
        };
        Ok(Self {
            name,
            held: Mutex::new(held),
            turn: tokio::sync::Mutex::default(),
            nonce: Mutex::default(),
        })
    }

    pub(crate) fn held(&self) -> Held {
        lock(&self.held).clone()
    }

    /// The token, if it is good now.
    pub(crate) fn fresh(&self, now: Instant) -> Option<Arc<Access>> {
        let held = lock(&self.held);
        held.access.clone().filter(|access| access.is_fresh(now))
    }

    pub(crate) fn nonce(&self) -> Option<Box<str>> {
        lock(&self.nonce).clone()
    }

    pub(crate) fn set_nonce(&self, nonce: Option<Box<str>>) {
        if nonce.is_some() {
            *lock(&self.nonce) = nonce;
        }
    }

    /// Takes what came back for a request, and keeps it.
    pub(crate) async fn take(
        &self,
        vault: &Vault,
        clock: &dyn Clock,
        tokens: Tokens,
        asked: Asked<'_>,
    ) -> Result<Arc<Access>, OAuthError> {
        let Asked {
            key, scope, begun, ..
        } = asked;
        // A new sign-in may be another person's: what renewed the last one is not its.
        let before = match asked.is_renewal {
            true => self.held(),
            false => Held::default(),
        };
        let refresh = tokens.refresh.or(before.refresh);
        let scope = tokens.scope.or_else(|| scope.map(Into::into));
        let scope = scope.or(before.scope);
        let lifetime = tokens.expires_in_s.map(Duration::from_secs);
        let bound = key.clone().filter(|_| tokens.is_bound);
        let text = |secret: &Secret| secret.reveal().to_owned();
        // How long it lives counts from when it was asked for.
        let spent = clock.now().saturating_duration_since(begun);
        let ends = lifetime.map(|lifetime| ends(clock.wall(), lifetime.saturating_sub(spent)));
        let kept = Kept {
            access: refresh.is_none().then(|| text(&tokens.access)),
            refresh: refresh.as_ref().map(text),
            expires_ms: ends,
            is_bound: bound.is_some(),
            key: key.as_ref().map(|key| text(key.document())),
            scope: scope.as_deref().map(str::to_owned),
        };
        // The old one is worth nothing any more: without this the sign-in would be
        // lost with the process.
        let stored = vault.put(&self.name, &kept).await;
        let access = Arc::new(Access::new(tokens.access, bound, lifetime, begun));
        *lock(&self.held) = Held {
            access: Some(Arc::clone(&access)),
            refresh,
            key,
            scope,
        };
        if let Err(error) = stored {
            let error = legation_core::error::chain(&error);
            tracing::error!(error, "a sign-in could not be kept; it ends with the hub");
        }
        Ok(access)
    }

    /// Notes that the sign-in is no more.
    pub(crate) async fn clear(&self, vault: &Vault) -> Result<(), OAuthError> {
        *lock(&self.held) = Held::default();
        vault.forget(&self.name).await.map(|_| ())
    }
}

impl Access {
    fn new(
        token: Secret,
        key: Option<Arc<ProofKey>>,
        lifetime: Option<Duration>,
        begun: Instant,
    ) -> Self {
        let stale_at = lifetime.map(|lifetime| {
            let early = (lifetime / EARLY).min(EARLY_MAX);
            begun
                + lifetime
                    .saturating_sub(early)
                    .min(Duration::from_secs(10 * 365 * 86_400))
        });
        Self {
            token,
            key,
            stale_at,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
        }
    }
}

fn ends(now: Wall, lifetime: Duration) -> i64 {
    let ms = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
    now.0.saturating_add(ms)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
