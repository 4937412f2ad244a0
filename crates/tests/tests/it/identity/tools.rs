//! The tools of `identity`, for clients that can be asked and for one that cannot.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_tests::harness::hub::Hub;
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::process::until;
use serde_json::{Value, json};

use super::stand::{Kind, Stand, call, code_in, content};

const ERAS: [PeerEra; 2] = [PeerEra::Legacy, PeerEra::Modern];

#[tokio::test]
async fn a_client_that_can_be_asked_shows_the_code() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    let form = json!({"elicitation": {"form": {}}});
    for era in ERAS {
        for (mode, capabilities) in [("url", everything()), ("form", form.clone())] {
            let case = format!("{era:?} {mode}");
            let asked = Arc::new(Mutex::new(Vec::new()));
            let (enters, kept) = (stand.enters(), Arc::clone(&asked));
            let answerer = Arc::new(move |method: &str, params: &Value| {
                kept.lock().unwrap().push(params.clone());
                enters(method, params)
            });
            let peer = hub.http(era, capabilities, answerer).await?;
            signs_in_and_out(&stand, &peer, &case).await?;
            let asked = asked.lock().unwrap();
            assert_eq!(asked.len(), 1, "{case}: nobody is asked twice: {asked:?}");
            // A client of the older era may be asked for a form without its mode.
            let said = asked[0]["mode"].as_str().unwrap_or("form");
            assert_eq!(said, mode, "{case}");
            assert_eq!(asked[0].get("url").is_some(), mode == "url", "{case}");
        }
    }
    Ok(())
}

/// One sign-in, from its beginning to its end.
async fn signs_in_and_out(stand: &Stand, peer: &Peer, case: &str) -> anyhow::Result<()> {
    let ready = call(peer, "bootstrap").await?;
    assert_eq!(ready["status"], "ready", "{case}: {ready}");
    assert_eq!(ready["attribution"], "application_for_human", "{case}");
    assert_eq!(ready["agent_id"], json!(null), "{case}");
    let sponsor = json!(stand.env["HUMAN_ID"]);
    assert_eq!(ready["sponsor"], sponsor, "{case}");
    let left = ready["expires_in_s"].as_u64().unwrap();
    assert!(left > 60, "{case}: {ready}");
    let scopes = ready["scopes"].as_array().unwrap();
    for scope in ready["asked_for"].as_array().unwrap() {
        assert!(scopes.contains(scope), "{case}: {ready}");
    }
    let who = call(peer, "whoami").await?;
    let human = json!(stand.env["HUMAN_ID"]);
    assert_eq!(who["user_id"], human, "{case}: {who}");
    assert_eq!(who["entity"], "personal", "{case}: {who}");
    let newer = call(peer, "refresh").await?;
    let is_later = newer["expires"].as_str() >= who["expires"].as_str();
    assert!(is_later, "{case}: {newer}");
    let again = call(peer, "bootstrap").await?;
    assert_eq!(again["status"], "ready", "{case}: {again}");
    let ended = call(peer, "revoke").await?;
    let forgotten = json!(["human", "on-behalf"]);
    assert_eq!(ended["forgotten"], forgotten, "{case}: {ended}");
    assert_eq!(ended.get("sessions"), None, "{case}: a person's stay");
    let nobody = call(peer, "whoami").await?;
    assert_eq!(nobody["error"], "TokenExpiredError", "{case}: {nobody}");
    let hint = nobody["hint"].as_str().unwrap();
    assert!(hint.contains("identity bootstrap"), "{case}: {nobody}");
    Ok(())
}

#[tokio::test]
async fn without_a_keystore_the_encrypted_file_is_used_and_said() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    until("what the hub says", Duration::from_secs(20), async || {
        let said = hub.said().join("\n");
        said.contains("Secrets are kept in the encrypted file")
    })
    .await?;
    stand.answer(&hub, &["bootstrap"]).await?;
    let file = hub.home().join("secrets");
    let mode = std::fs::metadata(&file)?.permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let said = hub.restart().await?.said().join("\n");
    assert!(!said.contains("encrypted file"), "once is enough: {said}");
    Ok(())
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_comes_back() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    for era in ERAS {
        let peer = hub.http(era, json!({}), friendly()).await?;
        let pending = call(&peer, "bootstrap").await?;
        assert_eq!(pending["status"], "pending", "{pending}");
        let uri = pending["verification_uri"].as_str().unwrap();
        assert!(uri.starts_with("https://"), "{pending}");
        let left = pending["expires_in_s"].as_u64().unwrap();
        assert!((60..=120).contains(&left), "{pending}");
        let code = pending["user_code"].as_str().unwrap();
        assert!(
            pending["message"].as_str().unwrap().contains(code),
            "{pending}"
        );
        stand.order(&["decide", code, "approve"]).await?;
        let ready = call(&peer, "bootstrap").await?;
        assert_eq!(ready["status"], "ready", "{ready}");
        // A flow that waits is called off with everything else.
        call(&peer, "revoke").await?;
        let waits = call(&peer, "bootstrap").await?;
        assert_eq!(waits["status"], "pending", "{waits}");
        assert_ne!(waits["user_code"], json!(code), "{waits}");
        let ended = call(&peer, "revoke").await?;
        assert_eq!(ended["called_off"], true, "{ended}");
    }
    Ok(())
}

