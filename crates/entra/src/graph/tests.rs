use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use serde_json::{Value, json};

use super::operation::{bucket, mailbox, masked};
use super::*;
use crate::account::Account;
use crate::error::Class;
use crate::test_kit::{Answer, Asked, Stand, ctx};

/// A stand that gives the blueprint a token, and asks the closure for the
/// rest. Tokens are numbered.
async fn stand(graph: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> (Stand, Graph) {
    let tokens = AtomicUsize::new(0);
    let stand = Stand::new(move |asked| {
        if !asked.target.contains("/oauth2/") {
            return graph(asked);
        }
        let number = tokens.fetch_add(1, Ordering::SeqCst) + 1;
        let body = json!({
            "token_type": "Bearer", "expires_in": 3600, "access_token": format!("token-{number}"),
        });
        Answer::json(200, &body)
    })
    .await;
    let account: Account = stand.account(|settings| {
        settings.blueprint_id = Some("blueprint".into());
        settings.blueprint_secret = Some(legation_core::Secret::new("s"));
    });
    let graph = account.graph_as(crate::token::Role::Blueprint);
    (stand, graph)
}

fn of_graph(stand: &Stand) -> Vec<Asked> {
    let mut asked = stand.asked();
    asked.retain(|one| !one.target.contains("/oauth2/"));
    asked
}

#[tokio::test]
async fn a_list_is_read_to_its_end_and_to_no_other_host() {
    let (stand, graph) = stand(|asked| {
        let host = asked.header("host").unwrap_or_default();
        let next = |page: u32| format!("https://{host}/v1.0/users?$skiptoken={page}");
        let body = match asked.target.as_str() {
            "/v1.0/users" => json!({ "value": [1, 2], "@odata.nextLink": next(2) }),
            "/v1.0/users?$skiptoken=2" => json!({ "value": [3] }),
            _ => json!({ "value": [1], "@odata.nextLink": "https://evil.example.com/v1.0/users" }),
        };
        Answer::json(200, &body)
    })
    .await;
    let all: Vec<u32> = graph.list(&ctx(), "/users", 10).await.unwrap();
    assert_eq!(all, [1, 2, 3]);
    let error = graph.list::<u32>(&ctx(), "/users", 1).await.unwrap_err();
    assert!(matches!(error, GraphError::TooManyPages { .. }), "{error}");
    let error = graph.list::<u32>(&ctx(), "/groups", 10).await.unwrap_err();
    assert!(
        matches!(&error, GraphError::ForeignLink { origin, .. } if origin.contains("evil")),
        "{error}"
    );
    assert_eq!(of_graph(&stand).len(), 4);
}

#[tokio::test]
async fn a_challenge_is_answered_once() {
    let claims = r#"{"access_token":{"nbf":{"essential":true,"value":"1"}}}"#;
    let challenge = crate::base::base64(claims.as_bytes());
    let field = format!(r#"Bearer realm="", error="insufficient_claims", claims="{challenge}""#);
    let (stand, graph) = stand(move |asked| {
        let answer = Answer::json(
            401,
            &json!({ "error": { "code": "InvalidAuthenticationToken" } }),
        );
        match (asked.header("authorization"), asked.target.as_str()) {
            (Some("Bearer token-1"), _) | (_, "/v1.0/never") => {
                answer.with("www-authenticate", &field)
            }
            _ => Answer::json(200, &json!({ "id": "x" })),
        }
    })
    .await;
    let ctx = ctx();
    let all = (0..20).map(|_| graph.get::<Value>(&ctx, "/me"));
    for answer in futures_util::future::join_all(all).await {
        assert_eq!(answer.unwrap()["id"], "x");
    }
    let mut asked = stand.asked();
    asked.retain(|one| one.target.contains("/oauth2/"));
    assert_eq!(asked.len(), 2, "one token, and one in its place");
    let sent = asked[1].form("claims").unwrap();
    assert!(sent.contains("cp1") && sent.contains("nbf"), "{sent}");
    let error = graph.get::<Value>(&ctx, "/never").await.unwrap_err();
    assert_eq!(error.class(), Class::TokenExpired);
    let never = of_graph(&stand)
        .into_iter()
        .filter(|one| one.target == "/v1.0/never");
    assert_eq!(never.count(), 2);
}

#[tokio::test]
async fn a_forgotten_delta_begins_anew() {
    let (_stand, graph) = stand(|asked| {
        let host = asked.header("host").unwrap_or_default();
        if asked.target.contains("deltatoken=old") {
            return Answer::json(410, &json!({ "error": { "code": "syncStateNotFound" } }));
        }
        let link =
            format!("https://{host}/v1.0/me/mailFolders/inbox/messages/delta?$deltatoken=new");
        Answer::json(
            200,
            &json!({ "value": [{ "id": 1 }], "@odata.deltaLink": link }),
        )
        .with("x-prefer", asked.header("prefer").unwrap_or_default())
    })
    .await;
    let start = "/me/mailFolders/inbox/messages/delta?$select=id".to_owned();
    let page: DeltaPage<Value> = graph
        .delta(
            &ctx(),
            &DeltaFrom::Start(start.clone()),
            &["odata.maxpagesize=10"],
        )
        .await
        .unwrap();
    assert!(page.is_last && !page.is_resync && page.link.contains("deltatoken=new"));
    let from = DeltaFrom::Link {
        link: page.link.replace("=new", "=old"),
        start,
    };
    let page: DeltaPage<Value> = graph.delta(&ctx(), &from, &[]).await.unwrap();
    assert!(page.is_resync && page.items.len() == 1);
}

#[tokio::test]
async fn a_batch_is_answered_in_order_and_what_was_throttled_again() {
    let rounds = AtomicUsize::new(0);
    let (stand, graph) = stand(move |asked| {
        let body: Value = serde_json::from_str(&asked.body).unwrap();
        let round = rounds.fetch_add(1, Ordering::SeqCst);
        let answer = |one: &Value| match (one["id"].as_str(), round) {
            (Some("1"), 0) => {
                json!({ "id": "1", "status": 429, "headers": { "Retry-After": "0" } })
            }
            (Some("2"), _) => {
                json!({ "id": "2", "status": 404, "body": { "error": { "code": "x" } } })
            }
            (id, _) => json!({ "id": id, "status": 200, "body": { "url": one["url"] } }),
        };
        let mut responses: Vec<Value> = body["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(answer)
            .collect();
        responses.reverse();
        Answer::json(200, &json!({ "responses": responses }))
    })
    .await;
    let calls = ["/me", "/a", "/b", "/c"].map(BatchCall::get);
    let answers = graph.batch(&ctx(), &calls).await.unwrap();
    let shown: Vec<String> = answers
        .iter()
        .map(|answer| match answer {
            Ok(answer) => answer.body["url"].as_str().unwrap_or_default().to_owned(),
            Err(error) => error
                .refusal()
                .map_or(0, |refusal| refusal.status)
                .to_string(),
        })
        .collect();
    assert_eq!(shown, ["/me", "/a", "404", "/c"]);
    let asked = of_graph(&stand);
    assert_eq!(asked.len(), 2);
    assert!(asked[1].body.contains("\"/a\"") && !asked[1].body.contains("\"/c\""));
}

#[tokio::test]
async fn mail_is_asked_for_with_lasting_ids_by_four_at_a_time() {
    let (running, most) = (
        AtomicUsize::new(0),
        std::sync::Arc::new(AtomicUsize::new(0)),
    );
    let seen = std::sync::Arc::clone(&most);
    let (stand, graph) = stand(move |_| {
        let now = running.fetch_add(1, Ordering::SeqCst) + 1;
        seen.fetch_max(now, Ordering::SeqCst);
        std::thread::yield_now();
        running.fetch_sub(1, Ordering::SeqCst);
        Answer::json(200, &json!({}))
    })
    .await;
    let ctx = ctx();
    let all = (0..12).map(|_| graph.get::<Value>(&ctx, "/me/messages"));
    for answer in futures_util::future::join_all(all).await {
        answer.unwrap();
    }
    assert!(most.load(Ordering::SeqCst) <= 4);
    for asked in of_graph(&stand) {
        assert_eq!(asked.header("prefer"), Some(r#"IdType="ImmutableId""#));
    }
}

#[test]
fn operations_name_no_person() {
    for (path, shown) in [
        (
            "/v1.0/users/alex@example.com/messages?$filter=x",
            "/v1.0/users/{id}/messages",
        ),
        (
            "/v1.0/chats/19:a_b@unq.gbl.spaces/messages",
            "/v1.0/chats/{id}/messages",
        ),
        ("/v1.0/me/presence", "/v1.0/me/presence"),
        (
            "/users/microsoft.graph.agentUser",
            "/users/microsoft.graph.agentUser",
        ),
    ] {
        assert_eq!(masked(path), shown);
    }
    let url = |path: &str| {
        Url::parse("https://graph.example.com")
            .unwrap()
            .join(path)
            .unwrap()
    };
    assert_eq!(
        mailbox(&url("/v1.0/me/mailFolders/inbox")).as_deref(),
        Some("me")
    );
    assert_eq!(
        mailbox(&url("/v1.0/users/u1/events")).as_deref(),
        Some("u1")
    );
    assert_eq!(mailbox(&url("/v1.0/users/u1/presence")), None);
    assert_eq!(&*bucket(&url("/v1.0/chats/x/messages")), "chats");
    assert_ne!(
        bucket(&url("/v1.0/users/u1/messages")),
        bucket(&url("/v1.0/me/messages"))
    );
    assert_eq!(
        name(&Method::GET, &url("/v1.0/me?x=1")),
        "GET /v1.0/me".into()
    );
}

fn name(method: &Method, url: &Url) -> Box<str> {
    super::operation::name(method, url)
}
