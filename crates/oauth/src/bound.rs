//! A server whose sign-in is known: its issuer, its resource and the hub's client.

use std::sync::Arc;

use legation_core::Secret;
use tokio::sync::OnceCell;

use crate::client::{Choice, Client, choose};
use crate::discover;
use crate::error::OAuthError;
use crate::fetch::{Ask, FetchError, Reply};
use crate::jwt::ProofKey;
use crate::metadata::Issuer;
use crate::oauth::OAuth;
use crate::settings::{Grant, Settings};
use crate::slot::{Access, Asked, Held, Slot};
use crate::token::{self, Give, Tokens, Want};
use crate::vault::Binding;

/// A server's sign-in.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) binding: Binding,
    pub(crate) slot: Arc<Slot>,
    /// Read again after a start only when something is to be asked.
    parts: OnceCell<(Arc<Issuer>, Client)>,
}

// === impl Bound ===

impl Bound {
    /// One whose issuer has just been asked.
    pub(crate) fn new(
        binding: Binding,
        slot: Arc<Slot>,
        issuer: Arc<Issuer>,
        client: Client,
    ) -> Self {
        Self {
            binding,
            slot,
            parts: OnceCell::new_with(Some((issuer, client))),
        }
    }

    /// One that is kept from before.
    pub(crate) fn recalled(binding: Binding, slot: Arc<Slot>) -> Self {
        Self {
            binding,
            slot,
            parts: OnceCell::new(),
        }
    }

    pub(crate) async fn parts(
        &self,
        oauth: &OAuth,
        settings: &Settings,
    ) -> Result<&(Arc<Issuer>, Client), OAuthError> {
        self.parts
            .get_or_try_init(|| async {
                let name = &self.binding.issuer;
                let issuer = discover::issuer(&*oauth.fetch, settings, name).await?;
                let (client, missing) = match choose(settings, &issuer) {
                    Choice::Known(client) => (Some(client), OAuthError::NoClient),
                    Choice::Register(_) | Choice::Impossible => {
                        let registered = oauth.registered(name).await?;
                        let client = registered.map(|registered| registered.client(&issuer));
                        (client, OAuthError::ClientGone)
                    }
                };
                let client = client.filter(|client| *client.id == *self.binding.client_id);
                Ok((issuer, client.ok_or(missing)?))
            })
            .await
    }

    /// Renews the sign-in, unless somebody did meanwhile; `None` where nothing can
    /// renew it. `stale` is the token that is good no more. Runs to its end whoever
    /// waits; see [`Slot`].
    pub(crate) async fn renew(
        &self,
        oauth: &OAuth,
        settings: &Settings,
        stale: Option<u64>,
    ) -> Result<Option<Arc<Access>>, OAuthError> {
        let _turn = self.slot.turn.lock().await;
        let held = self.slot.held();
        if let Some(access) = &held.access
            && stale != Some(access.number)
            && access.is_fresh(oauth.clock.now())
        {
            return Ok(Some(Arc::clone(access)));
        }
        let Some(refresh) = held.refresh.clone() else {
            return Ok(None);
        };
        let given = self
            .ask(oauth, settings, Give::Refresh(&refresh), None)
            .await;
        match given {
            Ok(access) => Ok(Some(access)),
            Err(error) => {
                let is_forgotten = self.is_forgotten(oauth, settings, &error).await?;
                if is_forgotten || error.is_end_of_grant() {
                    tracing::warn!(
                        issuer = self.binding.issuer,
                        error = legation_core::error::chain(&error),
                        "a sign-in cannot be renewed any more"
                    );
                    self.slot.clear(&oauth.vault).await?;
                    return Ok(None);
                }
                Err(error)
            }
        }
    }

    /// Whether a refusal says that the client, which registered itself, is known no more.
    /// Then it is forgotten here too, so that the next sign-in registers another.
    async fn is_forgotten(
        &self,
        oauth: &OAuth,
        settings: &Settings,
        error: &OAuthError,
    ) -> Result<bool, OAuthError> {
        if matches!(error, OAuthError::ClientGone) {
            return Ok(true);
        }
        if !error.is_end_of_client() {
            return Ok(false);
        }
        let (issuer, client) = self.parts(oauth, settings).await?;
        if matches!(choose(settings, issuer), Choice::Known(_)) {
            return Ok(false);
        }
        oauth.forget_registered(&issuer.issuer, &client.id).await?;
        Ok(true)
    }

    /// Comes by a token without a person.
    pub(crate) async fn acquire(
        &self,
        oauth: &OAuth,
        settings: &Settings,
        (stale, scope): (Option<u64>, Option<&str>),
    ) -> Result<Option<Arc<Access>>, OAuthError> {
        let _turn = self.slot.turn.lock().await;
        let held = self.slot.held();
        if let Some(access) = &held.access
            && stale != Some(access.number)
            && access.is_fresh(oauth.clock.now())
        {
            return Ok(Some(Arc::clone(access)));
        }
        let scope = scope.or(held.scope.as_deref());
        let got = match &settings.grant {
            Grant::AuthorizationCode => return Ok(None),
            Grant::ClientCredentials => self.ask(oauth, settings, Give::Client, scope).await,
            Grant::JwtBearer { assertion } => {
                let give = Give::Assertion(assertion);
                self.ask(oauth, settings, give, scope).await
            }
            Grant::Enterprise(enterprise) => {
                let resource = self.binding.resource.as_deref();
                let resource = resource.unwrap_or(settings.server.as_str());
                let issuer = &self.binding.issuer;
                let ask = token::exchange(enterprise, issuer, resource, scope);
                let reach = settings.reach_of(enterprise);
                let reply = oauth.fetch.fetch(ask, reach).await;
                let assertion = token::exchanged(&reply.map_err(failed)?)?;
                let give = Give::Assertion(&assertion);
                self.ask(oauth, settings, give, scope).await
            }
        };
        got.map(Some)
    }

