//! `legation identity`.

use std::time::Duration;

use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, friendly};
use legation_tests::harness::process::until;
use serde_json::{Value, json};

use crate::approvals::piped;

use super::stand::{Kind, Stand, begin, call, finish, shown};

#[tokio::test]
async fn what_a_command_signs_in_a_running_hub_uses() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    let nobody = call(&peer, "whoami").await?;
    assert_eq!(nobody["error"], "TokenExpiredError", "{nobody}");
    let who = stand.answer(&hub, &["bootstrap"]).await?;
    assert_eq!(who["attribution"], "application_for_human", "{who}");
    assert_eq!(call(&peer, "whoami").await?["user_id"], who["user_id"]);
    assert_eq!(
        stand.answer(&hub, &["whoami"]).await?["user_id"],
        who["user_id"]
    );
    // Whoever asks who it is hears how much waits for it.
    assert_eq!(call(&peer, "whoami").await?["unread"], 0);
    for id in ["m1", "m2"] {
        let (code, _, complaint) = hub.run(&["inbox", "post", "hello", "--id", id]).await?;
        assert_eq!(code, 0, "{complaint}");
    }
    assert_eq!(call(&peer, "whoami").await?["unread"], 2);
    peer.call("inbox-pull", json!({"limit": 1})).await?;
    // The first is read once its reader calls again.
    peer.call(
        "inbox-pull",
        json!({"since_id": "m1", "mark_consumed": false}),
    )
    .await?;
    assert_eq!(call(&peer, "whoami").await?["unread"], 1);
    let newer = stand.answer(&hub, &["refresh"]).await?;
    assert!(
        newer["expires"].as_str() >= who["expires"].as_str(),
        "{newer}"
    );
    // The hub's sign-in is void; the next one is a command's.
    stand.order(&["revoke", "--sessions"]).await?;
    let ran = stand.run(&hub, &["whoami"]).await?;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.complaint.contains("TokenExpiredError"), "{ran:?}");
    stand.answer(&hub, &["bootstrap"]).await?;
    let refreshed = call(&peer, "refresh").await?;
    assert_eq!(refreshed["user_id"], who["user_id"], "{refreshed}");
    let plan = stand.answer(&hub, &["revoke", "--dry-run"]).await?;
    assert_eq!(plan["forgotten"], json!(["human", "on-behalf"]), "{plan}");
    let ended = stand.answer(&hub, &["revoke"]).await?;
    assert_eq!(ended["forgotten"], plan["forgotten"], "{ended}");
    // The hub's own tokens go as well, which nobody else holds.
    until("the hub to sign out", Duration::from_secs(20), async || {
        let who = call(&peer, "whoami").await.unwrap();
        who["error"] == "TokenExpiredError"
    })
    .await?;
    let again = stand.answer(&hub, &["revoke", "--dry-run"]).await?;
    assert_eq!(again["forgotten"], json!([]), "{again}");
    Ok(())
}

#[tokio::test]
async fn a_command_can_be_called_off() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    let mut child = begin(&hub, &["bootstrap"])?;
    let (code, mut said) = shown(&mut child).await?;
    assert!(code.is_some(), "{said}");
    let pid = i32::try_from(child.id().unwrap())?;
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
    let ran = finish(child, &mut said).await?;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.complaint.contains(r#""class":"Cancelled""#), "{ran:?}");
    Ok(())
}

#[tokio::test]
async fn an_agent_is_made_shown_and_removed() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let options = stand.options(&[("fresh", Kind::Application), ("agent", Kind::Agent)]);
    let hub = Hub::start(options).await?;
    let user = "fresh.agent@first.example.com";
    let with = |first: &'static str, more: &[&'static str]| {
        let mut all = vec![first, "--account", "fresh", "--user", user, "--sponsor"];
        all.push(&stand.env["HUMAN_ID"]);
        all.extend_from_slice(more);
        all
    };
    let plan = stand
        .answer(&hub, &with("provision", &["--dry-run"]))
        .await?;
    let parts = plan.as_array().unwrap();
    assert_eq!(parts.len(), 7, "{plan}");
    assert!(parts.iter().all(|part| part["there"].is_null()), "{plan}");
    let made = stand.answer(&hub, &with("provision", &[])).await?;
    assert_eq!(made["made"].as_array().unwrap().len(), 7, "{made}");
    let again = stand.answer(&hub, &with("provision", &[])).await?;
    assert_eq!(again["made"], json!([]), "{again}");
    assert_eq!(again["agent_id"], made["agent_id"], "{again}");
    let plan = stand
        .answer(&hub, &with("deprovision", &["--dry-run"]))
        .await?;
    assert_eq!(
        plan["removed"],
        json!(["agent identity", "agent user"]),
        "{plan}"
    );
    let gone = stand
        .answer(&hub, &with("deprovision", &["--blueprint"]))
        .await?;
    assert_eq!(gone["removed"].as_array().unwrap().len(), 4, "{gone}");
    let gone = stand
        .answer(&hub, &with("deprovision", &["--blueprint"]))
        .await?;
    assert_eq!(gone["removed"], json!([]), "{gone}");

    stand
        .answer(&hub, &["whoami", "--account", "agent"])
        .await?;
    until(
        "the agent in the logs",
        Duration::from_secs(30),
        async || {
            let ran = stand
                .run(&hub, &["verify", "--account", "agent"])
                .await
                .unwrap();
            ran.code == 0 && ran.out.contains(r#""attributed": true"#)
        },
    )
    .await?;
    stand.order(&["premium", "off"]).await?;
    let ran = stand.run(&hub, &["verify", "--account", "agent"]).await?;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.complaint.contains("Microsoft Entra ID P1 or P2"),
        "{ran:?}"
    );
    Ok(())
}

