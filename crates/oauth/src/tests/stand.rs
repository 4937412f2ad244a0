//! A scripted authorization server and what stands around it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_core::clock::ManualClock;
use legation_core::{Secret, ServerName, SharedClock, Wall};
use legation_keystore::{KeepIn, Keystore, SecretStore};
use serde_json::{Value, json};

use crate::fetch::{Ask, Body, Fetch, FetchError, Reach, Reply};
use crate::url::{WebUrl, pairs};
use crate::{Grant, OAuth, OAuthParts, Settings, Upstream};

/// What the authorization server saw and gave.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) given: u32,
    pub(super) refreshes: u32,
    pub(super) registered: u32,
    /// Requests for tokens that came with a proof of a key.
    pub(super) proofs: u32,
    used: HashSet<String>,
    /// A refresh token came twice: everything is revoked.
    pub(super) revoked: bool,
    pub(super) forms: Vec<Vec<(String, String)>>,
    /// Changes of its description.
    pub(super) described: Option<Value>,
    /// Changes of the server's description.
    pub(super) resource: Option<Value>,
    /// What the token endpoint says instead of giving tokens.
    pub(super) refuses: Option<&'static str>,
    /// It gives nothing to renew a sign-in with.
    pub(super) gives_once: bool,
    /// It takes no sign-in back.
    pub(super) takes_none_back: bool,
}

/// Answers as an authorization server with rotation and reuse detection does, after
/// a while, so that requests at once would overlap.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    pub(super) seen: Arc<Mutex<Seen>>,
}

pub(super) struct Stand {
    pub(super) oauth: Arc<OAuth>,
    pub(super) script: Script,
    pub(super) clock: Arc<ManualClock>,
    folder: tempfile::TempDir,
}

pub(super) const SERVER: &str = "https://mcp.example.com/mcp";
pub(super) const ISSUER: &str = "https://as.example.com";

impl Script {
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn answer(&self, ask: &Ask) -> (u16, Value) {
        let mut seen = self.seen();
        let merged = |mut base: Value, change: &Option<Value>| {
            if let Some(Value::Object(change)) = change {
                base.as_object_mut().unwrap().extend(change.clone());
            }
            base
        };
        let path = ask.url.path();
        if path.starts_with("/.well-known/oauth-protected-resource") {
            let base = json!({"resource": SERVER, "authorization_servers": [ISSUER], "scopes_supported": ["read"]});
            return (200, merged(base, &seen.resource));
        }
        if path.starts_with("/.well-known/oauth-authorization-server") {
            let base = json!({
                "issuer": ISSUER,
                "authorization_endpoint": format!("{ISSUER}/authorize"),
                "token_endpoint": format!("{ISSUER}/token"),
                "registration_endpoint": format!("{ISSUER}/register"),
                "revocation_endpoint": format!("{ISSUER}/revoke"),
                "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true,
            });
            return (200, merged(base, &seen.described));
        }
        match (path, &ask.body) {
            ("/register", Some(Body::Json(_))) => {
                seen.registered += 1;
                (
                    201,
                    json!({"client_id": format!("client-{}", seen.registered)}),
                )
            }
            ("/token", Some(Body::Form(form))) => {
                let form = pairs(form.reveal()).unwrap();
                let has_proof = ask.headers.iter().any(|(name, _)| *name == "dpop");
                seen.proofs += u32::from(has_proof);
                seen.forms.push(form.clone());
                seen.token(&form)
            }
            ("/revoke", Some(_)) if seen.takes_none_back => (503, json!({})),
            ("/revoke", Some(_)) => (200, json!({})),
            _ => (404, json!({})),
        }
    }
}

impl Seen {
    fn token(&mut self, form: &[(String, String)]) -> (u16, Value) {
        let get = |name: &str| {
            let found = form.iter().find(|(key, _)| key == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        if let Some(error) = self.refuses {
            return (400, json!({"error": error, "error_description": "s3cret"}));
        }
        if get("grant_type") == "refresh_token" {
            let token = get("refresh_token").to_owned();
            self.refreshes += 1;
            self.revoked |= !self.used.insert(token);
            if self.revoked {
                return (400, json!({"error": "invalid_grant"}));
            }
        }
        self.given += 1;
        let number = self.given;
        let mut answer = json!({"access_token": format!("at-{number}"), "token_type": "Bearer", "expires_in": 100});
        if get("grant_type") != "client_credentials" && !self.gives_once {
            answer["refresh_token"] = json!(format!("rt-{number}"));
        }
        (200, answer)
    }
}

impl Fetch for Script {
    fn fetch(&self, ask: Ask, _reach: Reach) -> BoxFuture<'static, Result<Reply, FetchError>> {
        let script = self.clone();
        Box::pin(async move {
            // Whoever would overlap does here.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            let (status, body) = script.answer(&ask);
            Ok(Reply {
                status,
                nonce: None,
                body: body.to_string().into(),
            })
        })
    }
}

impl Stand {
    pub(super) fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Wall(1_800_000_000_000)));
        Self::over(tempfile::tempdir().unwrap(), Script::default(), clock)
    }

    fn over(folder: tempfile::TempDir, script: Script, clock: Arc<ManualClock>) -> Self {
        let path = folder.path().to_owned();
        let there = path.join("secrets");
        let oauth = OAuth::new(OAuthParts {
            fetch: Arc::new(script.clone()),
            open: Box::new(move || {
                let keys = Keystore::open(&path.join("keys")).unwrap();
                let store = SecretStore::open(&keys, &path.join("secrets"), KeepIn::File)?;
                Ok(Arc::new(store))
            }),
            is_there: Box::new(move || there.exists()),
            clock: Arc::clone(&clock) as SharedClock,
            runtime: tokio::runtime::Handle::current(),
        });
        Self {
            oauth,
            script,
            clock,
            folder,
        }
    }

    /// The same data directory, another hub.
    pub(super) async fn restarted(self) -> Self {
        self.oauth.close().await;
        Self::over(self.folder, self.script, self.clock)
    }

    pub(super) fn upstream(&self, name: &str) -> Arc<Upstream> {
        self.with(name, |_| {})
    }

    pub(super) fn with(&self, name: &str, change: impl FnOnce(&mut Settings)) -> Arc<Upstream> {
        let upstream = self.oauth.upstream(ServerName::parse(name).unwrap());
        let mut settings = Settings {
            server: WebUrl::parse(SERVER).unwrap(),
            entity: None,
            grant: Grant::AuthorizationCode,
            client_id: None,
            client_secret: None,
            client_key: None,
            public_client: false,
            metadata_url: None,
            proxies: None,
            ca: None,
            issuer: None,
            scopes: Vec::new(),
            redirect_port: None,
            allowed_hosts: Vec::new(),
        };
        change(&mut settings);
        upstream.configure(settings);
        upstream
    }

    /// A client that signs in itself.
    pub(super) fn program(&self, name: &str) -> Arc<Upstream> {
        self.with(name, |settings| {
            settings.grant = Grant::ClientCredentials;
            settings.client_id = Some("me".into());
            settings.client_secret = Some(Secret::new("hush"));
        })
    }

    pub(super) fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}
