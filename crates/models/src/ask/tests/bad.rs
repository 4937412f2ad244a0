//! Servers that do what they should not, behind the gate: each ends in an error
//! of its class, a record, a closed socket, and no other provider after the
//! first word.

use super::*;

fn told() -> Vec<u8> {
    events(&[r#"{"choices":[{"delta":{"content":"Yes"}}]}"#])
}

fn call(more: &str) -> Vec<u8> {
    let call = format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"read","arguments":"{more}"}}}}]}}}}]}}"#
    );
    events(&[&call])
}

fn hurried() -> ModelClient {
    ModelClient::new(
        clock(),
        Limits {
            content: 64 << 10,
            stream: 256 << 10,
            event: 16 << 10,
            ..Limits::default()
        },
    )
}

/// A fault: its name, what the server does, what it means, and whether a word
/// was seen before.
type Fault = (&'static str, Vec<Step>, ModelClass, bool);

fn faults() -> Vec<Fault> {
    let begun = || [head(), told()].concat();
    let html = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<html>".to_vec();
    let endless = events(&[r#"{"choices":[{"delta":{"content":"yes yes yes yes yes yes"}}]}"#]);
    let half = [
        &begun()[..],
        b"data: {\"choices\":[{\"delta\":{\"content\":\"\xe2\x9f",
    ]
    .concat();
    vec![
        (
            "cut stream",
            vec![Step::Send(begun()), Step::Cut],
            ModelClass::Broken,
            true,
        ),
        (
            "ends without an end",
            vec![Step::Send(begun())],
            ModelClass::Broken,
            true,
        ),
        (
            "half UTF-8",
            vec![Step::Send(half)],
            ModelClass::Broken,
            true,
        ),
        (
            "half a call",
            vec![Step::Send([head(), call("{")].concat()), Step::Cut],
            ModelClass::Broken,
            true,
        ),
        (
            "endless text",
            vec![Step::Send(head()), Step::Flood(endless)],
            ModelClass::Broken,
            true,
        ),
        (
            "no JSON",
            vec![Step::Send([begun(), events(&["{"])].concat())],
            ModelClass::Broken,
            true,
        ),
        (
            "429",
            plain(429, "retry-after: 1\r\n", ""),
            ModelClass::Busy,
            false,
        ),
        (
            "500",
            plain(500, "", "the prompt: canary"),
            ModelClass::Server,
            false,
        ),
        (
            "another type",
            vec![Step::Send(html)],
            ModelClass::Broken,
            false,
        ),
        ("nothing at all", vec![Step::Cut], ModelClass::Broken, false),
    ]
}

#[tokio::test]
async fn every_fault_of_a_server_has_a_class_and_an_end() {
    for fault in faults() {
        for with_spare in [false, true] {
            Box::pin(try_fault(&fault, with_spare)).await;
        }
    }
}

/// One fault, with and without another provider that could be asked.
async fn try_fault((what, steps, class, has_begun): &Fault, with_spare: bool) {
    let (server, spare) = (
        Server::saying(steps.clone()).await,
        Server::saying(stream(ANSWER)).await,
    );
    let mut chosen = llm(&server);
    if with_spare {
        chosen["providers"]["spare"] = entry(&spare);
        chosen["fallbacks"] = json!(["spare"]);
    }
    let hub = Hub::new(rules(&chosen), "tester");
    let models = models_with(&hub, hurried());
    let request = ChatRequest::ask("canary");
    let error = match models.ask(&ctx(), ask(&[], request)).await {
        Ok(mut answer) => {
            let (told, _, error) = collect(&mut answer).await;
            match (has_begun, with_spare) {
                (true, _) => assert!(error.is_some(), "{what}: {told:?}"),
                (false, true) => {
                    assert!(answer.has_fallen_back(), "{what}");
                    assert_eq!(answer.provider(), "spare", "{what}");
                    assert!(error.is_none(), "{what}: {error:?}");
                }
                (false, false) => panic!("{what}: {told:?}"),
            }
            error
        }
        Err(error) => {
            assert!(!has_begun && !with_spare, "{what}: {error}");
            Some(error)
        }
    };
    if let Some(error) = &error {
        assert_eq!(error.class(), Some(*class), "{what}: {error:?}");
        assert!(!error.hint().is_empty(), "{what}");
        let said = chain(error).to_string();
        assert!(!said.contains("canary"), "{what}: {said}");
    }
    let records = records(&hub).await;
    let count = |kind: &str| records.iter().filter(|one| one["kind"] == kind).count();
    assert_eq!(count("intent"), count("outcome"), "{what}: {records:?}");
    let spared = usize::from(!has_begun && with_spare);
    assert_eq!(spare.seen().len(), spared, "{what}");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    for steps in [vec![Step::Hang], vec![Step::Send(head()), Step::Hang]] {
        let server = Server::saying(steps).await;
        let mut quick = llm(&server);
        quick["timeout_ms"] = json!(100);
        let hub = Hub::new(rules(&quick), "tester");
        let models = models(&hub);
        let asked = models
            .ask(&ctx(), ask(&[], ChatRequest::ask("Well?")))
            .await;
        let error = asked.expect_err("given up");
        assert_eq!(error.class(), Some(ModelClass::Slow), "{error}");
        server.closed().await;
        let records = records(&hub).await;
        let outcome = records.iter().find(|one| one["kind"] == "outcome");
        assert_eq!(outcome.expect("an outcome")["status"], "timeout");
    }
}

#[tokio::test]
async fn whoever_calls_it_off_closes_the_socket_at_every_step() {
    let begun = [head(), told()].concat();
    for steps in [
        vec![Step::Hang],
        vec![Step::Send(head()), Step::Hang],
        vec![Step::Send(begun), Step::Hang],
    ] {
        let server = Server::saying(steps).await;
        let (hub, models) = hub(&server);
        let context = ctx();
        let asking = async {
            let asked = models
                .ask(&context, ask(&[], ChatRequest::ask("Well?")))
                .await;
            match asked {
                Err(error) => error,
                Ok(mut answer) => collect(&mut answer).await.2.expect("called off"),
            }
        };
        let calling_off = async {
            while server.seen().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            context
                .cancel
                .cancel(legation_core::CancelReason::ClientCancelled);
        };
        let (error, ()) = tokio::join!(asking, calling_off);
        assert_eq!(error.class(), Some(ModelClass::Cancelled), "{error}");
        server.closed().await;
        let records = records(&hub).await;
        let outcome = records.iter().find(|one| one["kind"] == "outcome");
        assert_eq!(outcome.expect("an outcome")["status"], "cancelled");
    }
}
