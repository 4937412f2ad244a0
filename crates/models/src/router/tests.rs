//! Who is asked: the faults of earlier routers, shown absent on the bytes that
//! arrive at servers.

mod table;

use std::sync::Arc;

use legation_core::{EntityId, EntityLabels, Secret};
use legation_keystore::{KeepIn, Keystore, SecretStore};
use legation_policy::Policy;
use legation_policy::governance::{FileText, Template};
use serde_json::{Value, json};

use super::*;
use crate::delta::{Answer, Delta};
use crate::error::ModelClass;
use crate::request::Tool;
use crate::test_kit::{Seen, Server, Step, client, clock, ctx, events, head, plain, stream};

const ANSWER: &[&str] = &[
    r#"{"choices":[{"delta":{"content":"Yes."}}]}"#,
    r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
    "[DONE]",
];

fn labels(names: &[&str]) -> EntityLabels {
    names.iter().map(|name| EntityId::new(*name)).collect()
}

/// The business template with these providers: meadow has health information,
/// harbor has none.
fn policy(llm: &Value) -> Arc<Policy> {
    let mut sources = Template::Business.sources();
    sources.llm_provider = FileText::Text(llm.to_string());
    let policy = Policy::load(&sources, &[]);
    let providers = &policy.governance().providers;
    assert!(providers.good().is_some(), "{:?}", policy.problems());
    Arc::new(policy)
}

fn entry(kind: &str, server: &Server, more: Value) -> Value {
    let mut entry = json!({
        "kind": kind, "enabled": true, "endpoint": server.url("/v1"), "default_model": "small",
        "hipaa_cleared": false, "auth_env_var": "KEY",
    });
    for (name, value) in more.as_object().expect("an object") {
        entry[name] = value.clone();
    }
    entry
}

fn cleared(kind: &str, server: &Server) -> Value {
    let baa = json!({ "reference": "agreement 17", "expires": "2099-12-31" });
    entry(kind, server, json!({ "hipaa_cleared": true, "baa": baa }))
}

fn router() -> Router {
    let keys = Keys::new(
        |name| (name == "KEY").then(|| Secret::new(" k\n")),
        || panic!("no test needs a keystore"),
    );
    let book = Arc::new(crate::spend::tests::Rows::default());
    Router::new(client(), keys, Arc::new(Meter::new(book, clock())))
}

fn wanted(names: &[&str]) -> Wanted {
    Wanted {
        labels: Some(labels(names)),
        redacted: labels(names),
        ..Wanted::for_nobody()
    }
}

async fn answered(
    router: &Router,
    policy: &Arc<Policy>,
    wanted: &Wanted,
) -> Result<(String, String, usize), RouteError> {
    let request = ChatRequest::ask("canary");
    let mut stream = router.stream(&ctx(), policy, wanted, &request).await?;
    let mut answer = Answer::default();
    while let Some(delta) = stream.next(policy).await? {
        answer.push(delta);
    }
    Ok((
        stream.selected.provider,
        answer.turn.text,
        stream.tried.len(),
    ))
}

fn has_canary(seen: &[Seen]) -> bool {
    seen.iter()
        .any(|seen| seen.body.to_string().contains("canary"))
}

