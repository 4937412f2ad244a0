//! Where each token comes from.

use futures_util::future::BoxFuture;
use legation_core::{OpContext, Secret};

use super::Account;
use crate::broker::{Application, Ask, Proof};
use crate::error::{Meaning, SignInError, Step};
use crate::oauth::{Grant, GrantKind, Prover};
use crate::token::{Role, Source, Token, TokenKey};

/// A client that acts on behalf of a person, with its proof.
struct Middle {
    role: Role,
    step: Step,
    refresh_step: Step,
    client_id: Box<str>,
    prover: Prover,
}

impl Source for Account {
    fn fetch<'a>(
        &'a self,
        ctx: &'a OpContext,
        key: &'a TokenKey,
        claims: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Token, SignInError>> {
        // Boxed, because one token is got with another.
        Box::pin(async move {
            let grant = match self.grant(ctx, key, claims).await {
                // Kept until it would have ended by our clock, it would be refused until then.
                Err(error) if is_stale(&error) && self.renew_proofs(ctx, key.role).await? => {
                    self.grant(ctx, key, claims).await?
                }
                grant => grant?,
            };
            let clock = self.http().clock();
            Ok(Token::new(&grant, clock.now(), clock.wall()))
        })
    }
}

// === impl Account ===

impl Account {
    async fn grant(
        &self,
        ctx: &OpContext,
        key: &TokenKey,
        claims: Option<&str>,
    ) -> Result<Grant, SignInError> {
        match key.role {
            Role::Human => self.human(ctx, &key.scope, claims).await,
            Role::Administrator => Err(self.not_signed_in(Role::Administrator)),
            Role::OnBehalf => {
                let client_id = self.needed(self.settings().middle_tier(), "api_client_id")?;
                let prover = self.prove(ctx, Application::MiddleTier, client_id).await?;
                let middle = Middle {
                    role: key.role,
                    step: Step::OnBehalfOf,
                    refresh_step: Step::Refresh,
                    client_id: client_id.into(),
                    prover,
                };
                self.on_behalf(ctx, &middle, &key.scope, claims).await
            }
            Role::AgentOnBehalf => {
                let middle = Middle {
                    role: key.role,
                    step: Step::AgentOnBehalfOf,
                    refresh_step: Step::AgentRefresh,
                    client_id: self.agent_id()?,
                    prover: self.first_hop(ctx).await?,
                };
                self.on_behalf(ctx, &middle, &key.scope, claims).await
            }
            Role::AgentUser => self.agent_user(ctx, &key.scope, claims).await,
            Role::Agent => {
                let kind = GrantKind::ClientCredentials { scope: &key.scope };
                self.as_agent(ctx, &kind, claims).await
            }
            Role::AgentExchange => {
                let kind = GrantKind::ClientCredentials { scope: &key.scope };
                self.as_agent(ctx, &kind, None).await
            }
            Role::Blueprint => {
                let kind = GrantKind::ClientCredentials { scope: &key.scope };
                let step = Step::ClientCredentials;
                self.as_blueprint(ctx, step, &kind, claims).await
            }
            Role::AgentApplication => {
                let agent = self.agent_id()?;
                let kind = GrantKind::ForAgent { agent: &agent };
                let step = Step::AgentApplication;
                self.as_blueprint(ctx, step, &kind, None).await
            }
        }
    }

    /// A person's token for our own application, by the last sign-in.
    async fn human(
        &self,
        ctx: &OpContext,
        scope: &str,
        claims: Option<&str>,
    ) -> Result<Grant, SignInError> {
        let kept = self.kept(Role::Human).await?;
        let token = kept.ok_or_else(|| self.not_signed_in(Role::Human))?;
        let answer = self.human_by(ctx, &token, scope, claims).await;
        match answer {
            Err(error) if is_over(&error) => {
                if self.over(Role::Human, &token).await? {
                    self.forget_identity().await?;
                    return Err(error);
                }
                // Somebody signed in elsewhere meanwhile, with a command perhaps.
                match self.kept(Role::Human).await? {
                    Some(newer) => self.human_by(ctx, &newer, scope, claims).await,
                    None => Err(error),
                }
            }
            other => other,
        }
    }

    async fn human_by(
        &self,
        ctx: &OpContext,
        token: &Secret,
        scope: &str,
        claims: Option<&str>,
    ) -> Result<Grant, SignInError> {
        let client_id = self.public_client()?;
        let kind = GrantKind::Refresh { token, scope };
        let (oauth, prover) = (&self.inner.oauth, &Prover::Public);
        let grant = oauth
            .token(ctx, Step::Refresh, client_id, prover, &kind, claims)
            .await?;
        self.rotate(Role::Human, Some(token), &grant).await?;
        Ok(grant)
    }

