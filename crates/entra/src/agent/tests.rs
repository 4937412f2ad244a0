use legation_core::Secret;
use serde_json::json;

use super::*;
use crate::error::Class;
use crate::test_kit::{Answer, Asked, Stand, ctx};

/// An authority that signs an administrator in, and a directory that answers
/// what the closure says.
async fn stand(graph: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> (Stand, Account) {
    let stand = Stand::new(move |asked| {
        if asked.target.ends_with("/devicecode") {
            let body = json!({ "device_code": "d", "user_code": "U", "interval": 1,
                "verification_uri": "https://login.example.com/device" });
            return Answer::json(200, &body);
        }
        if asked.target.contains("/oauth2/") {
            let body = json!({ "token_type": "Bearer", "expires_in": 3600, "access_token": "t" });
            return Answer::json(200, &body);
        }
        graph(asked)
    })
    .await;
    let account = stand.account(|settings| {
        settings.blueprint_id = Some("b".into());
        settings.blueprint_secret = Some(Secret::new("s"));
        settings.agent_id = Some("agent-1".into());
    });
    let wait = std::time::Duration::from_secs(30);
    let pending = account
        .begin(&ctx(), Role::Administrator, wait, None)
        .await
        .unwrap();
    account.sign_in_finish(&ctx(), pending).await.unwrap();
    (stand, account)
}

#[tokio::test]
async fn the_logs_name_the_agent_or_say_what_they_need() {
    let line = |app: &str, agent: serde_json::Value| {
        json!({ "appId": app, "createdDateTime": "2026-11-21T01:55:06Z", "agent": agent,
            "resourceDisplayName": "Microsoft Graph", "status": { "errorCode": 0 } })
    };
    let lines = json!({ "value": [
        line("agent-1", json!({ "agentType": "agenticAppInstance", "parentAppId": "b" })),
        line("agent-1", json!({ "agentType": "notAgentic" })),
        line("agent-1", json!(null)),
        line("other", json!({ "agentType": "agenticAppInstance" })),
    ] });
    let (stand, account) = stand(move |_| Answer::json(200, &lines)).await;
    let verified = account.verify(&ctx()).await.unwrap();
    assert_eq!((verified.as_agent.len(), verified.otherwise), (1, 2));
    assert_eq!(verified.as_agent[0].blueprint.as_deref(), Some("b"));
    let asked = stand.asked().pop().unwrap();
    assert!(
        asked.target.starts_with("/beta/auditLogs/signIns?"),
        "{}",
        asked.target
    );
    assert_eq!(asked.header("prefer"), Some("include-unknown-enum-members"));
    for (code, message, is_licence) in [
        (
            "Authentication_RequestFromNonPremiumTenantOrB2CTenant",
            "Neither tenant is B2C or tenant doesn't have premium license",
            true,
        ),
        (
            "Authorization_RequestDenied",
            "Insufficient privileges",
            false,
        ),
    ] {
        let body = json!({ "error": { "code": code, "message": message } });
        let (_stand, account) = self::stand(move |_| Answer::json(403, &body)).await;
        let error = account.verify(&ctx()).await.unwrap_err();
        assert_eq!(
            matches!(error, VerifyError::Licence { .. }),
            is_licence,
            "{error:?}"
        );
        assert_eq!(error.class(), Class::Auth);
        assert!(!error.hint().is_empty());
    }
}

fn wanted() -> Wanted {
    Wanted {
        display_name: "Agent O'Hara".to_owned(),
        user_name: "agent@example.com".to_owned(),
        sponsor: "human-oid".to_owned(),
        scopes: vec!["Chat.Create".to_owned()],
    }
}

#[tokio::test]
async fn what_the_settings_name_and_is_not_there_stops_everything() {
    let (stand, account) = stand(|_| Answer::json(200, &json!({ "value": [] }))).await;
    let provisioner = Provisioner::new(&account, wanted());
    let error = provisioner.provision(&ctx(), |_| {}).await.unwrap_err();
    assert!(
        matches!(
            error,
            ProvisionError::Missing {
                part: Part::Blueprint,
                ..
            }
        ),
        "{error}"
    );
    let posts = stand.asked().into_iter().filter(|one| one.method == "POST");
    assert!(posts.into_iter().all(|one| one.target.contains("/oauth2/")));
}

#[tokio::test]
async fn two_of_one_name_are_not_guessed_between() {
    let two = json!({ "value": [{ "id": "1", "appId": "b" }, { "id": "2", "appId": "c" }] });
    let (_stand, account) = stand(move |_| Answer::json(200, &two)).await;
    let error = Provisioner::new(&account, wanted())
        .plan(&ctx())
        .await
        .unwrap_err();
    assert!(matches!(error, ProvisionError::Ambiguous { .. }), "{error}");
    assert!(error.hint().contains("by its id"), "{}", error.hint());
}