#[tokio::test]
async fn each_accounts_state_is_said() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let mut options = stand.options(&[("agent", Kind::Agent), ("work", Kind::Application)]);
    let broken = stand.account("broken", "personal", Kind::Agent);
    options.settings += &broken.replace(&stand.env["CA_BUNDLE"], "/nowhere/ca.pem");
    let hub = Hub::start(options).await?;
    let explain = async |account: &str| -> anyhow::Result<Value> {
        let key = format!("accounts.{account}");
        let (code, out, complaint) = hub.run(&["--json", "config", "explain", &key]).await?;
        anyhow::ensure!(code == 0, "{complaint}");
        Ok(serde_json::from_str(&out)?)
    };
    let work = explain("work").await?;
    assert_eq!(work["signed_in"], json!([]), "{work}");
    assert!(
        work["hint"].as_str().unwrap().contains("--account work"),
        "{work}"
    );
    stand
        .answer(&hub, &["bootstrap", "--account", "work"])
        .await?;
    let work = explain("work").await?;
    assert_eq!(work["signed_in"], json!(["human", "on-behalf"]), "{work}");
    let agent = explain("agent").await?;
    assert_eq!(
        (&agent["acts_as"], &agent["hint"]),
        (&json!("agent_user"), &Value::Null)
    );
    let broken = explain("broken").await?;
    assert!(
        broken["problem"]
            .as_str()
            .unwrap()
            .contains("cannot be read"),
        "{broken}"
    );
    let (code, out, _) = hub.run(&["doctor"]).await?;
    assert_eq!(code, 1, "{out}");
    for line in [
        "agent of personal, acts as agent_user; nobody has to sign in",
        "work of personal, acts as application_for_human; signed in: human, on-behalf; into the inbox: nothing",
        "BAD   accounts     broken of personal: `ca_file` of the account `broken`",
    ] {
        assert!(out.contains(line), "{line}: {out}");
    }
    Ok(())
}

#[tokio::test]
async fn a_secret_is_kept_from_standard_input() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let settings = stand.account("agent", "personal", Kind::Agent);
    let hub = Hub::start(HubOptions {
        settings,
        servers: json!({}),
        ..HubOptions::default()
    })
    .await?;
    let ran = stand.run(&hub, &["whoami"]).await?;
    assert_eq!(ran.code, 2, "{ran:?}");
    let secret = format!("{}\n", stand.env["BLUEPRINT_SECRET"]);
    let keep = ["identity", "keep", "--for", "blueprint"];
    assert_eq!(piped(&hub, &keep, "\n").await?, 2);
    assert_eq!(piped(&hub, &keep, &secret).await?, 0);
    let who = stand.answer(&hub, &["whoami"]).await?;
    assert_eq!(who["attribution"], "agent_user", "{who}");
    let sealed = std::fs::read(hub.home().join("secrets"))?;
    let sealed = String::from_utf8_lossy(&sealed).into_owned();
    assert!(!sealed.contains(&stand.env["BLUEPRINT_SECRET"]));
    Ok(())
}

#[tokio::test]
async fn a_secret_of_the_environment_is_in_no_environment() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    let mut child = begin(&hub, &["bootstrap"])?;
    let (code, mut said) = shown(&mut child).await?;
    let environ = std::fs::read(format!("/proc/{}/environ", child.id().unwrap()));
    match environ {
        Ok(environ) => {
            let environ = String::from_utf8_lossy(&environ).into_owned();
            assert!(environ.contains("LEGATION_HOME"), "{environ}");
            assert!(!environ.contains(&stand.env["API_CLIENT_SECRET"]));
        }
        // Its memory is private: but for root nobody may look at all.
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
    }
    // The secret is there all the same.
    stand.order(&["decide", &code.unwrap(), "approve"]).await?;
    let ran = finish(child, &mut said).await?;
    assert_eq!(ran.code, 0, "{ran:?}");
    Ok(())
}
