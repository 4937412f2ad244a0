//! Who is shown a text to make a vector of.

use super::*;
use crate::embed::EmbedError;

const PLACE: (&str, &str) = ("local", "small");

/// A server that knows one model, and how a text is made a vector.
async fn local() -> Server {
    Server::start(|seen| match seen.path.as_str() {
        "/v1/models" => plain(200, "", r#"{"data":[{"id":"small"}]}"#),
        "/v1/embeddings" => plain(
            200,
            "",
            r#"{"data":[{"index":0,"embedding":[0.6,0.8]}],"model":"small"}"#,
        ),
        _ => plain(404, "", ""),
    })
    .await
}

fn rules(server: &Server, more: &Value) -> Arc<Policy> {
    let mut provider = json!({
        "kind": "local_model", "enabled": true, "endpoint": server.url("/v1"),
        "hipaa_cleared": false,
    });
    for (name, value) in more.as_object().expect("an object") {
        provider[name] = value.clone();
    }
    policy(&json!({ "default_provider": "local", "providers": { "local": provider } }))
}

async fn embedded(policy: &Policy, whose: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
    let texts = ["canary".to_owned()];
    router()
        .embed(&ctx(), policy.governance(), PLACE, &labels(whose), &texts)
        .await
}

#[tokio::test]
async fn a_text_becomes_a_vector_where_the_model_may_read_it() {
    let server = local().await;
    let policy = rules(&server, &json!({}));
    for whose in [&[][..], &["harbor"]] {
        let vectors = embedded(&policy, whose).await.expect("a vector");
        assert_eq!(vectors, [[0.6, 0.8]]);
    }
    assert!(has_canary(&server.seen()));
}

#[tokio::test]
async fn what_the_model_may_not_read_is_not_sent() {
    // Health information, to one that is not cleared for it; anything, to one that is switched off
    // or serves another entity alone.
    for (more, whose) in [
        (json!({}), &["meadow"][..]),
        (json!({}), &["harbor", "meadow"]),
        (json!({ "enabled": false }), &[]),
        (json!({ "entities": ["quarry"] }), &["harbor"]),
    ] {
        let server = local().await;
        let refused = embedded(&rules(&server, &more), whose).await;
        assert!(
            matches!(refused, Err(EmbedError::Kept { .. })),
            "{more} {whose:?}: {refused:?}"
        );
        assert!(server.seen().is_empty(), "{more} {whose:?}");
    }
    // Nothing at all, to one that is on no machine of the owner's.
    let server = local().await;
    let elsewhere = rules(&server, &json!({ "kind": "openai_compatible" }));
    let refused = embedded(&elsewhere, &[]).await;
    assert!(
        matches!(refused, Err(EmbedError::NotLocal { .. })),
        "{refused:?}"
    );
    assert!(server.seen().is_empty());
}
