//! Sessions over HTTP: every revision with a handshake.

use crate::testing::Rig;

const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},"_meta":{"x":1}}}"#;

fn initialize(version: &str, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"t","version":"1"}}}}}}"#
    )
}

#[tokio::test]
async fn a_session_lives_from_initialize_to_delete() {
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let rig = Rig::start().await;
        let mut client = rig.client().await;
        let hello = client.post("", &initialize(version, "{}")).await;
        assert_eq!(hello.status, 200, "{}", hello.body);
        let result = hello.json().get("result").expect("a result");
        assert_eq!(result.get("protocolVersion").expect("there").to_str().as_deref(), Some(version));
        let id = hello.header("mcp-session-id").expect("a session").to_owned();
        let session = format!("Mcp-Session-Id: {id}\r\n");
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(client.post(&session, ready).await.status, 202);

        let called = client.post(&session, CALL).await;
        assert_eq!(called.header("content-type"), Some("application/json"));
        let result = called.json().get("result").expect("a result");
        assert_eq!(
            result.as_text(),
            r#"{"content":[],"big":9223372036854775807,"vendor/x":{"a":1},"params":{"name":"echo","arguments":{"a":1},"_meta":{"x":1}}}"#
        );
        let unknown = client.post(&session, r#"{"jsonrpc":"2.0","id":3,"method":"unknown/method"}"#).await;
        assert_eq!((unknown.status, unknown.code()), (200, -32601));

        assert_eq!(client.request("DELETE /mcp", &session, "").await.status, 204);
        assert_eq!(client.post(&session, CALL).await.status, 404);
        assert_eq!(*rig.fake.seats.lock().expect("sound"), ["+claude", "-claude"]);
        rig.stop().await;
    }
}
