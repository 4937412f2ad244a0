use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use legation_core::{Caller, OpContext, ServerName};
use legation_gate::{Entry, Listing, Outcome, TaskWish};
use legation_wire::json::{Object, Raw};
use serde_json::{Value, json};

use super::others::{context, entry, silent};
use crate::Native;
use crate::audit::{Audit, AuditView, Event, Query};
use crate::hub::{ApprovalInfo, Hub, HubView, ServerInfo, ServerText};

#[derive(Debug, Default)]
pub(super) struct FakeHub {
    tools: Mutex<Option<Arc<Listing>>>,
    skills: Mutex<Vec<Entry>>,
    texts: Mutex<Vec<ServerText>>,
}

impl HubView for FakeHub {
    fn servers(&self, _: &Caller) -> Vec<ServerInfo> {
        vec![ServerInfo {
            name: "files".to_owned(),
            title: "Files".to_owned(),
            status: "connected",
            tools: 3,
            hint: None,
        }]
    }
    fn tools(&self, _: &OpContext) -> Option<Arc<Listing>> {
        self.tools.lock().unwrap().clone()
    }
    fn skills(&self, _: &OpContext) -> Option<Arc<Listing>> {
        let entries = self.skills.lock().unwrap().clone();
        Some(Arc::new(Listing {
            version: 1,
            entries,
        }))
    }
    fn texts(&self, _: &Caller) -> Vec<ServerText> {
        self.texts.lock().unwrap().clone()
    }
    fn approvals(&self, _: &Caller) -> Vec<ApprovalInfo> {
        Vec::new()
    }
}

#[derive(Debug, Default)]
pub(super) struct FakeAudit {
    logged: Mutex<Vec<Event>>,
    asked: Mutex<Vec<Query>>,
}

impl AuditView for FakeAudit {
    fn log(&self, _: &OpContext, event: Event) -> BoxFuture<'static, Result<(), String>> {
        let full = event.action == "full";
        self.logged.lock().unwrap().push(event);
        let answer = if full {
            Err("the disk is full; nothing was recorded".to_owned())
        } else {
            Ok(())
        };
        Box::pin(std::future::ready(answer))
    }
    fn query(&self, _: &OpContext, query: Query) -> BoxFuture<'static, Result<Vec<Raw>, String>> {
        self.asked.lock().unwrap().push(query);
        Box::pin(std::future::ready(Ok(vec![Raw::from_static(
            r#"{"seq":1}"#,
        )])))
    }
    fn verify(&self, _: &OpContext) -> BoxFuture<'static, Result<Raw, String>> {
        Box::pin(std::future::ready(Ok(Raw::from_static(
            r#"{"whole":true}"#,
        ))))
    }
}

fn arguments(value: &Value) -> Object {
    Raw::from_serialize(value).to_object().unwrap()
}

/// The structured content, or the error's text.
async fn call(native: &dyn Native, tool: &'static str, value: Value) -> Result<Value, String> {
    let outcome = native
        .call(
            context(),
            tool,
            arguments(&value),
            TaskWish::Never,
            silent(),
        )
        .await;
    let Outcome::Complete(raw) = outcome else {
        panic!("no result: {outcome:?}");
    };
    let result: Value = raw.deserialize().unwrap();
    let text = result["content"][0]["text"].as_str().unwrap();
    if result["isError"] == true {
        return Err(text.to_owned());
    }
    let structured = result["structuredContent"].clone();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), structured);
    Ok(structured)
}

fn listing(version: u64, tools: &[(&str, &str)]) -> Arc<Listing> {
    let entries = tools.iter().map(|(name, about)| entry(name, about));
    Arc::new(Listing {
        version,
        entries: entries.collect(),
    })
}

fn hub() -> Hub {
    Hub::new(Arc::new(FakeHub {
        tools: Mutex::new(Some(listing(1, OFFICE))),
        ..FakeHub::default()
    }))
}

const OFFICE: &[(&str, &str)] = &[
    ("files-read_file", "Reads the text of a file"),
    ("files-writeFile", "Writes text into a file"),
    (
        "mail-send",
        "Sends a message to somebody, with files attached",
    ),
    ("time-now", "Tells the time"),
];

/// The names of the tools in an answer.
fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn tools_are_found_by_what_they_do() {
    let hub = hub();
    for (query, found) in [
        ("read a file", "files-read_file"),
        ("WRITE", "files-writeFile"),
        ("what's the time?", "time-now"),
        ("send message", "mail-send"),
        // In other words than the description has.
        ("mail a letter", "mail-send"),
        ("show a document", "files-read_file"),
        ("store a document", "files-writeFile"),
    ] {
        let answer = call(&hub, "find_tools", json!({"query": query})).await;
        assert_eq!(names(&answer.unwrap())[0], found, "{query}");
    }
    let answer = call(&hub, "find_tools", json!({"query": "zebra"})).await;
    assert_eq!(answer.unwrap(), json!({"tools": [], "more": 0}));
    // All of them are of the server `files`.
    let file = json!({"query": "file", "limit": 1});
    let answer = call(&hub, "find_tools", file).await.unwrap();
    assert_eq!((names(&answer).len(), &answer["more"]), (1, &json!(3)));
}

