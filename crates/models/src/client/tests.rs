//! Every way in which a server can answer or fail to, over real sockets.

mod failing;

use std::time::Duration;

use legation_core::{CancelReason, Secret};
use serde_json::json;

use crate::delta::{Delta, Finish, Usage};
use crate::error::ModelError;
use crate::request::{ChatRequest, Message, Tool, Turn};
use crate::target::Dialect;
use crate::test_kit::{Server, Step, client, collect, ctx, events, head, stream};

const HELLO: &[&str] = &[
    r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hm, "}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning":"yes."}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"Grüße, "}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"日本 🦀"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4}}}"#,
    "[DONE]",
];

fn tools() -> Vec<Tool> {
    vec![Tool {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        parameters: json!({ "type": "object" }),
    }]
}

#[tokio::test]
async fn an_answer_comes_as_it_was_written_however_it_is_torn() {
    let bytes = events(HELLO);
    let tearings = [
        vec![Step::Send([head(), bytes.clone()].concat())],
        vec![Step::Send(head()), Step::Drip(bytes.clone())],
        vec![Step::Drip([head(), bytes].concat())],
    ];
    for steps in tearings {
        let server = Server::saying(steps).await;
        let target = server.target(Dialect::Compatible);
        let request = ChatRequest::ask("Hello?");
        let mut answer = client()
            .stream(&ctx(), &target, None, &request)
            .await
            .expect("a stream");
        let (answer, _, error) = collect(&mut answer).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(answer.turn.text, "Grüße, 日本 🦀");
        assert_eq!(answer.turn.reasoning, "Hm, yes.");
        assert_eq!(answer.finish, Some(Finish::Stop));
        assert_eq!(
            answer.usage,
            Usage {
                input: Some(11),
                cached: Some(4),
                output: Some(7),
                reasoning: None,
            }
        );
    }
}

#[tokio::test]
async fn each_interface_is_asked_where_and_as_it_wants() {
    let dated = Dialect::AzureDated {
        api_version: "2024-10-21".to_owned(),
    };
    let cases = [
        (
            Dialect::OpenAi,
            "/v1/chat/completions",
            "authorization",
            "Bearer k",
        ),
        (
            Dialect::Compatible,
            "/v1/chat/completions",
            "authorization",
            "Bearer k",
        ),
        (
            Dialect::Copilot,
            "/v1/chat/completions",
            "authorization",
            "Bearer k",
        ),
        (Dialect::AzureV1, "/v1/chat/completions", "api-key", "k"),
        (
            dated,
            "/v1/deployments/small/chat/completions?api-version=2024-10-21",
            "api-key",
            "k",
        ),
        (Dialect::Anthropic, "/v1/messages", "x-api-key", "k"),
    ];
    for (dialect, path, header, value) in cases {
        let server = Server::saying(stream(&["[DONE]"])).await;
        let target = server.target(dialect.clone());
        let key = Secret::new("k");
        let request = ChatRequest {
            tools: tools(),
            ..ChatRequest::ask("Hello?")
        };
        let begun = client().stream(&ctx(), &target, Some(&key), &request).await;
        drop(begun.expect("a stream"));
        let seen = server.seen().remove(0);
        assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", path));
        assert_eq!(seen.header(header), Some(value), "{dialect:?}");
        assert_eq!(seen.header("accept"), Some("text/event-stream"));
        assert_eq!(seen.body["model"], "small");
        assert_eq!(seen.body["stream"], true);
        let others = ["authorization", "api-key", "x-api-key"];
        for other in others.into_iter().filter(|other| *other != header) {
            assert_eq!(seen.header(other), None, "a key goes where it belongs");
        }
    }
}

