//! The desk over two companies' tenants, for tests: a month of letters and meetings in each.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_core::{
    Caller, Cancel, ClientId, EntityId, OpContext, Principal, SeatId, Secret, ServerName,
    SharedClock, SystemClock, TaskSet, Via,
};
use legation_devtenant::human::Human;
use legation_devtenant::server::{Options, Server};
use legation_entra::token::Role;
use legation_entra::{AccountSettings, Accounts, Parts};
use legation_gate::Outcome;
use legation_gate::policy::governance::{FileText, Sources, Template};
use legation_gate::policy::{KnownTool, Policy};
use legation_keystore::{KeepIn, Keystore, SecretStore};
use legation_store::{Store, StoreOptions};
use legation_wire::json::{Limits, Object, Raw};
use serde_json::{Value, json};

use super::tools::TOOLS;
use super::{Asked, Desk, DeskView, Done, NAME, NoModel, shapes};
use crate::Native as _;

/// Two tenants, a desk, and a model that says what it is told to.
pub(super) struct Stand {
    pub(super) desk: Desk,
    pub(super) accounts: Arc<Accounts>,
    pub(super) view: Arc<View>,
    folder: tempfile::TempDir,
    tasks: TaskSet,
    _server: Server,
}

/// What the desk asks of its hub.
#[derive(Debug)]
pub(super) struct View {
    rules: std::sync::Mutex<Option<Arc<Policy>>>,
    says: std::sync::Mutex<Result<String, NoModel>>,
    pub(super) asked: std::sync::Mutex<Vec<Asked>>,
    pub(super) done: std::sync::Mutex<Result<Vec<Done>, String>>,
}

/// Of the worked example's two companies the first is in the first tenant.
const COMPANIES: [(&str, &str); 2] = [("harbor", "first"), ("meadow", "second")];

pub(super) fn context() -> OpContext {
    let principal = Principal {
        client: ClientId::new("owner"),
        via: Via::Admin,
    };
    let caller = Caller {
        principal,
        seat: SeatId::new("test"),
        workspace: None,
    };
    OpContext::new(caller, Cancel::new())
}

/// The worked example, with the tenants' domains in place of its own.
fn rules(change: &dyn Fn(&str, String) -> Option<String>) -> Arc<Policy> {
    let sources = Sources::from_files(|name| match Template::Business.file(name) {
        Some(text) => {
            let text = text
                .replace("harbor.example.com", "first.example.com")
                .replace("meadow.example.com", "second.example.com");
            change(name, text).map_or(FileText::Absent, FileText::Text)
        }
        None => FileText::Absent,
    });
    let server = ServerName::parse(NAME).unwrap();
    let mut known = crate::known_tools();
    known.retain(|tool| tool.server != server);
    known.extend(TOOLS.iter().map(|tool| KnownTool {
        item: Some(tool.name.into()),
        schema: Some(tool.input.into()),
        native: Some(tool.facts),
        ..KnownTool::server_only(server.clone(), true)
    }));
    Arc::new(Policy::load(&sources, &known))
}

// === impl View ===

impl View {
    /// Changes one governance file, or takes it away.
    pub(super) fn change(&self, change: &dyn Fn(&str, String) -> Option<String>) {
        *self.rules.lock().unwrap() = Some(rules(change));
    }

    pub(super) fn say(&self, says: &str) {
        *self.says.lock().unwrap() = Ok(says.to_owned());
    }
}

impl DeskView for View {
    fn rules(&self) -> Option<Arc<Policy>> {
        self.rules.lock().unwrap().clone()
    }

    fn model(
        &self,
        _context: &OpContext,
        asked: Asked,
    ) -> BoxFuture<'static, Result<String, NoModel>> {
        self.asked.lock().unwrap().push(asked);
        Box::pin(std::future::ready(self.says.lock().unwrap().clone()))
    }

    fn done(
        &self,
        entities: &[EntityId],
        _from_ms: i64,
        _to_ms: i64,
    ) -> BoxFuture<'static, Result<Vec<Vec<Done>>, String>> {
        let done = self.done.lock().unwrap().clone();
        let done = done.map(|done| vec![done; entities.len()]);
        Box::pin(std::future::ready(done))
    }
}

// === impl Stand ===

