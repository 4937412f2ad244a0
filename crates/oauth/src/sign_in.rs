//! A person signs in with a browser.
//!
//! Nothing is opened here: whoever began it shows the address, or asks a client to.
//! Without somebody who asks there is no sign-in, no registration and no open port.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use crate::authorize::{AnswerError, Attempt};
use crate::bound::Bound;
use crate::callback::{Callback, Visitor};
use crate::client::{Choice, Client, choose, register, registered};
use crate::discover::{Found, discover};
use crate::error::OAuthError;
use crate::oauth::News;
use crate::settings::Settings;
use crate::upstream::{Upstream, binding};

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a wish to sign in comes to.
#[derive(Debug)]
pub enum Begun {
    /// What there is still serves.
    Ready,
    /// Somebody has to go to an address.
    Open(Arc<SignIn>),
}

/// A sign-in that waits for a person.
pub struct SignIn {
    url: String,
    attempt: Arc<Attempt>,
    /// What a person brought by hand; the first that is of this sign-in ends it.
    brought: mpsc::Sender<String>,
    done: watch::Receiver<Option<Result<(), OAuthError>>>,
    wait: AbortHandle,
}

/// The ways on which an answer comes.
struct Comes {
    callback: Callback,
    by_hand: mpsc::Receiver<String>,
}

/// An answer.
enum Came {
    Browser(Visitor),
    ByHand(String),
}

// === impl SignIn ===

impl SignIn {
    /// Where to go. It is good for one sign-in, so it is shown to nobody but who
    /// asked.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until it is over.
    ///
    /// # Errors
    /// See [`OAuthError`].
    pub async fn done(&self) -> Result<(), OAuthError> {
        let mut done = self.done.clone();
        let ended = done.wait_for(Option::is_some).await;
        match ended.as_deref() {
            Ok(Some(ended)) => ended.clone(),
            // Given up, with the task that waited.
            _ => Err(OAuthError::Withdrawn),
        }
    }

    /// Takes the address that a browser on another machine ended at, which nobody answers
    /// there. Whether it signs in is said by [`SignIn::done`].
    ///
    /// # Errors
    /// It is of no sign-in, or of another, and this one waits on; or this one is over.
    pub fn bring(&self, address: &str) -> Result<(), OAuthError> {
        let refused = |source| Err(OAuthError::Answer { source });
        let address = address.trim();
        let address = address.split('#').next().unwrap_or_default();
        let query = address
            .strip_prefix(self.attempt.redirect.as_str())
            .and_then(|rest| rest.strip_prefix('?'));
        let Some(query) = query else {
            return refused(AnswerError::Address);
        };
        if !self.attempt.is_of(query) {
            return refused(AnswerError::State);
        }
        let taken = self.brought.try_send(query.to_owned());
        taken.map_err(|_| OAuthError::Withdrawn)
    }

    /// Whether it waits for somebody, or nobody came.
    fn is_unanswered(&self) -> bool {
        matches!(&*self.done.borrow(), None | Some(Err(OAuthError::Late)))
    }

    fn is_over(&self) -> bool {
        self.done.borrow().is_some() || self.done.has_changed().is_err()
    }
}

// === impl Comes ===

impl Comes {
    /// Whoever comes first with an answer to this sign-in. The port is closed then.
    async fn first(mut self, attempt: &Attempt) -> Came {
        tokio::select! {
            visitor = self.callback.visitor(attempt) => Came::Browser(visitor),
            Some(query) = self.by_hand.recv() => Came::ByHand(query),
        }
    }
}

// === impl Came ===

impl Came {
    fn query(&self) -> &str {
        match self {
            Self::Browser(visitor) => &visitor.query,
            Self::ByHand(query) => query,
        }
    }

    /// Shows how it ended, where somebody looks.
    async fn show(self, signed_in: bool) {
        match self {
            Self::Browser(visitor) => visitor.show(signed_in).await,
            Self::ByHand(_) => {}
        }
    }
}

impl Drop for SignIn {
    fn drop(&mut self) {
        self.wait.abort();
    }
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignIn").finish_non_exhaustive()
    }
}

// === impl Upstream ===