#[tokio::test]
async fn an_answer_says_as_much_as_was_asked_for() {
    let hub = hub();
    let find = async |wish: Value| call(&hub, "find_tools", wish).await;
    let short = find(json!({"query": "tell the time"})).await.unwrap();
    assert_eq!(
        short["tools"][0],
        json!({"name": "time-now", "server": "files", "summary": "Tells the time"})
    );
    let whole = json!({"query": "tell the time", "detail": "whole"});
    let whole = find(whole).await.unwrap();
    let definition = entry("time-now", "Tells the time").raw;
    let definition: Value = definition.deserialize().unwrap();
    assert_eq!(whole["tools"][0], definition);
    // A server alone lists what it has, and one that is not there is said not to be.
    let all = find(json!({"server": "files"})).await.unwrap();
    assert_eq!(names(&all).len(), OFFICE.len());
    let none = find(json!({"query": "time", "server": "other"})).await;
    assert!(none.unwrap_err().starts_with("there is no server"));
}

#[tokio::test]
async fn tools_that_read_the_same_take_one_place() {
    let mut entries: Vec<Entry> = ["one", "two", "three"]
        .iter()
        .map(|server| Entry {
            server: ServerName::parse(server).unwrap(),
            item: "send".into(),
            ..entry(&format!("{server}-send"), "Sends a letter")
        })
        .collect();
    entries.push(entry("files-writeFile", "Writes a letter into a file"));
    let tools = Arc::new(Listing {
        version: 1,
        entries,
    });
    let hub = Hub::new(Arc::new(FakeHub {
        tools: Mutex::new(Some(tools)),
        ..FakeHub::default()
    }));
    let find = async |wish: Value| call(&hub, "find_tools", wish).await.unwrap();
    for detail in ["summary", "whole"] {
        let found = find(json!({"query": "a letter", "limit": 2, "detail": detail})).await;
        assert_eq!(names(&found), ["one-send", "files-writeFile"], "{detail}");
        assert_eq!(
            (&found["also"], &found["more"]),
            (&json!({"one-send": ["two-send", "three-send"]}), &json!(0))
        );
    }
    // One that is not shown takes those like it along.
    let found = find(json!({"query": "a letter", "limit": 1})).await;
    assert_eq!((names(&found).len(), &found["more"]), (1, &json!(1)));
    // The server that was asked for is the one that is shown.
    let found = find(json!({"query": "a letter", "server": "two"})).await;
    assert_eq!(names(&found), ["two-send"]);
    assert_eq!(found.get("also"), None);
}

