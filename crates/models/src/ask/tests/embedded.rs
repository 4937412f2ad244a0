//! Who is shown a text to make a vector of, and what is on record of it.

use std::sync::Mutex;

use super::*;
use crate::embed::{EmbedAsk, EmbedError};

const CANARY: &str = "canary";

/// A server that knows one model, and how a text is made a vector.
async fn local() -> Server {
    Server::start(|seen| match seen.path.as_str() {
        "/v1/models" => plain(200, "", r#"{"data":[{"id":"small"}]}"#),
        "/v1/embeddings" => plain(
            200,
            "",
            r#"{"data":[{"index":0,"embedding":[0.6,0.8]}],"model":"small","usage":{"prompt_tokens":3}}"#,
        ),
        _ => plain(404, "", ""),
    })
    .await
}

/// This server as the one provider, which has `more` to it.
fn with_one(server: &Server, more: &Value) -> Value {
    let mut provider = json!({
        "kind": "local_model", "enabled": true, "endpoint": server.url("/v1"),
        "hipaa_cleared": false,
    });
    for (name, value) in more.as_object().expect("an object") {
        provider[name] = value.clone();
    }
    json!({ "default_provider": "local", "providers": { "local": provider } })
}

/// A hub that has it.
fn beside(server: &Server, more: &Value) -> (Hub, Models) {
    let hub = Hub::new(rules(&with_one(server, more)), "tester");
    let models = models(&hub);
    (hub, models)
}

async fn embedded(models: &Models, whose: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
    let labels = labels(whose);
    let ask = EmbedAsk {
        place: ("local", "small"),
        job: "discovery.embeddings",
        conversation: "seat",
        labels: &labels,
        texts: &[CANARY.to_owned()],
    };
    models.embed(&ctx(), ask).await
}

fn was_shown(server: &Server) -> bool {
    let seen = server.seen();
    seen.iter()
        .any(|seen| seen.body.to_string().contains(CANARY))
}

#[tokio::test]
async fn a_text_becomes_a_vector_where_the_model_may_read_it() {
    let server = local().await;
    let (hub, models) = beside(&server, &json!({}));
    for whose in [&[][..], &["harbor"]] {
        let vectors = embedded(&models, whose).await.expect("a vector");
        assert_eq!(vectors, [[0.6, 0.8]]);
    }
    assert!(was_shown(&server));
    let records = records(&hub).await;
    assert_eq!(records.len(), 4, "{records:#?}");
    let (intent, outcome) = (&records[2], &records[3]);
    for (record, member, value) in [
        (intent, "verb", json!("ask_model")),
        (intent, "item", json!("small")),
        (intent, "entity", json!("harbor")),
        (intent, "provider_used", json!("local")),
        (intent, "job_id", json!("discovery.embeddings")),
        (intent, "conversation", json!("seat")),
        (outcome, "status", json!("ok")),
        (outcome, "input_tokens", json!(3)),
    ] {
        assert_eq!(record[member], value, "{member}");
    }
    assert!(!format!("{records:?}").contains(CANARY));
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
        let (hub, models) = beside(&server, &more);
        let refused = embedded(&models, whose).await;
        assert!(
            refused.as_ref().is_err_and(EmbedError::is_kept),
            "{more} {whose:?}: {refused:?}"
        );
        assert!(server.seen().is_empty(), "{more} {whose:?}");
        let records = records(&hub).await;
        assert_eq!(records.len(), 1, "{more} {whose:?}: {records:#?}");
        assert_eq!(records[0]["kind"], "refused", "{records:#?}");
    }
    // Nothing at all, to one that is on no machine of the owner's.
    let server = local().await;
    let (_hub, models) = beside(&server, &json!({ "kind": "openai_compatible" }));
    let refused = embedded(&models, &[]).await;
    assert!(
        matches!(refused, Err(EmbedError::NotLocal { .. })),
        "{refused:?}"
    );
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_limit_of_the_provider_holds_for_vectors_too() {
    let server = local().await;
    let limits = json!({ "limits": { "requests_per_minute": 2 } });
    let (_hub, models) = beside(&server, &limits);
    for _ in 0..2 {
        embedded(&models, &[]).await.expect("a vector");
    }
    let asked = server.seen().len();
    let refused = embedded(&models, &[]).await;
    let refused = refused.expect_err("one too many");
    let why = legation_core::error::chain(&refused).to_string();
    assert!(why.contains("2 times within a minute"), "{why}");
    assert!(!refused.is_kept());
    assert_eq!(server.seen().len(), asked);
}

#[tokio::test]
async fn an_answer_without_vectors_is_an_error_on_record() {
    for (status, body, why) in [
        (501, "{}", "it answered 501"),
        (200, r#"{"data":[]}"#, "something else than a vector"),
    ] {
        let server = Server::start(move |seen| match seen.path.as_str() {
            "/v1/models" => plain(200, "", r#"{"data":[{"id":"small"}]}"#),
            "/v1/embeddings" => plain(status, "", body),
            _ => plain(404, "", ""),
        })
        .await;
        let (hub, models) = beside(&server, &json!({}));
        let error = embedded(&models, &[]).await.expect_err("no vector");
        assert!(error.to_string().contains(why), "{error}");
        let records = records(&hub).await;
        assert_eq!(records.len(), 2, "{records:#?}");
        assert_eq!(records[1]["status"], "error", "{records:#?}");
    }
}

#[tokio::test]
async fn rules_that_change_on_its_way_are_asked_again() {
    type Change = (Arc<Gate>, Policy);
    let change: Arc<Mutex<Option<Change>>> = Arc::default();
    let theirs = Arc::clone(&change);
    // The rules change while the hub finds out what the server is.
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/v1/models" => {
            let change = theirs.lock().expect("nobody panicked").take();
            if let Some((gate, rules)) = change {
                gate.set_rules(rules);
            }
            plain(200, "", r#"{"data":[{"id":"small"}]}"#)
        }
        "/v1/embeddings" => plain(200, "", r#"{"data":[{"index":0,"embedding":[0.6,0.8]}]}"#),
        _ => plain(404, "", ""),
    })
    .await;
    let (hub, models) = beside(&server, &json!({}));
    let same = rules(&with_one(&server, &json!({})));
    *change.lock().expect("nobody panicked") = Some((Arc::clone(&hub.gate), same));
    let vectors = embedded(&models, &[]).await.expect("a vector");
    assert_eq!(vectors, [[0.6, 0.8]]);
    assert!(change.lock().expect("nobody panicked").is_none());
    let records = records(&hub).await;
    assert_eq!(records.len(), 2, "{records:#?}");
    assert_eq!(records[1]["status"], "ok", "{records:#?}");
}
