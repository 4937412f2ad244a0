use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::*;
use crate::error::Class;
use crate::test_kit::{Answer, Asked, Stand, ctx};

/// A token that says of itself what `payload` holds.
fn jwt(payload: &Value) -> String {
    let part = |json: &Value| crate::base::base64url(json.to_string().as_bytes());
    format!("{}.{}.c2ln", part(&json!({ "alg": "none" })), part(payload))
}

/// What records would say.
fn words(identity: &Identity) -> String {
    let (agent, sponsor) = (&identity.agent_id, &identity.sponsor);
    let word = |id: &Option<Box<str>>| id.clone().unwrap_or_else(|| "-".into());
    let attribution = identity.attribution.as_str();
    format!("{attribution} {} {}", word(agent), word(sponsor))
}

fn granted(payload: &Value, refresh: Option<&str>) -> Answer {
    let mut body = json!({
        "token_type": "Bearer", "expires_in": 3600, "scope": "x/Chat.Create x/Chat.ReadWrite",
        "access_token": jwt(payload),
    });
    if let Some(refresh) = refresh {
        body["refresh_token"] = json!(refresh);
    }
    Answer::json(200, &body)
}

fn refused(error: &str, code: u32) -> Answer {
    let description = format!("AADSTS{code}: No. Trace ID: t Correlation ID: c");
    let body = json!({ "error": error, "error_description": description, "error_codes": [code] });
    Answer::json(400, &body)
}

/// The authority's usual answers.
fn authority(asked: &Asked) -> Answer {
    if asked.target.ends_with("/devicecode") {
        return Answer::json(
            200,
            &json!({
                "device_code": "dc", "user_code": "ABCD", "interval": 1, "expires_in": 900,
                "verification_uri": "https://login.example.com/device",
            }),
        );
    }
    let client = asked.form("client_id").unwrap_or_default();
    match asked.form("grant_type").unwrap_or_default().as_str() {
        "urn:ietf:params:oauth:grant-type:device_code" => {
            granted(&json!({ "oid": "human-oid" }), Some("human-rt"))
        }
        "refresh_token" => granted(&json!({ "oid": "human-oid" }), Some("newer-rt")),
        "urn:ietf:params:oauth:grant-type:jwt-bearer" => granted(
            &json!({ "oid": "human-oid", "appid": client }),
            Some("obo-rt"),
        ),
        "user_fic" => granted(
            &json!({
                "oid": "agent-user-oid", "appid": client, "xms_act_fct": "11",
                "xms_sub_fct": "13", "tid": "tenant-guid",
            }),
            None,
        ),
        _ => granted(&json!({ "oid": "app" }), None),
    }
}

fn agents(settings: &mut AccountSettings) {
    settings.blueprint_id = Some("blueprint-app".into());
    settings.blueprint_secret = Some(Secret::new("blueprint-secret"));
    settings.agent_id = Some("agent-1".into());
    settings.agent_user = Some("agent@example.com".into());
}

