//! A hub that is killed while tasks run: they go on or say why not, no call is made twice, and what
//! was being said is kept.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{Peer, PeerEra, friendly};
use legation_tests::harness::process::until;
use legation_tests::harness::worker::Worker;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Handle;

const PATIENCE: Duration = Duration::from_secs(120);
/// Kills, unless `LEGATION_ENGINE_KILLS` says how many.
const ROUNDS: u64 = 20;
const TASKS: u64 = 3;
/// Where the moments of the kills begin, unless `LEGATION_ENGINE_SEED` says where.
const SEED: u64 = 0x5eed_0006;

#[expect(
    clippy::disallowed_methods,
    reason = "how much is asked of it is the one who runs it's to say"
)]
fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// How often each call was made, by the id it was made with.
type Counts = Arc<Mutex<BTreeMap<String, u32>>>;

/// An MCP server that outlives the hub and counts its calls.
async fn counter() -> anyhow::Result<(u16, Counts)> {
    let counts = Counts::default();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let told = Arc::clone(&counts);
    Handle::current().spawn(async move {
        while let Ok((stream, _peer)) = listener.accept().await {
            let told = Arc::clone(&told);
            Handle::current().spawn(async move {
                let service = service_fn(move |request| {
                    let told = Arc::clone(&told);
                    async move { Ok::<_, Infallible>(answer(request, &told).await) }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                let _closed = connection
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Ok((port, counts))
}

async fn answer(request: Request<Incoming>, counts: &Counts) -> Response<Full<Bytes>> {
    if request.method() != Method::POST {
        return empty(StatusCode::METHOD_NOT_ALLOWED);
    }
    let body = request.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    if asked.get("id").is_none() {
        return empty(StatusCode::ACCEPTED);
    }
    let result = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "counter", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{
            "name": "count",
            "description": "Counts.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
        }]}),
        "tools/call" => {
            let id = asked["params"]["arguments"]["id"].as_str().unwrap_or("?");
            *counts.lock().unwrap().entry(id.to_owned()).or_default() += 1;
            // The hub is killed between this and the answer as well.
            // tidy: a call takes time, so that a kill can come in the middle of it
            tokio::time::sleep(Duration::from_millis(40)).await;
            json!({"content": [{"type": "text", "text": "counted"}]})
        }
        "ping" => json!({}),
        method => {
            let message = format!("no {method}");
            let error = json!({"code": -32601, "message": message});
            return told(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
        }
    };
    told(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

fn told(value: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(value.to_string())));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", kind);
    response
}

/// A hub with a scripted model, which outlives it too.
async fn hub(servers: Value) -> anyhow::Result<(Hub, Worker)> {
    let worker = Worker::start().await?;
    let hub = Hub::start(HubOptions {
        servers,
        settings: "[external]\nrate_limit = 0\n".to_owned(),
        clients: vec!["one".to_owned()],
        ..HubOptions::default()
    })
    .await?;
    let url = format!("http://127.0.0.1:{}", worker.port);
    for arguments in [
        &["models", "set", "enable", "local_model", "--endpoint", &url] as &[&str],
        &["models", "set", "default", "local_model"],
    ] {
        let (code, said, complained) = hub.run(arguments).await?;
        assert_eq!(code, 0, "{said}{complained}");
    }
    Ok((hub, worker))
}

async fn peer(hub: &Hub) -> anyhow::Result<Peer> {
    hub.http_as("one", PeerEra::Modern, json!({}), friendly())
        .await
}

async fn structured(peer: &Peer, tool: &str, arguments: Value) -> anyhow::Result<Value> {
    let answer = peer.call(tool, arguments).await?;
    let result = &answer.value["result"];
    anyhow::ensure!(result["isError"] != true, "{}", answer.text);
    Ok(result["structuredContent"].clone())
}

/// Waits until a task is over or asks something; how it is then.
async fn settled(peer: &Peer, id: &str) -> anyhow::Result<Value> {
    let mut last = Value::Null;
    let settled = until("the task is over", PATIENCE, async || {
        let polled = structured(peer, "delegate-poll_task", json!({"task_id": id})).await;
        last = polled.unwrap_or_default();
        let status = last["status"].as_str().unwrap_or_default();
        ["completed", "failed", "cancelled", "input_required"].contains(&status)
    });
    settled
        .await
        .map_err(|error| error.context(last.to_string()))?;
    Ok(last)
}

#[tokio::test]
async fn no_call_is_made_twice_whenever_the_hub_is_killed() -> anyhow::Result<()> {
    let (port, counts) = counter().await?;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let servers = json!({"counter": {"type": "http", "url": url}});
    let (mut hub, _worker) = hub(servers).await?;
    let mut moment = asked("LEGATION_ENGINE_SEED").unwrap_or(SEED);
    let rounds = asked("LEGATION_ENGINE_KILLS").unwrap_or(ROUNDS);
    let mut asked = 0;
    let mut completed = 0;
    for round in 0..rounds {
        let one = peer(&hub).await?;
        hub.wait_for_tool(&one, "counter-count").await?;
        let mut tasks = Vec::new();
        for number in 0..TASKS {
            let id = format!("{round}-{number}");
            let message =
                format!(r#"CALL call_tool {{"name":"counter-count","arguments":{{"id":"{id}"}}}}"#);
            let task = structured(&one, "delegate-chat", json!({"message": message})).await?;
            tasks.push((id, task["task_id"].as_str().unwrap_or_default().to_owned()));
        }
        moment = moment
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        // tidy: the moment of the kill is drawn, and decides nothing
        tokio::time::sleep(Duration::from_millis((moment >> 33) % 600)).await;
        hub.kill().await?;
        hub = hub.restart().await?;
        let one = peer(&hub).await?;
        for (id, task) in tasks {
            let mut last = settled(&one, &task).await?;
            let was_asked = last["status"] == "input_required";
            if was_asked {
                asked += 1;
                let (code, said, complained) = hub.run(&["task", "answer", &task, "skip"]).await?;
                assert_eq!(code, 0, "{said}{complained}");
                last = settled(&one, &task).await?;
            }
            let count = counts.lock().unwrap().get(&id).copied().unwrap_or_default();
            assert!(
                count <= 1,
                "round {round}: {id} was made {count} times: {last}"
            );
            match last["status"].as_str() {
                Some("completed") => {
                    completed += 1;
                    assert!(was_asked || count == 1, "round {round}: {id}: {last}");
                }
                Some("failed") => assert!(last["error"].is_string(), "{last}"),
                _ => panic!("round {round}: {id}: {last}"),
            }
        }
    }
    assert!(completed > 0, "no task was completed, {asked} asked");
    Ok(())
}

#[tokio::test]
async fn what_was_being_said_is_there_when_the_hub_comes_back() -> anyhow::Result<()> {
    let (mut hub, worker) = hub(json!({})).await?;
    let one = peer(&hub).await?;
    let message = json!({"message": "HOLD alpha beta"});
    let task = structured(&one, "delegate-chat", message).await?;
    let id = task["task_id"].as_str().unwrap_or_default().to_owned();
    until("it is said", PATIENCE, async || worker.held() == 1).await?;
    // tidy: what is older than a quarter of a second is kept.
    tokio::time::sleep(Duration::from_millis(400)).await;
    hub.kill().await?;
    hub = hub.restart().await?;
    let one = peer(&hub).await?;
    let mut last = Value::Null;
    until("what was said is there", PATIENCE, async || {
        let polled = structured(&one, "delegate-poll_task", json!({"task_id": id})).await;
        last = polled.unwrap_or_default();
        let said = last["partial_response"].as_str().unwrap_or_default();
        said.starts_with("alpha")
    })
    .await
    .map_err(|error| error.context(last.to_string()))?;
    worker.let_go();
    let done = settled(&one, &id).await?;
    assert_eq!(done["status"], "completed", "{done}");
    let response = done["response"].as_str().unwrap_or_default();
    assert!(
        response.starts_with("alpha") && response.ends_with("beta"),
        "{done}"
    );
    Ok(())
}
