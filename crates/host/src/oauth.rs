//! The hub's sign-ins at servers behind a URL.

use std::path::Path;
use std::sync::{Arc, Weak};

use legation_config::{GrantType, ResolvedHttp, ResolvedOAuth, ServerSpec, Transport};
use legation_core::Secret;
use legation_core::error::chain;
use legation_gate::HubEvent;
use legation_oauth::{
    Begun, Enterprise, Grant, News, OAuthError, Settings, SignIn, SigningKey, Upstream, WebUrl,
};
use legation_wire::json::{Object, Raw};
use tokio::sync::broadcast::error::RecvError;

use crate::ask;
use crate::call::Conversation;
use crate::common::Common;
use crate::host::{Host, Inner, NoServer};
use crate::instance::Phase;
use crate::server::Server;

/// A sign-in that was not begun, or could not be ended.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// No server is meant.
    #[error(transparent)]
    NoServer(#[from] NoServer),
    /// The hub does not sign in there.
    #[error("the hub does not sign in at {server}: {why}")]
    Not {
        /// Where.
        server: String,
        /// Why not.
        why: &'static str,
    },
    /// The sign-in itself.
    #[error("the sign-in at {server} failed")]
    Failed {
        /// Where.
        server: String,
        /// Why.
        #[source]
        source: OAuthError,
    },
}

/// The sign-in of a server; that of the one before it, where nothing changed.
pub(crate) fn upstream(
    common: &Common,
    spec: &ServerSpec,
    before: Option<&Server>,
) -> Option<Arc<Upstream>> {
    let oauth = common.oauth.as_ref()?;
    let Transport::Http { headers, .. } = &spec.transport else {
        return None;
    };
    let has_own = |(name, _): &(Box<str>, _)| name.eq_ignore_ascii_case("authorization");
    let is_given = headers.iter().any(has_own)
        || spec.transport.headers_helper().is_some()
        || spec.oidc.is_some();
    if spec.oauth.off || spec.transport.is_socket() || is_given {
        return None;
    }
    let same = before.filter(|before| {
        before.spec.transport == spec.transport
            && before.spec.oauth == spec.oauth
            && before.spec.entity == spec.entity
    });
    let kept = same.and_then(|before| before.auth.clone());
    Some(kept.unwrap_or_else(|| oauth.upstream(spec.name.clone())))
}

/// The configuration of a sign-in, in its own words.
pub(crate) fn settings(
    spec: &ServerSpec,
    http: &ResolvedHttp,
    found: &ResolvedOAuth,
) -> Result<Settings, String> {
    let entry = &found.entry;
    let url = |field: &str, text: &str| {
        WebUrl::parse(text.split('#').next().unwrap_or_default())
            .map_err(|bad| format!("{field} {bad}"))
    };
    let missing = |field: &str| format!("{field} is missing");
    let grant = match entry.grant {
        GrantType::AuthorizationCode => Grant::AuthorizationCode,
        GrantType::ClientCredentials => Grant::ClientCredentials,
        GrantType::JwtBearer => {
            let assertion = found.assertion.clone();
            let assertion = assertion.ok_or_else(|| missing("oauth.assertion"))?;
            Grant::JwtBearer { assertion }
        }
        GrantType::Enterprise => {
            let idp = found.idp.clone().ok_or_else(|| missing("oauth.idp"))?;
            Grant::Enterprise(Box::new(Enterprise {
                token_endpoint: url("oauth.idp.tokenEndpoint", &idp.token_endpoint)?,
                client_id: idp.client_id.into(),
                client_secret: idp.client_secret,
                id_token: idp.id_token,
            }))
        }
    };
    let key = |pem: &Secret| {
        let algorithm = entry.signing_alg.as_deref().unwrap_or("ES256");
        let key = SigningKey::from_pem(pem, algorithm, entry.key_id.clone());
        key.map(Arc::new)
            .map_err(|error| format!("oauth.privateKey: {error}"))
    };
    let metadata = found.metadata_url.as_deref();
    Ok(Settings {
        server: url("url", http.url.reveal())?,
        entity: spec.entity.clone(),
        grant,
        client_id: found.client_id.as_deref().map(Into::into),
        client_secret: found.client_secret.clone(),
        client_key: found.private_key.as_ref().map(key).transpose()?,
        public_client: entry.public_client,
        metadata_url: metadata
            .map(|text| url("oauth.clientMetadataUrl", text))
            .transpose()?,
        issuer: found.issuer.as_deref().map(Into::into),
        scopes: entry.scopes.clone(),
        redirect_port: entry.redirect_port,
        allowed_hosts: entry.allowed_hosts.clone(),
        proxies: None,
        ca: None,
    })
}

/// Has servers try again once somebody signed in.
pub(crate) fn follow(inner: &Arc<Inner>) {
    let Some(oauth) = &inner.common.oauth else {
        return;
    };
    let mut news = oauth.news();
    let host = Arc::downgrade(inner);
    let following = async move {
        loop {
            let server = match news.recv().await {
                Ok(News::Completed { server, failure }) => {
                    if let Some(host) = Weak::upgrade(&host).filter(|_| failure.is_none()) {
                        retry(&host, server.as_str());
                    }
                    server
                }
                Ok(News::Required { server, .. }) => server,
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return,
            };
            let Some(host) = host.upgrade() else { return };
            host.common.tell(HubEvent::StatusChanged { server });
        }
    };
    let common = &inner.common;
    common
        .background
        .spawn_on(&common.runtime, "sign-ins", following);
}

