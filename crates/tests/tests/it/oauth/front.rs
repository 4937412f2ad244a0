//! The hub's own front, opened by the authorization server's tokens.

use anyhow::Context;
use legation_tests::harness::hub::{Hub, HubOptions};
use serde_json::json;

use super::{Outside, group, sign_in_elsewhere};

#[tokio::test]
async fn a_client_signs_in_at_the_hub_with_the_sdks_own_provider() -> anyhow::Result<()> {
    let Some(outside) = Outside::start(300).await? else {
        return Ok(());
    };
    let hub = Hub::start(HubOptions {
        servers: outside.servers(),
        settings: format!(
            "[oauth]\nissuer = {:?}\nscopes = [\"mcp:write: editor\", \"mcp:read: reader\"]\n",
            outside.issuer
        ),
        template: Some("personal"),
        governance: vec![(
            "role_cards.json",
            json!({
                "roles": {"owner": {"operations": ["*"]}, "guest": {"operations": ["guarded/*"]}},
                "clients": {"*": "owner", "reader": "guest"},
            }),
        )],
        ..HubOptions::default()
    })
    .await?;
    sign_in_elsewhere(&outside, &hub).await?;
    let plan = json!({
        "modules": group(&outside, "sdk1"), "issuer": outside.issuer, "upstream": outside.upstream,
        "url": hub.url(), "token": hub.token()?,
    });
    let mut client = outside.installed.start("client.mjs", &plan).await?;
    let mut said = Some(client.first.take());
    let mut checks = 0;
    while let Some(check) = said {
        assert_eq!(check["ok"], true, "{check}; the hub said {:?}", hub.said());
        checks += 1;
        said = client.next().await?;
    }
    assert!(
        client.child.wait().await?.success() && checks == 7,
        "{checks} checks"
    );
    // In records it is one of the people of the client whose rules hold, and nobody by name.
    let (code, said, complained) = hub.run(&["--json", "audit", "query"]).await?;
    assert_eq!(code, 0, "{complained}");
    assert!(said.contains("\"editor/~"), "{said:.2000}");
    assert!(!said.contains("alex"), "no person is named");
    let log = std::fs::read_to_string(hub.home().join("logs/hub.log")).context("no log")?;
    assert!(
        !log.contains("eyJ") && !log.contains("alex"),
        "no token or person is in the log"
    );
    Ok(())
}