#[tokio::test]
async fn a_person_signs_in_and_the_application_acts_on_behalf() {
    let stand = Stand::new(authority).await;
    let account = stand.account(|_| {});
    assert_eq!(account.acting(), Acting::ApplicationForHuman);
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    account.tell_identity(Arc::new(move |_, identity: &Identity| {
        tell.lock().unwrap().push(words(identity));
    }));
    let none = account.bootstrap(&ctx()).await.unwrap_err();
    assert_eq!(words(&account.identity()), "none - -");
    assert_eq!(none.class(), Class::TokenExpired, "{none}");
    let shown = Mutex::new(None);
    account
        .sign_in(&ctx(), |prompt| {
            *shown.lock().unwrap() = Some(prompt.user_code.clone());
        })
        .await
        .unwrap();
    assert_eq!(shown.lock().unwrap().as_deref(), Some("ABCD"));
    let begun = account.bootstrap(&ctx()).await.unwrap();
    assert_eq!(begun.agent_id, None);
    assert_eq!(begun.scopes, ["Chat.Create", "Chat.ReadWrite"]);
    let who = account.whoami(&ctx()).await.unwrap();
    assert_eq!(who.user_id.as_deref(), Some("human-oid"));
    assert_eq!(who.acting.as_str(), "application_for_human");
    let asked = stand.asked();
    let code = &asked[0];
    let scope = code.form("scope").unwrap();
    assert_eq!(
        scope,
        "api://api-app/access_as_user offline_access openid profile"
    );
    assert!(code.form("claims").unwrap().contains("cp1"));
    let exchange = asked.last().unwrap();
    assert_eq!(exchange.form("client_id").as_deref(), Some("api-app"));
    assert_eq!(
        exchange.form("client_secret").as_deref(),
        Some("api-secret")
    );
    assert_eq!(
        exchange.form("requested_token_use").as_deref(),
        Some("on_behalf_of")
    );
    assert!(
        exchange
            .form("scope")
            .unwrap()
            .starts_with("https://graph.microsoft.com/Chat.Create")
    );
    // Another process, the same data directory: nobody has to sign in again.
    let again = Account::new(account.settings().clone(), stand.parts()).unwrap();
    let acts = "application_for_human - human-oid";
    assert_eq!(*told.lock().unwrap(), [acts]);
    again.recall_identity().await.unwrap();
    assert_eq!(words(&again.identity()), acts);
    again.bootstrap(&ctx()).await.unwrap();
    let last = stand.asked().pop().unwrap();
    assert_eq!(last.form("grant_type").as_deref(), Some("refresh_token"));
    assert_eq!(last.form("refresh_token").as_deref(), Some("obo-rt"));
    let revoked = again.revoke(&ctx(), true).await.unwrap();
    assert_eq!(revoked.forgotten, ["human", "on-behalf"]);
    assert!(
        revoked.sessions.is_none(),
        "a person's sessions are never ended"
    );
    account.recall_identity().await.unwrap();
    assert_eq!(*told.lock().unwrap(), [acts, "none - -"]);
    assert_eq!(words(&again.identity()), "none - -");
    let after = again.bootstrap(&ctx()).await.unwrap_err();
    assert_eq!(after.class(), Class::TokenExpired);
}

#[tokio::test]
async fn who_signs_out_while_a_sign_in_is_renewed_stays_signed_out() {
    let store: Arc<OnceLock<Arc<SecretStore>>> = Arc::default();
    let kept = Arc::clone(&store);
    let stand = Stand::new(move |asked| {
        if asked.form("grant_type").as_deref() == Some("refresh_token")
            && let Some(store) = kept.get()
        {
            for role in Role::KEPT {
                let name = format!("entra/work/refresh/{}", role.as_str());
                store.delete(&name).unwrap();
            }
        }
        authority(asked)
    })
    .await;
    let account = stand.account(|_| {});
    account.sign_in(&ctx(), |_| {}).await.unwrap();
    account.bootstrap(&ctx()).await.unwrap();
    assert_eq!(account.signed_in().await.unwrap(), ["human", "on-behalf"]);
    account.refresh(&ctx()).await.unwrap();
    assert_eq!(account.signed_in().await.unwrap(), ["human", "on-behalf"]);
    store.get_or_init(|| stand.store());
    account.refresh(&ctx()).await.unwrap();
    assert!(account.signed_in().await.unwrap().is_empty());
}

#[tokio::test]
async fn who_signs_out_during_the_first_exchange_leaves_nothing_behind() {
    let store: Arc<OnceLock<Arc<SecretStore>>> = Arc::default();
    let kept = Arc::clone(&store);
    let stand = Stand::new(move |asked| {
        if asked.form("requested_token_use").is_some()
            && let Some(store) = kept.get()
        {
            for role in Role::KEPT {
                let name = format!("entra/work/refresh/{}", role.as_str());
                store.delete(&name).unwrap();
            }
        }
        authority(asked)
    })
    .await;
    let account = stand.account(|_| {});
    account.sign_in(&ctx(), |_| {}).await.unwrap();
    assert_eq!(account.signed_in().await.unwrap(), ["human"]);
    store.get_or_init(|| stand.store());
    // The exchange was under way: its token is used up, and nothing of it is kept.
    account.bootstrap(&ctx()).await.unwrap();
    assert!(account.signed_in().await.unwrap().is_empty());
}

#[tokio::test]
async fn an_agent_that_acts_again_after_signing_out_is_named_again() {
    let stand = Stand::new(authority).await;
    let account = stand.account(agents);
    account.bootstrap(&ctx()).await.unwrap();
    let acts = words(&account.identity());
    account.revoke(&ctx(), false).await.unwrap();
    assert_eq!(words(&account.identity()), "none - -");
    // Somebody who asks Graph without saying so first.
    account.token(&ctx(), &account.graph_key()).await.unwrap();
    assert!(account.known().is_some());
    account.ready(&ctx()).await.unwrap();
    assert_eq!(words(&account.identity()), acts);
}

