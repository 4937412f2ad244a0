use legation_core::EntityId;
use legation_policy::Policy;
use legation_policy::governance::{FileText, Template};

use super::*;
use crate::keys::Keys;
use crate::router::Router;
use crate::spend::{Meter, NoBook};
use crate::test_kit::gate::Hub;
use crate::test_kit::{Server, client, clock, ctx, stream};

#[test]
fn what_servers_ask_becomes_a_request_of_text() {
    let text = |role: &str, text: &str| json!({ "role": role, "content": { "type": "text", "text": text } });
    let many = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
    let good = json!({
        "systemPrompt": "Be brief.", "maxTokens": 1_000_000, "temperature": 0.5,
        "messages": [text("user", "Hi"), text("assistant", "Yes?"), { "role": "user", "content": many }],
        "modelPreferences": { "hints": [{ "name": "elsewhere" }] },
    });
    let request = request(&good).expect("a request");
    let said: Vec<String> = request
        .messages
        .iter()
        .map(|message| match message {
            Message::System(text) => format!("system {text}"),
            Message::User(text) => format!("user {text}"),
            Message::Assistant(turn) => format!("assistant {}", turn.text),
            Message::Result(_) => "result".to_owned(),
        })
        .collect();
    assert_eq!(
        said,
        ["system Be brief.", "user Hi", "assistant Yes?", "user a\nb"]
    );
    assert_eq!(request.tokens_max, Some(TOKENS_MAX));
    assert_eq!(request.temperature, Some(0.5));

    let image = json!({ "role": "user", "content": { "type": "image", "data": "", "mimeType": "image/png" } });
    for bad in [
        json!({}),
        json!({ "messages": [] }),
        json!({ "messages": [image] }),
        json!({ "messages": [text("user", "Hi"), text("assistant", "So")] }),
        json!({ "messages": [text("system", "Hi")] }),
        json!({ "messages": [text("user", "Hi")], "tools": [] }),
    ] {
        assert!(super::request(&bad).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn it_is_redacted_recorded_and_answered_like_any_request() {
    const NAME: &str = "Wilhelmina Featherstone";
    let server = Server::saying(stream(&[
        r#"{"choices":[{"delta":{"content":"Yes."}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#,
        "[DONE]",
    ]))
    .await;
    let mut sources = Template::Business.sources();
    let llm = json!({ "default_provider": "unit", "providers": { "unit": {
        "kind": "openai_compatible", "enabled": true, "endpoint": server.url("/v1"),
        "default_model": "small", "auth_source": "none", "hipaa_cleared": true,
        "baa": { "reference": "agreement 17", "expires": "2099-12-31" },
    } } });
    sources.llm_provider = FileText::Text(llm.to_string());
    let hub = Hub::new(Policy::load(&sources, &[]), "tester");
    let keys = Keys::new(|_| None, || panic!("no test needs a keystore"));
    let meter = Arc::new(Meter::new(Arc::new(NoBook), clock()));
    let models = Models::new(
        Arc::downgrade(&hub.gate),
        Router::new(client(), keys, meter),
    );
    let sampling = Sampling::new(Arc::new(models));
    let params = json!({ "maxTokens": 5, "messages": [
        { "role": "user", "content": { "type": "text", "text": format!("Patient: {NAME}, SSN 123-45-6789.") } },
    ] });
    let labels = EntityLabels::of(EntityId::new("meadow"));
    let answer = sampling
        .sample(ctx(), labels.clone(), Raw::from_serialize(&params))
        .await
        .expect("answered");
    let answer: Value = answer.deserialize().expect("JSON");
    assert_eq!(
        answer,
        json!({
            "role": "assistant", "content": { "type": "text", "text": "Yes." },
            "model": "small", "stopReason": "maxTokens",
        })
    );
    let seen = server.seen();
    let body = seen[0].body.to_string();
    assert!(!body.contains("123-45-6789"), "{body}");
    let records = hub.records().await.concat();
    assert!(
        records.contains("\"sampling\"") && records.contains("meadow"),
        "{records}"
    );

    // Whose data nobody may have goes nowhere.
    let unknown = EntityLabels::of(EntityId::new("elsewhere"));
    let refused = sampling
        .sample(ctx(), unknown, Raw::from_serialize(&params))
        .await;
    let refused = refused.expect_err("refused");
    assert_eq!(server.seen().len(), 1);
    // Why is the owner's business, and not the server's.
    for secret in ["unit", "elsewhere", "meadow"] {
        assert!(!refused.message.contains(secret), "{refused:?}");
    }
    assert!(refused.message.contains("no model"), "{refused:?}");
}
