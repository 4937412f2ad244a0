//! The sign-in of one server, for its connections.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use legation_core::{EntityId, ServerName};
use tokio::sync::oneshot;

use crate::bound::Bound;
use crate::challenge::Challenge;
use crate::client::{Choice, choose};
use crate::discover::{Found, discover};
use crate::error::OAuthError;
use crate::jwt::Proof;
use crate::oauth::{News, OAuth};
use crate::settings::Settings;
use crate::sign_in::SignIn;
use crate::slot::Access;
use crate::vault::{Binding, Name};

/// What a flight comes to: a token, or none without a person.
type Landed = Result<Option<Arc<Access>>, OAuthError>;
type Flight = Shared<BoxFuture<'static, Landed>>;

/// How often somebody who waits for others' work begins work of their own.
const TURNS_MAX: usize = 4;

/// The sign-in of one server. All its instances and clients share it.
pub struct Upstream {
    pub(crate) oauth: Arc<OAuth>,
    pub(crate) server: ServerName,
    settings: Mutex<Option<Arc<Settings>>>,
    pub(crate) state: Mutex<State>,
    flight: Mutex<Option<Flight>>,
    /// One sign-in is begun at a time.
    pub(crate) beginning: tokio::sync::Mutex<()>,
}

/// What is known of a server's sign-in.
#[derive(Debug, Default)]
pub(crate) struct State {
    recalled: bool,
    pub(crate) bound: Option<Arc<Bound>>,
    /// What the server said last when it refused.
    pub(crate) challenge: Option<Challenge>,
    /// A person has to sign in, since a request with this token (0: none) was refused.
    pub(crate) waiting: Option<u64>,
    /// Why there is no token, where nobody needs to sign in.
    failure: Option<OAuthError>,
    /// What the server wants to find in proofs.
    nonce: Option<Box<str>>,
    pub(crate) sign_in: Option<Arc<SignIn>>,
}

/// What a token is wanted for.
#[derive(Debug, Clone, Copy)]
enum Need {
    /// A request that is about to be made.
    Next,
    /// One that was refused with this token, or without any.
    Refused(Option<u64>),
}

// === impl Upstream ===

impl Upstream {
    pub(crate) fn new(oauth: Arc<OAuth>, server: ServerName) -> Arc<Self> {
        Arc::new(Self {
            oauth,
            server,
            settings: Mutex::default(),
            state: Mutex::default(),
            flight: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
        })
    }

    /// Says how the owner configured it; to be called before a connection is made.
    pub fn configure(&self, settings: Settings) {
        *lock(&self.settings) = Some(Arc::new(settings));
    }

