//! What a server does that names no call reaches the client it is for, or
//! nobody.

use std::sync::Arc;
use std::time::Duration;

use legation_config::{Instance, ServerSpec, Source};
use legation_core::Caller;
use legation_gate::{Endpoint, ListKind, ServerSet as _, TaskWish};
use legation_wire::json::Raw;
use legation_wire::revision::Revision;
use tokio::sync::Semaphore;

use crate::port::{AskKey, PortEvent};
use crate::testing::{Bench, FakePeer, Scripted, caller, complete, raw, spec, spec_of};

const CAN_BE_ASKED: &str = r#"{"elicitation":{}}"#;

/// A server whose calls end when they are let go, each by its number.
struct Waiting {
    server: Arc<Scripted>,
    gates: Arc<Vec<Semaphore>>,
}

fn waiting() -> Waiting {
    let gates: Arc<Vec<_>> = Arc::new((0..4).map(|_| Semaphore::new(0)).collect());
    let held = Arc::clone(&gates);
    let server = Scripted::new(
        Revision::V2025_11_25,
        r#"{"tools":{},"logging":{}}"#,
        move |order, _| {
            let gates = Arc::clone(&held);
            Box::pin(async move {
                if let Some(arguments) = order.params.get("arguments") {
                    let number = arguments.get("n").and_then(|n| n.to_i64());
                    let number = usize::try_from(number.expect("a number")).expect("small");
                    gates[number].acquire().await.expect("open").forget();
                }
                Ok(Raw::empty_object())
            })
        },
    );
    server.offer(ListKind::Tools, &[r#"{"name":"wait"}"#]);
    Waiting { server, gates }
}

impl Waiting {
    async fn under(&self, spec: ServerSpec) -> Bench {
        let bench = Bench::new();
        bench.serve("s", &self.server);
        bench.apply(vec![spec]).await;
        bench.settle().await;
        bench
    }

    fn end(&self, call: usize) {
        self.gates[call].add_permits(1);
    }

    /// Waits until so many calls have reached the server.
    async fn calls(&self, count: usize) {
        until(|| {
            let methods = self.server.methods();
            let calls = methods.iter().filter(|method| **method == "tools/call");
            calls.count() == count
        })
        .await;
    }

    async fn ask(&self, key: u64) {
        let asked = PortEvent::Ask {
            key: AskKey(key),
            method: "elicitation/create".into(),
            params: Some(raw(r#"{"message":"?"}"#)),
        };
        self.server.tell_newest(asked).await;
    }

    /// The answer under a key.
    async fn answer(&self, key: u64) -> Result<String, i64> {
        let find = || {
            let loose = self.server.loose.lock().expect("a lock");
            let found = loose.iter().find(|(known, _)| *known == AskKey(key));
            found.map(|(_, answer)| answer.clone())
        };
        until(|| find().is_some()).await;
        let answer = find().expect("just seen");
        answer
            .map(|answer| answer.to_string())
            .map_err(|error| error.code)
    }
}

async fn until(done: impl Fn() -> bool) {
    let wait = async {
        while !done() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), wait)
        .await
        .expect("in time");
}

async fn call(bench: &Bench, me: &Caller, number: usize, peer: &Arc<FakePeer>) {
    let arguments = format!(r#"{{"n":{number}}}"#);
    let outcome = bench.call(me, "s-wait", &arguments, peer, TaskWish::Never);
    complete(outcome.await);
}

fn by(name: &str) -> Result<String, i64> {
    Ok(format!(
        r#"{{"action":"accept","content":{{"name":"{name}"}}}}"#
    ))
}

fn asked(peer: &FakePeer) -> usize {
    peer.asked.lock().expect("a lock").len()
}

#[tokio::test]
async fn a_question_outlives_the_call_it_was_given_to() {
    let waiting = waiting();
    let bench = waiting.under(spec("s", Instance::Client)).await;
    let me = caller("me", None);
    let seat = FakePeer::legacy("seat", CAN_BE_ASKED);
    bench.host.seat_opened(&me, seat.clone());
    let first = FakePeer::legacy("first", CAN_BE_ASKED);
    let second = FakePeer::legacy("second", CAN_BE_ASKED).muted();
    tokio::join!(
        call(&bench, &me, 0, &first),
        async {
            waiting.calls(1).await;
            call(&bench, &me, 1, &second).await;
        },
        async {
            waiting.calls(2).await;
            waiting.ask(5).await;
            until(|| asked(&second) == 1).await;
            assert_eq!(asked(&first), 0);
            waiting.end(1);
            assert_eq!(waiting.answer(5).await, by("first"));
            waiting.end(0);
        }
    );
    // No other call is left: the client itself is asked.
    tokio::join!(call(&bench, &me, 2, &second), async {
        waiting.calls(3).await;
        waiting.ask(6).await;
        until(|| asked(&second) == 2).await;
        waiting.end(2);
        assert_eq!(waiting.answer(6).await, by("seat"));
    });
    let count = waiting.server.loose.lock().expect("a lock").len();
    assert_eq!(count, 2, "each is answered once");
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_question_that_is_taken_back_is_not_passed_on() {
    let waiting = waiting();
    let bench = waiting.under(spec("s", Instance::Client)).await;
    let me = caller("me", None);
    let mute = FakePeer::legacy("mute", CAN_BE_ASKED).muted();
    let seat = FakePeer::legacy("seat", CAN_BE_ASKED);
    bench.host.seat_opened(&me, seat.clone());
    tokio::join!(call(&bench, &me, 0, &mute), async {
        waiting.calls(1).await;
        waiting.ask(5).await;
        until(|| asked(&mute) == 1).await;
        let server = &waiting.server;
        server.tell_newest(PortEvent::AskWithdrawn(AskKey(5))).await;
        waiting.ask(6).await;
        until(|| asked(&mute) == 2).await;
        waiting.end(0);
        assert_eq!(waiting.answer(6).await, by("seat"));
    });
    assert_eq!(asked(&seat), 1);
    bench.host.shutdown().await;
}

#[tokio::test]
async fn what_names_no_call_of_a_shared_server_reaches_the_only_client_or_nobody() {
    let http = serde_json::json!({"type": "http", "url": "http://127.0.0.1:9/mcp"});
    for spec in [
        spec_of("s", &http, Source::User { file: "f".into() }),
        spec("s", Instance::Shared),
    ] {
        let waiting = waiting();
        let bench = waiting.under(spec).await;
        let (me, other) = (caller("me", None), caller("other", None));
        let mine = FakePeer::legacy("mine", CAN_BE_ASKED);
        let theirs = FakePeer::legacy("theirs", CAN_BE_ASKED);
        let logged = |data: &'static str| PortEvent::Logged(raw(data));
        const ONE: &str = r#"{"level":"error","data":"one"}"#;
        const TWO: &str = r#"{"level":"error","data":"two"}"#;
        const GIVEN_UP: &str = r#"{"level":"error","data":"given up"}"#;
        tokio::join!(call(&bench, &me, 0, &mine), async {
            waiting.calls(1).await;
            waiting.server.tell_newest(logged(ONE)).await;
            until(|| !mine.heard().is_empty()).await;
            waiting.ask(1).await;
            assert_eq!(waiting.answer(1).await, by("mine"));
            let theirs = call(&bench, &other, 1, &theirs);
            tokio::select! {
                () = theirs => panic!("it waits"),
                () = async {
                    waiting.calls(2).await;
                    waiting.server.tell_newest(logged(TWO)).await;
                    waiting.ask(2).await;
                    assert_eq!(waiting.answer(2).await, Err(-32601));
                } => {}
            }
            // The other has given up; the server may be at it still.
            waiting.server.tell_newest(logged(GIVEN_UP)).await;
            waiting.ask(3).await;
            assert_eq!(waiting.answer(3).await, Err(-32601));
            waiting.end(0);
        });
        assert_eq!(mine.heard(), [format!("log {ONE}")]);
        assert!(theirs.heard().is_empty());
        assert_eq!((asked(&mine), asked(&theirs)), (1, 0));
        let log = bench.host.logs("s", None, 20).expect("known");
        assert!(log.iter().any(|line| line == TWO), "{log:?}");
        assert!(log.iter().any(|line| line == GIVEN_UP), "{log:?}");
        bench.host.shutdown().await;
    }
}

#[tokio::test]
async fn a_seats_first_call_goes_by_what_its_own_instance_offers() {
    let server = Scripted::echo();
    let bench = Bench::new();
    bench.serve("s", &server);
    bench.apply(vec![spec("s", Instance::Client)]).await;
    bench.settle().await;
    // What it offers to all is the same: another definition of `echo` would be set aside.
    let echo = r#"{"name":"echo","inputSchema":{}}"#;
    server.offer(ListKind::Tools, &[echo, r#"{"name":"extra"}"#]);
    for (number, tool) in ["s-echo", "s-extra", "s/extra"].into_iter().enumerate() {
        let me = caller(&format!("me{number}"), None);
        let peer = FakePeer::legacy("me", CAN_BE_ASKED);
        bench.host.seat_opened(&me, peer.clone());
        assert_eq!(
            bench.names(&me, &Endpoint::All, ListKind::Tools),
            ["s-echo"]
        );
        let outcome = bench.call(&me, tool, r#"{"a":1}"#, &peer, TaskWish::Never);
        assert_eq!(complete(outcome.await), r#"{"a":1}"#, "{tool}");
    }
    bench.host.shutdown().await;
}
