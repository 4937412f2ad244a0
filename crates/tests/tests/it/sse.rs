//! The transport of 2024-11-05: a stream from `GET /sse`, messages to the
//! endpoint that its first event names (2024-11-05, basic/transports).

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use legation_tests::fixture::Era;
use legation_tests::harness::http::{send, whole};
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, everything, friendly};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

/// One event stream, read event by event.
struct Events {
    body: Incoming,
    buffer: String,
}

impl Events {
    /// The next event: (name, data).
    async fn next(&mut self) -> anyhow::Result<(String, String)> {
        loop {
            if let Some((event, rest)) = self.buffer.split_once("\n\n") {
                let field = |name: &str| {
                    let lines = event
                        .lines()
                        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                    lines.map(str::trim_start).collect::<Vec<_>>().join("\n")
                };
                let found = (field("event"), field("data"));
                self.buffer = rest.to_owned();
                if !found.1.is_empty() {
                    return Ok(found);
                }
                continue;
            }
            let frame = tokio::time::timeout(Duration::from_secs(120), self.body.frame()).await?;
            let data = frame
                .context("the stream ended")??
                .into_data()
                .unwrap_or_default();
            self.buffer
                .push_str(&String::from_utf8_lossy(&data).replace("\r\n", "\n"));
        }
    }
}

async fn post(uri: &Uri, token: &str, message: &Value) -> anyhow::Result<u16> {
    let path = uri.path_and_query().context("no path")?.as_str();
    let request = Request::post(path)
        .header("host", uri.authority().unwrap().as_str())
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(message.to_string())))?;
    Ok(whole(uri, request).await?.status)
}

#[tokio::test]
async fn the_old_pair_of_endpoints_works() -> anyhow::Result<()> {
    for era in [Era::Legacy, Era::Modern] {
        let hub = Hub::start(HubOptions {
            servers: json!({"fixture": stdio_entry(era, "shared")?}),
            ..HubOptions::default()
        })
        .await?;
        let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
        hub.wait_for_tool(&peer, "fixture-echo").await?;
        let token = hub.token()?;
        let uri: Uri = format!("{}/sse", hub.base).parse()?;
        let request = Request::get("/sse")
            .header("host", uri.authority().unwrap().as_str())
            .header("authorization", format!("Bearer {token}"))
            .header("accept", "text/event-stream")
            .body(Full::new(Bytes::new()))?;
        let response = send(&uri, request).await?;
        assert_eq!(response.status(), 200);
        let mut events = Events {
            body: response.into_body(),
            buffer: String::new(),
        };
        let (name, endpoint) = events.next().await?;
        assert_eq!(name, "endpoint");
        let endpoint: Uri = if endpoint.starts_with('/') {
            format!("{}{endpoint}", hub.base)
        } else {
            endpoint
        }
        .parse()?;

        let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}});
        assert!([200, 202].contains(&post(&endpoint, &token, &initialize).await?));
        let (_, data) = events.next().await?;
        let answer: Value = serde_json::from_str(&data)?;
        assert_eq!(answer["result"]["protocolVersion"], "2024-11-05", "{data}");
        post(
            &endpoint,
            &token,
            &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        )
        .await?;

        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "fixture-echo", "arguments": {"a": 1}}});
        post(&endpoint, &token, &call).await?;
        let (_, data) = events.next().await?;
        let answer: Value = serde_json::from_str(&data)?;
        assert_eq!(
            answer["result"]["content"][0]["text"], r#"{"a":1}"#,
            "{data}"
        );
        assert!(answer["result"].get("resultType").is_none(), "{data}");
    }
    Ok(())
}
