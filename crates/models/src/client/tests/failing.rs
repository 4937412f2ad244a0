//! Servers that fail.

use std::time::Duration;

use super::HELLO;
use crate::client::ModelClient;
use crate::delta::Finish;
use crate::error::{ModelClass, ModelError, Wait};
use crate::limits::{Limits, Timeouts};
use crate::request::ChatRequest;
use crate::target::Dialect;
use crate::test_kit::{Server, Step, clock, collect, ctx, events, head, plain, stream};

const WORD: &str = r#"{"choices":[{"index":0,"delta":{"content":"One"}}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn limits() -> Limits {
    Limits {
        request: 4096,
        event: 2048,
        stream: 64 << 10,
        content: 4096,
        calls: 3,
        plain: 1024,
    }
}

/// Short waits for what never comes.
fn short() -> Timeouts {
    Timeouts {
        connect: Duration::from_secs(10),
        first: Duration::from_millis(150),
        idle: Duration::from_millis(100),
        end: Duration::from_millis(50),
    }
}

/// What came before it failed, and how it failed.
async fn fails(steps: Vec<Step>, timeouts: Timeouts) -> (String, ModelError) {
    let server = Server::saying(steps).await;
    let mut target = server.target(Dialect::Compatible);
    target.timeouts = timeouts;
    let client = ModelClient::new(clock(), limits());
    let request = ChatRequest::ask("Hello?");
    match client.stream(&ctx(), &target, None, &request).await {
        Err(error) => (String::new(), error),
        Ok(mut stream) => {
            let (answer, _, error) = collect(&mut stream).await;
            (answer.turn.text, error.expect("it fails"))
        }
    }
}

fn after_head(bytes: Vec<u8>) -> Vec<Step> {
    vec![Step::Send([head(), bytes].concat())]
}

/// How an answer breaks off, the server that does it, what comes before, and
/// what is said of it.
fn breaking_off() -> Vec<(&'static str, Vec<Step>, &'static str, ModelClass)> {
    let word = events(&[WORD]);
    let length =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n";
    let refused = events(&[WORD, r#"{"error":{"message":"secret words","code":500}}"#]);
    let overloaded = events(&[WORD, r#"{"error":{"type":"overloaded_error"}}"#]);
    let named = [
        word.clone(),
        b"event: error\ndata: {\"message\": \"no\"}\n\n".to_vec(),
    ]
    .concat();
    let lone = br#"data: {"choices":[{"delta":{"content":"\ud83d"}}]}"#.to_vec();
    let lone = [word.clone(), lone, b"\n\n".to_vec()].concat();
    let torn = [word.clone(), b"data: \"\xe2\x82\"\n\n".to_vec()].concat();
    vec![
        (
            "nothing at all",
            after_head(Vec::new()),
            "",
            ModelClass::Broken,
        ),
        (
            "an end in the middle",
            after_head(word.clone()),
            "One",
            ModelClass::Broken,
        ),
        (
            "an event that is cut",
            after_head([word.clone(), b"data: {\"cho".to_vec()].concat()),
            "One",
            ModelClass::Broken,
        ),
        (
            "a length that is not kept",
            vec![Step::Send([length.to_vec(), word.clone()].concat())],
            "One",
            ModelClass::Broken,
        ),
        (
            "a formal end without a real one",
            after_head(events(&[WORD, "[DONE]"])),
            "One",
            ModelClass::Broken,
        ),
        (
            "no JSON",
            after_head(events(&[WORD, "{nonsense"])),
            "One",
            ModelClass::Broken,
        ),
        ("half a letter", after_head(torn), "One", ModelClass::Broken),
        (
            "half an escape",
            after_head(lone),
            "One",
            ModelClass::Broken,
        ),
        ("a refusal", after_head(refused), "One", ModelClass::Server),
        (
            "another refusal",
            after_head(overloaded),
            "One",
            ModelClass::Busy,
        ),
        (
            "an event named so",
            after_head(named),
            "One",
            ModelClass::Server,
        ),
    ]
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_none_and_what_came_is_kept() {
    let patient = Timeouts::remote();
    for (what, steps, came, class) in breaking_off() {
        let (text, error) = fails(steps, patient).await;
        assert_eq!(
            (text.as_str(), error.class()),
            (came, class),
            "{what}: {error}"
        );
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(!error.hint().is_empty());
    }
    let (_, reset) = fails(vec![Step::Send(head()), Step::Cut], patient).await;
    assert_eq!(reset.class(), ModelClass::Broken, "{reset}");
    let (_, silent) = fails(vec![Step::Cut], patient).await;
    assert!(matches!(silent, ModelError::Broken { .. }), "{silent}");
}

#[tokio::test]
async fn what_is_larger_than_anything_is_not_kept() {
    let patient = Timeouts::remote();
    let long = "x".repeat(1000);
    let words = format!(r#"{{"choices":[{{"delta":{{"content":"{long}"}}}}]}}"#);
    let thoughts = words.replace("content", "reasoning");
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"id":"N","function":{"name":"read"}}]}}]}"#;
    let calls: Vec<String> = (0..4).map(|n| call.replace('N', &n.to_string())).collect();
    let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
    let early = format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":"{long}"}}}}]}}}}]}}"#
    );
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("words", events(&[&words])),
        ("thoughts", events(&[&thoughts])),
        ("arguments of nothing", events(&[&early])),
        (
            "one line",
            b"data: ".iter().copied().chain([b'x'; 3000]).collect(),
        ),
        ("comments", b": still here\n\n".to_vec()),
        ("empty lines", b"\n\n\n\n".to_vec()),
    ];
    for (what, bytes) in cases {
        let server = Server::saying(vec![Step::Send(head()), Step::Flood(bytes)]).await;
        let target = server.target(Dialect::Compatible);
        let client = ModelClient::new(clock(), limits());
        let request = ChatRequest::ask("Hello?");
        let answer = client.stream(&ctx(), &target, None, &request).await;
        let (_, _, error) = collect(&mut answer.expect("a stream")).await;
        assert!(
            matches!(error, Some(ModelError::TooLarge { .. })),
            "{what}: {error:?}"
        );
        server.closed().await;
    }
    let (_, many) = fails(after_head(events(&calls)), patient).await;
    assert!(matches!(many, ModelError::Malformed { .. }), "{many}");
    let server = Server::saying(stream(HELLO)).await;
    let target = server.target(Dialect::Compatible);
    let request = ChatRequest::ask("x".repeat(5000));
    let client = ModelClient::new(clock(), limits());
    let refused = client.stream(&ctx(), &target, None, &request).await;
    assert!(matches!(refused, Err(ModelError::TooLarge { .. })));
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn silence_has_an_end() {
    let hanging = |bytes: Vec<u8>| vec![Step::Send(bytes), Step::Hang];
    let comments = [head(), b": still here\n\n".to_vec()].concat();
    let cases = [
        (vec![Step::Hang], Wait::First),
        (hanging(head()), Wait::First),
        // What is said to stay connected is no word.
        (hanging(comments), Wait::First),
        (hanging([head(), events(&[WORD])].concat()), Wait::Next),
    ];
    for (steps, expected) in cases {
        let (_, error) = fails(steps, short()).await;
        assert!(
            matches!(error, ModelError::Timeout { wait, .. } if wait == expected),
            "{error}"
        );
        assert_eq!(error.class(), ModelClass::Slow);
    }
}