    /// Trades what the browser brought for tokens. What there was before is
    /// replaced.
    pub(crate) async fn redeem(
        &self,
        oauth: &OAuth,
        settings: &Settings,
        (code, verifier, redirect): (&Secret, &Secret, &str),
        scope: Option<&str>,
    ) -> Result<Arc<Access>, OAuthError> {
        let _turn = self.slot.turn.lock().await;
        let give = Give::Code {
            code,
            verifier,
            redirect,
        };
        let given = self.ask(oauth, settings, give, scope).await;
        if let Err(error) = &given {
            self.is_forgotten(oauth, settings, error).await?;
        }
        given
    }

    /// Gives the sign-in back, as far as the authorization server takes it, and
    /// forgets it.
    pub(crate) async fn revoke(
        &self,
        oauth: &OAuth,
        settings: &Settings,
    ) -> Result<(), OAuthError> {
        let _turn = self.slot.turn.lock().await;
        let Held {
            refresh, access, ..
        } = self.slot.held();
        let token = refresh.or_else(|| access.map(|access| access.token.clone()));
        self.slot.clear(&oauth.vault).await?;
        let Some(token) = token else { return Ok(()) };
        let (issuer, client) = self.parts(oauth, settings).await?;
        let Some(endpoint) = &issuer.revocation_endpoint else {
            return Ok(());
        };
        let mut form = String::new();
        let mut headers = Vec::new();
        crate::url::put(&mut form, "token", token.reveal());
        client.identify(&mut form, &mut headers, &issuer.issuer, oauth.clock.wall())?;
        let ask = Ask {
            url: endpoint.clone(),
            headers,
            body: Some(crate::fetch::Body::Form(Secret::new(form))),
        };
        let reply = oauth.fetch.fetch(ask, settings.reach()).await;
        let reply = reply.map_err(|source| OAuthError::Fetch {
            what: "the end of the sign-in at the authorization server",
            source,
        })?;
        // A token that is good no more is taken back with 200 too (RFC 7009, section 2.2).
        match reply.status {
            200..=299 => Ok(()),
            status => Err(OAuthError::NotRevoked { status }),
        }
    }

    /// Asks the token endpoint; twice where it only wants its nonce.
    async fn ask(
        &self,
        oauth: &OAuth,
        settings: &Settings,
        give: Give<'_>,
        scope: Option<&str>,
    ) -> Result<Arc<Access>, OAuthError> {
        let (issuer, client) = self.parts(oauth, settings).await?;
        let asked = Asked {
            key: self.key(issuer)?,
            scope,
            begun: oauth.clock.now(),
            is_renewal: matches!(give, Give::Refresh(_)),
        };
        let mut want = Want {
            endpoint: &issuer.token_endpoint,
            issuer: &issuer.issuer,
            client,
            give,
            resource: self.binding.resource.as_deref(),
            scope: None,
            key: None,
            now: oauth.clock.wall(),
        };
        // A code's scope was said where it was given, and a renewal keeps it.
        if !matches!(want.give, Give::Code { .. } | Give::Refresh(_)) {
            want.scope = scope;
        }
        let key = asked.key.as_ref();
        let tokens = self.exchange(oauth, settings, &want, key).await?;
        self.slot
            .take(&oauth.vault, &*oauth.clock, tokens, asked)
            .await
    }

    async fn exchange(
        &self,
        oauth: &OAuth,
        settings: &Settings,
        want: &Want<'_>,
        key: Option<&Arc<ProofKey>>,
    ) -> Result<Tokens, OAuthError> {
        let mut last: Option<Reply> = None;
        for _ in 0..2 {
            let nonce = self.slot.nonce();
            let want = Want {
                key: key.map(|key| (&**key, nonce.as_deref())),
                ..*want
            };
            let reply = oauth.fetch.fetch(want.ask()?, settings.reach()).await;
            let reply = reply.map_err(failed)?;
            self.slot.set_nonce(reply.nonce.clone());
            let again = key.is_some() && token::wants_nonce(&reply);
            last = Some(reply);
            if !again {
                break;
            }
        }
        // The loop ran.
        let reply = last.ok_or(OAuthError::Withdrawn)?;
        Ok(token::read(&reply)?)
    }

    /// The key that tokens of this sign-in are bound to, where both servers can do
    /// with such.
    fn key(&self, issuer: &Issuer) -> Result<Option<Arc<ProofKey>>, OAuthError> {
        let held = self.slot.held().key;
        if held.is_some() || !issuer.has_dpop {
            return Ok(held);
        }
        Ok(Some(Arc::new(ProofKey::random()?)))
    }
}

fn failed(source: FetchError) -> OAuthError {
    OAuthError::Fetch {
        what: "a token",
        source,
    }
}
