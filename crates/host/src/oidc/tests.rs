//! An issuer of tokens, and servers that ask for one and that do not.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use legation_config::{EnvMode, SandboxPolicy};
use legation_core::Home;
use legation_core::net::Destinations;
use legation_core::process::GuardPath;

use super::*;
use crate::adapter::{Transports, Walls};
use crate::port::{DialError, Dialer as _, Face, Plan};

/// The secret that a job asks its issuer with.
const SECRET: &str = "s3cret-of-the-job";

/// What answers a request: its target and its `Authorization`.
type Answers = dyn Fn(&str, &str) -> (u16, String) + Send + Sync;

/// A web server; every request it saw, as `TARGET AUTHORIZATION`.
struct Web {
    at: String,
    seen: Arc<Mutex<Vec<String>>>,
}

// === impl Web ===

impl Web {
    fn start(answers: impl Fn(&str, &str) -> (u16, String) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (own, answers) = (Arc::clone(&seen), Arc::new(answers));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (own, answers) = (Arc::clone(&own), Arc::clone(&answers));
                std::thread::spawn(move || serve(stream, &own, &*answers));
            }
        });
        Self { at, seen }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("not poisoned").clone()
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<String>>, answers: &Answers) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    loop {
        let mut head = Vec::new();
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
            head.push(std::mem::take(&mut line));
        }
        let Some(first) = head.first() else { return };
        let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let field = |name: &str| {
            let mut fields = head.iter().filter_map(|line| line.split_once(':'));
            let found = fields.find(|(field, _)| field.eq_ignore_ascii_case(name));
            found.map_or_else(String::new, |(_, value)| value.trim().to_owned())
        };
        let length = field("content-length").parse().unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("the body");
        let who = field("authorization");
        seen.lock()
            .expect("not poisoned")
            .push(format!("{target} {who}"));
        let (status, text) = answers(&target, &who);
        let extra = match status {
            302 => format!("Location: {text}\r\n"),
            _ => String::new(),
        };
        let answer = format!(
            "HTTP/1.1 {status} -\r\n{extra}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn environment(url: &str) -> Environment {
    Environment::from_pairs([
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", "/"),
        (URL, url),
        (BEARER, SECRET),
    ])
}

fn guard() -> GuardPath {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(|deps| deps.parent());
    GuardPath {
        program: target.expect("a test lies in deps/").join("examples/guard"),
        args: Vec::new(),
    }
}

