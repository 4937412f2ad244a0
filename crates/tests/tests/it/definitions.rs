//! What the rules know of definitions, and what the hub knows of secrets.

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, everything, friendly};
use legation_tests::harness::servers::stdio_entry;
use serde_json::json;

#[tokio::test]
async fn a_policy_may_name_a_tool_that_is_seen_only_after_the_start() -> anyhow::Result<()> {
    let forbid = r#"@id("no-echo") forbid(principal, action in Action::"fixture/echo", resource);"#;
    let hub = Hub::start(HubOptions {
        servers: json!({"fixture": stdio_entry(Era::Both, "shared")?}),
        template: Some("personal"),
        governance: vec![("policy.cedar", json!(forbid))],
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    // Until the tool was seen the policy makes no sense, and everything is denied.
    hub.wait_for_tool(&peer, "fixture-stats").await?;
    let fine = peer.call("fixture-stats", json!({})).await?;
    assert!(fine.text.contains("sessions"), "{}", fine.text);
    let refused = peer.call("fixture-echo", json!({"what": "x"})).await?;
    assert!(refused.text.contains("no-echo"), "{}", refused.text);
    Ok(())
}

#[tokio::test]
async fn the_owners_token_comes_back_from_no_server() -> anyhow::Result<()> {
    let hub = Hub::start(HubOptions {
        servers: json!({"fixture": stdio_entry(Era::Both, "shared")?}),
        ..HubOptions::default()
    })
    .await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    hub.wait_for_tool(&peer, "fixture-echo").await?;
    let token = hub.token()?;
    let plain = peer
        .call("fixture-echo", json!({"what": "no secret"}))
        .await?;
    assert!(plain.text.contains("no secret"), "{}", plain.text);
    let masked = peer.call("fixture-echo", json!({"what": token})).await?;
    assert!(!masked.text.contains(&token), "{}", masked.text);
    Ok(())
}
