//! What is told of calls, to whoever listens. There is one listener in a process, so one test tells
//! all of it.

use std::time::Duration;

use legation_core::observe::{self, CallEnded, Ended, ModelEnded, Observer, SpanKind};

use super::*;

/// Notes what it is told.
#[derive(Debug, Default)]
struct Notes {
    calls: Mutex<Vec<String>>,
    spans: Mutex<Vec<Ended>>,
}

/// Everything goes to whoever looks now.
static NOTES: std::sync::OnceLock<Arc<Notes>> = std::sync::OnceLock::new();

impl Observer for Notes {
    fn call_ended(&self, call: &CallEnded<'_>) {
        assert!(call.elapsed >= call.at_server.unwrap_or(Duration::ZERO));
        let CallEnded {
            server,
            method,
            rung,
            outcome,
            reason,
            ..
        } = call;
        let line = format!("{server:?} {method} {rung:?} {outcome} {reason:?}");
        self.calls.lock().expect("whole").push(line);
    }

    fn model_ended(&self, _model: &ModelEnded<'_>) {}

    fn span_ended(&self, span: Ended) {
        self.spans.lock().expect("whole").push(span);
    }
}

const STATE: &str = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const CANARY: &str = "canary-9f3a";

/// What was told of the calls below, in their order.
const CALLS: [&str; 9] = [
    r#"Some("files") tools/call Some("execute") tool_error None"#,
    r#"Some("files") tools/call Some("execute") tool_error None"#,
    r#"Some("files") tools/call None refused Some("PERMISSION_DENIED")"#,
    r#"None tools/call None refused Some("UNKNOWN_TARGET")"#,
    r#"Some("files") tools/call Some("execute") tool_error None"#,
    r#"Some("files") tools/call Some("execute") tool_error None"#,
    r#"Some("files") tools/call Some("execute") ok None"#,
    r#"None resources/read None ok None"#,
    r#"None resources/read None refused Some("UNKNOWN_TARGET")"#,
];
/// The spans of those that were followed.
const SPANS: [&str; 17] = [
    r#"Internal legation.resolve None"#,
    r#"Internal legation.decide None"#,
    r#"Internal legation.record None"#,
    r#"Client tools/call read None"#,
    r#"Internal legation.result None"#,
    r#"Server tools/call read Some("tool_error")"#,
    r#"Internal legation.resolve None"#,
    r#"Internal legation.decide None"#,
    r#"Server tools/call erase Some("PERMISSION_DENIED")"#,
    r#"Internal legation.resolve None"#,
    r#"Server tools/call Some("UNKNOWN_TARGET")"#,
    r#"Internal legation.resolve None"#,
    r#"Internal legation.decide None"#,
    r#"Internal legation.record None"#,
    r#"Client tools/call read None"#,
    r#"Internal legation.result None"#,
    r#"Server tools/call read Some("tool_error")"#,
];

/// What servers heard in `traceparent`.
type Heard = Arc<Mutex<Vec<Option<String>>>>;

/// Has the servers note what they hear of traces.
fn listens(bench: &Bench) -> Heard {
    let heard = Heard::default();
    let said = Arc::clone(&heard);
    *bench.servers.act.lock().expect("whole") = Some(Act(Box::new(move |call| {
        let said_of = |key| {
            let value = legation_wire::meta::get(&call.params, key);
            value.and_then(|raw| raw.to_str().map(String::from))
        };
        let parent = said_of("traceparent");
        // What others keep of a trace goes with it, and not with another.
        let is_clients = parent
            .as_deref()
            .is_some_and(|text| text[3..35] == PARENT[3..35]);
        assert_eq!(said_of("tracestate").is_some(), is_clients, "{parent:?}");
        said.lock().expect("whole").push(parent);
        let result = Raw::from_static(r#"{"content":[],"isError":true}"#);
        std::future::ready(Outcome::Complete(result)).boxed()
    })));
    heard
}

/// A client's trace is gone on with, and one that cannot be read is begun anew.
fn hang_together(spans: &[Ended], heard: &[Option<String>], quiet: String) {
    let (begun, own) = spans.split_at(11);
    assert!(own.iter().all(|span| span.trace == own[0].trace));
    assert_ne!(own[0].trace, begun[0].trace);
    assert!(
        begun
            .iter()
            .all(|span| span.trace == 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c)
    );
    let [whole, at_server] = [SpanKind::Server, SpanKind::Client]
        .map(|kind| spans.iter().find(|span| span.kind == kind).expect("there"));
    assert_eq!(whole.parent, Some(0xb7ad_6b71_6920_3331));
    assert_eq!(at_server.parent, Some(whole.span));
    assert!(!format!("{spans:?}").contains(CANARY));
    let passed = format!("00-{:032x}-{:016x}-01", at_server.trace, at_server.span);
    let of_own = own.iter().find(|span| span.kind == SpanKind::Client);
    let of_own = of_own.expect("there");
    let begun_here = format!("00-{:032x}-{:016x}-01", of_own.trace, of_own.span);
    assert_eq!(heard, [Some(passed), Some(quiet), Some(begun_here)]);
}

fn traced(name: &str, traceparent: &str) -> Request {
    let mut request = request(name);
    let arguments = Object::new().with("path", Raw::str(CANARY));
    request.params.set("arguments", arguments.to_raw());
    legation_wire::meta::set(&mut request.params, "traceparent", Raw::str(traceparent));
    legation_wire::meta::set(&mut request.params, "tracestate", Raw::str(STATE));
    request
}

#[test]
fn calls_are_told_without_what_they_carry_and_traces_go_through() {
    let notes = Arc::clone(NOTES.get_or_init(Arc::default));
    assert!(
        observe::tell(Arc::clone(&notes) as _),
        "nobody else listens"
    );
    let bench = bench(personal());
    let heard = listens(&bench);
    let claude = context("claude");
    let call = |request| run(bench.gate.call(&claude, request));
    // Nothing is followed: what the client said goes on as it is.
    call(traced("files-read", PARENT)).expect("permitted");
    assert_eq!(
        heard.lock().expect("whole").pop(),
        Some(Some(PARENT.to_owned()))
    );
    observe::follow(1.0);
    call(traced("files-read", PARENT)).expect("permitted");
    call(traced("files-erase", PARENT)).expect_err("a rule forbids it");
    call(traced("nothing", PARENT)).expect_err("there is no such tool");
    let quiet = PARENT.replace("-01", "-00");
    call(traced("files-read", &quiet)).expect("permitted");
    call(traced("files-read", "00-unreadable")).expect("permitted");
    observe::follow(0.0);
    // A part of a result that was put aside passes no server, and is read like everything else.
    *bench.servers.act.lock().expect("whole") = None;
    bench.limited(serde_json::json!({ "maxResultBytes": 100_000 }));
    bench.answers(&super::spilled::large(20_000).0);
    let aside = bench.value("a", request("files-read"));
    let page = aside["content"][1]["uri"].as_str().expect("a link");
    bench.read("a", page).expect("a page");
    bench.read("b", page).expect_err("another conversation's");
    let calls = notes.calls.lock().expect("whole");
    assert_eq!(*calls, CALLS);
    let spans = notes.spans.lock().expect("whole");
    let told: Vec<String> = spans
        .iter()
        .map(|span| format!("{:?} {} {:?}", span.kind, span.name, span.error))
        .collect();
    assert_eq!(told, SPANS);
    let heard = heard.lock().expect("whole");
    hang_together(&spans, &heard, quiet);
}

#[test]
fn whoever_writes_in_a_chat_comes_by_the_webhook_and_is_on_the_list() {
    use crate::stage::authenticate::copilot;
    let bench = bench(personal());
    let known = KnownClients::new([ClientId::new("claude"), ClientId::new("copilot")]);
    bench
        .gate
        .set_clients(known.with_copilot(["Jordan-Example"]));
    let knows = |client: ClientId, via| bench.gate.knows(&Principal { client, via });
    assert!(knows(copilot("jordan-example"), Via::Copilot));
    assert!(knows(copilot("JORDAN-example"), Via::Copilot));
    for (client, via) in [
        (copilot("somebody"), Via::Copilot),
        (copilot("jordan-example"), Via::Http),
        (copilot("jordan-example"), Via::Admin),
        (ClientId::new("copilot"), Via::Copilot),
        (ClientId::new("claude"), Via::Copilot),
    ] {
        assert!(!knows(client, via));
    }
}
