//! Waiting for a person, and asking one again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::until;
use serde_json::{Value, json};

use super::stand::{Stand, call, code_in, content};

#[tokio::test]
async fn a_client_that_wants_to_sees_the_time_that_is_left() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    let shown = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&shown);
    let answerer = Arc::new(move |_: &str, params: &Value| {
        let message = params["message"].as_str().unwrap_or_default();
        kept.lock().unwrap().replace(code_in(message));
        json!({"action": "accept"})
    });
    let peer = hub.bridge(PeerEra::Legacy, everything(), answerer).await?;
    let params = json!({
        "name": "identity-bootstrap", "arguments": {}, "_meta": {"progressToken": "waits"},
    });
    let pending = peer.start("tools/call", params).await?;
    let progress = |peer: &Peer| peer.heard_of("notifications/progress");
    until("progress", Duration::from_secs(30), async || {
        !progress(&peer).is_empty()
    })
    .await?;
    let first = &progress(&peer)[0]["params"];
    assert_eq!(first["progressToken"], "waits", "{first}");
    assert_eq!(first["total"], 120, "{first}");
    let message = first["message"].as_str().unwrap();
    assert!(message.starts_with("waiting for the code, 1"), "{first}");
    let code = shown.lock().unwrap().clone().unwrap();
    stand.order(&["decide", &code, "approve"]).await?;
    let answer = pending.answer.await?;
    assert_eq!(content(&answer)["status"], "ready", "{}", answer.text);
    Ok(())
}

#[tokio::test]
async fn a_second_factor_asks_again() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    let human = stand.env["HUMAN_ID"].clone();
    let signs_in = async || -> anyhow::Result<()> {
        let pending = call(&peer, "bootstrap").await?;
        assert_eq!(pending["status"], "pending", "{pending}");
        let code = pending["user_code"].as_str().unwrap();
        stand.order(&["mfa", &human, "off"]).await?;
        stand.order(&["decide", code, "approve"]).await?;
        let ready = call(&peer, "bootstrap").await?;
        assert_eq!(ready["status"], "ready", "{ready}");
        Ok(())
    };
    signs_in().await?;
    // The tenant wants more of the person from now on.
    stand.order(&["mfa", &human, "on"]).await?;
    let refused = call(&peer, "refresh").await?;
    assert_eq!(
        refused["kind_of"].as_str().or(refused["error"].as_str()),
        Some("AuthError")
    );
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("second factor"), "{refused}");
    signs_in().await
}
