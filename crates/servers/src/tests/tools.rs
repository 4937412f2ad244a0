use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use legation_core::{Caller, OpContext};
use legation_gate::{Listing, Outcome, TaskWish};
use legation_wire::json::{Object, Raw};
use serde_json::{Value, json};

use super::others::{context, entry, silent};
use crate::Native;
use crate::audit::{Audit, AuditView, Event, Query};
use crate::hub::{ApprovalInfo, Hub, HubView, ServerInfo};

#[derive(Debug, Default)]
pub(super) struct FakeHub {
    tools: Option<Arc<Listing>>,
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
        self.tools.clone()
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

fn hub() -> Hub {
    let entries = vec![
        entry("files-read_file", "Reads the text of a file"),
        entry("files-writeFile", "Writes text into a file"),
        entry(
            "mail-send",
            "Sends a message to somebody, with files attached",
        ),
        entry("time-now", "Tells the time"),
    ];
    let listing = Listing {
        version: 1,
        entries,
    };
    Hub::new(Arc::new(FakeHub {
        tools: Some(Arc::new(listing)),
    }))
}

#[tokio::test]
async fn tools_are_found_by_what_they_do() {
    let hub = hub();
    for (query, limit, found, more) in [
        (
            "read a file",
            10,
            &["files-read_file", "files-writeFile", "mail-send"][..],
            0,
        ),
        ("WRITE", 10, &["files-writeFile"], 0),
        ("write file", 1, &["files-writeFile"], 2),
        ("time", 10, &["time-now"], 0),
        ("send message", 10, &["mail-send"], 0),
        ("somebody", 10, &["mail-send"], 0),
        ("zebra", 10, &[], 0),
    ] {
        let answer = call(&hub, "find_tools", json!({"query": query, "limit": limit}));
        let answer = answer.await.unwrap();
        let names: Vec<&str> = answer["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, found, "{query}");
        assert_eq!(answer["more"], more, "{query}");
    }
}

#[tokio::test]
async fn bad_arguments_are_told_and_nothing_is_done() {
    let hub = hub();
    let audit_view = Arc::new(FakeAudit::default());
    let audit = Audit::new(Arc::clone(&audit_view) as Arc<dyn AuditView>);
    let long = "x".repeat(513);
    let cases: [(&dyn Native, &'static str, Value, &str); 9] = [
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