#[tokio::test]
async fn a_call_that_is_called_off_takes_its_sign_in_along() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    // The client shows the link, and nobody enters the code.
    let shown = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&shown);
    let answerer = Arc::new(move |_: &str, params: &Value| {
        let message = params["message"].as_str().unwrap_or_default();
        kept.lock().unwrap().push(code_in(message));
        json!({"action": "accept"})
    });
    let peer = hub
        .bridge(PeerEra::Legacy, everything(), answerer.clone())
        .await?;
    let params = json!({"name": "identity-bootstrap", "arguments": {}});
    let pending = peer.start("tools/call", params).await?;
    until("the code", Duration::from_secs(20), async || {
        !shown.lock().unwrap().is_empty()
    })
    .await?;
    peer.cancel(&pending).await?;
    // What comes later on the same connection is done later.
    let nobody = call(&peer, "whoami").await?;
    assert_eq!(nobody["error"], "TokenExpiredError", "{nobody}");
    assert_eq!(call(&peer, "revoke").await?["called_off"], false);
    // The next call begins a sign-in of its own, with another code.
    let other = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    let next = call(&other, "bootstrap").await?;
    assert_eq!(next["status"], "pending", "{next}");
    let first = json!(shown.lock().unwrap()[0]);
    assert_ne!(next["user_code"], first, "{next}");
    assert_eq!(call(&other, "revoke").await?["called_off"], true);
    Ok(())
}

#[tokio::test]
async fn a_person_who_says_no_is_heard() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    for era in ERAS {
        let answerer = Arc::new(|_: &str, _: &Value| json!({"action": "decline"}));
        let peer = hub.http(era, everything(), answerer).await?;
        let no = call(&peer, "bootstrap").await?;
        assert_eq!(no["error"], "ConsentDenied", "{era:?}: {no}");
        assert_eq!(no["kind_of"], "AuthError", "{no}");
        // A dialog that was closed says nothing; the code is shown by the client then.
        let answerer = Arc::new(|_: &str, _: &Value| json!({"action": "cancel"}));
        let peer = hub.http(era, everything(), answerer).await?;
        let open = call(&peer, "bootstrap").await?;
        assert_eq!(open["status"], "pending", "{era:?}: {open}");
        let code = open["user_code"].as_str().unwrap();
        stand.order(&["decide", code, "decline"]).await?;
        let peer = hub.http(era, json!({}), friendly()).await?;
        let mut told = call(&peer, "bootstrap").await?;
        while told["status"] == "pending" && told["user_code"] == json!(code) {
            told = call(&peer, "bootstrap").await?;
        }
        assert_eq!(told["error"], "ConsentDenied", "{era:?}: {told}");
        call(&peer, "revoke").await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_agent_of_its_own_needs_nobody() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let options = stand.options(&[("agent", Kind::Agent), ("work", Kind::Application)]);
    let hub = Hub::start(options).await?;
    let peer = hub.http(PeerEra::Modern, everything(), friendly()).await?;
    let several = peer.call("identity-bootstrap", json!({})).await?;
    let several = content(&several);
    assert_eq!(several["rule"], "resolve.no_account", "{several}");
    assert!(
        several["hint"].as_str().unwrap().contains("agent, work"),
        "{several}"
    );
    let unknown = peer
        .call("identity-whoami", json!({"account": "other"}))
        .await?;
    assert_eq!(content(&unknown)["rule"], "resolve.no_account");
    let own = peer
        .call("identity-bootstrap", json!({"account": "agent"}))
        .await?;
    let own = content(&own);
    assert_eq!(own["attribution"], "agent_user", "{own}");
    assert_eq!(own["agent_id"], json!(stand.env["AGENT_ID"]), "{own}");
    let who = peer
        .call("identity-whoami", json!({"account": "agent"}))
        .await?;
    assert_eq!(content(&who)["user_id"], json!(stand.env["AGENT_USER_ID"]));
    stand
        .order(&[
            "revoke",
            "--sessions",
            "--user",
            &stand.env["AGENT_USER_ID"],
        ])
        .await?;
    let newer = peer
        .call("identity-refresh", json!({"account": "agent"}))
        .await?;
    assert_eq!(
        content(&newer)["attribution"],
        "agent_user",
        "{}",
        newer.text
    );
    Ok(())
}
