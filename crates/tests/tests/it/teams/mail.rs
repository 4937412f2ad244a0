//! Mail comes into the inbox, each letter once, whatever happens between.

use std::time::Duration;

use legation_tests::harness::hub::Hub;
use legation_tests::harness::process::until;
use serde_json::{Value, json};

use super::stand::Stand;
use super::watching::{has, records};

const PATIENCE: Duration = Duration::from_secs(120);

fn options(stand: &Stand, lines: &str) -> legation_tests::harness::hub::HubOptions {
    let mut options = stand.options();
    let lines = format!("inbox = \"mail\"\nmail_seconds = 10\n{lines}");
    options.settings = options.settings.replace("inbox = \"off\"\n", &lines);
    options
}

async fn mail(stand: &Stand, subject: &str, more: Value) -> String {
    let mut letter = json!({
        "to": stand.env["AGENT_USER_ID"], "subject": subject, "body": format!("about {subject}"),
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        letter[key] = value.clone();
    }
    let sent = stand.order("mail", letter).await;
    sent["id"].as_str().unwrap().to_owned()
}

fn subjects(hub: &Hub) -> Vec<String> {
    let all = records(&hub.home());
    let text = |record: &Value| record["meta"]["subject"].as_str().unwrap_or("").to_owned();
    all.iter().map(text).collect()
}

#[tokio::test]
async fn letters_come_in_once_and_noise_stays_out() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    for number in 0..3 {
        mail(&stand, &format!("history {number}"), json!({})).await;
    }
    let hub = Hub::start(options(&stand, "")).await?;
    // Which of a second's is the newest is the mailbox's to say.
    has(&hub, "about history").await?;
    let fault = json!({ "fault": "throttle", "retry_after": 1, "left": 2, "matching": "/delta" });
    stand.order("fault", fault).await;
    mail(
        &stand,
        "away",
        json!({ "headers": { "Auto-Submitted": "auto-replied" } }),
    )
    .await;
    mail(&stand, "meeting", json!({ "invites": true })).await;
    mail(
        &stand,
        "offer",
        json!({ "headers": { "List-Id": "<all.example.com>" } }),
    )
    .await;
    mail(&stand, "ticket", json!({ "from": "no-reply@example.com" })).await;
    let own = stand.env["AGENT_USER_ID"].clone();
    mail(&stand, "from myself", json!({ "from": own })).await;
    let html = json!({ "html": true, "attachments": ["plan.pdf"], "message_id": "<p@example.com>",
        "body": "<style>x{}</style><p>the <b>plan</b></p>" });
    mail(&stand, "plan", html.clone()).await;
    mail(&stand, "plan", html).await;
    has(&hub, "the plan").await?;
    // Graph forgets the link, and a hub that starts anew finds its place.
    let hub = hub.restart().await?;
    stand
        .order(
            "fault",
            json!({ "fault": "gone", "left": 1, "matching": "/delta" }),
        )
        .await;
    mail(&stand, "after the restart", json!({})).await;
    has(&hub, "about after the restart").await?;
    mail(&stand, "last", json!({})).await;
    has(&hub, "about last").await?;

    let mut found = subjects(&hub);
    assert!(found.remove(0).starts_with("history"), "{found:?}");
    assert_eq!(found, ["plan", "after the restart", "last"]);
    let all = records(&hub.home());
    let plan = &all[1];
    assert_eq!(plan["channel"], "mail", "{plan}");
    assert_eq!(plan["id"], "p@example.com");
    assert_eq!(
        plan["content_text_sanitized"],
        "plan\n\nthe plan\n\n[attachment: plan.pdf]"
    );
    assert_eq!(plan["meta"]["account"], "work");
    stand.no_complaints().await;
    Ok(())
}

#[tokio::test]
async fn a_mailbox_that_may_not_be_read_says_so_and_is_left_alone() -> anyhow::Result<()> {
    let stand = Stand::new().await?;
    stand
        .order(
            "fault",
            json!({ "fault": "status", "status": 403, "matching": "/me/mailFolders" }),
        )
        .await;
    let hub = Hub::start(options(&stand, "")).await?;
    until("the report", PATIENCE, async || {
        let status = hub.run(&["status", "--json"]).await;
        status.is_ok_and(|(_, text, _)| {
            text.contains("its mail cannot be read") && text.contains("Mail.Read")
        })
    })
    .await?;
    Ok(())
}
