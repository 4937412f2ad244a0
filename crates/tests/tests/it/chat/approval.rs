//! A call that waits for a person, at the terminal.

use legation_tests::harness::hub::HubOptions;
use legation_tests::harness::process::until;
use serde_json::{Value, json};

use super::{PATIENCE, Place, delegated};

const RULES: &str = r#"
[[rule]]
id = "test.edits"
rule = 'ask workspace/edit for once because "files are changed"'
"#;

/// Everything that stands on the screen, without what only breaks lines.
async fn screen(place: &Place) -> String {
    let rows = place.terminal.rows().await.unwrap_or_default();
    rows.concat().split_whitespace().collect()
}

/// Waits until words were seen, going through the question where it is longer than the screen.
async fn seen(place: &Place, words: &str) -> anyhow::Result<()> {
    let words: String = words.split_whitespace().collect();
    let found = async || {
        let is_there = screen(place).await.contains(&words);
        if !is_there {
            place.terminal.press("Down").await.ok();
        }
        is_there
    };
    match until(&words, PATIENCE, found).await {
        Ok(()) => Ok(()),
        Err(error) => Err(error.context(place.terminal.all().await.unwrap_or_default())),
    }
}

async fn approval(columns: usize) -> anyhow::Result<()> {
    let options = HubOptions {
        template: Some("personal"),
        governance: vec![("permissions.toml", json!(RULES))],
        ..HubOptions::default()
    };
    let place = Place::with(columns, options).await?;
    let file = place.folder().join("board.py");
    let before = "class Board:\n    pass\n";
    std::fs::write(&file, before)?;
    place.chat("").await?;
    let agent = place.agent().await?;
    let call = r#"Name it CALL edit {"path":"board.py","old_text":"class Board","new_text":"class ChessBoard"}"#;
    delegated(&agent, call).await?;
    place.until("waits for you").await?;
    let (code, said, complained) = place.hub.run(&["approvals", "--json"]).await?;
    assert_eq!(code, 0, "{complained}");
    let listed: Value = serde_json::from_str(&said)?;
    let waiting = &listed["waiting"][0];
    let digest = waiting["short_digest"].as_str().expect("it has a digest");
    for words in [
        "calls: workspace/edit",
        "because: files are changed",
        "-class Board",
        "+class ChessBoard",
        &format!("digest: {digest}"),
    ] {
        seen(&place, words).await?;
    }
    let rows = place.terminal.rows().await?;
    assert!(
        rows.iter().all(|row| row.chars().count() <= columns),
        "{rows:#?}"
    );
    assert_eq!(std::fs::read_to_string(&file)?, before, "nobody agreed yet");
    let is_armed = async || !screen(&place).await.contains("keyscountinamoment");
    until("keys count", PATIENCE, is_armed).await?;
    place.terminal.press("y").await?;
    let is_changed = async || {
        std::fs::read_to_string(&file).is_ok_and(|text| text == "class ChessBoard:\n    pass\n")
    };
    until("the file is changed", PATIENCE, is_changed).await?;
    place.until("DONE[").await
}

#[tokio::test]
async fn an_approval_shows_the_change_and_its_digest_in_40_columns() -> anyhow::Result<()> {
    approval(40).await
}

#[tokio::test]
async fn an_approval_shows_the_change_and_its_digest_in_120_columns() -> anyhow::Result<()> {
    approval(120).await
}
