use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use legation_config::Instance;
use legation_core::{CancelReason, Clock as _, SystemClock};
use legation_gate::{
    Audience, CallFailure, Endpoint, HubEvent, InputRequired, Item, ListKind, Outcome, Retry,
    ServerSet as _, TaskWish,
};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

use crate::port::{AskKey, CallEvent, PortEvent};
use crate::testing::{Bench, FakePeer, Scripted, caller, complete, raw, spec, tool_call};

const FORM: &str = r#"{"message":"who?","requestedSchema":{"type":"object"}}"#;

/// A legacy server whose tool `who` asks for a name and answers it.
fn asking() -> Arc<Scripted> {
    let server = Scripted::new(
        Revision::V2025_11_25,
        r#"{"tools":{},"logging":{}}"#,
        |order, talk| {
            Box::pin(async move {
                if order.method != "tools/call" {
                    return Ok(Raw::empty_object());
                }
                let params = raw(r#"{"level":"debug","data":1}"#);
                for event in [
                    CallEvent::Progress(Object::new().with("progress", Raw::int(1))),
                    CallEvent::Log(params),
                    CallEvent::Log(raw(r#"{"level":"error","data":2}"#)),
                ] {
                    talk.events.send(event).await.expect("somebody listens");
                }
                let answer = talk.ask(7, "elicitation/create", FORM).await?;
                let content = answer.get("content").unwrap_or_else(Raw::null);
                Ok(content)
            })
        },
    );
    server.offer(ListKind::Tools, &[r#"{"name":"who"}"#]);
    server
}

async fn one(server: &Arc<Scripted>, mode: Instance) -> Bench {
    let bench = Bench::new();
    bench.serve("s", server);
    bench.apply(vec![spec("s", mode)]).await;
    bench.settle().await;
    bench
}

#[tokio::test]
async fn a_question_progress_and_log_reach_the_client_whose_call_it_is() {
    let server = asking();
    let bench = one(&server, Instance::Client).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", r#"{"elicitation":{}}"#);
    let outcome = bench.call(&me, "s-who", "{}", &peer, TaskWish::Never).await;
    assert_eq!(complete(outcome), r#"{"name":"me"}"#);
    assert_eq!(
        peer.heard(),
        [
            r#"progress {"progress":1}"#,
            r#"log {"level":"error","data":2}"#
        ],
        "debug is below the level"
    );
    assert!(server.methods().contains(&"logging/setLevel"));
    bench.host.shutdown().await;
}

#[tokio::test]
async fn what_a_client_did_not_declare_it_is_not_asked() {
    let server = asking();
    let bench = one(&server, Instance::Client).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", r#"{"sampling":{}}"#);
    let outcome = bench.call(&me, "s-who", "{}", &peer, TaskWish::Never).await;
    let Outcome::Error(error) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(error.code, codes::METHOD_NOT_FOUND);
    assert!(peer.asked.lock().expect("a lock").is_empty());
    bench.host.shutdown().await;
}

/// A modern server whose tool asks twice, with a state that counts.
fn rounds(times: u32) -> Arc<Scripted> {
    let server = Scripted::new(Revision::V2026_07_28, r#"{"tools":{}}"#, move |order, _| {
        Box::pin(async move {
            let retry = order.retry.unwrap_or(Retry {
                responses: Object::new(),
                state: None,
            });
            let state = retry.state.as_ref().and_then(Raw::to_str);
            let round: u32 = state.and_then(|text| text.parse().ok()).unwrap_or(0);
            if round > 0 {
                let answer = retry.responses.get("who").expect("answered");
                assert!(answer.get("action").is_some(), "{answer}");
            }
            if round == times {
                return Ok(raw(r#"{"resultType":"complete","content":[]}"#));
            }
            Ok(raw(&format!(
                r#"{{"resultType":"input_required","requestState":"{}","_meta":{{"v":1}},
                "inputRequests":{{"who":{{"method":"elicitation/create","params":{FORM}}}}}}}"#,
                round + 1
            )))
        })
    });
    server.offer(ListKind::Tools, &[r#"{"name":"who"}"#]);
    server
}

#[tokio::test]
async fn a_legacy_client_is_asked_live_for_a_modern_server() {
    let server = rounds(2);
    let bench = one(&server, Instance::Shared).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", r#"{"elicitation":{}}"#);
    let outcome = bench.call(&me, "s-who", "{}", &peer, TaskWish::Never).await;
    assert_eq!(
        complete(outcome),
        r#"{"resultType":"complete","content":[]}"#
    );
    assert_eq!(peer.asked.lock().expect("a lock").len(), 2);
    let face = {
        let orders = server.orders.lock().expect("a lock");
        orders
            .last()
            .and_then(|order| order.face.clone())
            .expect("per request")
    };
    assert!(face.capabilities.elicitation_form && face.capabilities.tasks_ext);

    let lacking = FakePeer::legacy("me", "{}");
    let outcome = bench
        .call(&me, "s-who", "{}", &lacking, TaskWish::Never)
        .await;
    let needed = "elicitation";
    assert!(
        matches!(&outcome, Outcome::Failed(CallFailure::MissingCapability { needed: n, .. }) if **n == *needed),
        "{outcome:?}"
    );
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_modern_client_gets_the_question_and_its_retry_goes_through() {
    let server = rounds(1);
    let bench = one(&server, Instance::Shared).await;
    let me = caller("me", None);
    let peer = FakePeer::modern("me", r#"{"elicitation":{}}"#);
    let outcome = bench.call(&me, "s-who", "{}", &peer, TaskWish::Never).await;
    let Outcome::InputRequired(InputRequired { result, state }) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(!result.contains("resultType") && !result.contains("requestState"));
    assert!(result.contains("_meta"));
    let item = Item::Tool("s-who".into());
    let target = bench
        .resolve(&me, &Endpoint::All, &item)
        .await
        .expect("known");
    let mut call = tool_call("s-who", "{}", &peer, TaskWish::Never);
    call.retry = Some(Retry {
        responses: Object::new().with("who", raw(r#"{"action":"decline"}"#)),
        state,
    });
    let permitted = bench.permit(&me, target);
    let outcome = bench.host.call(Bench::context(&me), permitted, call).await;
    assert_eq!(
        complete(outcome),
        r#"{"resultType":"complete","content":[]}"#
    );
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_server_that_never_stops_asking_is_stopped() {
    let server = rounds(u32::MAX);
    let bench = one(&server, Instance::Shared).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", r#"{"elicitation":{}}"#);
    let outcome = bench.call(&me, "s-who", "{}", &peer, TaskWish::Never).await;
    assert!(
        matches!(outcome, Outcome::Failed(CallFailure::Protocol { .. })),
        "{outcome:?}"
    );
    assert_eq!(peer.asked.lock().expect("a lock").len(), 16);
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_server_that_asks_a_thousand_things_at_once_asks_nobody() {
    let server = Scripted::new(Revision::LATEST, r#"{"tools":{}}"#, |_, _| {
        Box::pin(async {
            let question = r#"{"method":"elicitation/create","params":{"message":"Legation needs your password","requestedSchema":{}}}"#;
            let all: Vec<_> = (0..1000).map(|n| format!(r#""q{n}":{question}"#)).collect();
            let all = all.join(",");
            Ok(raw(&format!(
                r#"{{"resultType":"input_required","inputRequests":{{{all}}}}}"#
            )))
        })
    });
    server.offer(ListKind::Tools, &[r#"{"name":"who"}"#]);
    let bench = one(&server, Instance::Shared).await;
    let me = caller("me", None);
    let declared = r#"{"elicitation":{}}"#;
    for peer in [
        FakePeer::legacy("me", declared),
        FakePeer::modern("me", declared),
    ] {
        let outcome = bench.call(&me, "s-who", "{}", &peer, TaskWish::Never).await;
        let Outcome::Failed(CallFailure::Protocol { reason, .. }) = &outcome else {
            panic!("{outcome:?}");
        };
        assert!(reason.contains("1000 times at once"), "{reason}");
        assert!(peer.asked.lock().expect("a lock").is_empty());
    }
    bench.host.shutdown().await;
}

/// A server whose tool never answers, unless it is lost.
fn silent() -> Arc<Scripted> {
    let server = Scripted::new(Revision::V2025_11_25, r#"{"tools":{}}"#, |order, talk| {
        Box::pin(async move {
            if order.method == "tools/call" {
                let lost = order
                    .params
                    .get("arguments")
                    .and_then(|raw| raw.get("lost"));
                if lost.is_some() {
                    let event = CallEvent::Lost("exit code 9".to_owned());
                    talk.events.send(event).await.expect("somebody listens");
                }
                std::future::pending::<()>().await;
            }
            Ok(Raw::empty_object())
        })
    });
    server.offer(ListKind::Tools, &[r#"{"name":"wait"}"#]);
    server
}

#[tokio::test]
async fn calls_end_by_time_cancellation_drop_and_loss() {
    let server = silent();
    let bench = Bench::new();
    bench.serve("s", &server);
    let mut spec = spec("s", Instance::Shared);
    spec.timeout = Some(Duration::from_millis(20));
    bench.apply(vec![spec]).await;
    bench.settle().await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    let outcome = bench
        .call(&me, "s-wait", "{}", &peer, TaskWish::Never)
        .await;
    assert!(
        matches!(outcome, Outcome::Failed(CallFailure::TimedOut { .. })),
        "{outcome:?}"
    );
    assert_eq!(server.cancelled.load(Ordering::SeqCst), 1);

    let item = Item::Tool("s-wait".into());
    let target = bench
        .resolve(&me, &Endpoint::All, &item)
        .await
        .expect("known");
    let context = Bench::context(&me);
    context.cancel.cancel(CancelReason::ClientCancelled);
    let call = tool_call("s-wait", "{}", &peer, TaskWish::Never);
    let permitted = bench.permit(&me, target.clone());
    let outcome = bench.host.call(context, permitted, call).await;
    assert!(
        matches!(
            outcome,
            Outcome::Failed(CallFailure::Cancelled(CancelReason::ClientCancelled))
        ),
        "{outcome:?}"
    );
    assert_eq!(server.cancelled.load(Ordering::SeqCst), 2);

    let call = tool_call("s-wait", "{}", &peer, TaskWish::Never);
    let permitted = bench.permit(&me, target);
    let mut dropped = bench.host.call(Bench::context(&me), permitted, call);
    assert!((&mut dropped).now_or_never().is_none());
    drop(dropped);
    assert_eq!(server.cancelled.load(Ordering::SeqCst), 3);

    let outcome = bench
        .call(&me, "s-wait", r#"{"lost":1}"#, &peer, TaskWish::Never)
        .await;
    let Outcome::Failed(CallFailure::Lost { reason, .. }) = &outcome else {
        panic!("{outcome:?}");
    };
    assert!(reason.contains("exit code 9"));
    bench.host.shutdown().await;
}

/// A server whose tool answers after so many signs of life, each after so many seconds, and some
/// more of silence.
fn slow() -> Arc<Scripted> {
    let server = Scripted::new(Revision::V2025_11_25, r#"{"tools":{}}"#, |order, talk| {
        Box::pin(async move {
            let arguments = order.params.get("arguments").cloned();
            let number = |name: &str| {
                let value = arguments.as_ref().and_then(|raw| raw.get(name));
                let number = value.and_then(|raw| raw.to_i64()).unwrap_or(0);
                Duration::from_secs(number.unsigned_abs())
            };
            for _ in 0..number("signs").as_secs() {
                // tidy: the clock is held
                tokio::time::sleep(number("each")).await;
                let event = CallEvent::Progress(Object::new().with("progress", Raw::int(1)));
                // A call that was given up listens no more.
                drop(talk.events.send(event).await);
            }
            // tidy: the clock is held
            tokio::time::sleep(number("then")).await;
            Ok(Raw::empty_object())
        })
    });
    server.offer(ListKind::Tools, &[r#"{"name":"go"}"#]);
    server
}

#[tokio::test]
async fn one_timer_ends_every_call_at_its_own_time() {
    let server = slow();
    let bench = Bench::new();
    bench.serve("s", &server);
    let mut spec = spec("s", Instance::Shared);
    spec.timeout = Some(Duration::from_secs(60));
    bench.apply(vec![spec]).await;
    bench.settle().await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    let item = Item::Tool("s-go".into());
    let target = bench.resolve(&me, &Endpoint::All, &item).await;
    let target = target.expect("known");
    // From here on time passes when everybody waits for it.
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let call = |arguments: &str, within: Option<Duration>| {
        let mut context = Bench::context(&me);
        context.deadline = within.map(|within| SystemClock.now() + within);
        let call = tool_call("s-go", arguments, &peer, TaskWish::Never);
        let permitted = bench.permit(&me, target.clone());
        let outcome = bench.host.call(context, permitted, call);
        async move { (outcome.await, begun.elapsed().as_secs()) }
    };
    let timed_out =
        |outcome: &Outcome| matches!(outcome, Outcome::Failed(CallFailure::TimedOut { .. }));
    let ends = tokio::join!(
        call(r#"{"then":90}"#, None),
        // Later begun and earlier over.
        call(r#"{"then":90}"#, Some(Duration::from_secs(20))),
        // Each sign of life gives it another minute.
        call(r#"{"signs":5,"each":40}"#, None),
        call(r#"{"signs":1,"each":40,"then":90}"#, None),
    );
    let (silent, hurried, lively, faint) = ends;
    assert!(timed_out(&silent.0), "{silent:?}");
    assert_eq!(silent.1, 60);
    assert!(timed_out(&hurried.0), "{hurried:?}");
    assert!((19..=20).contains(&hurried.1), "{hurried:?}");
    assert!(timed_out(&faint.0), "{faint:?}");
    assert_eq!((lively.1, faint.1), (200, 100));
    assert_eq!(complete(lively.0), "{}");
    // Nobody is left to be told of, and the next call is watched all the same.
    let late = call(r#"{"then":90}"#, None).await;
    assert!(timed_out(&late.0), "{late:?}");
    assert_eq!(late.1, 260);
    assert_eq!(server.cancelled.load(Ordering::SeqCst), 4);
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_log_level_that_is_never_confirmed_keeps_no_call() {
    let server = Scripted::new(
        Revision::V2025_11_25,
        r#"{"tools":{},"logging":{}}"#,
        |order, _| {
            Box::pin(async move {
                if order.method == "logging/setLevel" {
                    std::future::pending::<()>().await;
                }
                Ok(Raw::empty_object())
            })
        },
    );
    server.offer(ListKind::Tools, &[r#"{"name":"go"}"#]);
    let bench = one(&server, Instance::Shared).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    tokio::time::pause();
    let outcome = bench.call(&me, "s-go", "{}", &peer, TaskWish::Never).await;
    assert_eq!(complete(outcome), "{}");
    assert!(server.methods().contains(&"logging/setLevel"));
    bench.host.shutdown().await;
}

/// A server that forgets the session of so many calls.
fn forgetful(times: usize) -> Arc<Scripted> {
    let left = Arc::new(AtomicUsize::new(times));
    let server = Scripted::new(
        Revision::V2025_11_25,
        r#"{"tools":{}}"#,
        move |order, talk| {
            let left = Arc::clone(&left);
            Box::pin(async move {
                let less = |left: usize| left.checked_sub(1);
                let (set, read) = (Ordering::SeqCst, Ordering::SeqCst);
                if order.method == "tools/call" && left.fetch_update(set, read, less).is_ok() {
                    let event = CallEvent::NotMade("forgotten".to_owned());
                    talk.events.send(event).await.expect("somebody listens");
                    std::future::pending::<()>().await;
                }
                Ok(Raw::empty_object())
            })
        },
    );
    server.offer(ListKind::Tools, &[r#"{"name":"act"}"#]);
    server
}

/// Ends the connection as often as said, each time when so many calls were made.
async fn forget(server: &Scripted, times: usize, calls: usize) {
    for round in 1..=times {
        let made = || {
            let methods = server.methods();
            let calls = methods.iter().filter(|sent| **sent == "tools/call");
            calls.count()
        };
        while made() < round * calls {
            tokio::task::yield_now().await;
        }
        let closed = PortEvent::Closed("forgotten".to_owned());
        server.tell_newest(closed).await;
    }
}

#[tokio::test]
async fn calls_of_a_forgotten_session_are_made_again_in_one_that_follows() {
    let server = forgetful(20);
    let bench = one(&server, Instance::Shared).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    let calls = (0..20).map(|_| bench.call(&me, "s-act", "{}", &peer, TaskWish::Never));
    let calls = futures_util::future::join_all(calls);
    let (outcomes, ()) = tokio::join!(calls, forget(&server, 1, 20));
    for outcome in outcomes {
        assert!(matches!(outcome, Outcome::Complete(_)), "{outcome:?}");
    }
    let dialled = server.plans.lock().expect("a lock").len();
    assert_eq!(dialled, 2, "one new session for all of them");
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_server_that_forgets_every_session_is_not_called_for_ever() {
    let server = forgetful(usize::MAX);
    let bench = one(&server, Instance::Shared).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    let call = bench.call(&me, "s-act", "{}", &peer, TaskWish::Never);
    let (outcome, ()) = tokio::join!(call, forget(&server, 2, 1));
    let Outcome::Failed(failure @ CallFailure::NotConnected { .. }) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(
        failure.to_string().contains("the call was not sent"),
        "{failure}"
    );
    bench.host.shutdown().await;
}

#[tokio::test]
async fn another_callers_permission_is_refused() {
    let bench = one(&Scripted::echo(), Instance::Shared).await;
    let (me, other) = (caller("me", None), caller("other", None));
    let peer = FakePeer::legacy("me", "{}");
    let item = Item::Tool("s-echo".into());
    let target = bench
        .resolve(&me, &Endpoint::All, &item)
        .await
        .expect("known");
    let permitted = bench.permit(&other, target);
    let call = tool_call("s-echo", "{}", &peer, TaskWish::Never);
    let outcome = bench.host.call(Bench::context(&me), permitted, call).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    bench.host.shutdown().await;
}

#[tokio::test]
async fn loose_questions_of_a_seats_own_server_reach_its_call_or_its_client() {
    let server = silent();
    let mut bench = one(&server, Instance::Client).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", r#"{"elicitation":{},"roots":{}}"#);
    bench.host.seat_opened(&me, peer.clone());
    let item = Item::Tool("s-wait".into());
    let target = bench
        .resolve(&me, &Endpoint::All, &item)
        .await
        .expect("known");
    let permitted = bench.permit(&me, target);
    let call = tool_call("s-wait", "{}", &peer, TaskWish::Never);
    let mut under_way = bench.host.call(Bench::context(&me), permitted, call);
    let ask = |key: u64, method: &str| PortEvent::Ask {
        key: AskKey(key),
        method: method.into(),
        params: None,
    };
    let answered = async |key: u64| {
        let wait = async {
            loop {
                let loose = server.loose.lock().expect("a lock").clone();
                if let Some((_, answer)) = loose.into_iter().find(|(k, _)| *k == AskKey(key)) {
                    return answer;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), wait)
            .await
            .expect("answered")
    };
    // While its call runs, the call passes the question on.
    while server.methods().last() != Some(&"tools/call") {
        assert!((&mut under_way).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    server.tell_newest(ask(1, "elicitation/create")).await;
    tokio::select! {
        _ = &mut under_way => panic!("it never ends"),
        answer = answered(1) => assert!(answer.is_ok(), "{answer:?}"),
    }
    drop(under_way);
    server.tell_newest(ask(2, "roots/list")).await;
    assert!(answered(2).await.is_ok());
    server.tell_newest(ask(3, "sampling/createMessage")).await;
    assert!(answered(3).await.is_err(), "not declared");

    server
        .tell_newest(PortEvent::Logged(raw(r#"{"level":"info","data":"mine"}"#)))
        .await;
    let logged = async {
        loop {
            if let HubEvent::Logged { audience, .. } = bench.events.recv().await.expect("events") {
                return audience;
            }
        }
    };
    let audience = tokio::time::timeout(Duration::from_secs(5), logged)
        .await
        .expect("told");
    assert_eq!(audience, Audience::Seat(me.seat.clone()));
    bench.host.shutdown().await;
}

#[tokio::test]
async fn loose_doings_of_a_shared_server_reach_nobody() {
    let server = Scripted::echo();
    let mut bench = one(&server, Instance::Shared).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", r#"{"elicitation":{},"roots":{}}"#);
    bench.host.seat_opened(&me, peer.clone());
    server
        .tell(PortEvent::Logged(raw(
            r#"{"level":"info","data":"whose?"}"#,
        )))
        .await;
    let asked = PortEvent::Ask {
        key: AskKey(1),
        method: "roots/list".into(),
        params: None,
    };
    server.tell(asked).await;
    let wait = async {
        while server.loose.lock().expect("a lock").is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), wait)
        .await
        .expect("answered");
    let (_, answer) = server.loose.lock().expect("a lock").remove(0);
    assert_eq!(
        answer.map_err(|error| error.code),
        Err(codes::METHOD_NOT_FOUND)
    );
    assert!(peer.asked.lock().expect("a lock").is_empty());
    while let Ok(event) = bench.events.try_recv() {
        assert!(!matches!(event, HubEvent::Logged { .. }), "{event:?}");
    }
    assert!(
        bench
            .host
            .logs("s", None, 5)
            .expect("known")
            .join("")
            .contains("whose?")
    );
    bench.host.shutdown().await;
}

#[tokio::test]
async fn errors_of_the_server_pass_untouched() {
    let server = Scripted::new(Revision::V2025_11_25, r#"{"tools":{}}"#, |_, _| {
        Box::pin(async {
            let error = ErrorObject::new(codes::URL_ELICITATION_REQUIRED, "open this");
            Err(error.with_data(raw(r#"{"elicitations":[]}"#)))
        })
    });
    server.offer(ListKind::Tools, &[r#"{"name":"t"}"#]);
    let bench = one(&server, Instance::Shared).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    let outcome = bench.call(&me, "s-t", "{}", &peer, TaskWish::Never).await;
    let Outcome::Error(error) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((error.code, &*error.message), (-32042, "open this"));
    assert!(error.data.is_some());
    bench.host.shutdown().await;
}
