//! Each class of failure, as the commands and the tools say it.

use legation_tests::harness::hub::Hub;
use legation_tests::harness::peer::{PeerEra, friendly};
use serde_json::{Value, json};

use super::stand::{Kind, Ran, Stand, content};

/// What a command says on standard error, as an object.
fn complaint(ran: &Ran) -> Value {
    let last = ran.complaint.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|_| panic!("{ran:?}"))
}

fn says(ran: &Ran, (code, class, hint): (i32, &str, &str)) {
    let said = complaint(ran);
    assert_eq!(ran.code, code, "{ran:?}");
    assert_eq!(said["class"], class, "{said}");
    assert_eq!(said["exit"], code, "{said}");
    assert!(said["hint"].as_str().unwrap().contains(hint), "{said}");
}

#[tokio::test]
async fn every_class_has_its_hint() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let mut options = stand.options(&[("work", Kind::Application), ("agent", Kind::Agent)]);
    let agent = stand.account("lost", "personal", Kind::Agent);
    let agent = agent.replace(
        &stand.env["AGENT_ID"],
        "00000000-0000-0000-0000-00000000dead",
    );
    options.settings += &agent;
    options
        .environment
        .extend(stand.secrets("lost", Kind::Agent));
    let away = stand.account("away", "personal", Kind::Agent);
    options.settings += &away.replace(&stand.env["AUTHORITY_HOST"], "https://127.0.0.1:9");
    options
        .environment
        .extend(stand.secrets("away", Kind::Agent));
    options.settings += &stand.account("bare", "personal", Kind::Agent);
    let broken = stand.account("broken", "personal", Kind::Agent);
    options.settings += &broken.replace(&stand.env["CA_BUNDLE"], "/nowhere/ca.pem");
    options.settings += &stand.account("wrong", "personal", Kind::Application);
    let wrong = (
        "LEGATION_WRONG_CLIENT_SECRET".to_owned(),
        "no secret".to_owned(),
    );
    options.environment.extend([wrong]);
    options.settings += &stand.account("elsewhere", "personal", Kind::Application);
    let scope = format!("api://{}/access_agent", stand.env["BLUEPRINT_ID"]);
    options.settings += &format!("api_scope = {}\n", json!(scope));
    options
        .environment
        .extend(stand.secrets("elsewhere", Kind::Application));
    let hub = Hub::start(options).await?;
    let nobody = (1, "TokenExpiredError", "identity bootstrap --account work");
    says(
        &stand.run(&hub, &["whoami", "--account", "work"]).await?,
        nobody,
    );
    stand
        .answer(&hub, &["bootstrap", "--account", "work"])
        .await?;
    let forever = |kind: Value| {
        let mut kind = kind;
        kind["left"] = json!(true);
        kind.to_string()
    };
    for (account, fault, told) in [
        (
            "work",
            json!({"fault": "consent"}),
            (3, "ConsentDenied", "/adminconsent?client_id="),
        ),
        (
            "work",
            json!({"fault": "mfa"}),
            (1, "AuthError", "second factor"),
        ),
        (
            "work",
            json!({"fault": "aadsts", "code": 7_000_222}),
            (1, "AuthError", "new secret"),
        ),
        (
            "agent",
            json!({"fault": "aadsts", "code": 7_000_215}),
            (1, "AuthError", "not its id"),
        ),
        (
            "agent",
            json!({"fault": "throttle", "retry_after": 3000, "matching": "/oauth2/"}),
            (4, "RateLimitError", "try again in"),
        ),
    ] {
        stand.order(&["fault", &forever(fault.clone())]).await?;
        let ran = stand.run(&hub, &["whoami", "--account", account]).await?;
        stand.order(&["clear"]).await?;
        assert_ne!(ran.code, 0, "{fault}: {ran:?}");
        says(&ran, told);
    }
    // A person signs in, and what that is exchanged for is refused.
    for (account, hint) in [("wrong", "not its id"), ("elsewhere", "access_as_user")] {
        let ran = stand
            .run(&hub, &["bootstrap", "--account", account])
            .await?;
        says(&ran, (1, "OBOExchangeError", hint));
    }
    for (arguments, told) in [
        (
            vec!["whoami", "--account", "lost"],
            (1, "AgentIDNotAvailable", "identity provision"),
        ),
        (
            vec!["whoami", "--account", "away"],
            (4, "ConnectionError", ""),
        ),
        (
            vec!["whoami", "--account", "bare"],
            (2, "ConfigurationError", ""),
        ),
        (
            vec!["whoami", "--account", "broken"],
            (2, "ConfigurationError", "can be read"),
        ),
        (
            vec!["whoami", "--account", "other"],
            (2, "ConfigurationError", "name one of"),
        ),
        (vec!["whoami"], (2, "ConfigurationError", "name one of")),
    ] {
        says(&stand.run(&hub, &arguments).await?, told);
        // The tools say the same.
        let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
        let given = match arguments.get(2) {
            Some(account) => json!({"account": account}),
            None => json!({}),
        };
        let answer = peer.call("identity-whoami", given).await?;
        let said = content(&answer);
        let is_named = said["error"] == told.1 || said["rule"] == "resolve.no_account";
        assert!(is_named, "{arguments:?}: {said}");
        assert!(said["hint"].as_str().unwrap().contains(told.2), "{said}");
    }
    Ok(())
}

#[tokio::test]
async fn a_code_that_nobody_enters_and_one_that_is_declined() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = stand.hub().await?;
    let mut child = super::stand::begin(&hub, &["bootstrap", "--wait", "3"])?;
    let (_code, mut said) = super::stand::shown(&mut child).await?;
    let ran = super::stand::finish(child, &mut said).await?;
    says(&ran, (1, "DeviceCodeTimeout", "in time"));
    let mut child = super::stand::begin(&hub, &["bootstrap"])?;
    let (code, mut said) = super::stand::shown(&mut child).await?;
    stand.order(&["decide", &code.unwrap(), "decline"]).await?;
    let ran = super::stand::finish(child, &mut said).await?;
    says(&ran, (3, "ConsentDenied", "agree"));
    Ok(())
}

#[tokio::test]
async fn without_agents_the_application_acts_and_says_why() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let settings = stand.account("agent", "personal", Kind::Agent);
    let mut options = stand.options(&[]);
    options.settings += &settings;
    options
        .environment
        .extend(stand.secrets("agent", Kind::Agent));
    let hub = Hub::start(options).await?;
    stand.order(&["agents", "off"]).await?;
    let who = stand.answer(&hub, &["bootstrap"]).await?;
    assert_eq!(who["attribution"], "application_for_human", "{who}");
    assert!(!who["fallback"].is_null(), "{who}");
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    let answer = peer.call("identity-bootstrap", json!({})).await?;
    let ready = content(&answer);
    assert_eq!(ready["status"], "ready", "{ready}");
    assert_eq!(ready["fallback"]["error"], "AgentIDNotAvailable", "{ready}");
    assert!(
        ready["fallback"]["hint"]
            .as_str()
            .unwrap()
            .contains("identity provision"),
        "{ready}"
    );
    Ok(())
}