    /// Whether a person has to sign in.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.state().waiting.is_some()
    }

    /// Why there is no token although nobody needs to sign in.
    #[must_use]
    pub fn failure(&self) -> Option<OAuthError> {
        self.state().failure.clone()
    }

    /// The sign-in that waits for a person, or was the last that did.
    #[must_use]
    pub fn under_way(&self) -> Option<Arc<SignIn>> {
        self.state().sign_in.clone()
    }

    /// The token for a request that is about to be made; `None` where there is none,
    /// because the server may want none.
    ///
    /// # Errors
    /// See [`OAuthError`]: there is a sign-in, and it could not be renewed now.
    pub async fn access(self: &Arc<Self>) -> Landed {
        let bound = {
            let state = self.state();
            if state.bound.is_none() && (state.waiting.is_some() || state.recalled) {
                return Ok(None);
            }
            state.bound.clone()
        };
        let now = self.oauth.clock.now();
        if let Some(access) = bound.and_then(|bound| bound.slot.fresh(now)) {
            return Ok(Some(access));
        }
        if self.state().waiting.is_some() {
            return Ok(None);
        }
        self.join(Need::Next).await
    }

    /// What to do about a refusal of a request that was made with `used`: a token to
    /// make it again with, or `None` where somebody has to sign in first.
    ///
    /// # Errors
    /// See [`OAuthError`].
    pub async fn refused(
        self: &Arc<Self>,
        used: Option<&Arc<Access>>,
        challenge: Challenge,
    ) -> Landed {
        let number = used.map(|used| used.number);
        {
            let mut state = self.state();
            let is_known = state.waiting == Some(number.unwrap_or_default());
            let repeats = state.challenge.as_ref() == Some(&challenge);
            state.challenge = Some(challenge);
            // Everybody's requests are refused alike: once is looked into.
            if is_known && repeats {
                return Ok(None);
            }
        }
        self.join(Need::Refused(number)).await
    }

    /// Writes the header lines that a request with this token has.
    pub fn write(&self, access: &Access, method: &str, lines: &mut Vec<u8>) {
        let mut line = |parts: [&str; 2]| {
            for part in parts {
                lines.extend_from_slice(part.as_bytes());
            }
            lines.extend_from_slice(b"\r\n");
        };
        let Some(key) = &access.key else {
            return line(["authorization: Bearer ", access.token.reveal()]);
        };
        let nonce = self.state().nonce.clone();
        let url = self
            .settings()
            .map(|settings| settings.server.without_query());
        let proof = Proof {
            method,
            url: url.as_deref().unwrap_or_default(),
            nonce: nonce.as_deref(),
            token: Some(access.token.reveal()),
        };
        // A token without proof is refused, and says so.
        if let Ok(proof) = key.proof(&proof, self.oauth.clock.wall()) {
            line(["dpop: ", proof.reveal()]);
        }
        line(["authorization: DPoP ", access.token.reveal()]);
    }

    /// Notes the nonce that a server sent; whether it is another than before.
    pub fn note_nonce(&self, nonce: &str) -> bool {
        let mut state = self.state();
        if state.nonce.as_deref() == Some(nonce) || nonce.len() > 1024 {
            return false;
        }
        state.nonce = Some(nonce.into());
        true
    }

    /// Gives the sign-in back and forgets it; whether there was one.
    ///
    /// # Errors
    /// See [`OAuthError`]; it is forgotten here even when the authorization server
    /// could not be told.
    pub async fn revoke(self: &Arc<Self>) -> Result<bool, OAuthError> {
        let settings = self.settings().ok_or(OAuthError::Unknown)?;
        self.recall(&settings).await?;
        let bound = {
            let mut state = self.state();
            state.sign_in = None;
            state.failure = None;
            state.bound.take()
        };
        self.oauth.vault.forget(&self.name(&settings)).await?;
        let Some(bound) = bound else {
            return Ok(false);
        };
        bound.revoke(&self.oauth, &settings).await?;
        Ok(true)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn settings(&self) -> Option<Arc<Settings>> {
        lock(&self.settings).clone()
    }

    fn fresh(&self) -> Option<Arc<Access>> {
        let bound = self.state().bound.clone()?;
        bound.slot.fresh(self.oauth.clock.now())
    }

    /// Waits for the work that is under way, or begins it.
    async fn join(self: &Arc<Self>, need: Need) -> Landed {
        for _ in 0..TURNS_MAX {
            let (flight, is_own) = self.board(need);
            let landed = flight.await;
            if is_own {
                return landed;
            }
            match (need, &landed) {
                (Need::Next, _) => return landed,
                (Need::Refused(used), Ok(Some(access))) if Some(access.number) != used => {
                    return landed;
                }
                (Need::Refused(used), Ok(None))
                    if self.state().waiting == Some(used.unwrap_or_default()) =>
                {
                    return landed;
                }
                (Need::Refused(_), Ok(_)) => {}
                (Need::Refused(_), Err(_)) => return landed,
            }
        }
        Ok(None)
    }

    /// The work under way, or new work, which runs to its end whoever waits.
    fn board(self: &Arc<Self>, need: Need) -> (Flight, bool) {
        let mut flight = lock(&self.flight);
        if let Some(flight) = &*flight {
            return (flight.clone(), false);
        }
        let (land, landed) = oneshot::channel();
        let upstream = Arc::clone(self);
        let work = async move {
            let done = upstream.work(need).await;
            *lock(&upstream.flight) = None;
            // Whoever waited may have given up.
            drop(land.send(done));
        };
        let own = Arc::clone(self);
        let landed = async move {
            landed.await.unwrap_or_else(|_| {
                // The hub ends.
                *lock(&own.flight) = None;
                Err(OAuthError::Withdrawn)
            })
        };
        let new = landed.boxed().shared();
        *flight = Some(new.clone());
        drop(flight);
        let (tasks, runtime) = (&self.oauth.work, &self.oauth.runtime);
        tasks.spawn_on(runtime, "oauth", work);
        (new, true)
    }

    async fn work(self: &Arc<Self>, need: Need) -> Landed {
        let settings = self.settings().ok_or(OAuthError::Unknown)?;
        self.recall(&settings).await?;
        let done = match need {
            Need::Next => self.next(&settings).await,
            Need::Refused(used) => self.recover(&settings, used).await,
        };
        let mut state = self.state();
        match &done {
            Ok(Some(_)) => {
                state.waiting = None;
                state.failure = None;
            }
            Ok(None) => {}
            Err(error) => state.failure = Some(error.clone()),
        }
        done
    }

    async fn next(self: &Arc<Self>, settings: &Settings) -> Landed {
        let Some(bound) = self.state().bound.clone() else {
            return Ok(None);
        };
        if let Some(access) = bound.slot.fresh(self.oauth.clock.now()) {
            return Ok(Some(access));
        }
        let stale = bound.slot.held().access.map(|access| access.number);
        if let Some(access) = bound.renew(&self.oauth, settings, stale).await? {
            return Ok(Some(access));
        }
        if settings.grant.is_interactive() {
            // Whether the server minds is for it to say.
            return Ok(None);
        }
        bound.acquire(&self.oauth, settings, (stale, None)).await
    }

    async fn recover(self: &Arc<Self>, settings: &Settings, used: Option<u64>) -> Landed {
        // Somebody may have come by another token meanwhile.
        if let Some(access) = self.fresh().filter(|access| Some(access.number) != used) {
            return Ok(Some(access));
        }
        let challenge = self.state().challenge.clone().unwrap_or_default();
        let found = discover(&*self.oauth.fetch, settings, Some(&challenge)).await?;
        let before = self.state().bound.clone();
        let is_same = before
            .as_ref()
            .is_some_and(|bound| *bound.binding.issuer == *found.issuer.issuer);
        if challenge.wants_scope() && used.is_some() && is_same {
            return self.step_up(settings, &found, used).await;
        }
        if let Some(bound) = before.filter(|_| is_same) {
            let renewed = bound.renew(&self.oauth, settings, used).await?;
            if renewed.is_some() {
                return Ok(renewed);
            }
        }
        if settings.grant.is_interactive() {
            if !is_same && let Some(access) = self.adopt(settings, &found).await? {
                return Ok(Some(access));
            }
            self.wait(settings, used);
            return Ok(None);
        }
        let bound = self.bind(settings, &found).await?;
        let scope = self.scope(settings, &found);
        bound
            .acquire(&self.oauth, settings, (used, scope.as_deref()))
            .await
    }

    /// More rights: a program asks for them, a person has to agree.
    async fn step_up(
        self: &Arc<Self>,
        settings: &Settings,
        found: &Found,
        used: Option<u64>,
    ) -> Landed {
        if settings.grant.is_interactive() {
            self.wait(settings, used);
            return Ok(None);
        }
        let bound = self.bind(settings, found).await?;
        let scope = self.scope(settings, found);
        let held = bound.slot.held().scope;
        if held == scope {
            // What is refused with all that can be asked for stays refused.
            return Ok(None);
        }
        bound
            .acquire(&self.oauth, settings, (used, scope.as_deref()))
            .await
    }

    /// What is kept of an earlier sign-in with what was found now.
    async fn adopt(self: &Arc<Self>, settings: &Settings, found: &Found) -> Landed {
        let client = match choose(settings, &found.issuer) {
            Choice::Known(client) => Some(client),
            Choice::Register(_) | Choice::Impossible => {
                let registered = self.oauth.registered(&found.issuer.issuer).await?;
                registered.map(|registered| registered.client(&found.issuer))
            }
        };
        let Some(client) = client else {
            return Ok(None);
        };
        let binding = binding(settings, found, &client.id);
        let slot = self.oauth.slot(&binding).await?;
        let issuer = Arc::clone(&found.issuer);
        let bound = Arc::new(Bound::new(binding, slot, issuer, client));
        let access = match bound.slot.fresh(self.oauth.clock.now()) {
            Some(access) => Some(access),
            None => bound.renew(&self.oauth, settings, None).await?,
        };
        if access.is_some() {
            self.keep(settings, bound).await?;
        }
        Ok(access)
    }

    /// The client of a program, which is configured.
    async fn bind(&self, settings: &Settings, found: &Found) -> Result<Arc<Bound>, OAuthError> {
        let Choice::Known(client) = choose(settings, &found.issuer) else {
            return Err(OAuthError::NoClient);
        };
        let binding = binding(settings, found, &client.id);
        let known = self.state().bound.clone();
        if let Some(known) = known.filter(|known| known.binding == binding) {
            return Ok(known);
        }
        let slot = self.oauth.slot(&binding).await?;
        let issuer = Arc::clone(&found.issuer);
        let bound = Arc::new(Bound::new(binding, slot, issuer, client));
        self.keep(settings, Arc::clone(&bound)).await?;
        Ok(bound)
    }

    /// Uses a sign-in from here on, and after a start.
    pub(crate) async fn keep(
        &self,
        settings: &Settings,
        bound: Arc<Bound>,
    ) -> Result<(), OAuthError> {
        let kept = self
            .oauth
            .vault
            .put(&self.name(settings), &bound.binding)
            .await;
        self.state().bound = Some(bound);
        kept
    }

    /// What was kept before the hub started, once.
    pub(crate) async fn recall(&self, settings: &Settings) -> Result<(), OAuthError> {
        if self.state().recalled {
            return Ok(());
        }
        let binding: Option<Binding> = self.oauth.vault.get(&self.name(settings)).await?;
        let bound = match binding {
            Some(binding) => {
                let slot = self.oauth.slot(&binding).await?;
                Some(Arc::new(Bound::recalled(binding, slot)))
            }
            None => None,
        };
        let mut state = self.state();
        state.recalled = true;
        state.bound = state.bound.take().or(bound);
        Ok(())
    }

    /// The scopes to ask for: configured, else as the refusal says, else as the
    /// server describes; with what was granted before, where more is wanted.
    pub(crate) fn scope(&self, settings: &Settings, found: &Found) -> Option<Box<str>> {
        let (challenge, held) = {
            let state = self.state();
            let held = state
                .bound
                .as_ref()
                .and_then(|bound| bound.slot.held().scope);
            (state.challenge.clone().unwrap_or_default(), held)
        };
        let mut scopes: Vec<&str> = Vec::new();
        if challenge.wants_scope() {
            scopes.extend(held.as_deref().unwrap_or_default().split_ascii_whitespace());
        }
        if settings.scopes.is_empty() || challenge.wants_scope() {
            match &challenge.scope {
                Some(scope) => scopes.extend(scope.split_ascii_whitespace()),
                None => scopes.extend(found.scopes.iter().map(|scope| &**scope)),
            }
        }
        scopes.extend(settings.scopes.iter().map(|scope| &**scope));
        let offline = "offline_access";
        let offers = found.issuer.scopes.iter().any(|scope| **scope == *offline);
        if settings.grant.is_interactive() && offers {
            scopes.push(offline);
        }
        let mut unique: Vec<&str> = Vec::new();
        for scope in scopes {
            if !unique.contains(&scope) {
                unique.push(scope);
            }
        }
        (!unique.is_empty()).then(|| unique.join(" ").into())
    }

    fn wait(&self, settings: &Settings, used: Option<u64>) {
        let is_news = {
            let mut state = self.state();
            state.failure = None;
            state.waiting.replace(used.unwrap_or_default()).is_none()
        };
        if is_news {
            self.oauth.tell(News::Required {
                server: self.server.clone(),
                url: settings.server.origin(),
                client_id: settings.client_id.clone(),
            });
        }
    }

    /// What the keystore calls which sign-in this server uses.
    fn name(&self, settings: &Settings) -> Name {
        let client = settings.client_id.as_deref().unwrap_or_default();
        let entity = settings.entity.as_ref().map_or("", EntityId::as_str);
        Name::of("server", &[settings.server.as_str(), client, entity])
    }
}

pub(crate) fn binding(settings: &Settings, found: &Found, client_id: &str) -> Binding {
    Binding {
        issuer: found.issuer.issuer.to_string(),
        resource: found.resource.as_deref().map(str::to_owned),
        origin: settings.server.origin(),
        client_id: client_id.to_owned(),
        entity: settings.entity.as_ref().map(ToString::to_string),
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