    /// On behalf of the person: by the last exchange if it still holds, else
    /// by exchanging the person's token.
    async fn on_behalf(
        &self,
        ctx: &OpContext,
        middle: &Middle,
        scope: &str,
        claims: Option<&str>,
    ) -> Result<Grant, SignInError> {
        if let Some(token) = self.kept(middle.role).await? {
            let kind = GrantKind::Refresh {
                token: &token,
                scope,
            };
            match self.as_middle(ctx, middle, true, &kind, claims).await {
                // The person's own token makes another.
                Err(error) if is_over(&error) => drop(self.over(middle.role, &token).await?),
                other => return other,
            }
        }
        let key = self.key_of(Role::Human);
        let human = self.token(ctx, &key).await.map_err(unshared)?;
        let exchange = |assertion: &Secret| {
            let assertion = assertion.clone();
            async move {
                let kind = GrantKind::OnBehalfOf {
                    assertion: &assertion,
                    scope,
                };
                self.as_middle(ctx, middle, false, &kind, claims).await
            }
        };
        match exchange(human.secret()).await {
            // Clocks differ: one more with a token that was made just now.
            Err(SignInError::Refused(refusal))
                if refusal.meaning() == Meaning::ExpiredAssertion =>
            {
                let newer = self.replace_token(ctx, &key, &human, None).await;
                exchange(newer.map_err(unshared)?.secret()).await
            }
            other => other,
        }
    }

    async fn as_middle(
        &self,
        ctx: &OpContext,
        middle: &Middle,
        is_refresh: bool,
        kind: &GrantKind<'_>,
        claims: Option<&str>,
    ) -> Result<Grant, SignInError> {
        let step = match is_refresh {
            true => middle.refresh_step,
            false => middle.step,
        };
        let (client_id, prover) = (&middle.client_id, &middle.prover);
        let oauth = &self.inner.oauth;
        let grant = oauth
            .token(ctx, step, client_id, prover, kind, claims)
            .await?;
        let old = match kind {
            GrantKind::Refresh { token, .. } => Some(*token),
            _ => None,
        };
        self.rotate(middle.role, old, &grant).await?;
        Ok(grant)
    }

    /// The third hop: the agent becomes its own user.
    async fn agent_user(
        &self,
        ctx: &OpContext,
        scope: &str,
        claims: Option<&str>,
    ) -> Result<Grant, SignInError> {
        let user = self.needed(self.settings().agent_user.as_deref(), "agent_user")?;
        let prover = self.first_hop(ctx).await?;
        let key = self.key_of(Role::AgentExchange);
        let second = self.token(ctx, &key).await.map_err(unshared)?;
        let kind = GrantKind::AgentUser {
            credential: second.secret(),
            user,
            scope,
        };
        let agent = self.agent_id()?;
        let oauth = &self.inner.oauth;
        oauth
            .token(ctx, Step::AgentUser, &agent, &prover, &kind, claims)
            .await
    }

    /// As the agent itself, which proves itself by the first hop's token.
    async fn as_agent(
        &self,
        ctx: &OpContext,
        kind: &GrantKind<'_>,
        claims: Option<&str>,
    ) -> Result<Grant, SignInError> {
        let agent = self.agent_id()?;
        let prover = self.first_hop(ctx).await?;
        let oauth = &self.inner.oauth;
        let step = Step::AgentIdentity;
        oauth.token(ctx, step, &agent, &prover, kind, claims).await
    }

    async fn as_blueprint(
        &self,
        ctx: &OpContext,
        step: Step,
        kind: &GrantKind<'_>,
        claims: Option<&str>,
    ) -> Result<Grant, SignInError> {
        let blueprint = self.found().blueprint_id;
        let blueprint = self.needed(blueprint.as_deref(), "blueprint_id")?;
        let prover = self.prove(ctx, Application::Blueprint, blueprint).await?;
        let oauth = &self.inner.oauth;
        oauth
            .token(ctx, step, blueprint, &prover, kind, claims)
            .await
    }

    /// The first hop's token, as the proof of the agent.
    async fn first_hop(&self, ctx: &OpContext) -> Result<Prover, SignInError> {
        let key = self.key_of(Role::AgentApplication);
        let first = self.token(ctx, &key).await.map_err(unshared)?;
        Ok(Prover::Assertion(first.secret().clone()))
    }