/// Tries those that wait for a sign-in again, now.
fn retry(host: &Inner, server: &str) {
    for server in host.roster.load().named(server) {
        for instance in server.all_running() {
            if matches!(instance.phase(), Phase::Failed(_) | Phase::NeedsAuth) {
                instance.retry();
            }
        }
    }
}

// === impl SignInError ===

impl SignInError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoServer(error) => error.hint(),
            Self::Not { .. } => "see `legation mcp get NAME`",
            Self::Failed { source, .. } => source.hint(),
        }
    }
}

// === impl Host ===

impl Host {
    /// Begins a sign-in at a server, unless what there is serves still; `force` begins
    /// one in any case.
    ///
    /// # Errors
    /// See [`SignInError`].
    pub async fn sign_in(
        &self,
        name: &str,
        folder: Option<&Path>,
        force: bool,
    ) -> Result<Begun, SignInError> {
        let (server, auth) = self.signs_in(name, folder)?;
        let begun = auth.begin(force).await;
        let begun = begun.map_err(|source| failed(&server, source))?;
        if matches!(begun, Begun::Ready) {
            retry(&self.inner, server.spec.name.as_str());
        }
        Ok(begun)
    }

    /// Gives a sign-in back and forgets it; whether there was one. The server's
    /// connections end.
    ///
    /// # Errors
    /// See [`SignInError`].
    pub async fn sign_out(&self, name: &str, folder: Option<&Path>) -> Result<bool, SignInError> {
        let (server, auth) = self.signs_in(name, folder)?;
        let revoked = auth.revoke().await;
        self.reload(name, folder).await?;
        revoked.map_err(|source| failed(&server, source))
    }

    /// The sign-in at a server that waits for a person, or was the last that did.
    ///
    /// # Errors
    /// See [`SignInError`].
    pub fn sign_in_under_way(
        &self,
        name: &str,
        folder: Option<&Path>,
    ) -> Result<Option<Arc<SignIn>>, SignInError> {
        let (_, auth) = self.signs_in(name, folder)?;
        Ok(auth.under_way())
    }

    fn signs_in(
        &self,
        name: &str,
        folder: Option<&Path>,
    ) -> Result<(Arc<Server>, Arc<Upstream>), SignInError> {
        let server = self.named(name, folder)?;
        let not = |why| SignInError::Not {
            server: server.spec.name.to_string(),
            why,
        };
        if !server.enabled {
            return Err(not("it is disabled"));
        }
        let why = match &server.spec.transport {
            Transport::Stdio { .. } => "it is a program of this machine",
            Transport::Memory { .. } => "it lives in the hub",
            Transport::Http { .. } if server.spec.oauth.off => "its `oauth` is false",
            transport @ Transport::Http { .. } if transport.is_socket() => {
                "it is a socket of this machine"
            }
            transport @ Transport::Http { .. } if transport.headers_helper().is_some() => {
                "its `headersHelper` gives it what it needs"
            }
            Transport::Http { .. } if server.spec.oidc.is_some() => {
                "it is given a token of this machine's identity (`oidc`)"
            }
            Transport::Http { .. } => "it has a credential under `headers`",
        };
        let auth = server.auth.clone().ok_or_else(|| not(why))?;
        Ok((server, auth))
    }
}

fn failed(server: &Server, source: OAuthError) -> SignInError {
    SignInError::Failed {
        server: server.spec.name.to_string(),
        source,
    }
}

// === impl Conversation ===

impl Conversation {
    /// Has the person behind this call sign in, where its client can send them to an
    /// address; whether the call may be made again.
    pub(crate) async fn sign_in(&self) -> bool {
        let Some(auth) = &self.server.auth else {
            return false;
        };
        if !self.peer.capabilities().allows("elicitation/create", true) {
            return false;
        }
        let note = |error: &OAuthError| {
            let why = chain(error);
            self.server.log.note(&format!("the sign-in failed: {why}"));
        };
        let sign_in = match auth.begin(false).await {
            Ok(Begun::Ready) => return true,
            Ok(Begun::Open(sign_in)) => sign_in,
            Err(error) => {
                note(&error);
                return false;
            }
        };
        let Ok(id) = legation_core::id::random_hex() else {
            return false;
        };
        let text = format!("Sign in to {}", self.server.spec.title());
        let params = Object::new()
            .with("mode", Raw::from_static(r#""url""#))
            .with("message", Raw::str(&text))
            .with("url", Raw::str(sign_in.url()))
            .with("elicitationId", Raw::str(&id));
        let answer = ask::ask(
            &self.peer,
            "elicitation/create".into(),
            Some(params.to_raw()),
        );
        let waited = async {
            let accepted = answer.await.ok().is_some_and(|answer| {
                let action = answer.get("action");
                action.is_some_and(|action| action.to_str().as_deref() == Some("accept"))
            });
            if !accepted {
                return false;
            }
            match sign_in.done().await {
                Ok(()) => true,
                Err(error) => {
                    note(&error);
                    false
                }
            }
        };
        tokio::select! {
            waited = waited => waited,
            _ = self.context.cancel.cancelled() => false,
        }
    }
}
