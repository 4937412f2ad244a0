//! Signing in, every way there is.

use std::sync::Arc;

use legation_core::Secret;
use legation_entra::account::BrokerSettings;
use legation_entra::token::Role;
use legation_entra::{Acting, Class};
use serde_json::json;

use super::stand::{Stand, ctx};

#[tokio::test]
async fn a_person_signs_in_and_the_application_acts_on_behalf() {
    let stand = Stand::new().await;
    let account = stand.account(stand.settings());
    let info = account.discover(&ctx()).await.unwrap();
    assert!(
        info.token_endpoint
            .starts_with(&stand.env["AUTHORITY_HOST"]),
        "{info:?}"
    );
    stand.sign_in(&account, Role::Human).await;
    let begun = account.bootstrap(&ctx()).await.unwrap();
    assert_eq!(
        (begun.acting, begun.agent_id),
        (Acting::ApplicationForHuman, None)
    );
    assert!(
        begun.scopes.contains(&"Chat.Create".to_owned()),
        "{:?}",
        begun.scopes
    );
    let who = account.whoami(&ctx()).await.unwrap();
    assert_eq!(who.user_id.as_deref(), Some(stand.env["HUMAN_ID"].as_str()));
    assert_eq!(who.tenant, stand.env["TENANT_ID"]);
    // Another process goes on with what was kept.
    let again = stand.account(stand.settings());
    again.bootstrap(&ctx()).await.unwrap();
    again.refresh(&ctx()).await.unwrap();
    stand.no_complaints().await;
}

#[tokio::test]
async fn an_agent_is_its_own_user_by_secret_and_by_certificate() {
    let stand = Stand::new().await;
    let by_secret = stand.agent();
    let begun = by_secret.bootstrap(&ctx()).await.unwrap();
    assert_eq!(
        begun.agent_id.as_deref(),
        Some(stand.env["AGENT_ID"].as_str())
    );
    let who = by_secret.whoami(&ctx()).await.unwrap();
    assert_eq!(
        who.user_id.as_deref(),
        Some(stand.env["AGENT_USER_ID"].as_str())
    );
    assert_eq!(who.acting, Acting::AgentUser);

    let mut settings = stand.agent_settings();
    settings.blueprint_secret = None;
    settings.agent_user = Some(stand.env["AGENT_USER_ID"].as_str().into());
    settings.certificate = Some(stand.env["BLUEPRINT_CERT_PEM"].clone().into());
    let by_certificate = stand.account(settings.clone());
    let error = by_certificate.bootstrap(&ctx()).await.unwrap_err();
    assert_eq!(error.class(), Class::Local, "nothing is kept yet: {error}");
    let key = std::fs::read_to_string(&stand.env["BLUEPRINT_KEY_PEM"]).unwrap();
    by_certificate
        .keep_key(&stand.env["BLUEPRINT_ID"], &Secret::new(key))
        .await
        .unwrap();
    by_certificate.bootstrap(&ctx()).await.unwrap();

    // The secret may be elsewhere: a command knows it.
    settings.certificate = None;
    let script = format!(
        "printf '{{\"secret\":\"%s\"}}' \"$(cat {})\"",
        stand.folder.path().join("elsewhere").display()
    );
    std::fs::write(
        stand.folder.path().join("elsewhere"),
        &stand.env["BLUEPRINT_SECRET"],
    )
    .unwrap();
    settings.name = "elsewhere".into();
    settings.broker = BrokerSettings::Command(["sh", "-c", &script].map(str::to_owned).to_vec());
    stand.account(settings).bootstrap(&ctx()).await.unwrap();

    // Without its id the agent is found.
    let mut settings = stand.agent_settings();
    settings.agent_id = None;
    let found = stand.account(settings).bootstrap(&ctx()).await.unwrap();
    assert_eq!(found.agent_id, begun.agent_id);
    stand.no_complaints().await;
}

#[tokio::test]
async fn an_agent_acts_on_behalf_of_its_human() {
    let stand = Stand::new().await;
    let mut settings = stand.agent_settings();
    settings.agent_user = None;
    let account = stand.account(settings.clone());
    assert_eq!(account.acting(), Acting::AgentForHuman);
    stand.sign_in(&account, Role::Human).await;
    account.bootstrap(&ctx()).await.unwrap();
    let who = account.whoami(&ctx()).await.unwrap();
    assert_eq!(who.user_id.as_deref(), Some(stand.env["HUMAN_ID"].as_str()));
    assert_eq!(
        who.agent_id.as_deref(),
        Some(stand.env["AGENT_ID"].as_str())
    );
    account.refresh(&ctx()).await.unwrap();
    stand.account(settings).bootstrap(&ctx()).await.unwrap();
    stand.no_complaints().await;
}

#[tokio::test]
async fn through_the_proxy_the_real_names_are_reached() {
    let stand = Stand::new().await;
    let mut settings = stand.agent_settings();
    settings.authority = None;
    settings.graph = None;
    settings.proxy = Some(stand.env["HTTPS_PROXY"].as_str().into());
    let account = stand.account(settings);
    account.bootstrap(&ctx()).await.unwrap();
    account.chats().connect(&ctx()).await.unwrap();
    stand.no_complaints().await;
}

#[tokio::test]
async fn what_is_revoked_is_gone_and_sessions_of_people_stay() {
    let stand = Stand::new().await;
    let person = stand.account(stand.settings());
    stand.sign_in(&person, Role::Human).await;
    person.bootstrap(&ctx()).await.unwrap();
    let revoked = person.revoke(&ctx(), true).await.unwrap();
    assert!(revoked.sessions.is_none());
    let error = person.bootstrap(&ctx()).await.unwrap_err();
    assert_eq!(error.class(), Class::TokenExpired);
    assert!(error.needs_person());
    let agent = stand.agent();
    agent.bootstrap(&ctx()).await.unwrap();
    let revoked = agent.revoke(&ctx(), true).await.unwrap();
    assert!(revoked.sessions.is_some());
}

#[tokio::test]
async fn a_hundred_callers_with_an_expired_token_refresh_once() {
    let stand = Stand::new().await;
    let agent = stand.agent();
    agent.bootstrap(&ctx()).await.unwrap();
    let chats = agent.chats();
    let chat = chats.connect(&ctx()).await.unwrap();
    stand.order("revoke", json!({})).await;
    let one = Arc::new(ctx());
    let all = (0..100).map(|_| {
        let (one, chats, id) = (Arc::clone(&one), chats.clone(), chat.id.clone());
        async move { chats.messages(&one, &id, None).await }
    });
    for answer in futures_util::future::join_all(all).await {
        answer.unwrap();
    }
    stand.sign_in(&agent, Role::Administrator).await;
    let verified = agent.verify(&ctx()).await.unwrap();
    let as_user = verified.as_agent.iter().filter(|one| {
        let subject = one.subject_type.as_deref();
        subject == Some("agentIDuser")
    });
    assert_eq!(
        as_user.count(),
        2,
        "one at the beginning and one for all hundred"
    );
    stand.no_complaints().await;
}