impl Stand {
    /// Both people are signed in.
    pub(super) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let clock: SharedClock = SystemClock::shared();
        let options = Options {
            listen: "127.0.0.1:0".parse().unwrap(),
            proxy: "127.0.0.1:0".parse().unwrap(),
            dir: path.join("tenant"),
            env_file: Some(path.join("env")),
            control_command: Vec::new(),
            with_desk: true,
        };
        let server = Server::start(options, Arc::clone(&clock)).await.unwrap();
        let tasks = TaskSet::new();
        let keystore = Arc::new(Keystore::open(&path.join("keys")).unwrap());
        let store = Store::open(&path.join("state.db"), StoreOptions::default()).unwrap();
        let files = ["env", "env.second"];
        let settings = COMPANIES.iter().zip(files).map(|((name, _), file)| {
            let text = std::fs::read_to_string(path.join(file)).unwrap();
            settings(name, &text)
        });
        let parts = {
            let (keystore, clock) = (Arc::clone(&keystore), Arc::clone(&clock));
            let (secrets, tasks) = (path.join("secrets"), tasks.clone());
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
        let accounts = Arc::new(Accounts::new(settings.collect(), Arc::new(parts)));
        let view = Arc::new(View {
            rules: std::sync::Mutex::new(Some(rules(&|_, text| Some(text)))),
            says: std::sync::Mutex::new(Err(NoModel {
                why: "no model is cleared".to_owned(),
                hint: String::new(),
            })),
            asked: std::sync::Mutex::default(),
            done: std::sync::Mutex::new(Ok(Vec::new())),
        });
        let shared = (Arc::new(store), keystore);
        let desk = Desk::new(Arc::clone(&accounts), shared, clock, Arc::clone(&view) as _);
        let stand = Self {
            desk,
            accounts,
            view,
            folder,
            tasks,
            _server: server,
        };
        for (name, tenant) in COMPANIES {
            stand.sign_in(name, tenant).await;
        }
        stand
    }

    async fn sign_in(&self, name: &str, tenant: &str) {
        let account = self.accounts.pick(Some(name)).await.unwrap();
        let ctx = context();
        let wait = Duration::from_secs(60);
        let pending = account.begin(&ctx, Role::Human, wait, None).await.unwrap();
        let decision = json!({"user_code": pending.prompt().user_code, "approve": true});
        self.order(tenant, "decide", decision).await;
        account.sign_in_finish(&ctx, pending).await.unwrap();
    }

    /// A command of a tenant's.
    pub(super) async fn order(&self, tenant: &str, name: &str, mut body: Value) -> Value {
        body["tenant"] = tenant.into();
        let human = Human::at(&self.folder.path().join("tenant"));
        human.order(name, body).await.unwrap()
    }

    /// Calls a tool: what it answers, and whether that is a failure.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> (Value, bool) {
        self.call_in(context(), tool, arguments).await
    }

    /// The same, asked by somebody else or for somebody.
    pub(super) async fn call_in(
        &self,
        context: OpContext,
        tool: &str,
        arguments: Value,
    ) -> (Value, bool) {
        let tool = TOOLS.iter().find(|one| one.name == tool).unwrap().name;
        let arguments: Object = object(&arguments);
        let peer = crate::tests::others::silent();
        let wish = legation_gate::TaskWish::Never;
        let outcome = self.desk.call(context, tool, arguments, wish, peer).await;
        let Outcome::Complete(result) = outcome else {
            panic!("{outcome:?}");
        };
        let result: Value = serde_json::from_str(result.as_text()).unwrap();
        let failed = result["isError"] == true;
        (result["structuredContent"].clone(), failed)
    }

    /// The same, which has to go well and agree with what the tool says that it answers.
    pub(super) async fn good(&self, tool: &str, arguments: Value) -> Value {
        let (answer, failed) = self.call(tool, arguments).await;
        assert!(!failed, "{tool}: {answer}");
        let schema: Value = serde_json::from_str(shapes::output(tool).unwrap()).unwrap();
        let schema = jsonschema::validator_for(&schema).unwrap();
        let errors = schema.iter_errors(&answer).map(|error| error.to_string());
        let errors: Vec<String> = errors.collect();
        assert_eq!(errors, Vec::<String>::new(), "{tool}: {answer}");
        answer
    }

    /// Nothing was asked that the tenants do not know, and nobody came early.
    pub(super) async fn no_complaints(&self) {
        let unknown = self
            .order("first", "report", json!({"what": "unknown"}))
            .await;
        assert_eq!(unknown["unknown"], json!({}), "{unknown}");
        let early = self
            .order("first", "report", json!({"what": "early"}))
            .await;
        assert_eq!(early["early"], json!([]), "{early}");
    }

    pub(super) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(super) fn tasks(&self) -> &TaskSet {
        &self.tasks
    }
}

pub(super) fn object(value: &Value) -> Object {
    let text = value.to_string();
    let raw = Raw::parse(text.into(), &Limits::CLIENT).unwrap();
    raw.to_object().unwrap()
}

/// The application on behalf of the tenant's first person.
fn settings(name: &str, text: &str) -> AccountSettings {
    let value = |wanted: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs.find(|(name, _)| *name == wanted).unwrap().1
    };
    let mut settings = AccountSettings::new(name, EntityId::new(name), value("TENANT_ID"));
    settings.authority = Some(value("AUTHORITY_HOST").into());
    settings.graph = Some(value("GRAPH_BASE").into());
    settings.ca_file = Some(value("CA_BUNDLE").into());
    settings.client_id = Some(value("CLIENT_ID").into());
    settings.api_client_id = Some(value("API_CLIENT_ID").into());
    settings.client_secret = Some(Secret::new(value("API_CLIENT_SECRET")));
    settings.human = Some(value("AGENT_USER_ID").into());
    settings
}
