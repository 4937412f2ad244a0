//! What a token costs that is at hand, and a message that was read.
//!
//! `identity [ROUNDS]` signs an agent in at a development tenant of its own and
//! prints one JSON object a line.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use legation_core::{
    Caller, Cancel, ClientId, EntityId, OpContext, Principal, SeatId, Secret, SharedClock,
    SystemClock, TaskSet, Via,
};
use legation_devtenant::server::{Options, Server};
use legation_entra::chat::Message;
use legation_entra::{Account, AccountSettings, Parts};
use legation_keystore::{KeepIn, Keystore, SecretStore};

const PLAIN: &str = "The build of the main branch is green; shall I deploy it to the test system?";
const RICH: &str = "<p>Hello <at id=\"0\">Alex Sample</at>,<br>the <b>build</b> is done, see \
    <a href=\"https://ci.example.com/run/7?tab=log&amp;x=1\">the log</a>.</p><ul><li>tests: \
    1&nbsp;204 passed</li><li>lints: none</li></ul><blockquote>and now?</blockquote>\
    <codeblock class=\"Rust\"><code>fn main() {}</code></codeblock><emoji alt=\"\u{1f600}\"></emoji>";

fn main() {
    let rounds: u32 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_000);
    let clock = SystemClock::shared();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(tokens(rounds, &clock));
    messages("plain messages parsed and sanitised", PLAIN, rounds, &clock);
    messages("rich messages parsed and sanitised", RICH, rounds, &clock);
}

async fn tokens(rounds: u32, clock: &SharedClock) {
    let folder = tempfile::tempdir().expect("a folder");
    let env_file = folder.path().join("env");
    let options = Options {
        listen: "127.0.0.1:0".parse().expect("an address"),
        proxy: "127.0.0.1:0".parse().expect("an address"),
        dir: folder.path().join("tenant"),
        env_file: Some(env_file.clone()),
        control_command: vec!["unused".to_owned()],
        with_desk: false,
    };
    let server = Server::start(options, Arc::clone(clock));
    let _server = server.await.expect("a tenant");
    let env = std::fs::read_to_string(env_file).expect("written");
    let value = |name: &str| {
        let line = env
            .lines()
            .find_map(|line| line.split_once('=').filter(|(n, _)| *n == name));
        line.expect("a value").1
    };
    let tenant = value("TENANT_ID");
    let mut settings = AccountSettings::new("work", EntityId::personal(), tenant);
    settings.authority = Some(value("AUTHORITY_HOST").into());
    settings.graph = Some(value("GRAPH_BASE").into());
    settings.ca_file = Some(value("CA_BUNDLE").into());
    settings.blueprint_id = Some(value("BLUEPRINT_ID").into());
    settings.blueprint_secret = Some(Secret::new(value("BLUEPRINT_SECRET")));
    settings.agent_id = Some(value("AGENT_ID").into());
    settings.agent_user = Some(value("AGENT_USER_ID").into());
    let keys = Keystore::open(&folder.path().join("keys")).expect("keys");
    let store = SecretStore::open(&keys, &folder.path().join("secrets"), KeepIn::File);
    let parts = Parts {
        store: Arc::new(store.expect("a store")),
        clock: Arc::clone(clock),
        tasks: TaskSet::new(),
        env: Vec::new(),
        memory: None,
    };
    let account = Account::new(settings, parts).expect("an account");
    let ctx = ctx();
    account.bootstrap(&ctx).await.expect("signed in");
    let start = clock.now();
    for _ in 0..rounds {
        account.ready(&ctx).await.expect("a token");
    }
    let each = (clock.now() - start) / rounds;
    say(&serde_json::json!({
        "what": "token served from the cache", "us": each.as_secs_f64() * 1e6,
    }));
}

/// Reads pages of fifty, as Graph sends them.
fn messages(what: &str, html: &str, rounds: u32, clock: &SharedClock) {
    let one = |number: u32| {
        serde_json::json!({
            "id": format!("17952260967{number:02}"), "etag": format!("{number}"),
            "messageType": "message", "replyToId": null, "subject": null, "locale": "en-us",
            "createdDateTime": "2026-11-21T01:55:06.789Z", "importance": "normal",
            "lastModifiedDateTime": "2026-11-21T01:55:06.789Z", "deletedDateTime": null,
            "chatId": "19:a_b@unq.gbl.spaces", "webUrl": null, "policyViolation": null,
            "from": { "application": null, "device": null, "user": {
                "id": "8ea0e38b-efb3-4757-924a-5f94061cf8c2", "displayName": "Alex Sample",
                "userIdentityType": "aadUser", "tenantId": "e61ef81e-8bd8-476a-92e8-4a62f8426fca" } },
            "body": { "contentType": "html", "content": html },
            "attachments": [], "reactions": [],
            "mentions": [{ "id": 0, "mentionText": "Alex Sample", "mentioned": { "user": {
                "id": "8ea0e38b-efb3-4757-924a-5f94061cf8c2", "displayName": "Alex Sample" } } }],
        })
    };
    let page = serde_json::json!({ "value": (0..50).map(one).collect::<Vec<_>>() }).to_string();
    let rounds = (rounds / 50).max(1);
    let start = clock.now();
    let mut read = 0;
    for _ in 0..rounds {
        read += Message::page(page.as_bytes()).expect("messages").len();
    }
    let took: Duration = clock.now() - start;
    let read = f64::from(u32::try_from(read).unwrap_or(u32::MAX));
    say(&serde_json::json!({ "what": what, "per_second": read / took.as_secs_f64() }));
}

fn ctx() -> OpContext {
    let principal = Principal {
        client: ClientId::new("bench"),
        via: Via::Admin,
    };
    let caller = Caller {
        principal,
        seat: SeatId::new("bench"),
        workspace: None,
    };
    OpContext::new(caller, Cancel::new())
}

fn say(line: &serde_json::Value) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").expect("standard output");
}
