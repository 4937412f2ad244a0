//! Each class of failure, brought about in the tenant and shown with its hint.

use std::time::Duration;

use legation_core::Secret;
use legation_entra::chat::{Body, Outgoing};
use legation_entra::token::Role;
use legation_entra::{Class, SignInError};
use serde_json::json;

use super::stand::{Stand, ctx};

fn says(error: &SignInError, class: Class, hint: &str) {
    assert_eq!(error.class(), class, "{error}");
    assert!(error.hint().contains(hint), "{error}: {}", error.hint());
}

#[tokio::test]
async fn a_code_nobody_enters_and_one_that_is_declined() {
    let stand = Stand::new().await;
    let account = stand.account(stand.settings());
    let wait = Duration::from_secs(6);
    let pending = account
        .begin(&ctx(), Role::Human, wait, None)
        .await
        .unwrap();
    let error = account.sign_in_finish(&ctx(), pending).await.unwrap_err();
    says(&error, Class::DeviceCodeTimeout, "in time");
    let pending = account.sign_in_begin(&ctx()).await.unwrap();
    assert!(pending.prompt().qr.lines().count() > 5);
    stand.decide(&pending.prompt().user_code, false).await;
    let error = account.sign_in_finish(&ctx(), pending).await.unwrap_err();
    says(&error, Class::ConsentDenied, "agree");
}

#[tokio::test]
async fn what_the_authority_refuses_has_its_class() {
    let stand = Stand::new().await;
    let account = stand.account(stand.settings());
    stand.sign_in(&account, Role::Human).await;
    for (fault, class, hint) in [
        (
            json!({ "fault": "consent" }),
            Class::ConsentDenied,
            "/adminconsent?client_id=",
        ),
        (
            json!({ "fault": "aadsts", "code": 500_131 }),
            Class::OboExchange,
            "access_as_user",
        ),
        (
            json!({ "fault": "mfa" }),
            Class::OboExchange,
            "second factor",
        ),
        (
            json!({ "fault": "aadsts", "code": 7_000_222 }),
            Class::OboExchange,
            "new secret",
        ),
    ] {
        stand.fault(fault.clone()).await;
        let error = account.bootstrap(&ctx()).await.unwrap_err();
        says(&error, class, hint);
    }
    account.bootstrap(&ctx()).await.unwrap();
}

#[tokio::test]
async fn a_second_factor_comes_with_its_claims() {
    let stand = Stand::new().await;
    let account = stand.account(stand.settings());
    stand.sign_in(&account, Role::Human).await;
    account.bootstrap(&ctx()).await.unwrap();
    let graph = account.graph_with_scope("https://graph.microsoft.com/Mfa.Needed");
    let error = graph
        .get::<serde_json::Value>(&ctx(), "/me")
        .await
        .unwrap_err();
    let legation_entra::GraphError::Token { source, .. } = &error else {
        panic!("{error}");
    };
    let refusal = source.refusal().unwrap();
    assert!(
        refusal.claims.is_some() && source.needs_person(),
        "{refusal}"
    );
}

#[tokio::test]
async fn wrong_secrets_sessions_that_ended_and_agents_that_are_not_there() {
    let stand = Stand::new().await;
    let mut settings = stand.agent_settings();
    settings.blueprint_secret = Some(Secret::new("wrong"));
    let error = stand.account(settings).bootstrap(&ctx()).await.unwrap_err();
    says(&error, Class::Auth, "not its id");
    let mut settings = stand.agent_settings();
    settings.agent_id = Some("00000000-0000-0000-0000-00000000dead".into());
    let error = stand.account(settings).bootstrap(&ctx()).await.unwrap_err();
    assert_eq!(error.class(), Class::AgentIdNotAvailable, "{error}");
    stand
        .order(
            "expire-secrets",
            json!({ "client": stand.env["BLUEPRINT_ID"] }),
        )
        .await;
    let error = stand.agent().bootstrap(&ctx()).await.unwrap_err();
    says(&error, Class::Auth, "new secret");

    let person = stand.account(stand.settings());
    stand.sign_in(&person, Role::Human).await;
    person.bootstrap(&ctx()).await.unwrap();
    stand.order("revoke", json!({ "sessions": true })).await;
    let error = stand
        .account(stand.settings())
        .bootstrap(&ctx())
        .await
        .unwrap_err();
    says(&error, Class::TokenExpired, "sign in");
}

#[tokio::test]
async fn a_tenant_without_agents_lets_the_application_act() {
    let stand = Stand::new().await;
    let account = stand.agent();
    stand.sign_in(&account, Role::Human).await;
    stand
        .fault(json!({ "fault": "aadsts", "code": 82_001, "left": true }))
        .await;
    let error = account.bootstrap(&ctx()).await.unwrap_err();
    assert!(error.class() == Class::OboExchange || error.class() == Class::AgentIdNotAvailable);
    stand.order("clear", json!({})).await;
    stand
        .fault(json!({ "fault": "aadsts", "code": 82_001 }))
        .await;
    let begun = stand.agent().bootstrap(&ctx()).await.unwrap();
    assert_eq!(begun.agent_id, None);
    assert!(begun.instead_because.unwrap().contains("82001"));
}

#[tokio::test]
async fn teams_refuses_in_its_own_words() {
    let stand = Stand::new().await;
    let agent = stand.agent();
    agent.bootstrap(&ctx()).await.unwrap();
    let chats = agent.chats();
    let chat = chats.connect(&ctx()).await.unwrap();
    let gone = chats
        .messages(&ctx(), "19:gone@unq.gbl.spaces", None)
        .await
        .unwrap_err();
    assert_eq!(gone.class(), Class::ChatNotFound, "{gone}");
    let card = json!({ "type": "AdaptiveCard", "body": ["x".repeat(30_000)] });
    let large = Outgoing {
        body: Body::Card {
            card,
            text: String::new(),
        },
        mentions: Vec::new(),
        key: None,
        earlier: None,
    };
    let long = chats.send(&ctx(), &chat.id, &large).await.unwrap_err();
    assert_eq!(long.class(), Class::MessageTooLong, "{long}");
    // Whoever does not measure before is told by Graph.
    let path = format!("/chats/{}/messages", chat.id);
    let body = json!({ "body": { "contentType": "text", "content": "x".repeat(40_000) } });
    let long = agent
        .graph()
        .post::<serde_json::Value>(&ctx(), &path, body)
        .await
        .unwrap_err();
    assert_eq!(long.class(), Class::MessageTooLong, "{long}");
    let told = json!({ "fault": "throttle", "retry_after": 600, "left": true });
    stand.fault(told).await;
    let limit = chats.messages(&ctx(), &chat.id, None).await.unwrap_err();
    assert_eq!(limit.class(), Class::RateLimit, "{limit}");
    assert!(limit.hint().contains("try again in"), "{}", limit.hint());
    stand.order("clear", json!({})).await;
    let user = stand.env["AGENT_USER_ID"].clone();
    stand
        .order("license", json!({ "user": user, "on": false }))
        .await;
    let fresh = stand.agent();
    fresh.bootstrap(&ctx()).await.unwrap();
    let none = fresh.chats().connect(&ctx()).await.unwrap_err();
    assert_eq!(none.class(), Class::TeamsNotLicensed, "{none}");
    assert!(none.hint().contains("licence"), "{}", none.hint());
}
