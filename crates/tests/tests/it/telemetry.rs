//! Traces through a whole hub: from a client's head to its servers' and to a collector, over TLS by an
//! authority of one's own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response, Uri};
use http_body_util::Full;
use legation_tests::harness::github::Authority;
use legation_tests::harness::http::whole;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::process::until;
use legation_tests::harness::served::{Collector, Served, json_answer};
use serde_json::{Value, json};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const STATE: &str = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7";
const TOKEN: &str = "canary-collector-5f1c";

/// What the servers were called with: by its name, a call's head and its `_meta`.
type Calls = Arc<Mutex<Vec<(String, HashMap<String, String>, Value)>>>;

/// A server of one tool, of one era.
fn server(
    name: &str,
    is_modern: bool,
    calls: &Calls,
    parts: &Parts,
    body: &[u8],
) -> Response<Full<Bytes>> {
    if parts.method != "POST" {
        return json_answer(405, &json!({}));
    }
    let message: Value = serde_json::from_slice(body).unwrap_or_default();
    let answer = |result: Value| {
        let id = &message["id"];
        json_answer(200, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
    };
    match message["method"].as_str().unwrap_or_default() {
        "server/discover" if is_modern => answer(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
        })),
        "initialize" if !is_modern => answer(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "version": "1"},
        })),
        "tools/list" => answer(json!({
            "resultType": "complete", "ttlMs": 60_000, "cacheScope": "public",
            "tools": [{"name": "note", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}],
        })),
        "tools/call" => {
            let head = parts.headers.iter().filter_map(|(name, value)| {
                Some((name.to_string(), value.to_str().ok()?.to_owned()))
            });
            let call = (
                name.to_owned(),
                head.collect(),
                message["params"]["_meta"].clone(),
            );
            calls
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(call);
            answer(
                json!({"resultType": "complete", "content": [{"type": "text", "text": "noted"}]}),
            )
        }
        _ if message["id"].is_null() => Response::builder()
            .status(202)
            .body(Full::default())
            .unwrap(),
        _ => json_answer(400, &json!({})),
    }
}