#[tokio::test]
async fn dropping_an_answer_closes_its_socket_whatever_it_waits_for() {
    let first = r#"{"choices":[{"index":0,"delta":{"content":"One"}}]}"#;
    // Before the head, before the first word, and in the middle.
    let cases = [
        vec![Step::Hang],
        vec![Step::Send(head()), Step::Hang],
        vec![Step::Send([head(), events(&[first])].concat()), Step::Hang],
    ];
    for (number, steps) in cases.into_iter().enumerate() {
        let server = Server::saying(steps).await;
        let target = server.target(Dialect::Compatible);
        let (client, ctx) = (client(), ctx());
        let request = ChatRequest::ask("Hello?");
        let mut asked = Box::pin(client.stream(&ctx, &target, None, &request));
        if number == 0 {
            tokio::select! {
                biased;
                answered = &mut asked => panic!("{answered:?}"),
                () = until(|| !server.seen().is_empty()) => {}
            }
        } else {
            let mut answer = (&mut asked).await.expect("a stream");
            if number == 2 {
                let delta = answer.next().await.expect("more").expect("a word");
                assert_eq!(delta, Delta::Text("One".to_owned()));
            }
        }
        drop(asked);
        server.closed().await;
    }
}

#[tokio::test]
async fn calling_an_answer_off_closes_its_socket_and_says_why() {
    let server = Server::saying(vec![Step::Send(head()), Step::Hang]).await;
    let target = server.target(Dialect::Compatible);
    let ctx = ctx();
    let request = ChatRequest::ask("Hello?");
    let answer = client().stream(&ctx, &target, None, &request).await;
    let mut answer = answer.expect("a stream");
    let (ended, ()) = tokio::join!(answer.next(), async {
        ctx.cancel.cancel(CancelReason::ClientCancelled);
    });
    assert!(matches!(
        ended,
        Some(Err(ModelError::Cancelled {
            reason: CancelReason::ClientCancelled
        }))
    ));
    assert!(answer.next().await.is_none());
    server.closed().await;
    // A call whose time is over asks nobody.
    let mut late = ctx.clone();
    late.cancel = legation_core::Cancel::new();
    late.deadline = Some(crate::test_kit::clock().now());
    let refused = client().stream(&late, &target, None, &request).await;
    assert!(
        matches!(
            refused,
            Err(ModelError::Cancelled {
                reason: CancelReason::Deadline
            })
        ),
        "{refused:?}"
    );
}

#[tokio::test]
async fn asking_again_after_a_dropped_wait_loses_nothing() {
    let server = Server::saying(vec![Step::Send(head()), Step::Drip(events(HELLO))]).await;
    let target = server.target(Dialect::Compatible);
    let request = ChatRequest::ask("Hello?");
    let answer = client().stream(&ctx(), &target, None, &request).await;
    let mut answer = answer.expect("a stream");
    let mut text = String::new();
    loop {
        let next = tokio::select! {
            biased;
            next = answer.next() => next,
            () = tokio::task::yield_now() => continue,
        };
        match next {
            Some(Ok(Delta::Text(more))) => text.push_str(&more),
            Some(Ok(_)) => {}
            Some(Err(error)) => panic!("{error}"),
            None => break,
        }
    }
    assert_eq!(text, "Grüße, 日本 🦀");
}

#[tokio::test]
async fn what_cannot_be_said_is_not_sent() {
    let server = Server::saying(stream(HELLO)).await;
    let begun = Message::Assistant(Turn {
        text: "One, tw".to_owned(),
        ..Turn::default()
    });
    let request = ChatRequest {
        messages: vec![Message::User("Count.".to_owned()), begun],
        ..ChatRequest::default()
    };
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let target = server.target(dialect);
        let refused = client().stream(&ctx(), &target, None, &request).await;
        assert!(
            matches!(refused, Err(ModelError::Unsayable { .. })),
            "{refused:?}"
        );
    }
    let target = server.target(Dialect::OpenAi);
    let key = Secret::new("a\nb");
    let request = ChatRequest::ask("Hello?");
    let refused = client().stream(&ctx(), &target, Some(&key), &request).await;
    assert!(matches!(refused, Err(ModelError::Key)), "{refused:?}");
    assert!(server.seen().is_empty());
}

/// Lets others work until something is so.
async fn until(is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
    waited.expect("it comes to be so");
}
