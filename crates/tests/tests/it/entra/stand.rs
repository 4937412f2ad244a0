//! A tenant in this process, and accounts in it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use legation_core::{
    Caller, Cancel, ClientId, EntityId, OpContext, Principal, SeatId, Secret, SystemClock, TaskSet,
    Via,
};
use legation_devtenant::server::{Options, Server};
use legation_entra::http::{Http, HttpSettings, Request, Url};
use legation_entra::token::Role;
use legation_entra::{Account, AccountSettings, Parts};
use legation_keystore::{KeepIn, Keystore, SecretStore};
use serde_json::{Value, json};

/// A running tenant with a data directory for its clients.
pub(super) struct Stand {
    pub(super) env: HashMap<String, String>,
    pub(super) folder: tempfile::TempDir,
    tasks: TaskSet,
    control: (Url, Http, String),
    _server: Server,
}

pub(super) fn ctx() -> OpContext {
    let principal = Principal {
        client: ClientId::new("test"),
        via: Via::Admin,
    };
    let caller = Caller {
        principal,
        seat: SeatId::new("test"),
        workspace: None,
    };
    OpContext::new(caller, Cancel::new())
}

// === impl Stand ===

impl Stand {
    pub(super) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("tenant");
        let env_file = folder.path().join("env");
        let options = Options {
            listen: "127.0.0.1:0".parse().unwrap(),
            proxy: "127.0.0.1:0".parse().unwrap(),
            dir: dir.clone(),
            env_file: Some(env_file.clone()),
            control_command: vec!["unused".to_owned()],
            with_desk: false,
        };
        let server = Server::start(options, SystemClock::shared()).await.unwrap();
        let text = std::fs::read_to_string(env_file).unwrap();
        let env: HashMap<String, String> = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let tasks = TaskSet::new();
        let settings = HttpSettings {
            ca_pem: Some(std::fs::read(&env["CA_BUNDLE"]).unwrap()),
            proxy: None,
            waits: None,
        };
        let http = Http::new(&settings, SystemClock::shared(), tasks.clone()).unwrap();
        let control = std::fs::read(dir.join("control.json")).unwrap();
        let control: Value = serde_json::from_slice(&control).unwrap();
        let url = Url::parse(control["url"].as_str().unwrap()).unwrap();
        let token = control["token"].as_str().unwrap().to_owned();
        Self {
            env,
            folder,
            tasks,
            control: (url, http, token),
            _server: server,
        }
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn store(&self) -> Arc<SecretStore> {
        let home = self.home();
        let keys = Keystore::open(&home.join("keys")).unwrap();
        let store = SecretStore::open(&keys, &home.join("secrets"), KeepIn::File);
        Arc::new(store.unwrap())
    }

    pub(super) fn parts(&self) -> Parts {
        Parts {
            store: self.store(),
            clock: SystemClock::shared(),
            tasks: self.tasks.clone(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            memory: None,
        }
    }

    fn value(&self, name: &str) -> Option<Box<str>> {
        Some(self.env[name].as_str().into())
    }

    /// The application on behalf of the human, talking to the agent's user.
    pub(super) fn settings(&self) -> AccountSettings {
        let tenant = &self.env["TENANT_ID"];
        let mut settings = AccountSettings::new("work", EntityId::personal(), tenant);
        settings.authority = self.value("AUTHORITY_HOST");
        settings.graph = self.value("GRAPH_BASE");
        settings.ca_file = Some(self.env["CA_BUNDLE"].clone().into());
        settings.client_id = self.value("CLIENT_ID");
        settings.api_client_id = self.value("API_CLIENT_ID");
        settings.client_secret = Some(Secret::new(self.env["API_CLIENT_SECRET"].as_str()));
        settings.human = self.value("AGENT_USER_ID");
        settings
    }

    /// The agent as its own user, talking to the human.
    pub(super) fn agent_settings(&self) -> AccountSettings {
        let mut settings = self.settings();
        settings.blueprint_id = self.value("BLUEPRINT_ID");
        settings.blueprint_secret = Some(Secret::new(self.env["BLUEPRINT_SECRET"].as_str()));
        settings.agent_id = self.value("AGENT_ID");
        settings.agent_user = self.value("AGENT_USER_UPN");
        settings.human = self.value("HUMAN_ID");
        settings
    }

    pub(super) fn account(&self, settings: AccountSettings) -> Account {
        Account::new(settings, self.parts()).unwrap()
    }

    pub(super) fn agent(&self) -> Account {
        self.account(self.agent_settings())
    }

    /// A person signs in with a code that is approved.
    pub(super) async fn sign_in(&self, account: &Account, role: Role) {
        let ctx = ctx();
        let pending = account
            .begin(&ctx, role, Duration::from_secs(60), None)
            .await
            .unwrap();
        self.decide(&pending.prompt().user_code, true).await;
        account.sign_in_finish(&ctx, pending).await.unwrap();
    }

    pub(super) async fn decide(&self, user_code: &str, approve: bool) {
        self.order(
            "decide",
            json!({ "user_code": user_code, "approve": approve }),
        )
        .await;
    }

    pub(super) async fn fault(&self, fault: Value) {
        self.order("fault", fault).await;
    }

    /// Orders something of the tenant.
    pub(super) async fn order(&self, name: &str, mut body: Value) -> Value {
        let (url, http, token) = &self.control;
        body["tenant"] = json!("first");
        let url = url.join(&format!("/control/{name}")).unwrap();
        let mut request =
            Request::new(Method::POST, url, "control").with(CONTENT_TYPE, "application/json");
        let bearer = HeaderValue::try_from(format!("Bearer {token}")).unwrap();
        request.headers.insert(AUTHORIZATION, bearer);
        request.body = body.to_string().into();
        let answer = http.send(&ctx(), &request).await.unwrap();
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 200, "{name}: {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Nothing was asked that the tenant does not know, and nobody came early.
    pub(super) async fn no_complaints(&self) {
        let unknown = self.order("report", json!({ "what": "unknown" })).await;
        assert_eq!(unknown["unknown"], json!({}), "{unknown}");
        let early = self.order("report", json!({ "what": "early" })).await;
        assert_eq!(early["early"], json!([]), "{early}");
    }

    /// The texts of a chat's messages, as the tenant has them.
    pub(super) async fn texts(&self, chat: &str) -> Vec<String> {
        let chats = self.order("chats", json!({})).await;
        let text = chats.to_string();
        let all = chats
            .as_array()
            .cloned()
            .or_else(|| chats["chats"].as_array().cloned());
        let all = all.unwrap_or_else(|| panic!("{text}"));
        let found = all.iter().find(|one| one["id"] == chat);
        let messages = found.and_then(|one| one["messages"].as_array().cloned());
        let messages = messages.unwrap_or_else(|| panic!("{text}"));
        messages
            .iter()
            .map(|one| {
                one["body"]["content"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
    }
}
