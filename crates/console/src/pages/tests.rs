use std::collections::BTreeMap;
use std::sync::Mutex;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use http::HeaderMap;
use legation_core::Wall;
use legation_core::clock::SystemClock;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::*;
use crate::hub::{
    AdminFault, AdminItem, Claimed, EventStream, FaultKind, Kept, Road, Since, StopReason,
    ToolAnswer, ToolCall, ToolStop,
};
use crate::web::Caller;

mod filing;
mod login;

/// What must never reach a browser as it is.
const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
const HOST: &str = "127.0.0.1:48080";
/// What the fake remembers of a sign-in; with an answer of this name none is recorded.
const SIGNED_IN: &str = "signed in";

/// A hub that answers what it was told to, and remembers what it was asked.
#[derive(Debug, Default)]
struct Fake {
    answers: BTreeMap<&'static str, Value>,
    asked: Mutex<Vec<(String, Value)>>,
}

// === impl Fake ===

impl Fake {
    fn asked(&self, method: &str) -> Vec<Value> {
        let asked = self.asked.lock().expect("nobody panics with it");
        let of = asked.iter().filter(|(name, _)| name == method);
        of.map(|(_, params)| params.clone()).collect()
    }
}

impl Hub for Fake {
    fn call(&self, call: ToolCall) -> BoxFuture<'static, ToolAnswer> {
        let answer = match self.answers.get(&*format!("{}/{}", call.server, call.tool)) {
            Some(answer) => ToolAnswer::Done {
                result: RawValue::NULL.to_owned(),
                structured: Some(answer.clone()),
                text: String::new(),
                is_error: false,
            },
            None => ToolAnswer::Stopped(ToolStop {
                reason: StopReason::Waits,
                message: "a person is asked".to_owned(),
                hint: None,
                data: Some(json!({"approval_id": "A-1", "rule": "asked"})),
            }),
        };
        Box::pin(std::future::ready(answer))
    }

    fn signed_in(&self) -> BoxFuture<'static, Result<(), AdminFault>> {
        self.asked
            .lock()
            .expect("nobody panics with it")
            .push((SIGNED_IN.to_owned(), Value::Null));
        let recorded = match self.answers.contains_key(SIGNED_IN) {
            true => Err(AdminFault::stopping()),
            false => Ok(()),
        };
        Box::pin(std::future::ready(recorded))
    }

    fn admin(
        &self,
        road: Road,
        method: &str,
        params: Box<RawValue>,
    ) -> BoxStream<'static, AdminItem> {
        assert_eq!(road, Road::Console);
        let params = serde_json::from_str(params.get()).expect("JSON");
        let mut asked = self.asked.lock().expect("nobody panics with it");
        asked.push((method.to_owned(), params));
        let answer = self.answers.get(method);
        let refusal = self.answers.get(&*format!("{method} waits"));
        let answer = answer.map(|answer| to_raw_value(answer).expect("JSON"));
        let answer = answer.ok_or_else(|| AdminFault {
            code: -32_603,
            kind: match refusal {
                Some(_) => FaultKind::Waits,
                None => FaultKind::Unavailable,
            },
            message: format!("{method} is not there"),
            hint: None,
            rule: None,
            data: refusal.cloned().map(Box::new),
        });
        stream::iter([AdminItem::Done(answer)]).boxed()
    }

    fn events(&self, _since: Since) -> EventStream {
        stream::empty().boxed()
    }

    fn claim(&self, _: &str, _: [u8; 32]) -> BoxFuture<'static, Result<Claimed, AdminFault>> {
        Box::pin(std::future::ready(Ok(Claimed::New)))
    }

    fn settle(&self, _: &str, _: [u8; 32], _: Option<Kept>) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Pages of a fake hub, and somebody who was let in.
struct Visit {
    pages: Pages,
    hub: Arc<Fake>,
    door: Arc<Door>,
    cookie: String,
}

// === impl Visit ===

