//! What the tests of the front stand on: a front over a gate over a server set
//! made up here, and a client that writes bytes.

mod fake;
mod http;
mod socket;
mod web;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use legation_core::{BootId, ClientId, Clock as _, SeatId, SystemClock, Wall};
use legation_gate::keystore::Key;
use legation_gate::rate::RateLimits;
use legation_gate::stage::KnownClients;
use legation_gate::{Asking, Gate};
use legation_ledger::{Ledger, LedgerKeys};
use legation_policy::Policy;
use legation_policy::governance::Template;
use legation_store::{Store, StoreOptions};
use legation_wire::json::{Limits, Raw};
use legation_wire::message::ErrorObject;

pub(crate) use self::fake::Fake;
pub(crate) use self::http::{Client, Response, mirrored};
pub(crate) use self::socket::SocketClient;
pub(crate) use self::web::Web;
use crate::{
    AdminHandler, AdminItem, Authenticator, Front, FrontParts, FrontSettings, Issued, Workers,
};

/// A running front. Tokens are `TOKEN-<client>` for the clients `claude` and
/// `codex`, and for the owner; and `JWT-<what>` are an issuer's.
pub(crate) struct Rig {
    pub(crate) front: Arc<Front>,
    pub(crate) fake: Arc<Fake>,
    pub(crate) port: u16,
    pub(crate) home: tempfile::TempDir,
    pub(crate) web: Arc<Web>,
    pub(crate) tokens: Arc<Tokens>,
    workers: Arc<Workers>,
    serving: tokio::task::JoinHandle<()>,
}

/// How long the token `JWT-soon` is good, from whenever it is shown.
pub(crate) const SOON_MS: i64 = 300;

#[derive(Debug, Default)]
pub(crate) struct Tokens {
    /// Who was taken back.
    revoked: Mutex<Vec<Box<str>>>,
    edition: AtomicU64,
    /// Whether the issuer's keys have come.
    has_keys: Arc<AtomicBool>,
}

impl Tokens {
    /// Takes a client's token back.
    pub(crate) fn revoke(&self, client: &str) {
        self.revoked
            .lock()
            .expect("not poisoned")
            .push(client.into());
        self.edition.fetch_add(1, Ordering::SeqCst);
    }
}

impl Authenticator for Tokens {
    fn bearer(&self, token: &str) -> Option<ClientId> {
        let client = token.strip_prefix("TOKEN-")?;
        let revoked = self.revoked.lock().expect("not poisoned");
        let is_good = !revoked.iter().any(|one| **one == *client);
        (is_good && ["claude", "codex", "owner"].contains(&client)).then(|| ClientId::new(client))
    }

    fn edition(&self) -> Option<u64> {
        Some(self.edition.load(Ordering::SeqCst))
    }

    fn issued(&self, token: &str) -> Issued {
        let client = |name: &str, number: &str, until| Issued::Client {
            client: ClientId::member(name, number),
            until,
        };
        let soon = || Wall(SystemClock.wall().0 + SOON_MS);
        match token.strip_prefix("JWT-") {
            Some("reader") => client("reader", "~1", Wall(i64::MAX)),
            Some("soon") => client("reader", "~3", soon()),
            Some("stranger") => client("stranger", "~1", Wall(i64::MAX)),
            Some("scopeless") => Issued::NoScope,
            Some("late") if self.has_keys.load(Ordering::SeqCst) => {
                client("reader", "~2", Wall(i64::MAX))
            }
            Some("late") => {
                let has_keys = Arc::clone(&self.has_keys);
                Issued::Wait(Box::pin(async move {
                    tokio::task::yield_now().await;
                    has_keys.store(true, Ordering::SeqCst);
                }))
            }
            Some("never") => Issued::Wait(Box::pin(std::future::ready(()))),
            Some("unavailable") => Issued::Unavailable,
            _ => Issued::Refused,
        }
    }

    fn is_owner(&self, client: &ClientId) -> bool {
        client.as_str() == "owner"
    }

    fn local(&self, name: Option<&str>) -> Option<ClientId> {
        match name {
            None => Some(ClientId::new("owner")),
            Some(name) => ["claude", "codex"]
                .contains(&name)
                .then(|| ClientId::new(name)),
        }
    }
}