    /// Gets anew by what the agent proves itself, one of which Entra ID holds for too
    /// old; whether there is such a thing.
    async fn renew_proofs(&self, ctx: &OpContext, role: Role) -> Result<bool, SignInError> {
        let proofs: &[Role] = match role {
            Role::Agent | Role::AgentExchange | Role::AgentOnBehalf => &[Role::AgentApplication],
            Role::AgentUser => &[Role::AgentApplication, Role::AgentExchange],
            Role::Human
            | Role::Administrator
            | Role::OnBehalf
            | Role::Blueprint
            | Role::AgentApplication => return Ok(false),
        };
        for proof in proofs {
            let key = self.key_of(*proof);
            let old = self.token(ctx, &key).await.map_err(unshared)?;
            let newer = self.replace_token(ctx, &key, &old, None).await;
            newer.map_err(unshared)?;
        }
        Ok(true)
    }

    /// Whether the blueprint can prove itself. Asked of a broker elsewhere it
    /// costs an assertion.
    pub(crate) async fn can_prove_blueprint(&self, ctx: &OpContext, client_id: &str) -> bool {
        self.prove(ctx, Application::Blueprint, client_id)
            .await
            .is_ok()
    }

    async fn prove(
        &self,
        ctx: &OpContext,
        application: Application,
        client_id: &str,
    ) -> Result<Prover, SignInError> {
        let ask = Ask {
            account: self.name().into(),
            application,
            client_id: client_id.into(),
            audience: self.inner.oauth.token_endpoint().into(),
            now: self.http().wall(),
        };
        let proof = self.inner.broker.prove(ctx, &ask).await;
        match proof.map_err(|source| SignInError::Broker { source })? {
            Proof::Secret(secret) => Ok(Prover::Secret(secret)),
            Proof::Assertion(assertion) => Ok(Prover::Assertion(assertion)),
        }
    }

    /// Entra ID gives a new refresh token with every answer. One that renews
    /// `old` is kept in its place alone, and the first of an exchange beside the
    /// person's sign-in alone: who signed out meanwhile stays signed out.
    async fn rotate(
        &self,
        role: Role,
        old: Option<&Secret>,
        grant: &Grant,
    ) -> Result<(), SignInError> {
        let Some(token) = &grant.refresh_token else {
            return Ok(());
        };
        let vault = &self.inner.vault;
        let kept = match old {
            Some(old) => vault.renew(role, old, token).await,
            None => vault.keep_for_human(role, token).await,
        };
        kept.map(drop)
            .map_err(|source| SignInError::Store { source })
    }

    async fn kept(&self, role: Role) -> Result<Option<Secret>, SignInError> {
        let kept = self.inner.vault.refresh_token(role).await;
        kept.map_err(|source| SignInError::Store { source })
    }

    /// Forgets what will never work again; `false` where something newer is kept.
    async fn over(&self, role: Role, old: &Secret) -> Result<bool, SignInError> {
        let gone = self.inner.vault.forget_over(role, old).await;
        gone.map_err(|source| SignInError::Store { source })
    }

    pub(crate) fn agent_id(&self) -> Result<Box<str>, SignInError> {
        let found = self.found().agent_id;
        found.ok_or_else(|| SignInError::AgentIdNotAvailable {
            account: self.name().into(),
            why: "none is configured and none was found".to_owned(),
        })
    }

    fn needed<'a>(
        &self,
        value: Option<&'a str>,
        key: &'static str,
    ) -> Result<&'a str, SignInError> {
        value.ok_or_else(|| SignInError::NotConfigured {
            account: self.name().into(),
            key,
        })
    }

    fn not_signed_in(&self, role: Role) -> SignInError {
        SignInError::NotSignedIn {
            account: self.name().into(),
            who: role.as_str(),
        }
    }
}

/// Whether what was kept will never work again.
fn is_over(error: &SignInError) -> bool {
    let over = |refusal: &crate::error::Refusal| {
        matches!(
            refusal.meaning(),
            Meaning::Revoked | Meaning::Inactive | Meaning::TooOld | Meaning::BadAssertion
        ) || (&*refusal.error == "invalid_grant" && refusal.meaning() == Meaning::Other)
    };
    error.refusal().is_some_and(over)
}

/// Whether a token that proves something is out of its time.
fn is_stale(error: &SignInError) -> bool {
    let refusal = error.refusal();
    refusal.is_some_and(|refusal| refusal.meaning() == Meaning::StaleAssertion)
}

/// A failure that others may hold too, as one's own.
pub(super) fn unshared(error: std::sync::Arc<SignInError>) -> SignInError {
    std::sync::Arc::try_unwrap(error).unwrap_or_else(SignInError::Shared)
}
