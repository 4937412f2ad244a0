//! One sign-in at Entra ID: who acts, with which tokens, for which entity.

mod bootstrap;
mod cloud;
mod error;
mod identity;
mod revoke;
mod scopes;
mod settings;
mod sign_in;
mod source;

use std::ffi::OsString;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use legation_core::{EntityId, Identity, OpContext, Secret, SharedClock, TaskSet, Wall};
use legation_keystore::SecretStore;

use crate::broker::{
    Broker, BrowserSignIn, CommandBroker, HttpsBroker, LocalBroker, PlatformSignIn, WamSignIn,
};
use crate::error::SignInError;
use crate::graph::Graph;
use crate::http::{Http, HttpSettings, Url, WaitMemory, Waits};
use crate::oauth::{OAuth, TenantInfo};
use crate::token::{Role, Token, TokenCache, TokenKey, Vault};

pub use bootstrap::{Bootstrap, WhoAmI};
pub use cloud::Cloud;
pub use error::AccountError;
pub use identity::Told;
pub use revoke::Revoked;
pub use scopes::{ADMIN_SCOPES, AGENT_SCOPES};
pub use settings::{AccountSettings, BrokerSettings};
pub use sign_in::PendingSignIn;

/// Who acts, and so who is named in the sign-in logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acting {
    /// The agent's own user.
    AgentUser,
    /// The agent, on behalf of its human.
    AgentForHuman,
    /// The application, on behalf of its human: the tenant has no agents.
    ApplicationForHuman,
}

/// What an account needs of its surroundings.
#[derive(Clone)]
pub struct Parts {
    /// Where tokens and secrets are kept.
    pub store: Arc<SecretStore>,
    /// The time.
    pub clock: SharedClock,
    /// Drives the connections.
    pub tasks: TaskSet,
    /// The environment of a broker's command.
    pub env: Vec<(OsString, OsString)>,
    /// Keeps what services say about waiting beyond the process.
    pub memory: Option<Arc<dyn WaitMemory>>,
}

/// One sign-in. Clones are the same sign-in.
#[derive(Clone)]
pub struct Account {
    inner: Arc<Inner>,
}

struct Inner {
    settings: AccountSettings,
    cloud: Cloud,
    graph_base: Url,
    oauth: OAuth,
    broker: Box<dyn Broker>,
    platform: Vec<Box<dyn PlatformSignIn>>,
    store: Arc<SecretStore>,
    vault: Vault,
    tokens: TokenCache,
    /// What bootstrapping found; the settings until then.
    found: Mutex<Found>,
    identity: Mutex<Identity>,
    told: OnceLock<Arc<Told>>,
    /// Requests of one mailbox at once are few; shared by all who ask Graph.
    mailboxes: crate::graph::Mailboxes,
    /// So are messages into one chat: one at a time.
    chat_turns: crate::chat::ChatTurns,
}

#[derive(Clone)]
struct Found {
    acting: Acting,
    agent_id: Option<Box<str>>,
    blueprint_id: Option<Box<str>>,
}

// === impl Acting ===

impl Acting {
    /// The word in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.attribution().as_str()
    }

    /// Whose token asks Graph.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::AgentUser => Role::AgentUser,
            Self::AgentForHuman => Role::AgentOnBehalf,
            Self::ApplicationForHuman => Role::OnBehalf,
        }
    }
}

// === impl Account ===

