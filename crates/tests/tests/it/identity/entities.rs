//! Accounts of two entities side by side.

use legation_tests::harness::hub::HubOptions;
use legation_tests::harness::peer::{Peer, PeerEra};
use serde_json::{Value, json};

use super::stand::{Kind, Stand, content};
use crate::business::{Business, code};

/// An account of each, and one of an entity that there is not.
const ACCOUNTS: [(&str, &str); 3] = [
    ("harbor-desk", "harbor"),
    ("meadow-desk", "meadow"),
    ("lost-desk", "nowhere"),
];

/// Why a call is refused, or nothing.
async fn whoami(peer: &Peer, account: &str) -> anyhow::Result<String> {
    let answer = peer
        .call("identity-whoami", json!({"account": account}))
        .await?;
    let refused = code(&answer);
    if refused.is_empty() {
        let who = content(&answer);
        assert_eq!(who["account"], account, "{who}");
        assert_eq!(who["attribution"], "agent_user", "{who}");
    }
    Ok(refused)
}

#[tokio::test]
async fn each_stays_within_its_entity() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let mut options = HubOptions::default();
    for (name, entity) in ACCOUNTS {
        options.settings += &stand.account(name, entity, Kind::Agent);
        options.environment.extend(stand.secrets(name, Kind::Agent));
    }
    let business = Business::under(Vec::new(), options).await?;
    // A conversation that holds one entity's data does not get another's.
    let desk = business.bridge("desk-agent", PeerEra::Legacy).await?;
    assert_eq!(whoami(&desk, "harbor-desk").await?, "");
    assert_eq!(whoami(&desk, "meadow-desk").await?, "CROSS_ENTITY_BLOCK");
    assert_eq!(whoami(&desk, "harbor-desk").await?, "");
    let other = business.bridge("desk-agent", PeerEra::Modern).await?;
    assert_eq!(whoami(&other, "meadow-desk").await?, "");
    let notes = other.call("harbor-mail-read_note", json!({})).await?;
    assert_eq!(code(&notes), "CROSS_ENTITY_BLOCK", "{}", notes.text);
    // A client is cleared for what it may see.
    let summer = business.bridge("summer", PeerEra::Modern).await?;
    assert_ne!(whoami(&summer, "harbor-desk").await?, "");
    assert_eq!(whoami(&summer, "meadow-desk").await?, "");
    assert_ne!(whoami(&other, "lost-desk").await?, "");
    // The same through the tool that calls tools.
    let wrapped = json!({"name": "identity-whoami", "arguments": {"account": "harbor-desk"}});
    let answer = other.call("hub-call_tool", wrapped).await?;
    assert_eq!(code(&answer), "CROSS_ENTITY_BLOCK", "{}", answer.text);
    // Each call is in the chain of its entity.
    let arguments = ["audit", "query", "--server", "identity", "--json"];
    let (ended, out, complaint) = business.hub.run(&arguments).await?;
    assert_eq!(ended, 0, "{complaint}");
    let records: Value = serde_json::from_str(&out)?;
    let text = records.to_string();
    for entity in ["harbor", "meadow"] {
        let found = format!(r#""entity":"{entity}""#);
        assert!(text.contains(&found), "{entity}: {text}");
    }
    assert!(!text.contains(r#""entity":"nowhere""#), "{text}");
    Ok(())
}
