//! How long a brief takes over what was read before: 1,000 unread letters, 200 events and 100 deals
//! of one entity, without a model.
//!
//! A development tenant holds the letters and events, and the desk reads them as it does in the
//! hub. `desk [ROUNDS]` prints one JSON object a line.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_core::{
    Caller, Cancel, ClientId, EntityId, OpContext, Principal, SeatId, Secret, SharedClock,
    SystemClock, TaskSet, Via, Wall,
};
use legation_devtenant::human::Human;
use legation_devtenant::server::{Options, Server};
use legation_entra::token::Role;
use legation_entra::{AccountSettings, Accounts, Parts};
use legation_gate::policy::Policy;
use legation_gate::policy::governance::{FileText, Sources, Template};
use legation_gate::{Ask, Outcome, Peer, TaskWish};
use legation_keystore::{KeepIn, Keystore, SecretStore};
use legation_servers::desk::{Asked, Desk, DeskView, Done, Keeping, NoModel};
use legation_servers::sources::Reports;
use legation_servers::{Native as _, known_tools};
use legation_store::{Store, StoreOptions};
use legation_wire::caps::ClientCapabilities;
use legation_wire::json::{Limits, Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;
use serde_json::{Value, json};

const LETTERS: usize = 1_000;
const EVENTS: usize = 200;
const DEALS: usize = 100;
/// The account and the entity that all of it is of.
const ACCOUNT: &str = "harbor";
/// How long the desk may take to read everything.
const PATIENCE: Duration = Duration::from_secs(300);
const DAY_MS: i64 = 24 * 3600 * 1000;

/// A hub with rules and without a model.
#[derive(Debug)]
struct View(Arc<Policy>);

/// A client that is asked nothing.
#[derive(Debug, Default)]
struct Silent(ClientCapabilities);

impl DeskView for View {
    fn rules(&self) -> Option<Arc<Policy>> {
        Some(Arc::clone(&self.0))
    }

    fn model(
        &self,
        _context: &OpContext,
        _asked: Asked,
    ) -> BoxFuture<'static, Result<String, NoModel>> {
        let none = NoModel {
            why: "no model is asked here".to_owned(),
            hint: String::new(),
        };
        Box::pin(std::future::ready(Err(none)))
    }

    fn done(
        &self,
        entities: &[EntityId],
        _from_ms: i64,
        _to_ms: i64,
    ) -> BoxFuture<'static, Result<Vec<Vec<Done>>, String>> {
        Box::pin(std::future::ready(Ok(vec![Vec::new(); entities.len()])))
    }
}

impl Peer for Silent {
    fn revision(&self) -> Revision {
        Revision::V2025_11_25
    }
    fn capabilities(&self) -> &ClientCapabilities {
        &self.0
    }
    fn ask(&self, ask: Ask) -> BoxFuture<'static, Result<Raw, ErrorObject>> {
        panic!("asked: {ask:?}")
    }
}

fn main() {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let rounds: usize = rounds.unwrap_or(200);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    runtime.block_on(measured(folder.path(), rounds));
}

async fn measured(folder: &Path, rounds: usize) {
    let clock = SystemClock::shared();
    let options = Options {
        listen: "127.0.0.1:0".parse().expect("an address"),
        proxy: "127.0.0.1:0".parse().expect("an address"),
        dir: folder.join("tenant"),
        env_file: Some(folder.join("env")),
        control_command: Vec::new(),
        with_desk: false,
    };
    let server = Server::start(options, Arc::clone(&clock)).await;
    let _server = server.expect("a tenant");
    let human = Human::at(&folder.join("tenant"));
    fill(&human, clock.wall().0).await;
    let tasks = TaskSet::new();
    let desk = desk(folder, &clock, &human, &tasks).await;
    read(&desk).await;
    make_deals(&desk, clock.wall().0).await;
    for (what, arguments) in [
        ("of one entity", json!({"entity_context": ACCOUNT})),
        ("of all", json!({})),
    ] {
        let mut took = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let began = clock.now();
            let brief = call(&desk, "morning_brief", &arguments).await;
            took.push(clock.now() - began);
            is_whole(&brief);
        }
        took.sort_unstable();
        let at = |share: usize| took[(took.len() * share / 100).min(took.len() - 1)];
        for share in [50, 99] {
            let ms = at(share).as_secs_f64() * 1e3;
            let line = json!({ "what": format!("brief {what}, p{share}"), "ms": ms });
            writeln!(std::io::stdout(), "{line}").expect("standard output");
        }
    }
    tasks.shutdown().await;
}