#[tokio::test]
async fn an_agent_becomes_its_own_user_in_three_hops() {
    let stand = Stand::new(authority).await;
    let account = stand.account(agents);
    let begun = account.bootstrap(&ctx()).await.unwrap();
    assert_eq!(begun.agent_id.as_deref(), Some("agent-1"));
    let sponsor = account.settings().human.as_deref().unwrap_or("-");
    let acts = format!("agent_user agent-1 {sponsor}");
    assert_eq!(words(&account.identity()), acts);
    let who = account.whoami(&ctx()).await.unwrap();
    assert_eq!(who.user_id.as_deref(), Some("agent-user-oid"));
    assert_eq!(
        (who.acting, who.tenant.as_str()),
        (Acting::AgentUser, "tenant-guid")
    );
    let asked = stand.asked();
    let hop = |at: usize, names: &[&str]| {
        let values = names
            .iter()
            .map(|name| asked[at].form(name).unwrap_or_default());
        values.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(asked.len(), 3);
    let names = ["client_id", "client_secret", "fmi_path", "scope"];
    let exchange = "api://AzureADTokenExchange/.default";
    assert_eq!(
        hop(0, &names),
        format!("blueprint-app blueprint-secret agent-1 {exchange}")
    );
    let first = jwt(&json!({ "oid": "app" }));
    let names = ["client_id", "client_assertion", "grant_type", "scope"];
    assert_eq!(
        hop(1, &names),
        format!("agent-1 {first} client_credentials {exchange}")
    );
    let names = ["client_id", "client_assertion", "grant_type", "username"];
    assert_eq!(
        hop(2, &names),
        format!("agent-1 {first} user_fic agent@example.com")
    );
    assert_eq!(
        asked[2].form("user_federated_identity_credential"),
        Some(first)
    );
    assert_eq!(
        asked[2].header("x-anchormailbox"),
        Some("upn:agent@example.com")
    );
}

#[tokio::test]
async fn without_agents_in_the_tenant_the_application_acts_and_says_why() {
    let stand = Stand::new(|asked| match asked.form("fmi_path") {
        Some(_) => refused("invalid_request", 82_001),
        None => authority(asked),
    })
    .await;
    let account = stand.account(agents);
    account.sign_in(&ctx(), |_| {}).await.unwrap();
    let begun = account.bootstrap(&ctx()).await.unwrap();
    assert_eq!(begun.acting, Acting::ApplicationForHuman);
    assert!(begun.instead_because.unwrap().contains("AADSTS82001"));
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_not_made() {
    let stand = Stand::new(|asked| {
        if asked.target.contains("/servicePrincipals") {
            return Answer::json(200, &json!({ "value": [] }));
        }
        authority(asked)
    })
    .await;
    let account = stand.account(|settings| {
        agents(settings);
        settings.agent_id = None;
    });
    let error = account.bootstrap(&ctx()).await.unwrap_err();
    assert_eq!(error.class(), Class::AgentIdNotAvailable);
    assert!(error.hint().contains("provision"), "{}", error.hint());
    assert!(
        stand
            .asked()
            .iter()
            .all(|one| one.method != "PUT" && !one.target.contains("agentUser"))
    );
}

#[tokio::test]
async fn a_proof_that_the_authority_holds_for_too_old_is_made_anew() {
    // What was given before this number is out of its time, whatever was said of it.
    let good_from = std::sync::Arc::new(AtomicUsize::new(0));
    let given = std::sync::Arc::new(Mutex::new(Vec::<String>::new()));
    let (all, from) = (
        std::sync::Arc::clone(&given),
        std::sync::Arc::clone(&good_from),
    );
    let stand = Stand::new(move |asked| {
        let mut given = all.lock().unwrap();
        let oldest = from.load(Ordering::SeqCst);
        let proofs = ["client_assertion", "user_federated_identity_credential"];
        let is_old = |proof: String| {
            let number = given.iter().position(|one| *one == proof);
            number.is_some_and(|number| number < oldest)
        };
        if proofs
            .iter()
            .filter_map(|name| asked.form(name))
            .any(is_old)
        {
            return refused("invalid_client", 700_024);
        }
        let payload = json!({"oid": "one", "number": given.len()});
        given.push(jwt(&payload));
        granted(&payload, None)
    })
    .await;
    let account = stand.account(agents);
    let of = |role, scope: &str| TokenKey {
        role,
        scope: scope.into(),
    };
    account
        .token(&ctx(), &of(Role::AgentUser, "one/.default"))
        .await
        .unwrap();
    for (role, scope) in [
        (Role::AgentUser, "two/.default"),
        (Role::Agent, "three/.default"),
    ] {
        let before = stand.asked().len();
        good_from.store(given.lock().unwrap().len(), Ordering::SeqCst);
        account.token(&ctx(), &of(role, scope)).await.unwrap();
        assert!(stand.asked().len() > before + 1, "{role:?}");
    }
    // One that is refused whatever is done is refused once more and no more.
    good_from.store(usize::MAX, Ordering::SeqCst);
    let before = stand.asked().len();
    let error = account
        .token(&ctx(), &of(Role::Agent, "four/.default"))
        .await;
    assert_eq!(error.unwrap_err().class(), Class::Auth);
    assert_eq!(stand.asked().len(), before + 3);
}

#[tokio::test]
async fn refusals_have_their_classes_and_consent_has_an_address() {
    for (grant, answer, class) in [
        (
            "device_code",
            refused("authorization_declined", 65_004),
            Class::ConsentDenied,
        ),
        (
            "device_code",
            refused("expired_token", 70_020),
            Class::DeviceCodeTimeout,
        ),
        (
            "jwt-bearer",
            refused("invalid_grant", 500_131),
            Class::OboExchange,
        ),
        (
            "jwt-bearer",
            refused("invalid_grant", 65_001),
            Class::ConsentDenied,
        ),
    ] {
        let stand = Stand::new(move |asked| {
            let is_it = asked
                .form("grant_type")
                .is_some_and(|kind| kind.ends_with(grant));
            if is_it {
                answer.clone()
            } else {
                authority(asked)
            }
        })
        .await;
        let account = stand.account(|_| {});
        let signed_in = account.sign_in(&ctx(), |_| {}).await;
        let error = match signed_in {
            Err(error) => error,
            Ok(_) => account.bootstrap(&ctx()).await.unwrap_err(),
        };
        assert_eq!(error.class(), class, "{error}");
        if grant == "jwt-bearer" && class == Class::ConsentDenied {
            let url = format!(
                "{}/example.com/adminconsent?client_id=api-app",
                stand.origin
            );
            assert!(error.hint().contains(&url), "{}", error.hint());
        }
    }
}

#[tokio::test]
async fn a_revoked_sign_in_is_forgotten_and_asked_for_again() {
    let revoked = std::sync::Arc::new(AtomicBool::new(false));
    let told = std::sync::Arc::clone(&revoked);
    let stand = Stand::new(move |asked| {
        let renews = asked.form("grant_type").as_deref() == Some("refresh_token");
        if renews && told.load(Ordering::SeqCst) {
            return refused("invalid_grant", 50_173);
        }
        authority(asked)
    })
    .await;
    let account = stand.account(|_| {});
    account.sign_in(&ctx(), |_| {}).await.unwrap();
    account.bootstrap(&ctx()).await.unwrap();
    revoked.store(true, Ordering::SeqCst);
    let again = Account::new(account.settings().clone(), stand.parts()).unwrap();
    let error = again.bootstrap(&ctx()).await.unwrap_err();
    assert_eq!(error.class(), Class::TokenExpired);
    assert!(
        error.needs_person() && error.hint().contains("sign in again"),
        "{error}"
    );
    assert_eq!(words(&again.identity()), "none - -");
    let error = again.bootstrap(&ctx()).await.unwrap_err();
    assert!(error.to_string().contains("nobody is signed in"), "{error}");
}

#[test]
fn clouds_are_known_by_name() {
    for cloud in Cloud::ALL {
        assert_eq!(Cloud::parse(cloud.as_str()), Some(cloud));
        assert!(cloud.authority().starts_with("https://login."));
    }
    assert_eq!(Cloud::parse("moon"), None);
}

#[tokio::test]
async fn settings_that_make_no_account_are_refused() {
    let stand = Stand::new(authority).await;
    let changes: [fn(&mut AccountSettings); 5] = [
        |settings| settings.cloud = "moon".into(),
        |settings| settings.tenant_id = "a/../b".into(),
        |settings| settings.graph = Some("http://graph.example.com".into()),
        |settings| settings.ca_file = Some("/nonexistent/ca.pem".into()),
        |settings| settings.proxy = Some("http://me:secret@proxy.example.com".into()),
    ];
    for change in changes {
        let mut settings = stand.settings();
        change(&mut settings);
        let error = Account::new(settings, stand.parts()).unwrap_err();
        let text = format!("{error} {error:?} {}", error.hint());
        assert!(!text.contains("secret"), "{text}");
    }
}