impl Visit {
    fn new(answers: &[(&'static str, Value)]) -> Self {
        let hub = Arc::new(Fake {
            answers: answers.iter().cloned().collect(),
            asked: Mutex::default(),
        });
        let door = Arc::new(Door::new("a hub").expect("randomness"));
        let clock = SystemClock::shared();
        let word = door.link(clock.wall()).expect("randomness");
        let set = door.enter(&word, clock.wall()).expect("randomness");
        let set = set.expect("a link");
        let cookie = set.split(';').next().expect("a value").to_owned();
        let pages = Pages::new(Arc::clone(&hub) as Arc<dyn Hub>, Arc::clone(&door), clock);
        Self {
            pages,
            hub,
            door,
            cookie,
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (path, None),
        };
        let mut all = HeaderMap::new();
        for (name, value) in [("host", HOST)].iter().chain(headers) {
            let name = HeaderName::try_from(*name).expect("a name");
            all.append(name, HeaderValue::try_from(*value).expect("a value"));
        }
        self.pages
            .handle(Request {
                method,
                path: path.to_owned(),
                query,
                headers: all,
                body: Bytes::from(body.to_owned()),
                caller: Caller::Nobody,
            })
            .await
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let answer = self
            .send(Method::GET, path, &[("cookie", &self.cookie)], "")
            .await;
        (answer.status, text(answer))
    }

    fn token(&self) -> String {
        let now = SystemClock::shared().wall();
        let pass = self.door.pass(std::iter::once(&*self.cookie), now, true);
        self.door.token(&pass.expect("in"))
    }

    /// Sends a form as the hub's own page does.
    async fn post(&self, path: &str, form: &str) -> Answer {
        let origin = format!("http://{HOST}");
        let headers = [
            ("cookie", self.cookie.as_str()),
            ("origin", origin.as_str()),
            ("sec-fetch-site", "same-origin"),
        ];
        let form = format!("csrf={}&{form}", self.token());
        self.send(Method::POST, path, &headers, &form).await
    }
}

fn text(answer: Answer) -> String {
    match answer.body {
        Body::Whole(body) => String::from_utf8(body.to_vec()).expect("text"),
        Body::Stream(_) => String::new(),
    }
}

fn waiting(id: &str, kind: &str) -> Value {
    json!({
        "id": id, "kind": kind, "state": "pending", "client": HOSTILE, "server": "notes",
        "item": HOSTILE, "entity": HOSTILE, "rule": HOSTILE, "reason": HOSTILE,
        "arguments": HOSTILE, "answers": ["once", "deny"], "digest": "d".repeat(64),
        "short_digest": "dddd", "created": "2026-01-01T00:00:00Z", "expires": HOSTILE,
    })
}

/// Answers in which everything that others write is hostile.
fn hostile() -> Vec<(&'static str, Value)> {
    let server = json!({
        "name": HOSTILE, "label": HOSTILE, "status": "failed", "reason": HOSTILE, "hint": HOSTILE,
        "source": "user", "transport": "stdio", "target": HOSTILE, "instance": "shared",
        "instances": 1, "restarts": 0, "tools": 1, "resources": 0, "templates": 0, "prompts": 0, "skills": 0,
        "warnings": [HOSTILE],
    });
    let record = json!({
        "position": 1, "entity": HOSTILE, "seq": 1, "at_ms": 0, "hash": "h",
        "record": {"kind": HOSTILE, "call": HOSTILE, "server": HOSTILE, "item": HOSTILE, "reason": HOSTILE},
    });
    let mut all = vec![
        (
            "approvals.list",
            json!({"waiting": [waiting(HOSTILE, "approval"), waiting("P-1", "proposal")],
            "grants": [], "reported": [HOSTILE]}),
        ),
        (
            "mcp.list",
            json!({"servers": [server], "problems": [
            {"source": HOSTILE, "message": HOSTILE, "hint": HOSTILE}]}),
        ),
        ("mcp.show", json!({"server": server, "log": [HOSTILE]})),
        (
            "mcp.tools",
            json!({"tools": [{"name": HOSTILE, "server": HOSTILE, "tool": HOSTILE,
            "definition": {"description": HOSTILE}}]}),
        ),
        (
            "mcp.review",
            json!({"waiting": [{"server": HOSTILE, "kind": "tool", "item": HOSTILE,
            "state": "changed", "before": "{}", "now": HOSTILE, "findings": [HOSTILE],
            "first_seen": HOSTILE}]}),
        ),
        ("audit.tail", json!({"records": [record]})),
        ("audit.query", json!({"records": [record], "next": 1})),
        ("audit.show", json!({"records": [record]})),
        (
            "audit.counts",
            json!({"from_ms": 0, "span_ms": 3_600_000, "spans": [], "missing": 3}),
        ),
        (
            "models.preferences",
            json!({"default_provider": HOSTILE, "providers": {}, "entity_overrides": {},
            "per_job_overrides": {"a": {"provider": HOSTILE}}, "fallbacks": [HOSTILE]}),
        ),
        (
            "governance.files",
            json!({"files": [{"file": HOSTILE, "state": HOSTILE, "says": HOSTILE}]}),
        ),
    ];
    all.extend(hostile_work());
    all
}

/// The same of what people, agents and models work on.
fn hostile_work() -> Vec<(&'static str, Value)> {
    let message = json!({
        "seq": 1, "session": "s", "source": {"by": "client", "name": HOSTILE}, "at": HOSTILE,
        "entities": [HOSTILE], "body": {"kind": "text", "text": HOSTILE},
    });
    let task = json!({
        "task_id": HOSTILE, "session": "s", "class": "agent", "source": HOSTILE, "title": HOSTILE,
        "status": "failed", "elapsed_seconds": 1, "created": HOSTILE, "changed": HOSTILE,
        "error": HOSTILE, "hint": HOSTILE, "response": HOSTILE, "entities": [HOSTILE],
        "tool_calls": [{"tool": HOSTILE, "status": HOSTILE, "path": HOSTILE}],
        "background": [{
            "kind": "mcp-task", "id": "c1", "server": HOSTILE, "tool": HOSTILE,
            "server_task_id": HOSTILE, "status": HOSTILE, "status_message": HOSTILE,
            "created": HOSTILE, "updated": HOSTILE,
        }],
    });
    let session = json!({
        "id": "s", "title": HOSTILE, "workspace": HOSTILE, "created": HOSTILE, "active": HOSTILE,
        "messages": 1, "current": true,
    });
    vec![
        (
            "inbox.list",
            json!({"messages": [{"seq": 1, "id": HOSTILE, "version": "1", "kind": "new",
            "received_at": HOSTILE, "channel": HOSTILE, "chat_id": HOSTILE, "from": HOSTILE, "ts": HOSTILE,
            "content_text_sanitized": "&lt;script&gt;alert(1)&lt;/script&gt;", "meta": {"a": HOSTILE}}]}),
        ),
        ("tasks.list", json!({"tasks": [task]})),
        ("tasks.show", task),
        ("conversation.sessions", json!({"sessions": [session]})),
        ("conversation.history", json!({"messages": [message]})),
        (
            "desk/morning_brief",
            json!({"sections": [{"entity": HOSTILE, "lines": [
            {"text": HOSTILE, "source": HOSTILE}]}]}),
        ),
        (
            "desk/deals_list",
            json!({"deals": [{"deal_id": HOSTILE, "deal_name": HOSTILE, "stage": HOSTILE}]}),
        ),
        (
            "desk/triage_list",
            json!({"items": [{"item_id": HOSTILE, "subject": HOSTILE}]}),
        ),
        (
            "desk.filings",
            json!({"filings": [filing(HOSTILE, "proposed")]}),
        ),
    ]
}

fn filing(id: &str, state: &str) -> Value {
    json!({"suggestion_id": id, "entity": HOSTILE, "state": state, "item_id": HOSTILE,
        "source": HOSTILE, "path": HOSTILE, "suggested_by": HOSTILE, "rationale": HOSTILE})
}

const PATHS: [&str; 17] = [
    "/",
    "/servers",
    "/servers/notes",
    "/definitions",
    "/approvals",
    "/inbox",
    "/tasks",
    "/tasks/t",
    "/sessions/s",
    "/desk",
    "/desk/deals",
    "/desk/triage",
    "/desk/calendar",
    "/models?explain=yes",
    "/governance?ask=decide&call=%3Cscript%3Ealert(1)%3C/script%3E",
    "/ledger?server=%3Cscript%3Ealert(1)%3C/script%3E",
    "/ledger/calls/c",
];

#[tokio::test]
async fn nothing_that_others_wrote_is_markup() {
    let visit = Visit::new(&hostile());
    for path in PATHS {
        let (status, text) = visit.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        for markup in ["<script>", "<img", "\"'>"] {
            assert!(!text.contains(markup), "{path}: {text}");
        }
        assert!(
            text.contains("alert(1)") || path == "/desk/calendar",
            "{path}: {text}"
        );
    }
}

#[tokio::test]
async fn a_page_whose_parts_fail_says_so_and_is_a_page() {
    let visit = Visit::new(&[]);
    for path in PATHS {
        let (status, text) = visit.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        assert!(text.contains("<h1>"), "{path}: {text}");
        assert!(
            text.contains("is not there") || text.contains("a person is asked"),
            "{path}: {text}"
        );
    }
    assert_eq!(visit.get("/servers/a/b").await.0, StatusCode::NOT_FOUND);
    assert_eq!(visit.get("/desk/nowhere").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_stranger_sees_nothing_and_changes_nothing() {
    let visit = Visit::new(&hostile());
    for path in PATHS {
        let answer = visit.send(Method::GET, path, &[], "").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(!text(answer).contains("alert(1)"), "{path}");
    }
    let own = [
        ("origin", "http://127.0.0.1:48080"),
        ("sec-fetch-site", "same-origin"),
    ];
    for path in ["/approvals/A-1", "/models", "/tasks", "/logout", "/live"] {
        let answer = visit.send(Method::POST, path, &own, "answer=once").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    assert_eq!(visit.hub.asked.lock().expect("whole").len(), 0);
}

/// What is sent: its name, its headers, its form.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);

#[tokio::test]
async fn a_form_of_another_page_changes_nothing() {
    let visit = Visit::new(&hostile());
    let token = visit.token();
    let origin = "http://127.0.0.1:48080";
    let good = format!("csrf={token}&answer=deny");
    let cases: &[Case<'_>] = &[
        (
            "another site",
            &[("origin", origin), ("sec-fetch-site", "cross-site")],
            &good,
        ),
        (
            "another port",
            &[
                ("origin", "http://127.0.0.1:9"),
                ("sec-fetch-site", "same-site"),
            ],
            &good,
        ),
        (
            "an old browser's other port",
            &[("origin", "http://127.0.0.1:9")],
            &good,
        ),
        (
            "an unknown page",
            &[("origin", "null"), ("sec-fetch-site", "same-origin")],
            &good,
        ),
        ("nobody's page", &[("sec-fetch-site", "same-origin")], &good),
        (
            "no token",
            &[("origin", origin), ("sec-fetch-site", "same-origin")],
            "answer=deny",
        ),
        ("a wrong token", &[("origin", origin)], "csrf=x&answer=deny"),
    ];
    for (name, headers, body) in cases {
        let mut all = vec![("cookie", visit.cookie.as_str())];
        all.extend(headers.iter().copied());
        let answer = visit.send(Method::POST, "/approvals/A-1", &all, body).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{name}");
    }
    assert_eq!(visit.hub.asked("approvals.answer"), Vec::<Value>::new());
    let embedded = [
        ("cookie", visit.cookie.as_str()),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "no-cors"),
    ];
    let answer = visit.send(Method::GET, "/", &embedded, "").await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn every_answer_says_what_the_browser_may_do() {
    let visit = Visit::new(&hostile());
    for path in [
        "/",
        "/login",
        "/login/word",
        "/nowhere",
        "/assets/none",
        "/live",
        STYLE_PATH.as_str(),
    ] {
        let answer = visit
            .send(Method::GET, path, &[("cookie", &visit.cookie)], "")
            .await;
        let policy = answer.headers.get(header::CONTENT_SECURITY_POLICY);
        let policy = policy
            .and_then(|policy| policy.to_str().ok())
            .unwrap_or_default();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(
            answer.headers["x-content-type-options"], "nosniff",
            "{path}"
        );
    }
}

static STYLE_PATH: std::sync::LazyLock<String> =
    std::sync::LazyLock::new(|| assets::STYLE.path.clone());

#[tokio::test]
async fn only_what_was_looked_at_is_agreed_to() {
    let mut answers = hostile();
    answers.push(("approvals.find", waiting("A-1", "approval")));
    answers.push(("approvals.answer", json!({"answer": "once"})));
    answers.push(("mcp.decide", json!({})));
    let visit = Visit::new(&answers);
    visit
        .post("/approvals/A-1", "answer=once&digest=other")
        .await;
    assert_eq!(visit.hub.asked("approvals.answer"), Vec::<Value>::new());
    let (_, page) = visit.get("/approvals").await;
    assert!(page.contains("no longer what you looked at"), "{page}");
    let digest = "d".repeat(64);
    let answer = visit
        .post("/approvals/A-1", &format!("answer=once&digest={digest}"))
        .await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let asked = visit.hub.asked("approvals.answer");
    assert_eq!(asked, [json!({"id": "A-1", "answer": "once"})]);
    visit.post("/definitions", "accept=yes&digest=other").await;
    assert_eq!(visit.hub.asked("mcp.decide"), Vec::<Value>::new());
    let (_, page) = visit.get("/definitions").await;
    let digest = page
        .split("name=\"digest\" value=\"")
        .nth(1)
        .expect("a digest");
    let digest = digest.split('"').next().expect("its end");
    visit
        .post("/definitions", &format!("accept=yes&digest={digest}"))
        .await;
    let asked = visit.hub.asked("mcp.decide");
    assert_eq!(asked[0]["definitions"][0]["now"], HOSTILE);
    assert_eq!(asked[0]["accept"], true);
}

#[tokio::test]
async fn a_pin_goes_nowhere_but_to_the_hub() {
    let mut answers = hostile();
    answers.push(("approvals.find", waiting("P-1", "proposal")));
    answers.push(("approvals.certify", json!({})));
    let visit = Visit::new(&answers);
    let digest = "d".repeat(64);
    let form = format!("pin=246813&digest={digest}");
    let answer = visit.post("/approvals/P-1/certify", &form).await;
    let location = answer.headers[header::LOCATION]
        .to_str()
        .expect("text")
        .to_owned();
    assert_eq!(location, "/approvals");
    assert_eq!(visit.hub.asked("approvals.certify")[0]["pin"], "246813");
    let (_, page) = visit.get("/approvals").await;
    assert!(
        !page.contains("246813") && page.contains("was certified"),
        "{page}"
    );
}

#[tokio::test]
async fn only_jobs_that_a_person_changed_are_changed() {
    let preferences = json!({"default_provider": "local", "providers": {}, "entity_overrides": {},
        "per_job_overrides": {"a": {"provider": "one", "model": "kept"}, "b": {"provider": "two"}},
        "fallbacks": []});
    let answers = [
        ("models.preferences", preferences.clone()),
        (
            "models.set_preferences",
            json!({"updated": true, "changes": true, "dry_run": false,
            "warnings": ["mind"], "preferences": preferences}),
        ),
    ];
    let visit = Visit::new(&answers);
    let form = "default=local&job.a=one&job.b=&job.c=three&act=change";
    visit.post("/models", form).await;
    let asked = visit.hub.asked("models.set_preferences");
    let wanted =
        json!({"per_job_overrides": {"b": null, "c": {"provider": "three"}}, "dry_run": false});
    assert_eq!(asked, [wanted]);
    let (_, page) = visit.get("/models").await;
    assert!(page.contains("1 warning: mind"), "{page}");
}

#[tokio::test]
async fn whoever_signs_out_hears_no_more() {
    let visit = Visit::new(&[]);
    let answer = visit
        .send(Method::GET, "/live", &[("cookie", &visit.cookie)], "")
        .await;
    assert_eq!(answer.headers[header::CONTENT_TYPE], "text/event-stream");
    let Body::Stream(mut stream) = answer.body else {
        panic!("no stream");
    };
    let answer = visit.post("/logout", "").await;
    assert!(
        answer.headers[header::SET_COOKIE]
            .to_str()
            .expect("text")
            .contains("Max-Age=0")
    );
    let told = stream.next().await.expect("a word of it");
    assert_eq!(&told[..], b"event: over\ndata: {}\n\n");
    assert!(stream.next().await.is_none());
    assert_eq!(visit.get("/").await.0, StatusCode::UNAUTHORIZED);
}