/// Letters of the last days, and events around today.
async fn fill(human: &Human, now_ms: i64) {
    let order = async |name: &str, mut body: Value| {
        body["tenant"] = "first".into();
        human.order(name, body).await.expect("the tenant obeys");
    };
    for n in 0..LETTERS {
        let body = format!(
            "Please look at point {n} of the list and answer by Friday.\n\n{}",
            "The figures of the quarter are in the shared folder. ".repeat(8)
        );
        let from = format!("sender{}@partner.example.net", n % 40);
        let letter =
            json!({"from": from, "subject": format!("Point {n} of the list"), "body": body});
        order("mail", letter).await;
    }
    for n in 0..EVENTS {
        let day = i64::try_from(n % 40).unwrap_or(0) - 1;
        let start = now_ms + day * DAY_MS + i64::try_from(n).unwrap_or(0) * 60_000;
        let event = json!({
            "subject": format!("Meeting {n}"), "body": "Notes.", "zone": "UTC",
            "start": Wall(start).to_string(), "end": Wall(start + 1_800_000).to_string(),
        });
        order("meeting", event).await;
    }
}

/// A desk with somebody signed in.
async fn desk(folder: &Path, clock: &SharedClock, human: &Human, tasks: &TaskSet) -> Desk {
    let keystore = Arc::new(Keystore::open(&folder.join("keys")).expect("keys"));
    let store = Store::open(&folder.join("state.db"), StoreOptions::default()).expect("a store");
    let env = std::fs::read_to_string(folder.join("env")).expect("the tenant's settings");
    let parts = {
        let (keystore, clock) = (Arc::clone(&keystore), Arc::clone(clock));
        let (secrets, tasks) = (folder.join("secrets"), tasks.clone());
        move || {
            let store = SecretStore::open(&keystore, &secrets, KeepIn::File)?;
            Ok(Parts {
                store: Arc::new(store),
                clock: Arc::clone(&clock),
                tasks: tasks.clone(),
                env: Vec::new(),
                memory: None,
            })
        }
    };
    let accounts = Arc::new(Accounts::new(vec![settings(&env)], Arc::new(parts)));
    let context = context();
    let account = accounts.pick(Some(ACCOUNT)).await.expect("the account");
    let pending = account
        .begin(&context, Role::Human, Duration::from_secs(60), None)
        .await;
    let pending = pending.expect("a code");
    let code = json!({"tenant": "first", "user_code": pending.prompt().user_code, "approve": true});
    human
        .order("decide", code)
        .await
        .expect("the code is entered");
    let signed_in = account.sign_in_finish(&context, pending).await;
    signed_in.expect("signed in");
    let view = Arc::new(View(rules()));
    Desk::new(
        accounts,
        (Arc::new(store), keystore),
        Arc::clone(clock),
        view,
    )
}

fn rules() -> Arc<Policy> {
    let sources = Sources::from_files(|name| match Template::Business.file(name) {
        Some(text) => FileText::Text(text.to_owned()),
        None => FileText::Absent,
    });
    Arc::new(Policy::load(&sources, &known_tools()))
}

fn settings(env: &str) -> AccountSettings {
    let value = |wanted: &str| {
        let mut pairs = env.lines().filter_map(|line| line.split_once('='));
        pairs
            .find(|(name, _)| *name == wanted)
            .expect("a setting")
            .1
    };
    let mut settings = AccountSettings::new(ACCOUNT, EntityId::new(ACCOUNT), value("TENANT_ID"));
    settings.authority = Some(value("AUTHORITY_HOST").into());
    settings.graph = Some(value("GRAPH_BASE").into());
    settings.ca_file = Some(value("CA_BUNDLE").into());
    settings.client_id = Some(value("CLIENT_ID").into());
    settings.api_client_id = Some(value("API_CLIENT_ID").into());
    settings.client_secret = Some(Secret::new(value("API_CLIENT_SECRET")));
    settings.human = Some(value("AGENT_USER_ID").into());
    settings
}

