//! Transcripts: what a link is told and what it does about it, as text files.
//!
//! Lines that go in: `config …`, `= event …`, and `< message` from the server (`<7 message`
//! when it came on the HTTP stream of call 7). Lines that come out: `> message` to the server
//! (`>7 message` for the request of call 7) and `* effect`. The runner keeps the former, writes
//! the latter anew and compares; `UPDATE_EXPECT=1` accepts what it wrote.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use bytes::Bytes;
use expect_test::expect_file;
use proptest::prelude::*;

use super::*;
use crate::caps::ClientCapabilities;
use crate::json::Limits;
use crate::listen::ListenFilter;
use crate::message::ErrorObject;

/// The transcripts, each a test of its own.
macro_rules! transcripts {
    ($($test:ident = $file:literal;)*) => {
        $(#[test]
        fn $test() {
            let replayed = replay(include_str!(concat!("transcripts/", $file)));
            expect_file![concat!("transcripts/", $file)].assert_eq(&replayed);
        })*

        #[test]
        fn no_transcript_is_forgotten() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/upstream/transcripts");
            let files = std::fs::read_dir(folder).unwrap();
            let files: BTreeSet<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
            assert_eq!(files, BTreeSet::from([$($file.to_owned()),*]));
        }
    };
}

transcripts! {
    asks_legacy = "asks_legacy.txt";
    asks_refused = "asks_refused.txt";
    auto_http = "auto_http.txt";
    auto_stdio = "auto_stdio.txt";
    calls_http = "calls_http.txt";
    cancellation = "cancellation.txt";
    failures = "failures.txt";
    legacy_2024_11_05 = "legacy_2024_11_05.txt";
    legacy_2025_03_26 = "legacy_2025_03_26.txt";
    legacy_2025_06_18 = "legacy_2025_06_18.txt";
    legacy_2025_11_25 = "legacy_2025_11_25.txt";
    listen = "listen.txt";
    modern_stdio = "modern_stdio.txt";
    mrtr = "mrtr.txt";
    progress_and_logs = "progress_and_logs.txt";
    strays = "strays.txt";
    tasks_legacy = "tasks_legacy.txt";
    tasks_modern = "tasks_modern.txt";
}

fn raw(text: &str) -> Raw {
    Raw::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::UPSTREAM)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn caps(text: &str) -> ClientCapabilities {
    ClientCapabilities::from_raw(&raw(text), Revision::LATEST)
}

fn config(words: &str) -> LinkConfig {
    let mut config = LinkConfig {
        era: EraChoice::Auto,
        http: false,
        client_info: raw(r#"{"name":"hub","version":"1"}"#),
        offered: ClientCapabilities::default(),
        legacy_revision: Revision::LATEST_LEGACY,
    };
    for word in words.split_whitespace() {
        match word {
            "auto" => config.era = EraChoice::Auto,
            "legacy" => config.era = EraChoice::Legacy,
            "modern" => config.era = EraChoice::Modern,
            "http" => config.http = true,
            _ => match word.strip_prefix("offered=") {
                Some(offered) => {
                    config.offered =
                        ClientCapabilities::from_raw(&raw(offered), Revision::V2025_11_25)
                }
                None => panic!("unknown configuration {word}"),
            },
        }
    }
    config
}

/// Carries out the inputs of a transcript; the same text with what came out of them.
fn replay(text: &str) -> String {
    let mut link = Link::new(config(""));
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with(['>', '*']) {
            continue;
        }
        writeln!(out, "{line}").unwrap();
        if let Some(words) = line.strip_prefix("config") {
            link = Link::new(config(words));
        } else if let Some(event) = line.strip_prefix("= ") {
            feed(&mut link, event);
        } else if let Some(rest) = line.strip_prefix('<') {
            let (via, message) = rest.split_once(' ').expect("a message");
            let via = (!via.is_empty()).then(|| CallKey(via.parse().expect("a call's key")));
            let limits = Limits::UPSTREAM;
            match Message::parse_one(&Bytes::copy_from_slice(message.as_bytes()), &limits) {
                Ok(message) => link.received(message, via),
                Err(error) => link.garbled(error.id.as_ref(), &error.to_string()),
            }
        } else {
            assert!(
                line.is_empty() || line.starts_with('#'),
                "unknown line {line}"
            );
        }
        while let Some(effect) = link.next_effect() {
            writeln!(out, "{}", show(&effect)).unwrap();
        }
    }
    out
}