#[tokio::test]
async fn a_model_that_is_done_is_not_waited_for() {
    let cases = [
        after_head(events(&[WORD, STOP])),
        vec![
            Step::Send([head(), events(&[WORD, STOP])].concat()),
            Step::Hang,
        ],
        vec![
            Step::Send([head(), events(&[WORD, STOP])].concat()),
            Step::Cut,
        ],
    ];
    for steps in cases {
        let server = Server::saying(steps).await;
        let mut target = server.target(Dialect::Compatible);
        target.timeouts = short();
        target.timeouts.first = Duration::from_secs(10);
        let client = ModelClient::new(clock(), limits());
        let request = ChatRequest::ask("Hello?");
        let answer = client.stream(&ctx(), &target, None, &request).await;
        let (answer, _, error) = collect(&mut answer.expect("a stream")).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(answer.finish, Some(Finish::Stop));
    }
}

#[tokio::test]
async fn what_is_no_event_stream_is_not_read() {
    let html = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html>";
    let gzip =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\r\nx";
    let none = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nx";
    for text in [html, gzip, none] {
        let (_, error) = fails(vec![Step::Send(text.into())], Timeouts::remote()).await;
        assert!(matches!(error, ModelError::NotAStream { .. }), "{error}");
    }
    let (_, json) = fails(plain(200, "", "{}"), Timeouts::remote()).await;
    assert_eq!(
        json.to_string(),
        "the answer is not an event stream but \"application/json\"; it was not read"
    );
    let (_, other) = fails(vec![Step::Send(b"SSH-2.0-x\r\n\r\n".to_vec())], short()).await;
    assert!(matches!(other, ModelError::Broken { .. }), "{other}");
}

