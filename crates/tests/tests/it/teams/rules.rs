//! Rules about recipients know to whom these tools write, though no argument says so.

use serde_json::{Value, json};

use legation_tests::harness::hub::Hub;

use super::stand::{ERAS, Stand, client, done};

fn ban() -> Value {
    json!({ "bans": [{
        "id": "test.foreign", "kind": "never_do", "because": "what is ours stays with us",
        "when": { "tools": ["teams/*"], "facts": ["foreign_recipient"] },
        "match": [{ "tool": "teams/send", "arguments": { "text": "x", "cc": ["a@far.example.com"] } }],
        "no_match": [{ "tool": "teams/send", "arguments": { "text": "x" } }],
    }] })
}

#[tokio::test]
async fn the_human_is_a_recipient_like_any_other() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    let tenants = stand.order("tenants", json!({})).await;
    let users = tenants[0]["users"].as_array().unwrap();
    let human = users
        .iter()
        .find(|user| user["id"] == stand.env["HUMAN_ID"].as_str())
        .unwrap();
    let name = human["userPrincipalName"].as_str().unwrap();
    let id = stand.env["HUMAN_ID"].as_str();
    // By id nobody can tell who it is; by name it depends on what the name may have.
    for (human, cleared, passes) in [(id, true, false), (name, false, false), (name, true, true)] {
        let mut options = stand.options();
        options.template = Some("personal");
        options.settings = options.settings.replace(id, human);
        options.governance = vec![("hard_bans.json", ban())];
        if cleared {
            let clearance = json!({ "recipient_clearances": { name: ["personal"] } });
            options
                .governance
                .push(("operator_profile.json", clearance));
        }
        let hub = Hub::start(options).await?;
        let peer = client(&hub, ERAS[1]).await?;
        for (tool, arguments) in [
            ("send", json!({ "text": "hello" })),
            ("ask", json!({ "question": "hello?", "timeout_s": 0 })),
        ] {
            let answer = peer.call(&format!("teams-{tool}"), arguments).await?;
            let refused = answer.text.contains("test.foreign");
            assert_eq!(refused, !passes, "{human} {cleared}: {}", answer.text);
            assert_eq!(answer.text.contains(r#""isError":true"#), !passes);
        }
        // Who only reads sends nobody anything.
        let page = done(&peer, "poll", json!({})).await?;
        assert_eq!(page["entity"], "personal");
    }
    stand.no_complaints().await;
    Ok(())
}