fn feed(link: &mut Link, event: &str) {
    let (name, rest) = event.split_once(' ').unwrap_or((event, ""));
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    let key = || first.parse::<u64>().expect("a key");
    match name {
        "start" => link.start(),
        "timeout" => link.probe_timed_out(),
        "closed" => link.closed(),
        "lost" => link.call_lost(CallKey(key()), second),
        "call" => link.call(CallKey(key()), call(&raw(second))),
        "cancel" => link.cancel(CallKey(key()), second),
        "answer" => {
            let body = raw(second);
            let error = body
                .get("error")
                .and_then(|error| ErrorObject::from_raw(&error));
            link.answer(AskKey(key()), error.map_or(Ok(body), Err));
        }
        "notify" => link.notify(first, (!second.is_empty()).then(|| raw(second))),
        "listen" => link.listen(ListenFilter::from_raw(&raw(rest))),
        "listen-closed" => link.listen_closed(&Id::Int(first.parse().expect("an id"))),
        "http" => {
            let (call, status) = first.split_once(':').expect("call:status");
            let body = (!second.is_empty()).then(|| {
                Message::parse_one(&second.to_owned().into(), &Limits::UPSTREAM).expect("a message")
            });
            link.http_failed(
                call.parse().ok().map(CallKey),
                status.parse().expect("a status"),
                body,
            );
        }
        _ => panic!("unknown event {event}"),
    }
}

fn call(raw: &Raw) -> CallRequest {
    let text = |key: &str| {
        raw.get(key)
            .and_then(|value| value.to_str().map(Box::<str>::from))
    };
    CallRequest {
        method: text("method").expect("a method"),
        params: raw
            .get("params")
            .and_then(|params| params.to_object())
            .unwrap_or_default(),
        caps: raw
            .get("caps")
            .map_or_else(ClientCapabilities::default, |declared| {
                caps(declared.as_text())
            })
            .into(),
        client_info: raw.get("clientInfo"),
        log_level: text("log"),
        want_progress: raw.get("progress").is_some(),
    }
}

fn show(effect: &Effect) -> String {
    match effect {
        Effect::Send { message, call } => {
            let call = call.map(|call| call.0.to_string()).unwrap_or_default();
            format!(">{call} {}", String::from_utf8_lossy(&message.to_bytes()))
        }
        Effect::Ready(ready) => format!(
            "* ready {} caps={} server={:?} instructions={:?} supported={:?}",
            ready.revision,
            ready.capabilities.to_raw(ready.revision),
            ready.server_info,
            ready.instructions,
            ready.supported
        ),
        Effect::Failed(error) => format!("* failed: {}", legation_core::error::chain(error)),
        Effect::Call(key, event) => format!("* call {}: {}", key.0, show_event(event)),
        Effect::AskIdle {
            key,
            method,
            params,
        } => format!("* ask {} without a call: {method} {params:?}", key.0),
        Effect::AskWithdrawn { key, call } => format!("* ask {} withdrawn from {call:?}", key.0),
        Effect::Unattributed { notification } => {
            format!(
                "* unattributed {}",
                String::from_utf8_lossy(&Message::Notification(notification.clone()).to_bytes())
            )
        }
        other => format!("* {other:?}"),
    }
}

fn show_event(event: &CallEvent) -> String {
    match event {
        CallEvent::Progress(params) => format!("progress {}", params.to_raw()),
        CallEvent::Log(params) => format!("log {params}"),
        CallEvent::Ask {
            key,
            method,
            params,
        } => format!("ask {} {method} {params:?}", key.0),
        CallEvent::Done(Ok(result)) => format!("done {result}"),
        CallEvent::Done(Err(error)) => format!("error {}", error.to_object().to_raw()),
    }
}