#[tokio::test]
async fn a_refusal_is_told_by_its_class() {
    let word = |code: &str| format!(r#"{{"error":{{"message":"about Avery","code":"{code}"}}}}"#);
    let kind = |kind: &str| format!(r#"{{"error":{{"message":"about Avery","type":"{kind}"}}}}"#);
    let text = |text: &str| format!(r#"{{"error":{{"message":"{text}"}}}}"#);
    let cases = [
        (400, word("context_length_exceeded"), ModelClass::TooLong),
        (400, kind("exceed_context_size_error"), ModelClass::TooLong),
        (
            400,
            text("prompt is too long: 9 tokens > 8"),
            ModelClass::TooLong,
        ),
        (413, String::new(), ModelClass::TooLong),
        (400, word("content_filter"), ModelClass::Filtered),
        (400, kind("invalid_request_error"), ModelClass::Request),
        (
            400,
            text("Your credit balance is too low"),
            ModelClass::Quota,
        ),
        (422, r#"{"detail":"no"}"#.to_owned(), ModelClass::Request),
        (401, word("invalid_api_key"), ModelClass::Credential),
        (403, "nonsense".to_owned(), ModelClass::Credential),
        (
            404,
            r#"{"error":"model 'Avery' not found"}"#.to_owned(),
            ModelClass::NotFound,
        ),
        (404, word("DeploymentNotFound"), ModelClass::NotFound),
        (302, String::new(), ModelClass::NotFound),
        (429, kind("rate_limit_error"), ModelClass::Busy),
        (429, word("insufficient_quota"), ModelClass::Quota),
        (402, String::new(), ModelClass::Quota),
        (500, kind("api_error"), ModelClass::Server),
        (500, word("a word of Avery's"), ModelClass::Server),
        (502, "<html>Avery".to_owned(), ModelClass::Server),
        (503, String::new(), ModelClass::Busy),
        (504, String::new(), ModelClass::Slow),
        (529, kind("overloaded_error"), ModelClass::Busy),
    ];
    for (status, body, expected) in cases {
        let (_, error) = fails(plain(status, "", &body), Timeouts::remote()).await;
        assert_eq!(error.class(), expected, "{status} {body}");
        assert!(matches!(error, ModelError::Refused { status: found, .. } if found == status));
        assert!(!format!("{error} {error:?}").contains("Avery"), "{error:?}");
    }
    // One that is too long to be read is one all the same.
    let (_, long) = fails(plain(500, "", &"x".repeat(5000)), Timeouts::remote()).await;
    assert_eq!(long.class(), ModelClass::Server);
}

#[tokio::test]
async fn how_long_to_wait_is_told() {
    let cases = [
        ("retry-after: 7\r\n", Some(Duration::from_secs(7))),
        ("retry-after-ms: 250\r\n", Some(Duration::from_millis(250))),
        (
            "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
            Some(Duration::ZERO),
        ),
        (
            "retry-after: 99999999999\r\n",
            Some(Duration::from_secs(86_400)),
        ),
        ("retry-after: soon\r\n", None),
        ("", None),
    ];
    for (header, expected) in cases {
        let (_, error) = fails(plain(429, header, ""), Timeouts::remote()).await;
        let ModelError::Refused { retry_after, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(retry_after, expected, "{header}");
    }
}

#[tokio::test]
async fn a_place_where_nobody_is_says_so() {
    let server = Server::saying(Vec::new()).await;
    let target = server.target(Dialect::Compatible);
    drop(server);
    let client = ModelClient::new(clock(), limits());
    // The listener goes with its task.
    let mut last = None;
    for _ in 0..1000 {
        let request = ChatRequest::ask("Hello?");
        let error = client.stream(&ctx(), &target, None, &request).await;
        let error = error.expect_err("nobody is there");
        if matches!(error, ModelError::Connect { .. }) {
            last = Some(error);
            break;
        }
        tokio::task::yield_now().await;
    }
    let error = last.expect("a connection that is refused");
    assert_eq!(error.class(), ModelClass::Unreachable);
    assert!(error.to_string().ends_with("nothing was sent"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_said_to_be_local_and_is_not_is_found_out() {
    for header in ["x-litellm-version: 1.80", "openai-organization: example"] {
        let bytes =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n{header}\r\n\r\n");
        let server = Server::saying(vec![Step::Send(bytes.into_bytes()), Step::Hang]).await;
        let mut target = server.target(Dialect::Compatible);
        target.is_local = true;
        let client = ModelClient::new(clock(), limits());
        let request = ChatRequest::ask("Hello?");
        let refused = client.stream(&ctx(), &target, None, &request).await;
        assert!(
            matches!(refused, Err(ModelError::Proxied { .. })),
            "{refused:?}"
        );
        server.closed().await;
        target.is_local = false;
        assert!(client.stream(&ctx(), &target, None, &request).await.is_ok());
    }
}