/// Calls a tool over HTTP as a modern client, with more lines in the request's head.
async fn call(hub: &Hub, tool: &str, more: &[(&str, &str)]) -> anyhow::Result<Value> {
    let uri: Uri = hub.url().parse()?;
    let params = json!({
        "name": tool, "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        },
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut request = Request::post(uri.path())
        .header("host", hub.base.trim_start_matches("http://"))
        .header("authorization", format!("Bearer {}", hub.token()?))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool);
    for (name, value) in more {
        request = request.header(*name, *value);
    }
    let body = Full::new(Bytes::from(message.to_string()));
    let answer = whole(&uri, request.body(body)?).await?;
    // An answer may come as one event of a stream.
    let text = answer
        .body
        .lines()
        .find_map(|line| line.strip_prefix("data: "));
    let answer: Value = serde_json::from_str(text.unwrap_or(&answer.body))?;
    anyhow::ensure!(
        answer["result"]["content"][0]["text"] == "noted",
        "{tool}: {answer}"
    );
    Ok(answer)
}

#[tokio::test]
async fn a_trace_goes_from_a_client_to_servers_and_to_a_collector() -> anyhow::Result<()> {
    let authority = Authority::new()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, &authority.pem)?;
    let collector = Collector::start(Some(&authority)).await?;
    let calls = Calls::default();
    let mut servers = json!({});
    let mut running = Vec::new();
    for (name, is_modern) in [("modern", true), ("legacy", false)] {
        let calls = Arc::clone(&calls);
        let served = Served::start(Some(&authority), move |parts, body| {
            server(name, is_modern, &calls, parts, body)
        });
        let served = served.await?;
        servers[name] = json!({"type": "http", "url": format!("{}/mcp", served.base)});
        running.push(served);
    }
    let settings = format!(
        "log_level = \"trace\"\n[tls]\nca_files = [{file:?}]\n[traces]\nendpoint = {:?}\n\
         headers = [\"authorization: Bearer ${{COLLECTOR_TOKEN}}\"]\n",
        collector.base()
    );
    let mut hub = Hub::start(HubOptions {
        servers,
        settings,
        environment: HashMap::from([("COLLECTOR_TOKEN".to_owned(), TOKEN.to_owned())]),
        ..HubOptions::default()
    })
    .await?;
    let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
    let head = [("traceparent", parent.as_str()), ("tracestate", STATE)];
    until("both servers answer", Duration::from_secs(60), async || {
        call(&hub, "modern-note", &[]).await.is_ok() && call(&hub, "legacy-note", &[]).await.is_ok()
    })
    .await?;
    calls.lock().unwrap_or_else(PoisonError::into_inner).clear();
    for tool in ["modern-note", "legacy-note"] {
        let _noted = call(&hub, tool, &head).await?;
    }
    // What waits is sent when the hub stops, so nothing has to be waited for.
    assert_eq!(hub.stop().await?, 0);
    let spans = collector.spans();
    let of_trace: Vec<&Value> = spans
        .iter()
        .filter(|span| span["traceId"] == TRACE)
        .collect();
    let named = |name: &str| of_trace.iter().filter(|span| span["name"] == name).count();
    assert_eq!(
        (named("tools/call note"), named("legation.decide")),
        (4, 2),
        "{of_trace:?}"
    );
    let calls = calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(calls.len(), 2, "{calls:?}");
    for (name, head, meta) in calls {
        let passed = head["traceparent"].as_str();
        assert_eq!(meta["traceparent"], passed, "{name}: {meta}");
        assert_eq!(meta["tracestate"], STATE, "{name}: {meta}");
        assert_eq!(head["tracestate"], STATE, "{name}");
        // It is a part of the hub's own span, and that one of the client's.
        let [_, trace, span, _] = passed.split('-').collect::<Vec<_>>()[..] else {
            panic!("{passed}");
        };
        assert_eq!(trace, TRACE);
        let own = of_trace.iter().find(|one| one["spanId"] == span);
        let own = own.unwrap_or_else(|| panic!("{span}: {of_trace:?}"));
        let whole = of_trace
            .iter()
            .find(|one| one["spanId"] == own["parentSpanId"]);
        let whole = whole.unwrap_or_else(|| panic!("{own}: {of_trace:?}"));
        assert_eq!(whole["parentSpanId"], "b7ad6b7169203331", "{whole}");
    }
    let credentials = collector.credentials();
    let wanted = Some(format!("Bearer {TOKEN}"));
    assert!(!credentials.is_empty() && credentials.iter().all(|said| *said == wanted));
    let log = std::fs::read_to_string(hub.home().join("logs/hub.log"))?;
    assert!(!log.contains(TOKEN) && !hub.said().join("\n").contains(TOKEN));
    Ok(())
}

#[tokio::test]
async fn a_hub_that_cannot_trust_or_tell_as_it_should_does_not_start() -> anyhow::Result<()> {
    for (settings, wanted) in [
        (
            "[tls]\nca_files = [\"/nowhere/authority.pem\"]",
            "/nowhere/authority.pem",
        ),
        (
            "[traces]\nendpoint = \"https://collector.example.com\"\nheaders = [\"authorization: ${NOT_SET}\"]",
            "NOT_SET",
        ),
        (
            "[traces]\nendpoint = \"http://collector.example.com\"\nheaders = [\"authorization: ${SET}\"]",
            "without TLS",
        ),
        (
            "[traces]\nheaders = [\"authorization: Bearer canary-77aa\"]",
            "traces.headers",
        ),
    ] {
        let started = Hub::start(HubOptions {
            servers: json!({}),
            settings: settings.to_owned(),
            environment: HashMap::from([("SET".to_owned(), "canary-77aa".to_owned())]),
            ..HubOptions::default()
        });
        let error = started.await.err().map(|error| format!("{error:#}"));
        let error = error.ok_or_else(|| anyhow::anyhow!("it started with {settings}"))?;
        assert!(
            error.contains(wanted) && !error.contains("canary"),
            "{error}"
        );
    }
    Ok(())
}
