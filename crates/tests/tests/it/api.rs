//! The admin API over HTTP, before a whole hub.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use legation_api::AdminClient;
use legation_core::Home;
use legation_tests::fixture::Era;
use legation_tests::harness::http::{send, whole};
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, friendly};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

const RULES: &str =
    "\n[[rule]]\nid = \"asked\"\nrule = 'ask kept/test_audio_content because \"who listens?\"'\n";

/// What a request brought.
struct Got {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

async fn start() -> anyhow::Result<Hub> {
    Hub::start(HubOptions {
        servers: json!({ "kept": stdio_entry(Era::Both, "shared")? }),
        template: Some("personal"),
        governance: vec![("permissions.toml", RULES.into())],
        clients: vec!["claude".to_owned()],
        ..HubOptions::default()
    })
    .await
}

fn request(
    hub: &Hub,
    line: &str,
    key: Option<&str>,
    body: &Value,
) -> anyhow::Result<(Uri, Request<Full<Bytes>>)> {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let uri: Uri = format!("{}{path}", hub.base).parse()?;
    let mut request = Request::builder()
        .method(Method::from_bytes(method.as_bytes())?)
        .uri(path)
        .header("host", hub.base.trim_start_matches("http://"))
        .header("authorization", format!("Bearer {}", hub.token()?));
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    let body = match body {
        Value::Null => String::new(),
        body => {
            request = request.header("content-type", "application/json");
            body.to_string()
        }
    };
    Ok((uri, request.body(Full::new(Bytes::from(body)))?))
}

async fn ask(hub: &Hub, line: &str, key: Option<&str>, body: Value) -> anyhow::Result<Got> {
    let (uri, request) = request(hub, line, key, &body)?;
    let got = whole(&uri, request).await?;
    Ok(Got {
        status: got.status,
        headers: got.headers,
        body: serde_json::from_str(&got.body).unwrap_or_default(),
    })
}

/// A listener to events.
pub(super) struct Listener {
    body: Incoming,
    read: BytesMut,
}

impl Listener {
    pub(super) async fn start(hub: &Hub, since: &str) -> anyhow::Result<Self> {
        let (uri, request) = request(
            hub,
            &format!("GET /api/v1/events{since}"),
            None,
            &Value::Null,
        )?;
        let response = send(&uri, request).await?;
        assert_eq!(response.status(), 200);
        let mut listener = Self {
            body: response.into_body(),
            read: BytesMut::new(),
        };
        // Whoever is greeted hears everything from there on.
        listener.frame().await?;
        Ok(listener)
    }

    /// The next piece between two empty lines.
    async fn frame(&mut self) -> anyhow::Result<String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\n\n") {
                let frame = self.read.split_to(end + 2);
                return Ok(String::from_utf8(frame.to_vec())?);
            }
            let frame = self.body.frame().await.expect("the stream goes on")?;
            if let Ok(data) = frame.into_data() {
                self.read.extend_from_slice(&data);
            }
        }
    }

    /// The next event of this name: its id and its data.
    pub(super) async fn next(&mut self, name: &str) -> anyhow::Result<(String, Value)> {
        loop {
            let frame = self.frame().await?;
            let line = |key: &str| frame.lines().find_map(|line| line.strip_prefix(key));
            if line("event: ") == Some(name) {
                let data = serde_json::from_str(line("data: ").expect("data"))?;
                return Ok((line("id: ").unwrap_or_default().to_owned(), data));
            }
        }
    }
}

