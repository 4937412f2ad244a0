//! Results too large for one message, read in pages by real clients.

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, friendly};
use legation_tests::harness::servers::stdio_entry;
use serde_json::{Value, json};

#[tokio::test]
async fn a_large_result_is_paged_through_by_who_got_it() -> anyhow::Result<()> {
    let mut entry = stdio_entry(Era::Both, "shared")?;
    entry["filterMapping"] = json!({"fidelity": {"maxResultBytes": 100_000}});
    let hub = Hub::start(HubOptions {
        servers: json!({"fixture": entry}),
        clients: vec!["codex".to_owned()],
        ..HubOptions::default()
    })
    .await?;
    let text: String = (0..40_000).map(|line| format!("row {line}\n")).collect();
    let result = json!({"content": [{"type": "text", "text": text}]});
    for era in [PeerEra::Legacy, PeerEra::Modern] {
        let peer = hub.http(era, json!({}), friendly()).await?;
        hub.wait_for_tool(&peer, "fixture-fidelity").await?;
        let answer = peer
            .call("fixture-fidelity", json!({"raw": result.to_string()}))
            .await?;
        let content = answer.result()?["content"].clone();
        assert!(answer.text.len() < 10_000, "{}", answer.text.len());
        assert_eq!(content[1]["type"], "resource_link", "{content}");
        assert_eq!(content[1]["size"], text.len());
        let uri = content[1]["uri"].as_str().unwrap_or_default().to_owned();
        let mut whole = String::new();
        for page in 1.. {
            let uri = match page {
                1 => uri.clone(),
                page => format!("{uri}/{page}"),
            };
            let read = peer.request("resources/read", json!({"uri": uri})).await?;
            let Ok(result) = read.result() else {
                break;
            };
            let contents: &Value = &result["contents"][0];
            assert_eq!(contents["uri"], uri);
            whole.push_str(contents["text"].as_str().unwrap_or_default());
        }
        assert_eq!(whole, text);
        // To another client it is as if there were none.
        let other = hub.http_as("codex", era, json!({}), friendly()).await?;
        let theirs = other.request("resources/read", json!({"uri": uri})).await?;
        assert!(theirs.result().is_err(), "{}", theirs.text);
        assert!(!theirs.text.contains("row 1"), "{}", theirs.text);
    }
    Ok(())
}
