//! The tools of `identity`, for clients that can be asked and for one that cannot.

use std::sync::Arc;

use legation_tests::harness::peer::{PeerEra, everything, friendly};
use serde_json::json;

use super::stand::{Kind, Stand, call, code_in, content};

const ERAS: [PeerEra; 2] = [PeerEra::Legacy, PeerEra::Modern];

#[tokio::test]
async fn a_client_that_can_be_asked_shows_the_code() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    let said = hub.said().join("\n");
    for (era, capabilities, mode) in ERAS.into_iter().flat_map(|era| {
        [
            (era, everything(), "url"),
            (era, json!({"elicitation": {"form": {}}}), "form"),
        ]
    }) {
        let case = format!("{era:?} {mode}");
        let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (enters, kept) = (stand.enters(), Arc::clone(&asked));
        let answerer = Arc::new(move |method: &str, params: &serde_json::Value| {
            kept.lock().unwrap().push(params.clone());
            enters(method, params)
        });
        let peer = hub.http(era, capabilities, answerer).await?;
        let ready = call(&peer, "bootstrap").await?;
        assert_eq!(ready["status"], "ready", "{case}: {ready}");
        assert_eq!(ready["attribution"], "application_for_human", "{case}");
        assert_eq!(ready["agent_id"], json!(null), "{case}");
        assert_eq!(
            ready["sponsor"],
            json!(stand.env["AGENT_USER_ID"]),
            "{case}"
        );
        assert!(
            ready["expires_in_s"].as_u64().unwrap() > 60,
            "{case}: {ready}"
        );
        let scopes = ready["scopes"].as_array().unwrap();
        for scope in ready["asked_for"].as_array().unwrap() {
            assert!(scopes.contains(scope), "{case}: {ready}");
        }
        {
            let asked = asked.lock().unwrap();
            assert_eq!(asked.len(), 1, "{case}: {asked:?}");
            // A client of the older era may be asked for a form without its mode.
            assert_eq!(
                asked[0].get("mode").map_or("form", |m| m.as_str().unwrap()),
                mode,
                "{case}"
            );
            assert_eq!(
                asked[0].get("url").is_some(),
                mode == "url",
                "{case}: {asked:?}"
            );
        }
        let who = call(&peer, "whoami").await?;
        assert_eq!(
            who["user_id"],
            json!(stand.env["HUMAN_ID"]),
            "{case}: {who}"
        );
        assert_eq!(who["entity"], "personal", "{case}: {who}");
        let newer = call(&peer, "refresh").await?;
        assert!(
            newer["expires"].as_str() >= who["expires"].as_str(),
            "{case}: {newer}"
        );
        let again = call(&peer, "bootstrap").await?;
        assert_eq!(again["status"], "ready", "{case}: nobody is asked twice");
        assert_eq!(asked.lock().unwrap().len(), 1, "{case}");
        let ended = call(&peer, "revoke").await?;
        assert_eq!(
            ended["forgotten"],
            json!(["human", "on-behalf"]),
            "{case}: {ended}"
        );
        assert_eq!(
            ended.get("sessions"),
            None,
            "{case}: a person's sessions stay"
        );
        let nobody = call(&peer, "whoami").await?;
        assert_eq!(nobody["error"], "TokenExpiredError", "{case}: {nobody}");
        assert!(
            nobody["hint"]
                .as_str()
                .unwrap()
                .contains("identity bootstrap"),
            "{case}"
        );
    }
    let said = format!("{said}{}", hub.said().join("\n"));
    assert!(
        said.contains("Secrets are kept in the encrypted file"),
        "{said}"
    );
    let file = hub.home().join("secrets");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file)?.permissions());
    assert_eq!(mode & 0o777, 0o600);
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
async fn a_person_who_says_no_is_heard() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    for era in ERAS {
        let answerer = Arc::new(|_: &str, _: &serde_json::Value| json!({"action": "decline"}));
        let peer = hub.http(era, everything(), answerer).await?;
        let no = call(&peer, "bootstrap").await?;
        assert_eq!(no["error"], "ConsentDenied", "{era:?}: {no}");
        assert_eq!(no["kind_of"], "AuthError", "{no}");
        // A dialog that was closed says nothing; the code is shown by the client then.
        let answerer = Arc::new(|_: &str, _: &serde_json::Value| json!({"action": "cancel"}));
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
    let hub = legation_tests::harness::hub::Hub::start(options).await?;
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
    assert_eq!(code_in("enter the code AB-CD."), "AB-CD");
    Ok(())
}