fn server_message() -> impl Strategy<Value = Message> {
    let id = prop_oneof![(0..12i64).prop_map(Id::Int), Just(Id::Str("s".into()))];
    let method = prop::sample::select(vec![
        "ping",
        "roots/list",
        "elicitation/create",
        "notifications/progress",
        "notifications/message",
        "notifications/cancelled",
        "notifications/tools/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
        "vendor/x",
    ]);
    let payload = prop::sample::select(vec![
        "{}",
        "null",
        r#"{"progressToken":3}"#,
        r#"{"requestId":"s"}"#,
        r#"{"requestId":4}"#,
        r#"{"uri":"a:b"}"#,
        r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#,
        r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#,
        r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}"#,
        r#"{"resultType":"task"}"#,
    ]);
    let code = prop::sample::select(vec![-32601, -32022, -32020, -32700]);
    (0..4u8, id, any::<bool>(), method, payload, code).prop_map(
        |(kind, id, no_id, method, payload, code)| {
            let payload = Raw::from_static(payload);
            match kind {
                0 => Message::request(id, method, payload.to_object().map(|_| payload)),
                1 => Message::notification(method, payload.to_object().map(|_| payload)),
                2 => Message::response(id, Ok(payload)),
                _ => Message::Response(crate::message::Response {
                    id: (!no_id).then_some(id),
                    body: Err(ErrorObject::new(code, "m")),
                }),
            }
        },
    )
}

/// Anything the shell may do, in any order.
#[derive(Debug, Clone)]
enum Input {
    Received(Message, Option<u64>),
    Call(u64),
    Cancel(u64),
    Answer(u64),
    Listen(bool),
    Timeout,
    Closed,
    Http(Option<u64>, u16),
}

fn input() -> impl Strategy<Value = Input> {
    let key = 0..6u64;
    prop_oneof![
        8 => (server_message(), prop::option::of(key.clone())).prop_map(|(message, via)| Input::Received(message, via)),
        4 => key.clone().prop_map(Input::Call),
        2 => key.clone().prop_map(Input::Cancel),
        1 => key.clone().prop_map(Input::Answer),
        1 => any::<bool>().prop_map(Input::Listen),
        1 => Just(Input::Timeout),
        1 => Just(Input::Closed),
        1 => (prop::option::of(key), prop::sample::select(vec![400, 401, 404, 500])).prop_map(|(call, status)| Input::Http(call, status)),
    ]
}

proptest! {
    /// Whatever a server sends: every call ends exactly once or was cancelled, nothing is
    /// delivered to a call before it began or after it ended, and no id is used twice.
    #[test]
    fn every_call_ends_once(http: bool, era in prop::sample::select(vec![EraChoice::Auto, EraChoice::Legacy, EraChoice::Modern]), inputs in prop::collection::vec(input(), 0..60)) {
        let mut link = Link::new(LinkConfig { era, http, offered: caps(r#"{"roots":{},"elicitation":{}}"#), ..config("") });
        let mut live = BTreeSet::new();
        let mut ids = BTreeSet::new();
        link.start();
        for input in inputs {
            match input {
                Input::Received(message, via) => link.received(message, via.map(CallKey)),
                Input::Call(key) => if live.insert(key) {
                    link.call(CallKey(key), call(&raw(r#"{"method":"tools/call","progress":true}"#)));
                },
                Input::Cancel(key) => { live.remove(&key); link.cancel(CallKey(key), ""); }
                Input::Answer(key) => link.answer(AskKey(key), Ok(Raw::empty_object())),
                Input::Listen(on) => link.listen(ListenFilter { tools: on, ..ListenFilter::default() }),
                Input::Timeout => link.probe_timed_out(),
                Input::Closed => { link.closed(); link.start(); }
                Input::Http(call, status) => link.http_failed(call.map(CallKey), status, None),
            }
            while let Some(effect) = link.next_effect() {
                match effect {
                    Effect::Send { message: Message::Request(request), .. } => prop_assert!(ids.insert(request.id)),
                    Effect::Call(CallKey(key), CallEvent::Done(_)) => prop_assert!(live.remove(&key)),
                    Effect::Call(CallKey(key), _) => prop_assert!(live.contains(&key)),
                    _ => {}
                }
            }
            prop_assert_eq!(link.calls_in_flight(), live.len());
            prop_assert!(link.asks.len() <= inbound::MAX_ASKS && link.cancelled.len() <= calls::MAX_CANCELLED);
        }
    }
}
