//! Servers as they introduce themselves.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::*;
use crate::error::ModelClass;
use crate::target::Dialect;
use crate::test_kit::{Seen, Server, Step, client, ctx, plain};

/// A server that answers some paths and knows no others.
async fn server(answers: Value) -> Server {
    Server::start(move |seen| respond(&answers, seen)).await
}

fn respond(answers: &Value, seen: &Seen) -> Vec<Step> {
    match answers.get(&seen.path) {
        Some(answer) => plain(200, "", &answer.to_string()),
        None => plain(404, "", r#"{"error":"no"}"#),
    }
}

async fn found(answers: Value) -> Option<LocalServer> {
    let server = server(answers).await;
    let place = Endpoint::parse(&server.url("")).expect("an address");
    let found = LocalServer::at(&client(), &ctx(), &place, None).await;
    found.expect("somebody answers")
}

async fn known(answers: Value, model: &str) -> Result<Known, ModelError> {
    let server = server(answers).await;
    let mut target = server.target(Dialect::Compatible);
    target.model = model.to_owned();
    let probes = Probes::default();
    let first = probes.known(&client(), &ctx(), &target, None).await?;
    let asked = server.seen().len();
    let again = probes.known(&client(), &ctx(), &target, None).await?;
    assert_eq!(first, again);
    assert_eq!(server.seen().len(), asked, "it is asked once");
    Ok(first)
}

fn llama_cpp() -> Value {
    json!({
        "/props": {
            "default_generation_settings": { "n_ctx": 8192 },
            "build_info": "b11549-abc",
            "chat_template_caps": { "supports_tools": true },
        },
        "/v1/models": { "data": [{ "id": "echo", "owned_by": "llamacpp" }] },
        // It answers some of Ollama's questions too.
        "/api/tags": { "models": [{ "name": "echo" }] },
    })
}

fn ollama() -> Value {
    json!({
        "/api/version": { "version": "0.13.5" },
        "/api/tags": { "models": [
            { "model": "qwen3:8b", "remote_host": "", "remote_model": "" },
            { "model": "large:120b-cloud" },
            { "model": "mine", "remote_model": "large:120b", "remote_host": "https://example.com" },
        ] },
        "/api/show": { "capabilities": ["completion", "tools"], "parameters": "num_ctx    16384\nstop x" },
        "/v1/models": { "data": [{ "id": "qwen3:8b", "owned_by": "library" }] },
    })
}

#[tokio::test]
async fn servers_are_known_by_what_they_say() {
    let lm_studio = json!({
        "/api/v0/models": { "data": [
            { "id": "phi", "type": "llm", "max_context_length": 131_072, "loaded_context_length": 4096,
              "capabilities": ["tool_use"] },
            { "id": "vectors", "type": "embeddings" },
        ] },
        "/v1/models": { "data": [{ "id": "phi" }] },
    });
    let vllm = json!({
        "/version": { "version": "0.16.0" },
        "/v1/models": { "data": [{ "id": "m", "owned_by": "vllm", "max_model_len": 32768 }] },
    });
    let other = json!({ "/v1/models": { "data": [{ "id": "m" }] } });
    let cases = [
        (llama_cpp(), "llama.cpp", Some("b11549-abc"), 1, Some(8192)),
        (ollama(), "Ollama", Some("0.13.5"), 3, None),
        (lm_studio, "LM Studio", None, 1, Some(4096)),
        (vllm, "vLLM", Some("0.16.0"), 1, Some(32768)),
        (other, "another", None, 1, None),
    ];
    for (answers, kind, version, count, context) in cases {
        let server = found(answers).await.expect("a server of models");
        assert_eq!(server.kind.as_str(), kind);
        assert_eq!(server.version.as_deref(), version, "{kind}");
        assert_eq!(server.models.len(), count, "{kind}");
        assert_eq!(server.models[0].context, context, "{kind}");
        assert_eq!(server.models[0].elsewhere, None, "{kind}");
    }
    // Something else that speaks HTTP, and one that answers everything alike.
    assert_eq!(found(json!({})).await, None);
    let server = Server::start(|_| plain(200, "", r#"{"error":"Unexpected endpoint"}"#)).await;
    let place = Endpoint::parse(&server.url("")).expect("an address");
    let nothing = LocalServer::at(&client(), &ctx(), &place, None).await;
    assert_eq!(nothing.expect("somebody answers"), None);
}

#[tokio::test]
async fn a_model_that_runs_elsewhere_is_refused() {
    let listed =
        |owner: &str| json!({ "/v1/models": { "data": [{ "id": "gpt", "owned_by": owner }] } });
    let mut alias = ollama();
    alias["/api/show"] = json!({ "remote_host": "https://example.com", "capabilities": [] });
    let cases = [
        (ollama(), "large:120b-cloud"),
        (ollama(), "mine"),
        (ollama(), "not-listed:cloud"),
        (alias, "qwen3:8b"),
        (listed("openai"), "gpt"),
        (listed("anthropic"), "gpt"),
        // One that is not listed may be an alias of one that is.
        (listed("azure"), "another"),
    ];
    for (answers, model) in cases {
        let refused = known(answers, model).await.expect_err(model);
        assert!(
            matches!(refused, ModelError::Proxied { .. }),
            "{model}: {refused}"
        );
        assert_eq!(refused.class(), ModelClass::Untrue);
    }
    // A gateway before a server that is told by other answers than the list.
    for answers in [llama_cpp(), ollama()] {
        let gateway = Server::start(move |seen| match answers.get(&seen.path) {
            Some(answer) => plain(200, "cf-ray: 1-FRA\r\n", &answer.to_string()),
            None => plain(404, "", ""),
        });
        let gateway = gateway.await;
        let mut target = gateway.target(Dialect::Compatible);
        target.model = "not-listed".to_owned();
        let refused = Probes::default()
            .known(&client(), &ctx(), &target, None)
            .await;
        assert!(
            matches!(refused, Err(ModelError::Proxied { .. })),
            "{refused:?}"
        );
    }
    let gateway = Server::start(|seen| match seen.path.as_str() {
        "/v1/models" => plain(
            200,
            "x-litellm-version: 1.80\r\n",
            r#"{"data":[{"id":"m"}]}"#,
        ),
        _ => plain(404, "", ""),
    });
    let gateway = gateway.await;
    let target = gateway.target(Dialect::Compatible);
    let refused = Probes::default()
        .known(&client(), &ctx(), &target, None)
        .await;
    assert!(matches!(refused, Err(ModelError::Proxied { .. })));
    // And where nothing shows, the owner is believed.
    let own = known(ollama(), "qwen3:8b").await.expect("believed");
    assert_eq!(own.model.tools, Some(true));
    assert_eq!(own.model.context, Some(16384));
    assert_eq!(own.resumption, Resumption::Restart);
    // Where nobody set its context, it is known while it runs.
    let mut unset = ollama();
    unset["/api/show"] = json!({ "capabilities": ["completion"], "parameters": "stop x" });
    let unknown = known(unset.clone(), "qwen3:8b").await.expect("believed");
    assert_eq!(
        (unknown.model.context, unknown.model.tools),
        (None, Some(false))
    );
    unset["/api/ps"] = json!({ "models": [{ "model": "qwen3:8b", "context_length": 4096 }] });
    let running = known(unset, "qwen3:8b").await.expect("believed");
    assert_eq!(running.model.context, Some(4096));
}

#[tokio::test]
async fn how_it_goes_on_is_found_without_a_word_being_written() {
    let prompts = |begun: &'static str, tokens: [Vec<u32>; 2]| {
        move |seen: &Seen| match seen.path.as_str() {
            "/apply-template" => {
                let goes_on = seen.body["continue_final_message"] == true;
                let prompt = if goes_on { begun } else { "<u>?<a>" };
                plain(200, "", &json!({ "prompt": prompt }).to_string())
            }
            "/tokenize" => {
                let which = usize::from(seen.body["content"] == begun);
                plain(200, "", &json!({ "tokens": tokens[which] }).to_string())
            }
            _ => respond(&llama_cpp(), seen),
        }
    };
    let good = "<u>?<a>One, two, thr";
    let closed = "<u>?<a>One, two, thr</a>";
    let whole = [vec![1, 2, 3], vec![1, 2, 3, 4]];
    let cases = [
        (good, whole.clone(), Resumption::Exact, GoOn::Flag),
        (
            good,
            [vec![1, 2, 3], vec![1, 2, 9, 4]],
            Resumption::Prefill,
            GoOn::Flag,
        ),
        (good, [vec![], vec![]], Resumption::Prefill, GoOn::Flag),
        (closed, whole, Resumption::Restart, GoOn::Never),
    ];
    for (begun, tokens, resumption, go_on) in cases {
        let server = Server::start(prompts(begun, tokens)).await;
        let target = server.target(Dialect::Compatible);
        let known = Probes::default()
            .known(&client(), &ctx(), &target, None)
            .await;
        let known = known.expect("known");
        assert_eq!(
            (known.resumption, known.go_on),
            (resumption, go_on),
            "{begun}"
        );
        let asked: HashMap<String, usize> =
            server.seen().iter().fold(HashMap::new(), |mut all, seen| {
                *all.entry(seen.path.clone()).or_default() += 1;
                all
            });
        assert!(!asked.contains_key("/v1/chat/completions"), "{asked:?}");
    }
    // An older one that cannot be asked.
    let known = known(llama_cpp(), "echo").await.expect("known");
    assert_eq!(known.resumption, Resumption::Restart);
}

#[tokio::test]
async fn vllm_is_asked_for_tokens() {
    for (tokens, expected) in [
        ([vec![1, 2], vec![1, 2, 3]], Resumption::Exact),
        ([vec![1, 2], vec![1, 3, 3]], Resumption::Restart),
    ] {
        let server = Server::start(move |seen| match seen.path.as_str() {
            "/tokenize" => {
                let which = usize::from(seen.body["continue_final_message"] == true);
                plain(200, "", &json!({ "tokens": tokens[which] }).to_string())
            }
            "/v1/models" => plain(200, "", r#"{"data":[{"id":"small","owned_by":"vllm"}]}"#),
            _ => plain(404, "", ""),
        });
        let server = server.await;
        let target = server.target(Dialect::Compatible);
        let known = Probes::default()
            .known(&client(), &ctx(), &target, None)
            .await;
        assert_eq!(known.expect("known").resumption, expected);
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_of_use_is_not_taken_for_local() {
    let server = Server::start(|_| plain(500, "", "")).await;
    let target = server.target(Dialect::Compatible);
    let refused = Probes::default()
        .known(&client(), &ctx(), &target, None)
        .await;
    let refused = refused.expect_err("nothing is known");
    assert_eq!(refused.class(), ModelClass::NotFound);
    let endless = Server::start(|_| {
        vec![
            Step::Send(crate::test_kit::head()),
            Step::Flood(vec![b'x'; 4096]),
        ]
    });
    let endless = endless.await;
    let target = endless.target(Dialect::Compatible);
    let refused = Probes::default()
        .known(&client(), &ctx(), &target, None)
        .await;
    assert!(
        matches!(refused, Err(ModelError::TooLarge { .. })),
        "{refused:?}"
    );
    endless.closed().await;
}