#[tokio::test]
async fn the_owner_sees_and_calls_what_there_is() -> anyhow::Result<()> {
    let hub = start().await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    hub.wait_for_tool(&peer, "kept-test_simple_text").await?;
    let servers = ask(&hub, "GET /api/v1/servers", None, Value::Null).await?;
    assert_eq!(
        servers.body["servers"][0]["label"], "kept",
        "{}",
        servers.body
    );
    let first = ask(
        &hub,
        "GET /api/v1/tools?server=kept&limit=1",
        None,
        Value::Null,
    )
    .await?;
    assert_eq!(first.body["tools"].as_array().map(Vec::len), Some(1));
    assert!(first.body["next_cursor"].is_string(), "{}", first.body);

    let call = "POST /api/v1/servers/kept/tools/test_simple_text/call";
    let called = ask(&hub, call, None, json!({})).await?;
    assert_eq!(called.status, 200, "{}", called.body);
    assert_eq!(called.body["content"][0]["type"], "text");
    for nothing in ["nowhere/tools/x", "kept/tools/nothing"] {
        let got = ask(
            &hub,
            &format!("POST /api/v1/servers/{nothing}/call"),
            None,
            json!({}),
        )
        .await?;
        assert_eq!(got.status, 404, "{}", got.body);
    }
    let got = ask(&hub, "GET /api/v1/inbox/nothing", None, Value::Null).await?;
    assert_eq!(got.status, 404, "{}", got.body);
    let records = ask(
        &hub,
        "GET /api/v1/audit?item=test_simple_text&kind=intent",
        None,
        Value::Null,
    )
    .await?;
    let record = &records.body["records"][0]["record"];
    assert_eq!(
        (&record["client"], &record["via"]),
        (&json!("owner"), &json!("web")),
        "{}",
        records.body
    );

    let listed = json!({ "jsonrpc": "2.0", "id": 1, "method": "mcp.list" });
    let listed = ask(&hub, "POST /rpc", None, listed).await?;
    assert_eq!(
        listed.body["result"]["servers"][0]["name"], "kept",
        "{}",
        listed.body
    );
    Ok(())
}

#[tokio::test]
async fn what_a_person_has_to_agree_to_waits_and_is_done_once() -> anyhow::Result<()> {
    let hub = start().await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    hub.wait_for_tool(&peer, "kept-test_audio_content").await?;
    let call = "POST /api/v1/servers/kept/tools/test_audio_content/call";
    let key = Some("one-act");
    let waits = ask(&hub, call, key, json!({})).await?;
    assert_eq!(waits.status, 202, "{}", waits.body);
    let id = waits.body["approval_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let shown = ask(
        &hub,
        &format!("GET /api/v1/approvals/{id}"),
        None,
        Value::Null,
    )
    .await?;
    assert_eq!(shown.body["item"], "test_audio_content", "{}", shown.body);
    let answer = json!({ "answer": "once" });
    let answered = ask(
        &hub,
        &format!("POST /api/v1/approvals/{id}/answer"),
        None,
        answer,
    )
    .await?;
    assert_eq!(answered.status, 200, "{}", answered.body);
    let done = ask(&hub, call, key, json!({})).await?;
    assert_eq!(done.status, 200, "{}", done.body);

    // The next hub knows the key too.
    let hub = hub.restart().await?;
    let again = ask(&hub, call, key, json!({})).await?;
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.body, done.body);
    let other = ask(&hub, call, key, json!({ "other": 1 })).await?;
    assert_eq!(other.status, 409, "{}", other.body);
    let calls = ask(
        &hub,
        "GET /api/v1/audit?item=test_audio_content&kind=intent",
        None,
        Value::Null,
    )
    .await?;
    assert_eq!(
        calls.body["records"].as_array().map(Vec::len),
        Some(1),
        "{}",
        calls.body
    );
    Ok(())
}

/// Sends a request as a browser does, with the hub's own page before it.
async fn browse(
    hub: &Hub,
    line: &str,
    cookie: &str,
    form: &str,
) -> anyhow::Result<(u16, HeaderMap, String)> {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let uri: Uri = format!("{}{path}", hub.base).parse()?;
    let request = Request::builder()
        .method(Method::from_bytes(method.as_bytes())?)
        .uri(path)
        .header("host", hub.base.trim_start_matches("http://"))
        .header("origin", hub.base.as_str())
        .header("cookie", cookie)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Full::new(Bytes::from(form.to_owned())))?;
    let got = whole(&uri, request).await?;
    Ok((got.status, got.headers, got.body))
}

/// Every value of a form's field on a page.
fn field<'p>(page: &'p str, name: &str) -> &'p str {
    let (_, rest) = page
        .split_once(&format!("name=\"{name}\" value=\""))
        .expect("the field is on the page");
    rest.split('"').next().unwrap_or_default()
}