/// Dials the one server of a configuration, which cannot shake hands: why not.
async fn dial(environment: &Environment, entry: &str) -> DialError {
    let folder = tempfile::tempdir().expect("a folder");
    let transports = Transports {
        environment: environment.clone(),
        env_mode: EnvMode::Direct,
        guard: guard(),
        home: Home::at(folder.path()),
        version: "0",
        max_message: 1 << 20,
        sandbox: SandboxPolicy::Asked,
        sandbox_hosts: Destinations::default(),
        walls: Walls::new(guard(), folder.path().to_path_buf(), environment.clone()),
    };
    let config = format!(r#"{{"srv": {entry}}}"#);
    let loaded = legation_config::servers::additional(&[config], folder.path());
    assert_eq!(loaded.problems, []);
    let plan = Plan {
        spec: Arc::new(loaded.servers[0].clone()),
        folder: None,
        face: Face {
            capabilities: Arc::default(),
            info: None,
        },
        auth: None,
        log: Arc::default(),
    };
    let dialled = transports.dial(plan).await;
    dialled.expect_err("nobody there speaks the protocol")
}

#[tokio::test]
async fn a_program_that_asks_has_a_token_and_nobody_has_the_secret() {
    let issuer = Web::start(|_, _| (200, r#"{"value": "tok.en-1", "count": 7}"#.to_owned()));
    let environment = environment(&format!("{}/ask?api-version=2.0", issuer.at));
    let folder = tempfile::tempdir().expect("a folder");
    let told = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("it ran");
    let entry = |name: &str, more: &str| {
        let path = folder.path().join(name);
        let path = path.display();
        format!(r#"{{"command": "sh", "args": ["-c", "env > {path}"]{more}}}"#)
    };
    dial(&environment, &entry("plain", "")).await;
    assert_eq!(issuer.seen(), Vec::<String>::new(), "nobody asked");
    let plain = told("plain");
    assert!(
        !plain.contains(SECRET) && !plain.contains("ACTIONS_"),
        "{plain}"
    );

    let more = r#", "oidc": {"audience": "https://a.example/b c"}, "env": {"MINE": "<$GITHUB_COPILOT_OIDC_MCP_TOKEN>"}"#;
    dial(&environment, &entry("asking", more)).await;
    let asking = told("asking");
    assert!(
        asking.contains("GITHUB_COPILOT_OIDC_MCP_TOKEN=tok.en-1\n"),
        "{asking}"
    );
    assert!(asking.contains("MINE=<tok.en-1>\n"), "{asking}");
    assert!(
        !asking.contains(SECRET) && !asking.contains("ACTIONS_"),
        "{asking}"
    );
    let audience = "https%3A%2F%2Fa.example%2Fb%20c";
    let asked = format!("/ask?api-version=2.0&audience={audience} Bearer {SECRET}");
    assert_eq!(issuer.seen(), [asked]);
}

#[tokio::test]
async fn a_token_that_is_refused_is_asked_for_again() {
    let runs = Arc::new(Mutex::new(0));
    let web = Web::start(move |target, who| match (target, who) {
        ("/ask", _) => {
            let mut runs = runs.lock().expect("not poisoned");
            *runs += 1;
            (200, format!(r#"{{"value": "tok-{runs}"}}"#))
        }
        (_, "Bearer tok-2") => (500, String::new()),
        (_, _) => (401, String::new()),
    });
    let environment = environment(&format!("{}/ask", web.at));
    let entry = |more: &str| {
        let at = &web.at;
        format!(r#"{{"type": "http", "era": "modern", "url": "{at}/mcp", "oidc": true{more}}}"#)
    };
    dial(&environment, &entry("")).await;
    let ask = format!("/ask Bearer {SECRET}");
    let all = [ask.as_str(), "/mcp Bearer tok-1", &ask, "/mcp Bearer tok-2"];
    assert_eq!(web.seen(), all);

    // An entry may say itself where the token goes.
    let more = r#", "headers": {"Authorization": "Token ${GITHUB_COPILOT_OIDC_MCP_TOKEN}"}"#;
    let refused = dial(&environment, &entry(more)).await;
    assert!(matches!(refused, DialError::NeedsAuth), "{refused}");
    assert_eq!(web.seen()[4..], [ask.as_str(), "/mcp Token tok-3"]);
}

#[tokio::test]
async fn without_a_token_nothing_is_reached_and_nothing_secret_is_told() {
    let other = Web::start(|_, _| (200, r#"{"value": "hush"}"#.to_owned()));
    let elsewhere = format!("{}/elsewhere", other.at);
    let issuer = Web::start(move |target, _| match target {
        "/gone" => (403, "hush".to_owned()),
        "/odd" => (200, r#"{"token": "hush"}"#.to_owned()),
        "/two" => (200, r#"{"value": "hush\r\nX-Other: hush"}"#.to_owned()),
        "/long" => (200, format!(r#"{{"value": "{}"}}"#, "hush".repeat(20_000))),
        _ => (302, elsewhere.clone()),
    });
    let server = Web::start(|_, _| (500, String::new()));
    let entry = format!(
        r#"{{"type": "http", "url": "{}/mcp", "oidc": true}}"#,
        server.at
    );
    let mut shown = String::new();
    for path in ["/gone", "/odd", "/two", "/long", "/away"] {
        let failed = dial(&environment(&format!("{}{path}", issuer.at)), &entry).await;
        assert!(matches!(failed, DialError::Failed(_)), "{failed}");
        shown += &format!("{failed}\n");
    }
    let plain = Environment::from_pairs([("PATH", "/bin")]);
    for environment in [plain, environment("http://issuer.example/ask")] {
        let failed = dial(&environment, &entry).await;
        assert!(matches!(failed, DialError::Misconfigured(_)), "{failed}");
        shown += &format!("{failed}\n");
    }
    assert!(
        !shown.contains("hush") && !shown.contains(SECRET),
        "{shown}"
    );
    expect_test::expect![[r#"
        no token from 127.0.0.1: it answered HTTP status 403; check that the job may have tokens, and the audience in `oidc`
        no token from 127.0.0.1: it answered HTTP status 200; check that the job may have tokens, and the audience in `oidc`
        no token from 127.0.0.1: it answered HTTP status 200; check that the job may have tokens, and the audience in `oidc`
        no token from 127.0.0.1: it answered HTTP status 200; check that the job may have tokens, and the audience in `oidc`
        no token from 127.0.0.1: it answered HTTP status 302; check that the job may have tokens, and the audience in `oidc`
        it asks for a token of this machine's identity (`oidc`), and ACTIONS_ID_TOKEN_REQUEST_URL and ACTIONS_ID_TOKEN_REQUEST_TOKEN name no issuer; run the hub in a job that may have tokens (`permissions: id-token: write`), or remove `oidc`
        ACTIONS_ID_TOKEN_REQUEST_URL cannot be used: it is no https:// address; run the hub in a job that may have tokens (`permissions: id-token: write`), or remove `oidc`
    "#]]
    .assert_eq(&shown);
    assert_eq!(server.seen(), Vec::<String>::new());
    assert_eq!(
        other.seen(),
        Vec::<String>::new(),
        "no redirect is followed"
    );
}