impl Upstream {
    /// Begins a sign-in, unless what there is serves still or one is under way;
    /// `force` begins one in any case.
    ///
    /// # Errors
    /// See [`OAuthError`].
    pub async fn begin(self: &Arc<Self>, force: bool) -> Result<Begun, OAuthError> {
        let settings = self.settings().ok_or(OAuthError::Unknown)?;
        let _turn = self.beginning.lock().await;
        self.recall(&settings).await?;
        if !force && !self.is_waiting() && self.access().await?.is_some() {
            return Ok(Begun::Ready);
        }
        if !settings.grant.is_interactive() {
            return Ok(Begun::Ready);
        }
        if !force
            && let Some(under_way) = self.state().sign_in.clone()
            && !under_way.is_over()
        {
            return Ok(Begun::Open(under_way));
        }
        // An authorization server that forgot the client sends nobody back.
        let before = self.state().sign_in.take();
        let is_unanswered = force && before.is_some_and(|before| before.is_unanswered());
        let challenge = self.state().challenge.clone();
        let found = discover(&*self.oauth.fetch, &settings, challenge.as_ref()).await?;
        if !found.issuer.has_s256 {
            return Err(OAuthError::NoPkce);
        }
        let (client, callback) = self.client(&settings, &found, is_unanswered).await?;
        let scope = self.scope(&settings, &found);
        let attempt = Arc::new(Attempt::new(callback.redirect())?);
        let page = found.issuer.authorization_endpoint.clone();
        let page = page.ok_or(OAuthError::NoPage)?;
        let resource = found.resource.as_deref();
        let url = attempt.url(&page, &client.id, resource, scope.as_deref());
        let (tell, done) = watch::channel(None);
        let (brought, by_hand) = mpsc::channel(1);
        let upstream = Arc::clone(self);
        let own = Arc::clone(&attempt);
        let waiting = async move {
            let comes = Comes { callback, by_hand };
            let work = upstream.finish(&settings, (found, client), (&own, comes), scope);
            let ended = tokio::time::timeout(PATIENCE, work).await;
            let ended = ended.unwrap_or(Err(OAuthError::Late));
            upstream.ended(&ended);
            tell.send_replace(Some(ended));
        };
        let (waits, runtime) = (&self.oauth.waits, &self.oauth.runtime);
        let wait = waits.spawn_on(runtime, "sign-in", waiting);
        let wait = wait.ok_or(OAuthError::Withdrawn)?;
        let sign_in = Arc::new(SignIn {
            url,
            attempt,
            brought,
            done,
            wait,
        });
        self.state().sign_in = Some(Arc::clone(&sign_in));
        Ok(Begun::Open(sign_in))
    }

    /// The client to sign in with, and the port that its browser comes back to. A
    /// client that registered itself is bound to its port; where that is taken, or the
    /// client may be forgotten, it registers anew.
    async fn client(
        &self,
        settings: &Settings,
        found: &Found,
        may_be_forgotten: bool,
    ) -> Result<(Client, Callback), OAuthError> {
        let listen = |port| async move {
            let bound = Callback::bind(port).await;
            bound.map_err(|source| OAuthError::Listen {
                source: Arc::new(source),
            })
        };
        let issuer = &found.issuer;
        let endpoint = match choose(settings, issuer) {
            Choice::Known(client) => {
                let callback = listen(client.redirect_port).await?;
                return Ok((client, callback));
            }
            Choice::Impossible => return Err(OAuthError::NoClient),
            Choice::Register(endpoint) => endpoint,
        };
        let before = self.oauth.registered(&issuer.issuer).await?;
        if let Some(before) = before.filter(|_| !may_be_forgotten)
            && let Ok(callback) = listen(Some(before.redirect_port)).await
        {
            return Ok((before.client(issuer), callback));
        }
        let callback = listen(settings.redirect_port).await?;
        let ask = register(settings, issuer, endpoint, &callback.redirect());
        let reach = settings.reach();
        let reply = self.oauth.fetch.fetch(ask, reach).await;
        let reply = reply.map_err(|source| OAuthError::Fetch {
            what: "a registration",
            source,
        })?;
        let new = registered(&reply, callback.port())
            .map_err(|source| OAuthError::Register { source })?;
        self.oauth.keep_registered(&issuer.issuer, &new).await?;
        Ok((new.client(issuer), callback))
    }

    /// Waits for the browser, and trades what it brings for tokens.
    async fn finish(
        self: &Arc<Self>,
        settings: &Arc<Settings>,
        (found, client): (Found, Client),
        (attempt, comes): (&Attempt, Comes),
        scope: Option<Box<str>>,
    ) -> Result<(), OAuthError> {
        let came = comes.first(attempt).await;
        let code = attempt.code(came.query(), &found.issuer);
        let code = match code {
            Ok(code) => code,
            Err(source) => {
                came.show(false).await;
                return Err(OAuthError::Answer { source });
            }
        };
        let upstream = Arc::clone(self);
        let (settings, verifier) = (Arc::clone(settings), attempt.verifier.clone());
        let redirect = attempt.redirect.clone();
        let (tell, redeemed) = tokio::sync::oneshot::channel();
        // What comes back is the only copy: whoever gives up waiting does not take
        // it along.
        let redeem = async move {
            let work = async {
                let binding = binding(&settings, &found, &client.id);
                let slot = upstream.oauth.slot(&binding).await?;
                let bound = Bound::new(binding, slot, found.issuer, client);
                let brought = (&code, &verifier, &*redirect);
                let oauth = &upstream.oauth;
                bound
                    .redeem(oauth, &settings, brought, scope.as_deref())
                    .await?;
                upstream.keep(&settings, Arc::new(bound)).await
            };
            drop(tell.send(work.await));
        };
        let (work, runtime) = (&self.oauth.work, &self.oauth.runtime);
        work.spawn_on(runtime, "oauth", redeem);
        let redeemed = redeemed.await.unwrap_or(Err(OAuthError::Withdrawn));
        came.show(redeemed.is_ok()).await;
        redeemed
    }

    fn ended(&self, ended: &Result<(), OAuthError>) {
        if ended.is_ok() {
            let mut state = self.state();
            state.waiting = None;
            state.challenge = None;
        }
        let failure = ended.as_ref().err();
        self.oauth.tell(News::Completed {
            server: self.server.clone(),
            failure: failure.map(|error| legation_core::error::chain(error)),
        });
    }
}
