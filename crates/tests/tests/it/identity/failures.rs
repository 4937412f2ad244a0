//! Each class of failure, as the commands and the tools say it.

use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::peer::{PeerEra, friendly};
use serde_json::{Value, json};

use super::stand::{Kind, Ran, Stand, begin, content, finish, shown};

/// The exit code, the class, and what the hint holds.
type Told = (i32, &'static str, &'static str);

/// What a command says on standard error, as an object.
fn complaint(ran: &Ran) -> Value {
    let last = ran.complaint.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|_| panic!("{ran:?}"))
}

fn says(ran: &Ran, (code, class, hint): Told) {
    let said = complaint(ran);
    assert_eq!(ran.code, code, "{ran:?}");
    assert_eq!(said["class"], class, "{said}");
    assert_eq!(said["exit"], code, "{said}");
    assert!(said["hint"].as_str().unwrap().contains(hint), "{said}");
}

/// Accounts that work, and one for each mistake in the settings.
fn accounts(stand: &Stand) -> HubOptions {
    let mut options = stand.options(&[("work", Kind::Application), ("agent", Kind::Agent)]);
    let agent = |name: &str| stand.account(name, "personal", Kind::Agent);
    let env = |name: &str| stand.env[name].as_str();
    let person = |name: &str| stand.account(name, "personal", Kind::Application);
    let scope = json!(format!("api://{}/access_agent", env("BLUEPRINT_ID")));
    for text in [
        agent("lost").replace(env("AGENT_ID"), "00000000-0000-0000-0000-00000000dead"),
        agent("away").replace(env("AUTHORITY_HOST"), "https://127.0.0.1:9"),
        agent("bare"),
        agent("broken").replace(env("CA_BUNDLE"), "/nowhere/ca.pem"),
        person("wrong"),
        format!("{}api_scope = {scope}\n", person("elsewhere")),
    ] {
        options.settings += &text;
    }
    let environment = &mut options.environment;
    environment.extend(stand.secrets("lost", Kind::Agent));
    environment.extend(stand.secrets("away", Kind::Agent));
    environment.extend(stand.secrets("elsewhere", Kind::Application));
    let wrong = "LEGATION_WRONG_CLIENT_SECRET".to_owned();
    environment.insert(wrong, "not it".to_owned());
    options
}

#[tokio::test]
async fn what_the_tenant_refuses_has_its_class_and_hint() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = Hub::start(accounts(&stand)).await?;
    let nobody = (1, "TokenExpiredError", "identity bootstrap --account work");
    let whoami = async |account: &str| stand.run(&hub, &["whoami", "--account", account]).await;
    says(&whoami("work").await?, nobody);
    let bootstrap = ["bootstrap", "--account", "work"];
    stand.answer(&hub, &bootstrap).await?;
    let throttled = json!({"fault": "throttle", "retry_after": 3000, "matching": "/oauth2/"});
    let cases: [(&str, Value, Told); 5] = [
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
        ("agent", throttled, (4, "RateLimitError", "try again in")),
    ];
    for (account, mut fault, told) in cases {
        fault["left"] = json!(true);
        stand.order(&["fault", &fault.to_string()]).await?;
        let ran = whoami(account).await?;
        stand.order(&["clear"]).await?;
        assert_ne!(ran.code, 0, "{fault}: {ran:?}");
        says(&ran, told);
    }
    // A person signs in, and what that is exchanged for is refused.
    for (account, hint) in [("wrong", "not its id"), ("elsewhere", "access_as_user")] {
        let bootstrap = ["bootstrap", "--account", account];
        says(
            &stand.run(&hub, &bootstrap).await?,
            (1, "OBOExchangeError", hint),
        );
    }
    Ok(())
}

#[tokio::test]
async fn what_is_wrong_here_has_its_class_and_hint() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = Hub::start(accounts(&stand)).await?;
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    let cases: [(Option<&str>, Told); 6] = [
        (
            Some("lost"),
            (1, "AgentIDNotAvailable", "identity provision"),
        ),
        (Some("away"), (4, "ConnectionError", "online")),
        (Some("bare"), (2, "ConfigurationError", "secret")),
        (Some("broken"), (2, "ConfigurationError", "can be read")),
        (Some("other"), (2, "ConfigurationError", "name one of")),
        (None, (2, "ConfigurationError", "name one of")),
    ];
    for (account, told) in cases {
        let mut arguments = vec!["whoami"];
        let mut given = json!({});
        if let Some(account) = account {
            arguments.extend(["--account", account]);
            given = json!({"account": account});
        }
        says(&stand.run(&hub, &arguments).await?, told);
        // The tools say the same.
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
    let mut child = begin(&hub, &["bootstrap", "--wait", "3"])?;
    let (_code, mut said) = shown(&mut child).await?;
    let ran = finish(child, &mut said).await?;
    says(&ran, (1, "DeviceCodeTimeout", "in time"));
    let mut child = begin(&hub, &["bootstrap"])?;
    let (code, mut said) = shown(&mut child).await?;
    stand.order(&["decide", &code.unwrap(), "decline"]).await?;
    let ran = finish(child, &mut said).await?;
    says(&ran, (3, "ConsentDenied", "agree"));
    Ok(())
}

#[tokio::test]
async fn without_agents_the_application_acts_and_says_why() -> anyhow::Result<()> {
    let stand = Stand::start().await?;
    let hub = Hub::start(stand.options(&[("agent", Kind::Agent)])).await?;
    stand.order(&["agents", "off"]).await?;
    let who = stand.answer(&hub, &["bootstrap"]).await?;
    assert_eq!(who["attribution"], "application_for_human", "{who}");
    assert!(!who["fallback"].is_null(), "{who}");
    let peer = hub.http(PeerEra::Modern, json!({}), friendly()).await?;
    let answer = peer.call("identity-bootstrap", json!({})).await?;
    let ready = content(&answer);
    assert_eq!(ready["status"], "ready", "{ready}");
    let fallback = &ready["fallback"];
    assert_eq!(fallback["error"], "AgentIDNotAvailable", "{ready}");
    let hint = fallback["hint"].as_str().unwrap();
    assert!(hint.contains("identity provision"), "{ready}");
    Ok(())
}