#[tokio::test]
async fn an_index_follows_lists_and_instructions() {
    let view = Arc::new(FakeHub {
        tools: Mutex::new(Some(listing(1, OFFICE))),
        ..FakeHub::default()
    });
    let hub = Hub::new(Arc::clone(&view) as Arc<dyn HubView>);
    let find = async |query: &str| {
        let answer = call(&hub, "find_tools", json!({"query": query})).await;
        answer.unwrap()
    };
    assert_eq!(names(&find("zebra").await), [""; 0]);
    let more = [OFFICE, &[("zoo-feed", "Feeds a zebra")]].concat();
    *view.tools.lock().unwrap() = Some(listing(2, &more));
    assert_eq!(names(&find("zebra").await), ["zoo-feed"]);
    assert_eq!(find("giraffe").await, json!({"tools": [], "more": 0}));
    // What a server says of itself leads to it, with the names of its tools.
    *view.texts.lock().unwrap() = ["files", "unseen"]
        .map(|name| ServerText {
            name: name.to_owned(),
            title: String::new(),
            instructions: Some("Knows of giraffes.".to_owned()),
        })
        .to_vec();
    let found = find("giraffe").await;
    let servers = found["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 1, "a server without a tool in the list");
    assert_eq!(servers[0]["name"], "files");
    assert_eq!(servers[0]["instructions"], "Knows of giraffes.");
    assert_eq!(servers[0]["tools"].as_array().unwrap().len(), more.len());
    *view.tools.lock().unwrap() = Some(listing(3, OFFICE));
    assert_eq!(names(&find("feed the zebra").await), [""; 0]);
}

#[tokio::test]
async fn skills_are_found_beside_tools() {
    let view = Arc::new(FakeHub {
        tools: Mutex::new(Some(listing(1, OFFICE))),
        ..FakeHub::default()
    });
    let uri = "skill://letters/SKILL.md";
    let raw = Raw::from_static(
        r#"{"uri":"skill://letters/SKILL.md","frontmatter":{"name":"letters","description":"How to answer a complaint. With examples."},"resources":"dynamic"}"#,
    );
    let skill = Entry {
        server: ServerName::parse("post").unwrap(),
        item: uri.into(),
        raw: raw.clone(),
        ..entry("x", "")
    };
    let hub = Hub::new(Arc::clone(&view) as Arc<dyn HubView>);
    let find = async |wish: Value| call(&hub, "find_tools", wish).await.unwrap();
    let wish = json!({"query": "answer a complaint"});
    assert_eq!(find(wish.clone()).await.get("skills"), None);
    view.skills.lock().unwrap().push(skill);
    let found = find(wish).await;
    let found = &found["skills"][0];
    assert_eq!(
        (
            &found["kind"],
            &found["name"],
            &found["server"],
            &found["uri"]
        ),
        (
            &json!("skill"),
            &json!("letters"),
            &json!("post"),
            &json!(uri)
        )
    );
    assert_eq!(found["summary"], "How to answer a complaint.");
    assert_eq!(found.get("entry"), None);
    // A server that has nothing else is there too.
    let all = find(json!({"server": "post", "detail": "whole"})).await;
    let entry: Value = raw.deserialize().unwrap();
    assert_eq!(all["skills"][0]["entry"], entry);
    assert_eq!(all["tools"], json!([]));
    assert_eq!(find(json!({"server": "files"})).await.get("skills"), None);
}

#[tokio::test]
async fn bad_arguments_are_told_and_nothing_is_done() {
    let hub = hub();
    let audit_view = Arc::new(FakeAudit::default());
    let audit = Audit::new(Arc::clone(&audit_view) as Arc<dyn AuditView>);
    let long = "x".repeat(513);
    let cases: [(&dyn Native, &'static str, Value, &str); 11] = [
        (&hub, "find_tools", json!({}), "`query` must be"),
        (
            &hub,
            "find_tools",
            json!({"query": "  "}),
            "`query` must be",
        ),
        (
            &hub,
            "find_tools",
            json!({"query": "x", "limit": 0}),
            "`limit` must be",
        ),
        (
            &hub,
            "find_tools",
            json!({"query": "x", "limit": 51}),
            "`limit` must be",
        ),
        (
            &hub,
            "find_tools",
            json!({"query": "x", "detail": "more"}),
            "`detail` must be",
        ),
        (&hub, "find_tools", json!({"server": 5}), "`server` must be"),
        (&hub, "call_tool", json!({}), "`name` must be"),
        (
            &audit,
            "log",
            json!({"action": "a", "resource": "b"}),
            "`action`, `resource` and",
        ),
        (
            &audit,
            "log",
            json!({"action": long, "resource": "b", "outcome": "c"}),
            "512 bytes",
        ),
        (
            &audit,
            "log",
            json!({"action": "", "resource": "b", "outcome": "c"}),
            "512 bytes",
        ),
        (&audit, "query", json!({"limit": -1}), "`limit` must be"),
    ];
    for (native, tool, value, complaint) in cases {
        let error = call(native, tool, value.clone()).await.unwrap_err();
        assert!(error.contains(complaint), "{tool} {value}: {error}");
    }
    assert!(audit_view.logged.lock().unwrap().is_empty());
    assert!(audit_view.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_record_is_read_and_added_to() {
    let view = Arc::new(FakeAudit::default());
    let audit = Audit::new(Arc::clone(&view) as Arc<dyn AuditView>);
    let event = json!({"action": "read", "resource": "report", "outcome": "ok"});
    assert_eq!(
        call(&audit, "log", event).await.unwrap(),
        json!({"recorded": true})
    );
    assert_eq!(view.logged.lock().unwrap()[0].resource, "report");
    let full = json!({"action": "full", "resource": "report", "outcome": "ok"});
    let error = call(&audit, "log", full).await.unwrap_err();
    assert!(error.contains("nothing was recorded"), "{error}");
    let found = call(&audit, "query", json!({"server": "files", "limit": 3})).await;
    assert_eq!(found.unwrap(), json!({"records": [{"seq": 1}]}));
    let asked = view.asked.lock().unwrap()[0].clone();
    assert_eq!((asked.server.as_deref(), asked.limit), (Some("files"), 3));
    assert_eq!(
        call(&audit, "verify", json!({})).await.unwrap(),
        json!({"whole": true})
    );
    let servers = call(&hub(), "servers", json!({})).await.unwrap();
    assert_eq!(servers["servers"][0]["status"], "connected");
}
