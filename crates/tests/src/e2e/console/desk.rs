//! Letters are filed in a real browser, each move certified by its person.

use anyhow::Context;
use serde_json::json;

use super::super::report::{Report, say};
use super::super::tools::Tools;
use super::Browser;
use crate::harness::hub::HubOptions;
use crate::harness::office::Office;
use crate::harness::process::program;

/// Files, refuses and moves back.
pub(super) async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    say("  the desk in a browser");
    let office = Office::open(None, HubOptions::default())
        .await?
        .read()
        .await?;
    let suggestions = office.suggest("harbor", &["/Filed", "/Elsewhere"]).await?;
    let hub = &office.hub;
    let plan = json!({
        "browser": tools.group("browser"), "axe": tools.group("axe"), "url": hub.base,
        "home": hub.home(), "legation": program("legation")?,
        "suggestions": suggestions, "pin": office.set_pin().await?,
    });
    let answer = async |asked: &str| {
        let subject = asked.strip_prefix("place ");
        let subject = subject.with_context(|| format!("what is {asked:?}?"))?;
        office.place("first", subject).await
    };
    let browser = Browser {
        tools,
        hub,
        program: "desk.mjs",
    };
    browser.checks(&plan, answer, report).await;
    Ok(())
}
