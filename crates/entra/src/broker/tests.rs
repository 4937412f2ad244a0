use std::sync::Arc;

use legation_core::{Secret, Wall};
use serde_json::json;

use super::*;
use crate::http::{Http, HttpSettings, Url};
use crate::oauth::tests::{CERTIFICATE, KEY};
use crate::test_kit::{Answer, Stand, clock, ctx};

fn ask(application: Application) -> Ask {
    Ask {
        account: "work".into(),
        application,
        client_id: "app".into(),
        audience: "https://login.example.com/t/oauth2/v2.0/token".into(),
        now: Wall(1_795_226_096_789),
    }
}

fn command(script: &str) -> CommandBroker {
    CommandBroker {
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
    }
}

fn shown(proof: &Proof) -> String {
    match proof {
        Proof::Secret(secret) => format!("secret {}", secret.reveal()),
        Proof::Assertion(assertion) => format!("assertion {}", assertion.reveal()),
    }
}

#[tokio::test]
async fn a_secret_or_a_key_is_found_where_it_is_kept() {
    let stand = Stand::in_turn(vec![Answer::Cut]).await;
    let store = stand.store();
    let mut broker = LocalBroker {
        store: Arc::clone(&store),
        certificate: None,
        client_secret: Some(Secret::new("given")),
        blueprint_secret: None,
    };
    let blueprint = ask(Application::Blueprint);
    let error = broker.prove(&ctx(), &blueprint).await.unwrap_err();
    assert!(matches!(error, BrokerError::Nothing { .. }), "{error}");
    let proof = broker
        .prove(&ctx(), &ask(Application::MiddleTier))
        .await
        .unwrap();
    assert_eq!(shown(&proof), "secret given");
    store
        .put(&secret_name("work", "app"), &Secret::new("kept"))
        .unwrap();
    let proof = broker.prove(&ctx(), &blueprint).await.unwrap();
    assert_eq!(shown(&proof), "secret kept");
    store
        .put(&key_name("work", "app"), &Secret::new(KEY))
        .unwrap();
    let error = broker.prove(&ctx(), &blueprint).await.unwrap_err();
    let no_certificate = KeyError::NoCertificate;
    assert!(
        matches!(error, BrokerError::Key { source, .. } if source == no_certificate),
        "{error}"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("certificate.pem");
    std::fs::write(&path, CERTIFICATE).unwrap();
    broker.certificate = Some(path);
    let proof = broker.prove(&ctx(), &blueprint).await.unwrap();
    assert!(
        shown(&proof).starts_with("assertion ey"),
        "{}",
        shown(&proof)
    );
    broker.certificate = None;
    let both = format!("{KEY}{CERTIFICATE}");
    store
        .put(&key_name("work", "app"), &Secret::new(both))
        .unwrap();
    assert!(broker.prove(&ctx(), &blueprint).await.is_ok());
}

#[tokio::test]
async fn a_command_is_told_what_for_and_its_output_is_in_no_error() {
    let broker = command(
        r#"printf '{"assertion":"%s %s %s"}' "$LEGATION_APPLICATION" "$LEGATION_CLIENT_ID" "$LEGATION_AUDIENCE""#,
    );
    let proof = broker
        .prove(&ctx(), &ask(Application::Blueprint))
        .await
        .unwrap();
    let audience = "https://login.example.com/t/oauth2/v2.0/token";
    assert_eq!(shown(&proof), format!("assertion blueprint app {audience}"));
    for script in [
        "echo hunter2",
        "echo '{\"secret\":\"\"}'",
        "echo '{\"secret\":\"hunter2\",\"assertion\":\"hunter2\"}'",
        "echo '{\"secret\":\"hunter2\"}'; exit 3",
        "kill -9 $$",
    ] {
        let error = command(script)
            .prove(&ctx(), &ask(Application::Blueprint))
            .await;
        let error = error.unwrap_err();
        let text = format!("{} {error:?}", legation_core::error::chain(&error));
        assert!(!text.contains("hunter2"), "{text}");
    }
    let none = CommandBroker {
        command: vec!["/nonexistent/broker".to_owned()],
        env: Vec::new(),
    };
    let error = none
        .prove(&ctx(), &ask(Application::Blueprint))
        .await
        .unwrap_err();
    assert!(matches!(error, BrokerError::Run { .. }), "{error}");
}

#[tokio::test]
async fn a_service_is_asked_with_its_own_token() {
    let stand = Stand::in_turn(vec![
        Answer::json(200, &json!({ "assertion": "signed" })),
        Answer::json(403, &json!({ "secret": "hunter2" })),
    ])
    .await;
    let settings = HttpSettings {
        ca_pem: Some(stand.ca_pem.clone().into_bytes()),
        proxy: None,
        waits: None,
    };
    let store = stand.store();
    store
        .put(&token_name("work"), &Secret::new("broker-token"))
        .unwrap();
    let broker = HttpsBroker {
        http: Http::new(&settings, clock(), legation_core::TaskSet::new()).unwrap(),
        url: Url::parse(&format!("{}/assert", stand.origin)).unwrap(),
        store,
    };
    let proof = broker
        .prove(&ctx(), &ask(Application::MiddleTier))
        .await
        .unwrap();
    assert_eq!(shown(&proof), "assertion signed");
    let asked = stand.asked();
    assert_eq!(
        asked[0].header("authorization"),
        Some("Bearer broker-token")
    );
    assert!(asked[0].body.contains("\"application\":\"middle-tier\""));
    let error = broker
        .prove(&ctx(), &ask(Application::MiddleTier))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the broker's service answered with status 403"
    );
}

#[test]
fn what_this_platform_has_not_is_said() {
    for way in [&WamSignIn as &dyn PlatformSignIn, &BrowserSignIn] {
        let error = way.available().unwrap_err();
        assert!(
            error.to_string().contains("is not on this platform"),
            "{error}"
        );
    }
}
