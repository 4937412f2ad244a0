//! What a server says on the way of a call reaches only a client that may read
//! its data as it is.

use legation_tests::harness::peer::{PeerEra, friendly};
use serde_json::json;

use crate::business::Business;

const WORDS: &str = "What does Rosalind Achterberg prefer?";
const TOOLS: [&str; 3] = [
    "test_elicitation",
    "test_tool_with_logging",
    "test_tool_with_progress",
];

#[tokio::test]
async fn questions_logs_and_progress_reach_only_the_cleared() -> anyhow::Result<()> {
    let tools: Vec<String> = ["meadow-notes", "harbor-mail"]
        .iter()
        .flat_map(|server| TOOLS.map(|tool| format!("{server}/{tool}")))
        .collect();
    let ladder = json!({"action_categories": [
        {"action": "Talked to", "mode": "autonomous", "tools": tools},
    ]});
    let business = Business::with(vec![("autonomy_ladder.json", ladder)]).await?;
    // Client, server, whether it hears what the server says.
    let cases = [
        ("summer", "meadow-notes", false),
        ("desk-agent", "meadow-notes", true),
        ("claude", "harbor-mail", true),
    ];
    let capabilities = json!({"elicitation": {"form": {}}});
    for era in [PeerEra::Legacy, PeerEra::Modern] {
        for (id, server, open) in cases {
            let peer = business
                .asked(id, era, capabilities.clone(), friendly())
                .await?;
            if era == PeerEra::Legacy {
                peer.request("logging/setLevel", json!({"level": "debug"}))
                    .await?;
            }
            let before = peer.heard().len();
            let mut told = String::new();
            for tool in TOOLS {
                let params = json!({
                    "name": format!("{server}-{tool}"), "arguments": {"message": WORDS},
                    "_meta": {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"},
                });
                told += &peer.request("tools/call", params).await?.text;
            }
            let heard: Vec<_> = peer.heard().split_off(before);
            let of = |method: &str| heard.iter().filter(|said| said["method"] == method).count();
            let said = [
                of("notifications/message") > 0,
                of("notifications/progress") > 0,
                told.contains("accept") || of("elicitation/create") > 0,
            ];
            assert_eq!(said, [open; 3], "{id} {era:?}: {heard:?} {told}");
            if !open {
                let all = format!("{heard:?}{told}");
                assert!(!all.contains("Achterberg"), "{id} {era:?}: {all}");
            }
        }
        business
            .hub
            .run(&["approvals", "--reset-labels", "desk-agent"])
            .await?;
    }
    Ok(())
}