#[derive(Debug)]
struct Admin;

impl AdminHandler for Admin {
    fn handle(
        &self,
        seat: &SeatId,
        method: &str,
        params: Option<Raw>,
    ) -> BoxStream<'static, AdminItem> {
        let items = match method {
            "seat" => vec![AdminItem::Done(Ok(Raw::str(seat.as_str())))],
            "silent" => Vec::new(),
            "echo" => vec![
                AdminItem::Notification {
                    method: "line".into(),
                    params: Raw::from_static(r#"{"n":1}"#),
                },
                AdminItem::Done(Ok(params.unwrap_or_else(Raw::null))),
            ],
            _ => vec![AdminItem::Done(Err(ErrorObject::new(
                -32601,
                "no such command",
            )))],
        };
        futures_util::stream::iter(items).boxed()
    }
}

// === impl Rig ===

impl Rig {
    pub(crate) async fn start() -> Self {
        Self::with(FrontSettings::default()).await
    }

    pub(crate) async fn with(settings: FrontSettings) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let fake = Arc::new(Fake::default());
        let web = Arc::new(Web::default());
        let tokens = Arc::new(Tokens::default());
        let store =
            Store::open(&home.path().join("state.db"), StoreOptions::default()).expect("a store");
        let clock = SystemClock::shared();
        let store = Arc::new(store);
        let asking = Asking::open(
            &store,
            &Key::from_bytes([8; 32]),
            &clock,
            RateLimits::default(),
        )
        .expect("rows");
        let ledger = Ledger::open(store, LedgerKeys::from_bytes(&[7; 32]), Arc::clone(&clock))
            .expect("a ledger");
        let rules = Policy::of_template(Template::Personal);
        let clients = KnownClients::new(["claude", "codex", "owner"].map(ClientId::new))
            .with_no_auth(settings.no_auth)
            .with_issued(["reader".into()]);
        let servers: Arc<dyn legation_gate::ServerSet> = Arc::clone(&fake) as _;
        let gate = Gate::new(servers, Arc::new(ledger), rules, clients, asking);
        let front = Front::new(FrontParts {
            gate: Arc::new(gate),
            events: None,
            feed: None,
            authenticator: Arc::clone(&tokens) as _,
            admin: Arc::new(Admin),
            web: Arc::clone(&web) as _,
            settings,
            clock,
            version: "0.0.0".into(),
            boot: BootId::random().expect("random bytes"),
        })
        .expect("a front");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let workers = Arc::new(Workers::start(1).expect("a worker"));
        let serving = {
            let (front, workers) = (Arc::clone(&front), Arc::clone(&workers));
            #[expect(clippy::disallowed_methods, reason = "the test joins it")]
            tokio::spawn(async move {
                front.serve_http(listener, &workers).await.expect("served");
            })
        };
        Self {
            front,
            fake,
            port,
            home,
            workers,
            serving,
            web,
            tokens,
        }
    }

    /// A connection that shows the credential of `claude`.
    pub(crate) async fn client(&self) -> Client {
        self.client_as("claude").await
    }

    pub(crate) async fn client_as(&self, client: &str) -> Client {
        Client::connect(self.port, Some(&format!("TOKEN-{client}"))).await
    }

    pub(crate) async fn stranger(&self) -> Client {
        Client::connect(self.port, None).await
    }

    /// Ends everything and waits for it.
    pub(crate) async fn stop(self) {
        self.front.shutdown().await;
        self.serving.await.expect("ended");
        let workers = Arc::into_inner(self.workers).expect("the last holder");
        tokio::task::spawn_blocking(move || workers.join())
            .await
            .expect("joined");
    }
}

/// JSON from a text.
pub(crate) fn raw(text: &str) -> Raw {
    Raw::parse(text.to_owned().into(), &Limits::UPSTREAM).expect("JSON")
}

/// A modern request.
pub(crate) fn modern(id: i64, method: &str, capabilities: &str, params: &str) -> String {
    let meta = format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}}}"#
    );
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}{meta}}}}}"#
    )
}