/// Has the desk read everything and take it up.
async fn read(desk: &Desk) {
    let (accounts, reports, cancel) = ([ACCOUNT.into()], Reports::default(), Cancel::new());
    let is_there = async |wanted: &dyn Fn(&Value) -> bool| loop {
        if wanted(&call(desk, "status", &json!({})).await) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let is_fresh = |status: &Value| {
        let accounts = status["accounts"].as_array().map_or(&[][..], Vec::as_slice);
        !accounts.is_empty() && accounts.iter().all(|one| one["state"] == "fresh")
    };
    let is_taken_up = |status: &Value| {
        let mut entities = status["entities"].as_array().into_iter().flatten();
        let ours = entities.find(|one| one["entity"] == ACCOUNT);
        ours.is_some_and(|one| one["triage_open"].as_u64() >= Some(LETTERS as u64))
    };
    let done = tokio::time::timeout(PATIENCE, async {
        tokio::select! {
            () = desk.sync(&accounts, &reports, &cancel) => {}
            () = is_there(&is_fresh) => {}
        }
        tokio::select! {
            () = desk.attend(None, Keeping::default(), &cancel) => {}
            () = is_there(&is_taken_up) => {}
        }
    });
    done.await.expect("everything is read");
}

async fn make_deals(desk: &Desk, now_ms: i64) {
    for n in 0..DEALS {
        let day = now_ms + i64::try_from(n % 60).unwrap_or(0) * DAY_MS;
        let date = Wall(day).to_string()[..10].to_owned();
        let deal = json!({
            "entity": ACCOUNT, "deal_name": format!("Deal {n}"), "deal_type": "acquisition",
            "important_dates": [{"label": "Offers are due", "date": date}],
            "parties": [{"name": "Pat Example", "role": "seller"}],
        });
        let made = call(desk, "deal_create", &deal).await;
        assert_eq!(made["created"], true, "{made}");
    }
}

/// Nothing was left out of what it was made of.
fn is_whole(brief: &Value) {
    let sections = brief["sections"].as_array().into_iter().flatten();
    let mut ours = sections.filter(|section| section["entity"] == ACCOUNT);
    let section = ours.next().expect("the entity's section");
    let count = |part: &str| {
        let mut parts = section["parts"].as_array().into_iter().flatten();
        let part = parts.find(|one| one["part"] == part).expect("the part");
        assert!(part["missing"].is_null(), "{part}");
        part["lines"].as_array().map_or(0, Vec::len) as u64 + part["left_out"].as_u64().unwrap_or(0)
    };
    assert_eq!(count("unread_mail"), LETTERS as u64, "letters");
    assert_eq!(count("triage"), LETTERS as u64, "items");
    assert_eq!(count("deals"), DEALS as u64, "deals");
    assert!(count("meetings") > 0, "meetings");
}

fn context() -> OpContext {
    let principal = Principal {
        client: ClientId::new("owner"),
        via: Via::Admin,
    };
    let caller = Caller {
        principal,
        seat: SeatId::new("bench"),
        workspace: None,
    };
    OpContext::new(caller, Cancel::new())
}

async fn call(desk: &Desk, tool: &'static str, arguments: &Value) -> Value {
    let raw = Raw::parse(arguments.to_string().into(), &Limits::CLIENT).expect("JSON");
    let arguments: Object = raw.to_object().expect("an object");
    let peer = Arc::new(Silent::default());
    let outcome = desk
        .call(context(), tool, arguments, TaskWish::Never, peer)
        .await;
    let Outcome::Complete(result) = outcome else {
        panic!("{tool}: {outcome:?}");
    };
    let result: Value = serde_json::from_str(result.as_text()).expect("JSON");
    assert_ne!(result["isError"], true, "{tool}: {result}");
    result["structuredContent"].clone()
}
