//! Signing a person in with a code.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use legation_core::{CancelReason, OpContext};

use super::Account;
use crate::error::{Meaning, Refusal, SignInError, Step};
use crate::oauth::{DeviceCode, GrantKind, Next, Polling, Prover, SignInPrompt, WAIT};
use crate::token::{Role, Token};

/// A sign-in that waits for a person. Dropping it calls it off.
pub struct PendingSignIn {
    role: Role,
    code: DeviceCode,
    polling: Polling,
    prompt: SignInPrompt,
}

// === impl Account ===

impl Account {
    /// Asks for a code for the person this account works for, good for two
    /// minutes.
    ///
    /// # Errors
    /// See [`SignInError`].
    pub async fn sign_in_begin(&self, ctx: &OpContext) -> Result<PendingSignIn, SignInError> {
        self.begin(ctx, Role::Human, WAIT, None).await
    }

    /// Asks for a code for somebody else: [`Role::Human`] or
    /// [`Role::Administrator`]; `wait` bounds how long it is good, `claims` is
    /// what a refusal asked for.
    ///
    /// # Errors
    /// See [`SignInError`].
    pub async fn begin(
        &self,
        ctx: &OpContext,
        role: Role,
        wait: Duration,
        claims: Option<&str>,
    ) -> Result<PendingSignIn, SignInError> {
        let client_id = self.public_client()?;
        let scope = self.scope_of(role);
        let oauth = &self.inner.oauth;
        let code = oauth.device_code(ctx, client_id, &scope, claims).await?;
        let now = oauth.http().clock().now();
        Ok(PendingSignIn {
            role,
            prompt: code.prompt(wait),
            polling: Polling::start(&code, wait, now),
            code,
        })
    }

    /// Waits until the person has agreed.
    ///
    /// # Errors
    /// See [`SignInError`]: among them that nobody came in time, or that the
    /// person did not agree.
    pub async fn sign_in_finish(
        &self,
        ctx: &OpContext,
        pending: PendingSignIn,
    ) -> Result<Arc<Token>, SignInError> {
        let mut pending = pending;
        let clock = Arc::clone(self.inner.oauth.http().clock());
        loop {
            let now = clock.now();
            match pending.polling.next(now) {
                Next::TimedOut(after) => return Err(SignInError::DeviceCodeTimeout { after }),
                Next::Wait(wait) => sleep(ctx, wait, now).await?,
                Next::Ask => match self.ask(ctx, &pending).await {
                    Ok(token) => return Ok(token),
                    Err(error) => pending.polling.failed(error, clock.now())?,
                },
            }
        }
    }

    /// Both, with the code shown in between.
    ///
    /// # Errors
    /// See [`SignInError`].
    pub async fn sign_in(
        &self,
        ctx: &OpContext,
        show: impl FnOnce(&SignInPrompt),
    ) -> Result<Arc<Token>, SignInError> {
        if let Some(token) = self.by_platform(ctx).await? {
            return Ok(token);
        }
        let pending = self.sign_in_begin(ctx).await?;
        show(pending.prompt());
        self.sign_in_finish(ctx, pending).await
    }

    /// What the platform knows of the person, if it has a way to sign in.
    async fn by_platform(&self, ctx: &OpContext) -> Result<Option<Arc<Token>>, SignInError> {
        let scope = self.scope_of(Role::Human);
        for way in &self.inner.platform {
            if way.available().is_err() {
                continue;
            }
            let client_id = self.public_client()?;
            let secret = way.sign_in(ctx, client_id, &scope).await?;
            let grant = crate::oauth::Grant {
                access_token: secret,
                expires_in: Duration::from_secs(600),
                refresh_token: None,
                id_token: None,
                scope: scope.to_string(),
            };
            return self.take(Role::Human, &grant).await.map(Some);
        }
        Ok(None)
    }

    async fn ask(
        &self,
        ctx: &OpContext,
        pending: &PendingSignIn,
    ) -> Result<Arc<Token>, SignInError> {
        let grant = GrantKind::DeviceCode {
            code: &pending.code.device_code,
        };
        let client_id = self.public_client()?;
        let oauth = &self.inner.oauth;
        let answer = oauth
            .token(ctx, Step::Poll, client_id, &Prover::Public, &grant, None)
            .await;
        let grant = answer.map_err(|error| expired(error, &pending.polling))?;
        self.take(pending.role, &grant).await
    }

    /// Takes what a person signed in to; an earlier sign-in is replaced, with
    /// everything that stood on it.
    async fn take(
        &self,
        role: Role,
        grant: &crate::oauth::Grant,
    ) -> Result<Arc<Token>, SignInError> {
        let store = |source| SignInError::Store { source };
        if role == Role::Human {
            let tokens = &self.inner.tokens;
            let stands_on_it = |role: Role| matches!(role, Role::OnBehalf | Role::AgentOnBehalf);
            tokens.forget(|key| stands_on_it(key.role));
            for role in Role::KEPT.into_iter().filter(|role| stands_on_it(*role)) {
                self.inner.vault.forget(role).await.map_err(store)?;
            }
            if let Some(refresh) = &grant.refresh_token {
                self.inner.vault.keep(role, refresh).await.map_err(store)?;
            }
        }
        let http = self.inner.oauth.http();
        let token = Token::new(grant, http.clock().now(), http.clock().wall());
        Ok(self.inner.tokens.put(&self.key_of(role), token))
    }

    pub(super) fn public_client(&self) -> Result<&str, SignInError> {
        let settings = &self.inner.settings;
        settings
            .client_id
            .as_deref()
            .ok_or_else(|| SignInError::NotConfigured {
                account: settings.name.clone(),
                key: "client_id",
            })
    }
}

/// The authority's own "too late" is the same failure as ours.
fn expired(error: SignInError, polling: &Polling) -> SignInError {
    let is_late = |refusal: &Refusal| refusal.meaning() == Meaning::ExpiredCode;
    if error.refusal().is_some_and(is_late) {
        let after = polling.whole();
        return SignInError::DeviceCodeTimeout { after };
    }
    error
}

async fn sleep(
    ctx: &OpContext,
    wait: Duration,
    now: std::time::Instant,
) -> Result<(), SignInError> {
    let late = ctx.deadline.is_some_and(|deadline| now + wait > deadline);
    if late {
        return Err(SignInError::Cancelled {
            reason: CancelReason::Deadline,
        });
    }
    tokio::select! {
        biased;
        reason = ctx.cancel.cancelled() => Err(SignInError::Cancelled { reason }),
        () = tokio::time::sleep(wait + Duration::from_millis(1)) => Ok(()),
    }
}

// === impl PendingSignIn ===

impl PendingSignIn {
    /// What to show.
    #[must_use]
    pub fn prompt(&self) -> &SignInPrompt {
        &self.prompt
    }
}

impl fmt::Debug for PendingSignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingSignIn")
            .field("prompt", &self.prompt)
            .finish_non_exhaustive()
    }
}