#[tokio::test]
async fn an_answer_is_recorded_with_the_road_it_came_by() -> anyhow::Result<()> {
    let hub = start().await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    hub.wait_for_tool(&peer, "kept-test_audio_content").await?;
    let call = "POST /api/v1/servers/kept/tools/test_audio_content/call";
    for road in ["console", "api", "command", "terminal"] {
        let waits = ask(&hub, call, None, json!({})).await?;
        let id = waits.body["approval_id"].as_str().expect("an id");
        match road {
            "console" => answer_in_the_console(&hub, id).await?,
            "api" => {
                let line = format!("POST /api/v1/approvals/{id}/answer");
                let answered = ask(&hub, &line, None, json!({ "answer": "once" })).await?;
                assert_eq!(answered.status, 200, "{}", answered.body);
            }
            "command" => {
                let (code, _, said) = hub.run(&["approve", id]).await?;
                assert_eq!(code, 0, "{said}");
            }
            _ => {
                let (home, id) = (Home::at(hub.home()), id.to_owned());
                let answered = tokio::task::spawn_blocking(move || {
                    let mut terminal = AdminClient::at_terminal(&home, "test")?.expect("a hub");
                    let answer = "once".to_owned();
                    terminal.call(&legation_api::approvals::Answer { id, answer })
                });
                assert_eq!(answered.await??.answer, "once");
            }
        }
        let done = ask(&hub, call, None, json!({})).await?;
        assert_eq!(done.status, 200, "{road}: {}", done.body);
        let granted = ask(
            &hub,
            "GET /api/v1/audit?topic=APPROVAL_GRANTED",
            None,
            Value::Null,
        );
        let granted = granted.await?.body.to_string();
        assert!(
            granted.contains(&format!("once by {road}")),
            "{road}: {granted}"
        );
    }
    Ok(())
}

/// Signs in at the pages and agrees there to what waits.
async fn answer_in_the_console(hub: &Hub, id: &str) -> anyhow::Result<()> {
    let (code, link, said) = hub.run(&["console", "--no-open"]).await?;
    assert_eq!(code, 0, "{said}");
    let (_, word) = link.trim().rsplit_once('/').expect("a link");
    let form = format!("word={word}");
    let (status, headers, page) = browse(hub, "POST /login", "", &form).await?;
    assert_eq!(status, 303, "{page}");
    let cookie = headers["set-cookie"].to_str()?;
    let cookie = cookie.split(';').next().unwrap_or_default();
    let (_, _, page) = browse(hub, "GET /approvals", cookie, "").await?;
    let (token, digest) = (field(&page, "csrf"), field(&page, "digest"));
    let form = format!("csrf={token}&digest={digest}&answer=once");
    let line = format!("POST /approvals/{id}");
    let (status, _, page) = browse(hub, &line, cookie, &form).await?;
    assert_eq!(status, 303, "{page}");
    let signed_in = "GET /api/v1/audit?topic=CONSOLE_SIGNED_IN";
    let signed_in = ask(hub, signed_in, None, Value::Null).await?.body;
    let records = signed_in["records"].as_array().map(Vec::len);
    assert_eq!(records, Some(1), "{signed_in}");
    assert!(!signed_in.to_string().contains(word), "{signed_in}");
    Ok(())
}

#[tokio::test]
async fn listeners_hear_of_calls_and_come_back_to_where_they_were() -> anyhow::Result<()> {
    let hub = start().await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    hub.wait_for_tool(&peer, "kept-test_simple_text").await?;
    let mut listener = Listener::start(&hub, "").await?;
    peer.call("kept-test_simple_text", json!({})).await?;
    let (id, started) = listener.next("tool.execution_start").await?;
    assert_eq!(started["mcpServerName"], "kept");
    assert_eq!(started["mcpToolName"], "test_simple_text");
    let (_, over) = listener.next("tool.execution_complete").await?;
    assert_eq!(
        (&over["toolCallId"], &over["success"]),
        (&started["toolCallId"], &json!(true))
    );
    drop(listener);

    // What happened meanwhile is told to whoever comes back.
    peer.call("kept-test_simple_text", json!({})).await?;
    let mut back = Listener::start(&hub, &format!("?since={id}")).await?;
    let (_, first) = back.next("tool.execution_complete").await?;
    assert_eq!(first["toolCallId"], started["toolCallId"]);
    let (_, second) = back.next("tool.execution_start").await?;
    assert_ne!(second["toolCallId"], started["toolCallId"]);
    let disable = ask(&hub, "POST /api/v1/servers/kept/disable", None, json!({})).await?;
    assert_eq!(disable.status, 200, "{}", disable.body);
    let (_, changed) = back.next("session.mcp_server_status_changed").await?;
    assert_eq!(
        changed,
        json!({ "serverName": "kept", "status": "disabled" })
    );
    let mut stranger = Listener::start(&hub, "?since=another-3").await?;
    let (id, gap) = stranger.next("stream.gap").await?;
    assert_eq!(
        (id.as_str(), &gap["reason"]),
        ("", &json!("the hub was started anew since"))
    );
    Ok(())
}
