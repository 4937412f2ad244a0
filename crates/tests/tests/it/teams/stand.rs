//! A tenant, a hub that acts in it as the agent's own user, and its human.

use std::collections::HashMap;

use http::Method;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use legation_core::{
    Caller, Cancel, ClientId, OpContext, Principal, SeatId, SystemClock, TaskSet, Via,
};
use legation_entra::http::{Http, HttpSettings, Request, Url};
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::tenant::Tenant;
use serde_json::{Value, json};

pub(super) const ERAS: [PeerEra; 2] = [PeerEra::Legacy, PeerEra::Modern];

/// A tenant and the way to act in it as the human.
pub(super) struct Stand {
    pub(super) env: HashMap<String, String>,
    control: (Url, Http, String),
    _tasks: TaskSet,
    _tenant: Tenant,
}

// === impl Stand ===

impl Stand {
    pub(super) async fn new() -> anyhow::Result<Self> {
        let tenant = Tenant::start(true).await?;
        let env = tenant.settings()?;
        let tasks = TaskSet::new();
        let settings = HttpSettings {
            ca_pem: Some(std::fs::read(&env["CA_BUNDLE"])?),
            proxy: None,
            waits: None,
        };
        let http = Http::new(&settings, SystemClock::shared(), tasks.clone())?;
        let control = std::fs::read(tenant.home().join("tenant/control.json"))?;
        let control: Value = serde_json::from_slice(&control)?;
        let url = Url::parse(control["url"].as_str().unwrap())?;
        let token = control["token"].as_str().unwrap().to_owned();
        Ok(Self {
            env,
            control: (url, http, token),
            _tasks: tasks,
            _tenant: tenant,
        })
    }

    /// A hub whose one account acts here as the agent's user.
    pub(super) async fn hub(&self) -> anyhow::Result<Hub> {
        Hub::start(self.options()).await
    }

    pub(super) fn options(&self) -> HubOptions {
        let of = |name: &str| &self.env[name];
        let settings = format!(
            "[secrets]\nkeep_in = \"file\"\n\
             [accounts.work]\ninbox = \"off\"\nentity = \"personal\"\ntenant_id = {:?}\nauthority = {:?}\n\
             graph = {:?}\nca_file = {:?}\nblueprint_id = {:?}\nagent_id = {:?}\n\
             agent_user = {:?}\nhuman = {:?}\n",
            of("TENANT_ID"),
            of("AUTHORITY_HOST"),
            of("GRAPH_BASE"),
            of("CA_BUNDLE"),
            of("BLUEPRINT_ID"),
            of("AGENT_ID"),
            of("AGENT_USER_UPN"),
            of("HUMAN_ID"),
        );
        let secret = of("BLUEPRINT_SECRET").clone();
        HubOptions {
            settings,
            clients: vec!["other".to_owned()],
            environment: HashMap::from([("LEGATION_WORK_BLUEPRINT_SECRET".to_owned(), secret)]),
            ..HubOptions::default()
        }
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

    /// The human writes in the chat; the message's id.
    pub(super) async fn say(&self, chat: &str, text: &str) -> String {
        let said = self.order("say", json!({ "chat_id": chat, "text": text }));
        said.await["id"].as_str().unwrap().to_owned()
    }

    /// The messages of a chat, as the tenant has them.
    pub(super) async fn messages(&self, chat: &str) -> Vec<Value> {
        let chats = self.order("chats", json!({})).await;
        let mut chats = chats.as_array().unwrap().iter();
        let found = chats.find(|one| one["id"] == chat).unwrap();
        found["messages"].as_array().unwrap().clone()
    }

    /// How many messages of a chat have these words in them.
    pub(super) async fn count(&self, chat: &str, words: &str) -> usize {
        let messages = self.messages(chat).await;
        let has = |message: &&Value| message.to_string().contains(words);
        messages.iter().filter(has).count()
    }

    /// Nothing was asked that the tenant does not know, and nobody came early.
    pub(super) async fn no_complaints(&self) {
        let unknown = self.order("report", json!({ "what": "unknown" })).await;
        assert_eq!(unknown["unknown"], json!({}), "{unknown}");
        let early = self.order("report", json!({ "what": "early" })).await;
        assert_eq!(early["early"], json!([]), "{early}");
    }
}

/// A client of the hub.
pub(super) async fn client(hub: &Hub, era: PeerEra) -> anyhow::Result<Peer> {
    hub.http(era, everything(), friendly()).await
}

/// What a tool of teams answers: whether it failed, and with what.
pub(super) async fn teams(
    peer: &Peer,
    tool: &str,
    arguments: Value,
) -> anyhow::Result<(bool, Value)> {
    let answer = peer.call(&format!("teams-{tool}"), arguments).await?;
    let answer: Value = serde_json::from_str(&answer.text)?;
    let result = &answer["result"];
    let content = &result["structuredContent"];
    anyhow::ensure!(content.is_object(), "no structure: {answer}");
    Ok((result["isError"] == true, content.clone()))
}

/// Makes sure that arguments are refused, by their schema or by the tool, with what to do instead.
pub(super) async fn refused(peer: &Peer, tool: &str, arguments: Value) -> anyhow::Result<()> {
    let answer = peer.call(&format!("teams-{tool}"), arguments).await?;
    let result = &answer.value["result"];
    if result.is_null() {
        let error = &answer.value["error"];
        let message = error["message"].as_str().unwrap_or_default();
        anyhow::ensure!(error["code"] == -32602, "{}", answer.text);
        anyhow::ensure!(message.contains("nothing was done"), "{}", answer.text);
        return Ok(());
    }
    anyhow::ensure!(result["isError"] == true, "{}", answer.text);
    let hint = &result["structuredContent"]["hint"];
    anyhow::ensure!(hint.is_string(), "{}", answer.text);
    Ok(())
}

/// What a tool of teams answers that must not fail.
pub(super) async fn done(peer: &Peer, tool: &str, arguments: Value) -> anyhow::Result<Value> {
    let (failed, content) = teams(peer, tool, arguments).await?;
    anyhow::ensure!(!failed, "{tool}: {content}");
    Ok(content)
}

fn ctx() -> OpContext {
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