#[tokio::test]
async fn a_fallback_is_asked_before_the_first_word_only() {
    let refusals: Vec<(Vec<Step>, bool)> = vec![
        (plain(500, "", ""), true),
        (plain(429, "", ""), true),
        (plain(401, "", ""), true),
        (
            plain(400, "", r#"{"error":{"code":"content_filter"}}"#),
            false,
        ),
        (
            plain(400, "", r#"{"error":{"code":"context_length_exceeded"}}"#),
            false,
        ),
        (stream(&[]), true),
        (stream(&[r#"{"error":{"message":"x"}}"#]), true),
        (
            stream(&[r#"{"choices":[],"usage":{"prompt_tokens":1}}"#]),
            true,
        ),
        (
            stream(&[
                r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
                "{",
            ]),
            true,
        ),
    ];
    for (steps, goes_on) in refusals {
        let first = Server::saying(steps.clone()).await;
        let second = Server::saying(stream(ANSWER)).await;
        let policy = policy(&json!({
            "default_provider": "first", "fallbacks": ["first", "second", "second"],
            "providers": {
                "first": entry("openai_compatible", &first, json!({})),
                "second": entry("openai_compatible", &second, json!({})),
            },
        }));
        let found = answered(&router(), &policy, &wanted(&["harbor"])).await;
        assert_eq!(second.seen().len(), usize::from(goes_on), "{steps:?}");
        match found {
            Ok(found) => assert_eq!(found, ("second".to_owned(), "Yes.".to_owned(), 1)),
            Err(RouteError::Unanswered { tried }) => assert_eq!((tried.len(), goes_on), (1, false)),
            Err(error) => panic!("{error}"),
        }
    }
    // A word was seen: what follows is nobody else's.
    let word = r#"{"choices":[{"delta":{"content":"No"}}]}"#;
    let first = Server::saying(stream(&[word])).await;
    let second = Server::saying(stream(ANSWER)).await;
    let policy = policy(&json!({
        "default_provider": "first", "fallbacks": ["second"],
        "providers": {
            "first": entry("openai_compatible", &first, json!({})),
            "second": entry("openai_compatible", &second, json!({})),
        },
    }));
    let broke_off = answered(&router(), &policy, &wanted(&["harbor"])).await;
    assert!(
        matches!(broke_off, Err(RouteError::BrokeOff { .. })),
        "{broke_off:?}"
    );
    assert!(second.seen().is_empty());
}

#[tokio::test]
async fn no_fallback_leads_where_the_data_may_not_go() {
    let first = Server::saying(plain(500, "", "")).await;
    let second = Server::saying(stream(ANSWER)).await;
    let providers = json!({
        "first": cleared("azure_openai", &first),
        "second": entry("openai_compatible", &second, json!({})),
    });
    let policy = policy(&json!({
        "default_provider": "first", "fallbacks": ["second"], "providers": providers,
        "per_job_overrides": { "desk.draft": { "provider": "second" } },
    }));
    let mut asked = wanted(&["meadow"]);
    asked.job = Some("desk.draft".to_owned());
    let mut everybody = asked.clone();
    everybody.labels = None;
    everybody.redacted = policy
        .governance()
        .profile
        .good()
        .expect("a profile")
        .everyone();
    let mut mixed = wanted(&["meadow", "quarry"]);
    mixed.job.clone_from(&asked.job);
    for asked in [asked, everybody, mixed] {
        let refused = answered(&router(), &policy, &asked).await;
        let Err(RouteError::Unanswered { tried }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(tried.len(), 1, "{tried:?}");
        assert!(second.seen().is_empty(), "nothing arrives there");
    }
    assert!(has_canary(&first.seen()));
    let free = answered(&router(), &policy, &wanted(&["harbor"])).await;
    assert_eq!(free.expect("answered").0, "second");
}

#[tokio::test]
async fn what_was_not_redacted_is_not_sent() {
    let server = Server::saying(stream(ANSWER)).await;
    let policy = policy(&json!({
        "default_provider": "azure_openai",
        "providers": { "azure_openai": cleared("azure_openai", &server) },
    }));
    let mut asked = wanted(&["meadow", "quarry"]);
    asked.redacted = labels(&["quarry"]);
    let refused = answered(&router(), &policy, &asked).await;
    assert!(
        matches!(refused, Err(RouteError::NotRedacted)),
        "{refused:?}"
    );
    assert!(server.seen().is_empty());
    assert!(
        answered(&router(), &policy, &wanted(&["meadow"]))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_local_request_costs_nothing_unless_it_says_so() {
    let local = Server::start(|seen| match seen.path.as_str() {
        "/v1/models" => plain(200, "", r#"{"data":[{"id":"small"}]}"#),
        "/v1/chat/completions" => plain(500, "", ""),
        _ => plain(404, "", ""),
    });
    let (local, paid) = (local.await, Server::saying(stream(ANSWER)).await);
    let policy = policy(&json!({
        "default_provider": "local", "fallbacks": ["paid"],
        "providers": {
            "local": { "kind": "local_model", "enabled": true, "endpoint": local.url(""),
                       "hipaa_cleared": false },
            "paid": entry("openai_direct", &paid, json!({})),
        },
    }));
    let mut asked = wanted(&["harbor"]);
    asked.job = Some("delegate.task".to_owned());
    let plan = Plan::of(policy.governance(), &asked, 0);
    assert_eq!(plan.too_dear, ["paid"]);
    assert!(answered(&router(), &policy, &asked).await.is_err());
    assert!(paid.seen().is_empty());
    asked.may_cost = true;
    let found = answered(&router(), &policy, &asked)
        .await
        .expect("answered");
    assert_eq!(found.0, "paid");
    assert_eq!(paid.seen()[0].header("authorization"), Some("Bearer k"));
    // The local one has no key and gets none.
    assert!(
        local
            .seen()
            .iter()
            .all(|seen| seen.header("authorization").is_none())
    );
}

#[tokio::test]
async fn a_local_server_that_is_none_gets_nothing() {
    let cloud = Server::start(|seen| match seen.path.as_str() {
        "/api/version" => plain(200, "", r#"{"version":"0.13.5"}"#),
        "/api/tags" => plain(200, "", r#"{"models":[{"model":"big:cloud"}]}"#),
        _ => stream(ANSWER),
    });
    let cloud = cloud.await;
    let policy = policy(&json!({
        "default_provider": "local",
        "providers": { "local": {
            "kind": "local_model", "enabled": true, "endpoint": cloud.url("/v1"),
            "hipaa_cleared": true, "default_model": "big:cloud",
        } },
    }));
    let refused = answered(&router(), &policy, &wanted(&["meadow"])).await;
    let Err(RouteError::Unanswered { tried }) = refused else {
        panic!("{refused:?}");
    };
    assert!(matches!(
        tried[0].failure,
        Failure::Model(ref error) if error.class() == ModelClass::Untrue
    ));
    assert!(!has_canary(&cloud.seen()), "it was told nothing");
}

#[tokio::test]
async fn a_right_that_is_lost_stops_the_answer() {
    let word = events(&[r#"{"choices":[{"delta":{"content":"Yes"}}]}"#]);
    let server = Server::saying(vec![Step::Send([head(), word].concat()), Step::Hang]).await;
    let with = |entry: Value| {
        policy(&json!({
            "default_provider": "azure_openai", "providers": { "azure_openai": entry },
        }))
    };
    let before = with(cleared("azure_openai", &server));
    let request = ChatRequest::ask("canary");
    let router = router();
    let stream = router
        .stream(&ctx(), &before, &wanted(&["meadow"]), &request)
        .await;
    let mut stream = stream.expect("a stream");
    // Rules that change and still allow it change nothing.
    let same = with(cleared("azure_openai", &server));
    let delta = stream.next(&same).await.expect("still").expect("a word");
    assert_eq!(delta, Delta::Text("Yes".to_owned()));
    let after = with(entry("azure_openai", &server, json!({})));
    let stopped = stream.next(&after).await;
    assert!(
        matches!(stopped, Err(RouteError::Stopped { .. })),
        "{stopped:?}"
    );
    assert!(matches!(stream.next(&after).await, Ok(None)));
    server.closed().await;
}

/// A provider's name and entry, whether the caller has a token, and which key is
/// taken.
fn key_cases() -> Vec<(&'static str, Value, bool, &'static str)> {
    let openai = |more: Value| {
        let mut entry = more;
        entry["kind"] = json!("openai_direct");
        entry
    };
    let copilot = json!({ "kind": "copilot_extension", "auth_env_var": "SET" });
    vec![
        (
            "a",
            openai(json!({ "auth_env_var": "SET" })),
            true,
            "from the environment",
        ),
        (
            "a",
            openai(json!({ "auth_env_var": "UNSET" })),
            true,
            "missing",
        ),
        (
            "a",
            openai(json!({ "auth_env_var": "EMPTY" })),
            true,
            "missing",
        ),
        // One that is named and not set is not looked for elsewhere.
        (
            "kept",
            openai(json!({ "auth_env_var": "UNSET" })),
            true,
            "missing",
        ),
        ("kept", openai(json!({})), true, "from the keystore"),
        (
            "kept",
            openai(json!({ "auth_source": "keystore" })),
            true,
            "from the keystore",
        ),
        ("other", openai(json!({})), true, "missing"),
        ("a", json!({ "kind": "local_model" }), true, "none"),
        (
            "kept",
            json!({ "kind": "local_model", "auth_source": "keystore" }),
            true,
            "from the keystore",
        ),
        (
            "a",
            json!({ "kind": "openai_compatible", "auth_source": "none" }),
            true,
            "none",
        ),
        // Copilot takes the caller's and never ours.
        ("kept", copilot.clone(), true, "the caller's"),
        ("kept", copilot, false, "missing"),
    ]
}

#[tokio::test]
async fn keys_come_from_the_environment_or_the_keystore() {
    let folder = tempfile::tempdir().expect("a folder");
    let keystore = Keystore::open(&folder.path().join("keys")).expect("keys");
    let store = SecretStore::open(&keystore, &folder.path().join("secrets"), KeepIn::File);
    let store = Arc::new(store.expect("a store"));
    store
        .put(&Keys::name("kept"), &Secret::new("from the keystore"))
        .expect("kept");
    let keys = Keys::new(
        |name| match name {
            "SET" => Some(Secret::new(" from the environment\n")),
            "EMPTY" => Some(Secret::new(" ")),
            _ => None,
        },
        move || Ok(Arc::clone(&store)),
    );
    let token = Secret::new("the caller's");
    let get = |name: &str, entry: Value, with_token: bool| {
        let mut entry = entry;
        entry["enabled"] = json!(true);
        entry["hipaa_cleared"] = json!(false);
        let provider = serde_json::from_value(entry).expect("a provider");
        let found = keys.get(name, &provider, with_token.then_some(&token));
        match found {
            Ok(found) => found.map_or("none".to_owned(), |key| key.reveal().to_owned()),
            Err(error) => {
                assert!(!error.hint().is_empty());
                "missing".to_owned()
            }
        }
    };
    for (name, entry, with_token, expected) in key_cases() {
        assert_eq!(
            get(name, entry.clone(), with_token),
            expected,
            "{name} {entry}"
        );
    }
}

#[tokio::test]
async fn a_model_without_tools_is_not_asked_to_use_them() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/api/version" => plain(200, "", r#"{"version":"0.13.5"}"#),
        "/api/tags" => plain(200, "", r#"{"models":[{"model":"small:latest"}]}"#),
        "/api/show" => plain(200, "", r#"{"capabilities":["completion"]}"#),
        _ => stream(ANSWER),
    });
    let server = server.await;
    let policy = policy(&json!({
        "default_provider": "local",
        "providers": { "local": {
            "kind": "local_model", "enabled": true, "endpoint": server.url("/v1"),
            "hipaa_cleared": false,
        } },
    }));
    let mut request = ChatRequest::ask("canary");
    request.tools.push(Tool {
        name: "read".to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
    });
    let router = router();
    let refused = router.stream(&ctx(), &policy, &wanted(&[]), &request).await;
    let Err(RouteError::Unanswered { tried }) = refused else {
        panic!("{refused:?}");
    };
    assert!(matches!(tried[0].failure, Failure::NoTools));
    assert!(!has_canary(&server.seen()));
    assert!(answered(&router, &policy, &wanted(&[])).await.is_ok());
}

#[tokio::test]
async fn whoever_names_a_provider_does_not_loosen_what_the_owner_bound() {
    let (bound, other) = (
        Server::saying(stream(ANSWER)).await,
        Server::saying(stream(ANSWER)).await,
    );
    let policy = policy(&json!({
        "default_provider": "other",
        "entity_overrides": {
            "meadow": { "provider": "bound", "required_hipaa_cleared": true },
        },
        "providers": {
            "bound": cleared("openai_compatible", &bound),
            "other": cleared("openai_compatible", &other),
        },
    }));
    let (router, request) = (router(), ChatRequest::ask("canary"));
    for (names, provider, is_let) in [
        (vec!["meadow"], "bound", true),
        (vec!["meadow"], "other", false),
        (vec!["harbor"], "other", true),
        (vec!["harbor", "meadow"], "other", false),
    ] {
        let wanted = wanted(&names);
        let asked = router
            .only(&ctx(), &policy, &wanted, &request, provider)
            .await;
        match asked {
            Ok(_) => assert!(is_let, "{names:?} {provider}"),
            Err(RouteError::Bound { to, .. }) => {
                assert_eq!(
                    (to.as_str(), is_let),
                    ("bound", false),
                    "{names:?} {provider}"
                );
            }
            Err(error) => panic!("{names:?} {provider}: {error}"),
        }
    }
    let seen = other.seen();
    assert_eq!(seen.len(), 1, "only what holds nobody's bound data");
}
