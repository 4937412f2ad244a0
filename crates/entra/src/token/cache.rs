//! The tokens there are, and whose turn it is to get a new one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use legation_core::{CancelReason, OpContext, SharedClock};

use super::{Token, TokenKey};
use crate::error::SignInError;

/// A token that is good for less is not used when no new one can be had.
const LAST_USE: Duration = Duration::from_secs(30);

/// Where a new token comes from.
pub(crate) trait Source: Sync {
    /// A new token; `claims` is what a challenge asks for.
    fn fetch<'a>(
        &'a self,
        ctx: &'a OpContext,
        key: &'a TokenKey,
        claims: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Token, SignInError>>;
}

/// Tokens by whose they are and what they are for. There are a handful.
pub(crate) struct TokenCache {
    clock: SharedClock,
    slots: RwLock<HashMap<TokenKey, Arc<Slot>>>,
}

#[derive(Default)]
struct Slot {
    current: RwLock<Option<Arc<Token>>>,
    /// Held by who gets a new one.
    turn: tokio::sync::Mutex<()>,
    /// The last failure: whoever was waiting then shares it.
    failed: Mutex<Option<(Instant, Arc<SignInError>)>>,
}

// === impl TokenCache ===

impl TokenCache {
    pub(crate) fn new(clock: SharedClock) -> Self {
        Self {
            clock,
            slots: RwLock::default(),
        }
    }

    /// A token that is good for some minutes at least.
    pub(crate) async fn get(
        &self,
        ctx: &OpContext,
        key: &TokenKey,
        source: &dyn Source,
    ) -> Result<Arc<Token>, Arc<SignInError>> {
        let slot = self.slot(key);
        let arrived = self.clock.now();
        if let Some(token) = slot.fresh(arrived) {
            return Ok(token);
        }
        let _turn = self.turn(ctx, &slot).await?;
        if let Some(token) = slot.fresh(self.clock.now()) {
            return Ok(token);
        }
        if let Err(error) = slot.shared_failure(arrived) {
            return slot.last_use(error, self.clock.now());
        }
        self.renew(ctx, &slot, key, None, source).await
    }

    /// A token in place of one that was refused. Of all who were refused the
    /// first gets a new one, and the others get the same.
    pub(crate) async fn replace(
        &self,
        ctx: &OpContext,
        key: &TokenKey,
        refused: &Arc<Token>,
        claims: Option<&str>,
        source: &dyn Source,
    ) -> Result<Arc<Token>, Arc<SignInError>> {
        let slot = self.slot(key);
        let arrived = self.clock.now();
        let _turn = self.turn(ctx, &slot).await?;
        match slot.current() {
            Some(current) if !Arc::ptr_eq(&current, refused) => return Ok(current),
            Some(_) => slot.set(None),
            None => {}
        }
        slot.shared_failure(arrived)?;
        self.renew(ctx, &slot, key, claims, source).await
    }

    async fn renew(
        &self,
        ctx: &OpContext,
        slot: &Slot,
        key: &TokenKey,
        claims: Option<&str>,
        source: &dyn Source,
    ) -> Result<Arc<Token>, Arc<SignInError>> {
        match source.fetch(ctx, key, claims).await {
            Ok(token) => {
                let token = Arc::new(token);
                slot.set(Some(Arc::clone(&token)));
                slot.fail(None);
                Ok(token)
            }
            Err(error) => {
                let now = self.clock.now();
                // Of a cancelled caller the next one makes its own attempt.
                let is_own = matches!(error, SignInError::Cancelled { .. });
                let error = Arc::new(error);
                if !is_own {
                    slot.fail(Some((now, Arc::clone(&error))));
                }
                slot.last_use(error, now)
            }
        }
    }

    /// A token that was just given.
    pub(crate) fn put(&self, key: &TokenKey, token: Token) -> Arc<Token> {
        let token = Arc::new(token);
        let slot = self.slot(key);
        slot.set(Some(Arc::clone(&token)));
        slot.fail(None);
        token
    }

    /// The token there is, whether it is good or not.
    pub(crate) fn peek(&self, key: &TokenKey) -> Option<Arc<Token>> {
        self.slot(key).current()
    }

    /// Forgets the tokens that `which` names.
    pub(crate) fn forget(&self, which: impl Fn(&TokenKey) -> bool) {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        for (_, slot) in slots.extract_if(|key, _| which(key)) {
            slot.set(None);
        }
    }

    fn slot(&self, key: &TokenKey) -> Arc<Slot> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(key) {
            return Arc::clone(slot);
        }
        drop(slots);
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(key.clone()).or_default())
    }

    async fn turn<'s>(
        &self,
        ctx: &OpContext,
        slot: &'s Slot,
    ) -> Result<tokio::sync::MutexGuard<'s, ()>, Arc<SignInError>> {
        let cancelled = |reason| Arc::new(SignInError::Cancelled { reason });
        let left = ctx
            .deadline
            .map(|deadline| deadline.saturating_duration_since(self.clock.now()));
        let late = async {
            match left {
                Some(left) => tokio::time::sleep(left).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            reason = ctx.cancel.cancelled() => Err(cancelled(reason)),
            turn = slot.turn.lock() => Ok(turn),
            () = late => Err(cancelled(CancelReason::Deadline)),
        }
    }
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenCache").finish_non_exhaustive()
    }
}

// === impl Slot ===

impl Slot {
    fn current(&self) -> Option<Arc<Token>> {
        let current = self.current.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fresh(&self, now: Instant) -> Option<Arc<Token>> {
        self.current().filter(|token| token.is_fresh(now))
    }

    fn set(&self, token: Option<Arc<Token>>) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = token;
    }

    fn fail(&self, failure: Option<(Instant, Arc<SignInError>)>) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    /// The failure of somebody who tried while the caller waited for its turn.
    fn shared_failure(&self, arrived: Instant) -> Result<(), Arc<SignInError>> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*failed {
            Some((at, error)) if *at >= arrived => Err(Arc::clone(error)),
            _ => Ok(()),
        }
    }

    /// The token there is, in place of a failure that passes.
    fn last_use(
        &self,
        error: Arc<SignInError>,
        now: Instant,
    ) -> Result<Arc<Token>, Arc<SignInError>> {
        let passes = matches!(
            *error,
            SignInError::Unreachable { .. } | SignInError::RateLimited { .. }
        );
        let last = self.current().filter(|token| token.left(now) > LAST_USE);
        last.filter(|_| passes).ok_or(error)
    }
}