impl Account {
    /// Checks the settings; nothing is asked of anybody yet.
    ///
    /// # Errors
    /// See [`AccountError`].
    pub fn new(settings: AccountSettings, parts: Parts) -> Result<Self, AccountError> {
        let cloud = settings.cloud()?;
        let authority = settings.authority(cloud)?;
        let graph_base = settings.graph(cloud)?;
        let http = HttpSettings {
            ca_pem: settings.ca_pem()?,
            proxy: settings.proxy()?,
            waits: parts.memory.map(|memory| Waits {
                account: settings.name.clone(),
                memory,
            }),
        };
        let http = Http::new(&http, Arc::clone(&parts.clock), parts.tasks);
        let http = http.map_err(|source| AccountError::Tls {
            account: settings.name.clone(),
            source,
        })?;
        let broker = broker(&settings, &http, &parts.store, parts.env)?;
        let found = Found {
            acting: settings.acting(),
            agent_id: settings.agent_id.clone(),
            blueprint_id: settings.blueprint_id.clone(),
        };
        Ok(Self {
            inner: Arc::new(Inner {
                cloud,
                graph_base,
                oauth: OAuth::new(http, authority),
                broker,
                platform: vec![Box::new(WamSignIn), Box::new(BrowserSignIn)],
                vault: Vault::new(Arc::clone(&parts.store), &settings.name),
                store: parts.store,
                tokens: TokenCache::new(parts.clock),
                found: Mutex::new(found),
                identity: Mutex::default(),
                told: OnceLock::new(),
                mailboxes: crate::graph::Mailboxes::default(),
                chat_turns: crate::chat::ChatTurns::default(),
                settings,
            }),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.settings.name
    }

    /// Whose data it reads.
    #[must_use]
    pub fn entity(&self) -> &EntityId {
        &self.inner.settings.entity
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &AccountSettings {
        &self.inner.settings
    }

    /// The time, by the clock that everything of the account goes by.
    #[must_use]
    pub fn instant(&self) -> Instant {
        self.http().clock().now()
    }

    /// The wall-clock time of the same clock.
    #[must_use]
    pub fn now(&self) -> Wall {
        self.http().clock().wall()
    }

    /// Who acts.
    #[must_use]
    pub fn acting(&self) -> Acting {
        self.found().acting
    }

    /// Graph, asked as whoever acts.
    #[must_use]
    pub fn graph(&self) -> Graph {
        Graph::of(self.clone(), self.graph_key())
    }

    /// Graph, asked as somebody else, with the scopes of that role.
    #[must_use]
    pub fn graph_as(&self, role: Role) -> Graph {
        Graph::of(self.clone(), self.key_of(role))
    }

    /// Graph, asked as whoever acts with other scopes than usual: full names,
    /// parted by spaces.
    #[must_use]
    pub fn graph_with_scope(&self, scope: &str) -> Graph {
        let key = TokenKey::new(self.acting().role(), scope);
        Graph::of(self.clone(), key)
    }

    /// What the tenant says of itself.
    ///
    /// # Errors
    /// See [`SignInError`].
    pub async fn discover(&self, ctx: &OpContext) -> Result<TenantInfo, SignInError> {
        self.inner.oauth.discover(ctx).await
    }

    /// Keeps an application's secret.
    ///
    /// # Errors
    /// [`SignInError::Store`].
    pub async fn keep_secret(&self, client_id: &str, secret: &Secret) -> Result<(), SignInError> {
        let name = crate::broker::secret_name(self.name(), client_id);
        self.keep(name, secret).await
    }

    /// Keeps an application's private key with its certificate, PEM.
    ///
    /// # Errors
    /// [`SignInError::Store`].
    pub async fn keep_key(&self, client_id: &str, pem: &Secret) -> Result<(), SignInError> {
        let name = crate::broker::key_name(self.name(), client_id);
        self.keep(name, pem).await
    }

    async fn keep(&self, name: String, secret: &Secret) -> Result<(), SignInError> {
        let (store, secret) = (Arc::clone(&self.inner.store), secret.clone());
        let kept = tokio::task::spawn_blocking(move || store.put(&name, &secret)).await;
        match kept {
            Ok(kept) => kept.map_err(|source| SignInError::Store { source }),
            Err(_) => Err(SignInError::Broker {
                source: crate::broker::BrokerError::Task,
            }),
        }
    }

    /// Makes sure that whoever acts has a token that is good for some minutes,
    /// and says until when it is. Where one is at hand nobody is asked.
    ///
    /// # Errors
    /// See [`SignInError`], which others may share.
    pub async fn ready(&self, ctx: &OpContext) -> Result<Wall, Arc<SignInError>> {
        let token = self.token(ctx, &self.graph_key()).await?;
        // Others ask for tokens too, after somebody signed out as well: whoever acts says so.
        self.keep_identity(&token).await.map_err(Arc::new)?;
        Ok(token.expires())
    }

    /// A token, new if need be.
    pub(crate) async fn token(
        &self,
        ctx: &OpContext,
        key: &TokenKey,
    ) -> Result<Arc<Token>, Arc<SignInError>> {
        self.inner.tokens.get(ctx, key, self).await
    }

    /// A token in place of one that was refused.
    pub(crate) async fn replace_token(
        &self,
        ctx: &OpContext,
        key: &TokenKey,
        refused: &Arc<Token>,
        claims: Option<&str>,
    ) -> Result<Arc<Token>, Arc<SignInError>> {
        let tokens = &self.inner.tokens;
        tokens.replace(ctx, key, refused, claims, self).await
    }

    pub(crate) fn http(&self) -> &Http {
        self.inner.oauth.http()
    }

    pub(crate) fn graph_base(&self) -> &Url {
        &self.inner.graph_base
    }

    pub(crate) fn mailboxes(&self) -> &crate::graph::Mailboxes {
        &self.inner.mailboxes
    }

    pub(crate) fn chat_turns(&self) -> &crate::chat::ChatTurns {
        &self.inner.chat_turns
    }

    /// Graph's name in scopes: the cloud's, wherever its base is.
    pub(crate) fn graph_resource(&self) -> &'static str {
        self.inner.cloud.graph_resource()
    }

    /// The token whoever acts asks Graph with.
    pub(crate) fn graph_key(&self) -> TokenKey {
        self.key_of(self.acting().role())
    }

    fn found(&self) -> Found {
        let found = self.inner.found.lock();
        found.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn find(&self, change: impl FnOnce(&mut Found)) {
        let found = self.inner.found.lock();
        change(&mut found.unwrap_or_else(PoisonError::into_inner));
    }

    /// The blueprint that was made or found.
    pub(crate) fn found_blueprint(&self, id: &str) {
        self.find(|found| found.blueprint_id = Some(id.into()));
    }

    /// The agent that was made or found.
    pub(crate) fn found_agent(&self, id: &str) {
        self.find(|found| found.agent_id = Some(id.into()));
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("name", &self.name())
            .field("acting", &self.acting())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

fn broker(
    settings: &AccountSettings,
    http: &Http,
    store: &Arc<SecretStore>,
    env: Vec<(OsString, OsString)>,
) -> Result<Box<dyn Broker>, AccountError> {
    Ok(match &settings.broker {
        BrokerSettings::Keystore => Box::new(LocalBroker {
            store: Arc::clone(store),
            certificate: settings.certificate.clone(),
            client_secret: settings.client_secret.clone(),
            blueprint_secret: settings.blueprint_secret.clone(),
        }),
        BrokerSettings::Command(command) => Box::new(CommandBroker {
            command: command.clone(),
            env,
        }),
        BrokerSettings::Https(url) => Box::new(HttpsBroker {
            http: http.clone(),
            url: settings.address("broker_url", url)?,
            store: Arc::clone(store),
        }),
    })
}

#[cfg(test)]
mod tests;
