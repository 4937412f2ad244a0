//! Making, using, verifying and removing an agent.

use legation_entra::account::AGENT_SCOPES;
use legation_entra::agent::{Part, Provisioner, Wanted};
use legation_entra::token::Role;
use serde_json::json;

use super::stand::{Stand, ctx};

#[tokio::test]
async fn an_agent_is_made_once_used_found_in_the_logs_and_removed() {
    let stand = Stand::new().await;
    let mut settings = stand.settings();
    settings.name = "fresh".into();
    let account = stand.account(settings.clone());
    stand.sign_in(&account, Role::Administrator).await;
    let wanted = Wanted {
        display_name: "Fresh agent".to_owned(),
        user_name: "fresh.agent@first.example.com".to_owned(),
        sponsor: stand.env["HUMAN_ID"].clone(),
        scopes: AGENT_SCOPES.map(str::to_owned).to_vec(),
    };
    let provisioner = Provisioner::new(&account, wanted);
    let plan = provisioner.plan(&ctx()).await.unwrap();
    assert!(plan.iter().all(|one| one.there.is_none()), "{plan:?}");
    assert_eq!(plan.len(), Part::ALL.len());
    stand.order("propagation", json!({ "seconds": 1 })).await;
    let mut heard = Vec::new();
    let made = provisioner
        .provision(&ctx(), |part| heard.push(part))
        .await
        .unwrap();
    assert_eq!(heard, Part::ALL);
    let again = provisioner.provision(&ctx(), |_| {}).await.unwrap();
    assert_eq!(again.made, [], "a second run changes nothing");
    assert_eq!(again.agent_user, made.agent_user);
    let plan = provisioner.plan(&ctx()).await.unwrap();
    assert!(plan.iter().all(|one| one.there.is_some()), "{plan:?}");

    settings.blueprint_id = Some(made.blueprint_id.as_str().into());
    settings.agent_id = Some(made.agent_id.as_str().into());
    settings.agent_user = Some(made.agent_user.as_str().into());
    settings.human = Some(stand.env["HUMAN_ID"].as_str().into());
    let agent = stand.account(settings);
    stand
        .order("license", json!({ "user": made.agent_user, "on": true }))
        .await;
    agent.settle(&ctx()).await.unwrap();
    let who = agent.whoami(&ctx()).await.unwrap();
    assert_eq!(who.user_id, Some(made.agent_user.clone()));
    agent.chats().connect(&ctx()).await.unwrap();

    stand.sign_in(&agent, Role::Administrator).await;
    let verified = agent.verify(&ctx()).await.unwrap();
    assert!(!verified.as_agent.is_empty(), "{verified:?}");
    let record = &verified.as_agent[0];
    assert_eq!(
        record.blueprint.as_deref(),
        Some(made.blueprint_id.as_str()),
        "{record:?}"
    );

    let removed = provisioner.deprovision(&ctx(), true).await.unwrap();
    assert_eq!(removed.parts.len(), 4, "{removed:?}");
    let removed = provisioner.deprovision(&ctx(), true).await.unwrap();
    assert_eq!(removed.parts, []);
    stand.no_complaints().await;
}
