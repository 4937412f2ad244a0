//! Measures what a request to a model costs before and beside the model.
//!
//! Each round asks the same server once over a bare socket and once through the
//! client, so that a machine that slows down slows both.

#[path = "../src/test_kit/gate.rs"]
mod gate;

use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use legation_core::{
    Caller, Cancel, ClientId, EntityId, EntityLabels, OpContext, Principal, SeatId, SharedClock,
    SystemClock, Via,
};
use legation_models::{
    ChatRequest, Dialect, Endpoint, GoOn, Keys, Limits, Meter, ModelAsk, ModelClient, Models,
    NoBook, Router, Target, Timeouts,
};
use legation_policy::Policy;
use legation_policy::governance::{FileText, Template};
use legation_wire::json::Raw;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use gate::Hub;

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
    data: {\"choices\":[{\"delta\":{\"content\":\"Yes.\"}}]}\n\n\
    data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const NOTE: &str = "Avery Placeholder in room 204 was seen by the nurse at noon and slept well. \
    The family of Morgan Sample-Person asked for a call about the visit on Friday. ";

fn main() {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok());
    let rounds: usize = rounds.unwrap_or(2_000);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(measure(rounds));
}

async fn measure(rounds: usize) {
    let port = serve().await;
    let clock = SystemClock::shared();
    let hub = Hub::new(policy(port), "tester");
    let models = models(&hub, &clock);
    prepared(&hub, &models, &clock, rounds);
    let client = ModelClient::new(Arc::clone(&clock), Limits::default());
    let (mut bare, mut added, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let began = clock.now();
        raw(port).await;
        let raw = since(&clock, began);
        let began = clock.now();
        let mut stream = client
            .stream(&ctx(), &target(port), None, &ChatRequest::ask("Well?"))
            .await
            .expect("an answer");
        assert!(matches!(stream.next().await, Some(Ok(_))));
        let through = since(&clock, began);
        drop(stream);
        let began = clock.now();
        let ask = ModelAsk::new("delegate.task", "ses_1", ChatRequest::ask("Well?"));
        let mut stream = models.ask(&ctx(), ask).await.expect("an answer");
        assert!(matches!(stream.next().await, Some(Ok(_))));
        whole.push(since(&clock, began) - raw);
        bare.push(raw);
        added.push(through - raw);
    }
    let kept = hub.store.vault_list("meadow", "ses_1").expect("rows");
    assert!(!kept.is_empty(), "tokens are on disk");
    assert_eq!(
        hub.records().await.len(),
        2 * rounds,
        "everything is on record"
    );
    say("bare socket, to the first byte, p50", &mut bare, 0.5);
    say("client, added to the first byte, p50", &mut added, 0.5);
    say(
        "client, rules and record, added to the first byte, p50",
        &mut whole,
        0.5,
    );
}

/// The decision, and the redaction of 4 KB of a conversation that goes on.
fn prepared(hub: &Hub, models: &Models, clock: &SharedClock, rounds: usize) {
    let meadow = EntityLabels::of(EntityId::new("meadow"));
    let text: String = NOTE.chars().cycle().take(4_096).collect();
    let words = Raw::array(&[Raw::str(&text)]);
    let ask = ModelAsk {
        labels: meadow.clone(),
        ..ModelAsk::new("delegate.task", "ses_1", ChatRequest::ask(text))
    };
    let mut times = Vec::new();
    for _ in 0..rounds {
        let began = clock.now();
        let plan = models.plan(&ask).expect("a plan");
        let redact = plan.decision.redact;
        let redacted = hub.gate.redact_for_model(&redact, "ses_1", &words);
        times.push(since(clock, began));
        assert!(
            !redacted
                .expect("redacted")
                .as_text()
                .contains("Placeholder")
        );
    }
    let mut slow = times.clone();
    say("decision and redaction of 4 KB, p50", &mut times, 0.5);
    say("decision and redaction of 4 KB, p99", &mut slow, 0.99);
}

fn since(clock: &SharedClock, began: Instant) -> f64 {
    clock.now().duration_since(began).as_secs_f64() * 1e6
}

fn say(what: &str, times: &mut [f64], share: f64) {
    times.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "there are a few thousand times"
    )]
    let at = ((times.len() - 1) as f64 * share) as usize;
    let line = json!({ "what": what, "us": times[at] });
    writeln!(std::io::stdout(), "{line}").expect("a reader");
}

/// A server that answers at once.
async fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::runtime::Handle::current().spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::runtime::Handle::current().spawn(async move {
                let mut bytes = vec![0; 64 * 1024];
                let mut came = 0;
                while !whole(&bytes[..came]) {
                    came += socket.read(&mut bytes[came..]).await.expect("a request");
                }
                // Whoever has heard enough goes.
                drop(socket.write_all(ANSWER.as_bytes()).await);
            });
        }
    });
    port
}

/// Whether a request has come with its body.
fn whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().expect("a length"));
    bytes.len() >= end + 4 + length
}

async fn raw(port: u16) {
    let body = json!({
        "model": "small", "stream": true, "messages": [{ "role": "user", "content": "Well?" }],
    })
    .to_string();
    let mut socket = TcpStream::connect(("127.0.0.1", port))
        .await
        .expect("there");
    socket.set_nodelay(true).expect("a socket");
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.expect("sent");
    let mut bytes = [0; 4_096];
    assert!(socket.read(&mut bytes).await.expect("an answer") > 0);
}

fn policy(port: u16) -> Policy {
    let llm = json!({
        "default_provider": "unit",
        "providers": { "unit": {
            "kind": "openai_compatible", "enabled": true, "auth_source": "none",
            "endpoint": format!("http://127.0.0.1:{port}/v1"), "default_model": "small",
            "hipaa_cleared": true, "baa": { "reference": "agreement 17", "expires": "2099-12-31" },
        } },
    });
    let mut sources = Template::Business.sources();
    sources.llm_provider = FileText::Text(llm.to_string());
    Policy::load(&sources, &[])
}

fn models(hub: &Hub, clock: &SharedClock) -> Models {
    let keys = Keys::new(|_| None, || panic!("nobody needs a keystore"));
    let client = ModelClient::new(Arc::clone(clock), Limits::default());
    let meter = Meter::new(Arc::new(NoBook), Arc::clone(clock));
    let router = Router::new(client, keys, Arc::new(meter));
    Models::new(Arc::downgrade(&hub.gate), router)
}

fn target(port: u16) -> Target {
    Target {
        provider: "unit".to_owned(),
        dialect: Dialect::Compatible,
        endpoint: Endpoint::parse(&format!("http://127.0.0.1:{port}/v1")).expect("an address"),
        model: "small".to_owned(),
        is_local: false,
        go_on: GoOn::Never,
        timeouts: Timeouts::remote(),
    }
}

fn ctx() -> OpContext {
    let caller = Caller {
        principal: Principal {
            client: ClientId::new("tester"),
            via: Via::Admin,
        },
        seat: SeatId::new("test"),
        workspace: None,
    };
    OpContext::new(caller, Cancel::new())
}
