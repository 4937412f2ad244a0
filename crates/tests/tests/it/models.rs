//! `legation models` against servers that say what a test wants.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_tests::harness::governance::lay_over;
use legation_tests::harness::process::{command, environment, program};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

const PATIENCE: Duration = Duration::from_secs(120);
const KEY: &str = "sk-test-0123456789";
const ANSWER: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"ready\"}}]}\n\n\
    data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":100}}\n\n\
    data: [DONE]\n\n";

/// A server of models; stopped when dropped.
struct Server {
    url: String,
    /// The requests that came, head and body.
    seen: Arc<Mutex<Vec<String>>>,
    task: AbortHandle,
}

/// An owner with a data directory and a key in the environment.
struct Owner {
    folder: tempfile::TempDir,
}

// === impl Server ===

impl Server {
    /// Answers with the body and the content type of the first path that is in
    /// the request's first line.
    async fn start(answers: &'static [(&'static str, &'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = Arc::clone(&seen);
        let task = Handle::current().spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let all = Arc::clone(&all);
                Handle::current().spawn(async move { answer(socket, answers, &all).await });
            }
        });
        Self {
            url,
            seen,
            task: task.abort_handle(),
        }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    mut socket: TcpStream,
    answers: &[(&str, &str, &str)],
    all: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut bytes = Vec::new();
    let request = loop {
        socket
            .read_buf(&mut bytes)
            .await
            .ok()
            .filter(|read| *read > 0)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.to_lowercase();
        let length = length
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            break text;
        }
    };
    let first = request.lines().next()?.to_owned();
    all.lock().unwrap().push(request);
    let found = answers.iter().find(|(path, _, _)| first.contains(path));
    let (status, kind, body) = match found {
        Some((_, kind, body)) => ("200 OK", *kind, *body),
        None => ("404 Not Found", "application/json", "{}"),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(answer.as_bytes()).await.ok()
}

// === impl Owner ===

impl Owner {
    async fn with(rules: Value) -> Self {
        let owner = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        owner
            .run(&["governance", "init", "--template", "personal"], 0)
            .await;
        lay_over(&owner.file(), &rules).unwrap();
        owner
    }

    fn home(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self) -> std::path::PathBuf {
        self.home().join("legation/governance/llm_provider.json")
    }

    /// A command that must end with a code: what it printed as JSON, and all
    /// that it said.
    async fn run(&self, arguments: &[&str], code: i32) -> (Value, String) {
        let mut legation = command(
            program("legation").unwrap(),
            &environment(self.home(), None),
        );
        legation
            .env("LEGATION_HOME", self.home().join("legation"))
            .env("TEST_MODEL_KEY", KEY)
            .args(arguments)
            .stdin(Stdio::null());
        let ended = tokio::time::timeout(PATIENCE, legation.output()).await;
        let ended = ended.unwrap().unwrap();
        let output = String::from_utf8(ended.stdout).unwrap();
        let all = format!("{output}{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(ended.status.code(), Some(code), "{arguments:?}: {all}");
        (serde_json::from_str(&output).unwrap_or_default(), all)
    }
}

#[tokio::test]
async fn a_provider_is_tried_with_its_key_and_its_prices() {
    let server = Server::start(&[("/chat/completions", "text/event-stream", ANSWER)]).await;
    let owner = Owner::with(json!({
        "default_provider": "mine",
        "providers": { "mine": {
            "kind": "openai_compatible", "enabled": true, "endpoint": server.url,
            "auth_env_var": "TEST_MODEL_KEY", "default_model": "small", "hipaa_cleared": false,
            "prices": { "input": 2.0, "output": 8.0 },
        } },
    }))
    .await;
    let (tested, all) = owner.run(&["models", "test", "--json"], 0).await;
    let answer = &tested[0]["answer"];
    assert_eq!(tested[0]["provider"], "mine", "{tested}");
    assert_eq!(answer["model"], "small", "{tested}");
    assert_eq!(answer["finish"], "stop", "{tested}");
    assert_eq!(answer["cost_micro_usd"], 2800, "{tested}");
    let (listed, more) = owner
        .run(&["models", "list", "--configured", "--json"], 0)
        .await;
    let mine = listed["providers"].as_array().unwrap();
    let mine = mine.iter().find(|one| one["provider"] == "mine").unwrap();
    assert_eq!(mine["api_key_set"], true, "{listed}");
    assert!(!format!("{all}{more}").contains(KEY), "no key is shown");
    let seen = server.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    let bearer = format!("authorization: Bearer {KEY}");
    assert!(
        seen[0].starts_with("POST /v1/chat/completions HTTP/1.1"),
        "{seen:?}"
    );
    assert!(
        seen[0].contains(&bearer),
        "it is shown to the provider alone"
    );
}

#[tokio::test]
async fn a_local_server_that_hands_requests_on_is_told_nothing() {
    let server = Server::start(&[
        (
            "/api/version",
            "application/json",
            r#"{"version":"0.13.5"}"#,
        ),
        (
            "/api/tags",
            "application/json",
            r#"{"models":[{"model":"mine:latest"}]}"#,
        ),
        (
            "/api/show",
            "application/json",
            r#"{"remote_host":"https://models.example.com"}"#,
        ),
        ("/chat/completions", "text/event-stream", ANSWER),
    ])
    .await;
    let owner = Owner::with(json!({
        "default_provider": "local_model",
        "providers": { "local_model": {
            "enabled": true, "endpoint": server.url, "hipaa_cleared": true,
        } },
    }))
    .await;
    let (tested, _) = owner.run(&["models", "test", "--json"], 1).await;
    assert_eq!(tested[0]["class"], "untrue", "{tested}");
    let chat = |seen: &String| seen.contains("/chat/completions");
    assert!(!server.seen().iter().any(chat), "{:?}", server.seen());
    let (checks, _) = owner.run(&["doctor", "--json"], 1).await;
    let checks = checks.as_array().unwrap();
    let models = checks.iter().find(|check| check["what"] == "models");
    assert_eq!(models.unwrap()["state"], "bad", "{checks:?}");
}

#[tokio::test]
async fn a_provider_that_is_off_or_forbidden_is_not_asked() {
    let server = Server::start(&[("/chat/completions", "text/event-stream", ANSWER)]).await;
    let owner = Owner::with(json!({
        "providers": { "mine": {
            "kind": "openai_compatible", "enabled": false, "endpoint": server.url,
            "auth_env_var": "TEST_MODEL_KEY", "default_model": "small", "hipaa_cleared": false,
        } },
    }))
    .await;
    let (tested, _) = owner.run(&["models", "test", "mine", "--json"], 3).await;
    assert_eq!(tested[0]["class"], "refused", "{tested}");
    owner.run(&["models", "test"], 2).await;
    owner.run(&["models", "set", "enable", "mine"], 0).await;
    owner.run(&["models", "test"], 0).await;
    assert_eq!(server.seen().len(), 1);
}
