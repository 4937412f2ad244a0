//! Clients that misbehave over HTTP: each is told so, and the hub goes on.

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;
use legation_tests::fixture::Era;
use legation_tests::harness::http::{Whole, whole};
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, everything, friendly};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request that is all right except for what the case changes.
struct Case {
    name: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// The acceptable statuses.
    status: &'static [u16],
    /// The JSON-RPC code, where there must be one.
    code: Option<i64>,
}

fn discover() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}})
}

/// The honest message with one piece of its text replaced.
fn with(old: &str, new: &str) -> Vec<u8> {
    let text = discover().to_string();
    assert!(text.contains(old));
    text.replace(old, new).into_bytes()
}

fn header(name: &'static str, headers: &[(&'static str, &str)], status: &'static [u16]) -> Case {
    let headers = headers
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()))
        .collect();
    Case {
        name,
        headers,
        body: discover().to_string().into_bytes(),
        status,
        code: None,
    }
}

fn body(name: &'static str, body: Vec<u8>, status: &'static [u16], code: i64) -> Case {
    Case {
        name,
        headers: Vec::new(),
        body,
        status,
        code: Some(code),
    }
}

fn cases() -> Vec<Case> {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let id = r#""id":1"#;
    vec![
        header("honest", &[], &[200]),
        header("foreign Host", &[("host", "evil.example.com")], &[403, 421]),
        header(
            "foreign Origin",
            &[("origin", "http://evil.example.com")],
            &[403],
        ),
        header("Origin null", &[("origin", "null")], &[403]),
        header("no token", &[("authorization", "")], &[401]),
        header("wrong token", &[("authorization", "Bearer wrong")], &[401]),
        header(
            "wrong content type",
            &[("content-type", "text/plain")],
            &[415],
        ),
        header(
            "unknown revision",
            &[("mcp-protocol-version", "2099-01-01")],
            &[400],
        ),
        header("method mismatch", &[("mcp-method", "prompts/list")], &[400]),
        header("compressed", &[("content-encoding", "gzip")], &[400, 415]),
        body("no JSON", b"{\"jsonrpc\":".to_vec(), &[400], -32700),
        body(
            "invalid UTF-8",
            [&with(r#""2.0""#, "\"2.0")[..12], b"\xff\xfe"].concat(),
            &[400],
            -32700,
        ),
        body(
            "lone surrogate",
            with(id, r#""id":"\ud800""#),
            &[400],
            -32700,
        ),
        body(
            "deep nesting",
            with(id, &format!("{id},\"x\":{deep}")),
            &[400],
            -32700,
        ),
        body(
            "duplicate key",
            with(id, r#""id":1,"id":2"#),
            &[400],
            -32700,
        ),
        body("id null", with(id, r#""id":null"#), &[400], -32600),
        body("id fraction", with(id, r#""id":1.5"#), &[400], -32600),
        body("id object", with(id, r#""id":{}"#), &[400], -32600),
        body(
            "id 2^63",
            with(id, r#""id":9223372036854775808"#),
            &[400],
            -32600,
        ),
        body(
            "unknown method",
            with("tools/list", "tools/destroy"),
            &[400, 404],
            0,
        ),
        body(
            "batch",
            format!("[{}]", discover()).into_bytes(),
            &[400],
            -32600,
        ),
    ]
}

async fn send(uri: &Uri, token: &str, case: &Case) -> anyhow::Result<Whole> {
    let mut headers = vec![
        ("host", uri.authority().unwrap().to_string()),
        ("authorization", format!("Bearer {token}")),
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", "tools/list".to_owned()),
    ];
    for (name, value) in &case.headers {
        headers.retain(|(other, _)| other != name);
        if !value.is_empty() {
            headers.push((name, value.clone()));
        }
    }
    let mut request = Request::post(uri.path());
    for (name, value) in headers {
        request = request.header(name, value);
    }
    whole(
        uri,
        request.body(Full::new(Bytes::from(case.body.clone())))?,
    )
    .await
}

async fn hub() -> anyhow::Result<Hub> {
    let servers = json!({"fixture": stdio_entry(Era::Both, "shared")?});
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    Ok(hub)
}

#[tokio::test]
async fn each_is_refused_by_name() -> anyhow::Result<()> {
    let hub = hub().await?;
    let uri: Uri = hub.url().parse()?;
    let token = hub.token()?;
    let mut wrong = Vec::new();
    for case in cases() {
        let answer = send(&uri, &token, &case).await?;
        let code = serde_json::from_str::<Value>(&answer.body)
            .ok()
            .and_then(|body| body["error"]["code"].as_i64());
        // A code of 0 stands for any.
        let right_code = case
            .code
            .is_none_or(|expected| code == Some(expected) || (expected == 0 && code.is_some()));
        if !case.status.contains(&answer.status) || !right_code {
            wrong.push(format!(
                "{}: HTTP {} {}",
                case.name,
                answer.status,
                answer.body.chars().take(300).collect::<String>()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let honest = send(&uri, &token, &cases()[0]).await?;
    assert_eq!(honest.status, 200);
    Ok(())
}

#[tokio::test]
async fn a_token_in_the_query_is_no_token() -> anyhow::Result<()> {
    let hub = hub().await?;
    let token = hub.token()?;
    let uri: Uri = format!("{}?token={token}&access_token={token}", hub.url()).parse()?;
    let answer = send(
        &uri,
        &token,
        &header("query", &[("authorization", "")], &[401]),
    )
    .await?;
    assert_eq!(answer.status, 401);
    assert!(
        !hub.said().join("\n").contains(&token),
        "the token is in the log"
    );
    Ok(())
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_early() -> anyhow::Result<()> {
    let hub = hub().await?;
    let address = hub.base.strip_prefix("http://").unwrap().to_owned();
    let token = hub.token()?;
    let mut stream = TcpStream::connect(&address).await?;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: 104857600\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    // Not one byte of the hundred megabytes is sent: the length alone must do.
    let mut answer = Vec::new();
    tokio::time::timeout(
        std::time::Duration::from_secs(120),
        stream.read_buf(&mut answer),
    )
    .await??;
    assert!(
        answer.starts_with(b"HTTP/1.1 413"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    Ok(())
}

#[tokio::test]
async fn two_hosts_or_none_are_refused() -> anyhow::Result<()> {
    let hub = hub().await?;
    let address = hub.base.strip_prefix("http://").unwrap().to_owned();
    for hosts in [
        String::new(),
        format!("host: {address}\r\nhost: evil.example.com\r\n"),
    ] {
        let mut stream = TcpStream::connect(&address).await?;
        let token = hub.token()?;
        let request = format!(
            "GET /healthz HTTP/1.1\r\n{hosts}authorization: Bearer {token}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let status = answer.get(9..12).unwrap_or_default();
        assert!(
            ["400", "403", "421"].contains(&status),
            "{hosts:?}: {answer}"
        );
    }
    Ok(())
}
