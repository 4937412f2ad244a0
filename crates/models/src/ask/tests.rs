//! Requests on their way through the gate, on the bytes that arrive at servers
//! and on the records.

use std::time::Duration;

use legation_core::{EntityId, EntityLabels};
use legation_policy::Policy;
use legation_policy::governance::{FileText, Template};
use serde_json::{Value, json};

use super::*;
use crate::client::ModelClient;
use crate::delta::{Answer, Delta, Finish};
use crate::error::ModelClass;
use crate::keys::Keys;
use crate::limits::Limits;
use crate::request::{AnswerSchema, CallResult, Message, Tool, ToolCall, Turn};
use crate::spend::{Meter, NoBook};
use crate::test_kit::gate::Hub;
use crate::test_kit::{Server, Step, client, clock, ctx, events, head, plain, stream};

mod bad;
mod embedded;
mod recorded;
mod redacted;

const NAME: &str = "Wilhelmina Featherstone";
const ANSWER: &[&str] = &[
    r#"{"choices":[{"delta":{"content":"Yes."}}]}"#,
    r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#,
    "[DONE]",
];

/// The business template with these providers: meadow has health information,
/// harbor has none.
fn rules(llm: &Value) -> Policy {
    let mut sources = Template::Business.sources();
    sources.llm_provider = FileText::Text(llm.to_string());
    let policy = Policy::load(&sources, &[]);
    let providers = &policy.governance().providers;
    assert!(providers.good().is_some(), "{:?}", policy.problems());
    policy
}

/// One provider that is cleared and costs something.
fn llm(server: &Server) -> Value {
    json!({ "default_provider": "unit", "providers": { "unit": entry(server) } })
}

fn entry(server: &Server) -> Value {
    json!({
        "kind": "openai_compatible", "enabled": true, "endpoint": server.url("/v1"),
        "default_model": "small", "auth_source": "none", "hipaa_cleared": true,
        "baa": { "reference": "agreement 17", "expires": "2099-12-31" },
        "prices": { "input": 2.0, "output": 8.0 },
    })
}

fn models(hub: &Hub) -> Models {
    models_with(hub, client())
}

fn models_with(hub: &Hub, client: ModelClient) -> Models {
    let keys = Keys::new(|_| None, || panic!("no test needs a keystore"));
    let meter = Meter::new(Arc::new(NoBook), clock());
    let router = Router::new(client, keys, Arc::new(meter));
    Models::new(Arc::downgrade(&hub.gate), router)
}

fn hub(server: &Server) -> (Hub, Models) {
    let hub = Hub::new(rules(&llm(server)), "tester");
    let models = models(&hub);
    (hub, models)
}

fn labels(names: &[&str]) -> EntityLabels {
    names.iter().map(|name| EntityId::new(*name)).collect()
}

fn ask(names: &[&str], request: ChatRequest) -> ModelAsk {
    ModelAsk {
        labels: labels(names),
        ..ModelAsk::new("delegate.task", "ses_1", request)
    }
}

/// Everything that comes, and how it ends where it fails.
async fn collect(stream: &mut GatedStream) -> (Answer, Vec<Delta>, Option<AskError>) {
    let (mut answer, mut all) = (Answer::default(), Vec::new());
    while let Some(delta) = stream.next().await {
        match delta {
            Ok(delta) => {
                answer.push(delta.clone());
                all.push(delta);
            }
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing follows an error");
                return (answer, all, Some(error));
            }
        }
    }
    (answer, all, None)
}

/// The records as JSON.
async fn records(hub: &Hub) -> Vec<Value> {
    let records = hub.records().await;
    let parse = |text: String| serde_json::from_str(&text).expect("JSON");
    records.into_iter().map(parse).collect()
}
