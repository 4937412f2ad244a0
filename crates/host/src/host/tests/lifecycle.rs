use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use legation_config::{Instance, Settings};
use legation_gate::policy::PinState;
use legation_gate::{CallFailure, Endpoint, HubEvent, Item, ListKind, Outcome, TaskWish};
use legation_gate::{ServerSet as _, Unresolved};
use legation_wire::json::Raw;
use legation_wire::revision::Revision;

use crate::common::Times;
use crate::port::{DialError, PortEvent};
use crate::status::State;
use crate::testing::{Bench, FakePeer, Scripted, caller, complete, spec, times};

async fn changed(bench: &mut Bench, kind: ListKind) {
    let wait = async {
        loop {
            match bench.events.recv().await.expect("events") {
                HubEvent::ListChanged { kind: of, .. } if of == kind => return,
                _ => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(5), wait)
        .await
        .expect("told");
}

#[tokio::test]
async fn what_is_configured_wrong_is_not_tried_again() {
    let bench = Bench::new();
    let (wrong, down) = (Scripted::echo(), Scripted::echo());
    bench.serve("wrong", &wrong);
    bench.serve("down", &down);
    let unset = DialError::Misconfigured("TOKEN is not set".to_owned());
    *wrong.refuses.lock().expect("a lock") = Some(unset);
    *down.refuses.lock().expect("a lock") = Some(DialError::Failed("exit code 7".to_owned()));
    let specs = ["wrong", "down"].map(|name| spec(name, Instance::Shared));
    bench.apply(specs.to_vec()).await;
    let restarts = |name: &str| {
        let all = bench.host.status();
        let one = all.iter().find(|status| status.name.as_str() == name);
        one.map(|status| (status.restarts, status.state.clone()))
    };
    while restarts("down").is_none_or(|(restarts, _)| restarts < 3) {
        tokio::task::yield_now().await;
    }
    let failed = State::Failed("TOKEN is not set".to_owned());
    assert_eq!(restarts("wrong"), Some((0, failed)));
}

#[tokio::test]
async fn a_call_reaches_its_tool_and_the_answer_is_untouched() {
    let bench = Bench::new();
    bench.serve("e", &Scripted::echo());
    bench.apply(vec![spec("e", Instance::Shared)]).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    // The server is still connecting for the first time: the name waits for it.
    let arguments = r#"{"n":9007199254740993,"x":[1.0, null]}"#;
    let outcome = bench
        .call(&me, "e-echo", arguments, &peer, TaskWish::Never)
        .await;
    assert_eq!(complete(outcome), arguments);
    bench.host.shutdown().await;
}

#[tokio::test]
async fn lists_answer_from_memory_and_calls_wait_for_the_pinned_definition() {
    let bench = Bench::new();
    let server = Scripted::echo();
    bench.serve("e", &server);
    bench.apply(vec![spec("e", Instance::Shared)]).await;
    bench.settle().await;
    let mut bench = bench.restart().await;
    *server.hangs.lock().expect("a lock") = true;
    bench.apply(vec![spec("e", Instance::Shared)]).await;
    let me = caller("me", None);
    assert_eq!(
        bench.names(&me, &Endpoint::All, ListKind::Tools),
        ["e-echo"]
    );
    let item = Item::Tool("e-echo".into());
    let pinned = bench
        .resolve(&me, &Endpoint::All, &item)
        .await
        .expect("remembered");

    // It comes back with another definition: the call must not go through.
    server.offer(
        ListKind::Tools,
        &[r#"{"name":"echo","description":"evil"}"#],
    );
    *server.hangs.lock().expect("a lock") = false;
    bench.host.reload("e", None).await.expect("known");
    bench.settle().await;
    changed(&mut bench, ListKind::Tools).await;
    let permitted = bench.permit(&me, pinned);
    let peer = FakePeer::legacy("me", "{}");
    let call = crate::testing::tool_call("e-echo", "{}", &peer, TaskWish::Never);
    let outcome = bench.host.call(Bench::context(&me), permitted, call).await;
    assert!(
        matches!(
            outcome,
            Outcome::Failed(CallFailure::DefinitionChanged { .. })
        ),
        "{outcome:?}"
    );
    assert!(!server.methods().contains(&"tools/call"));

    // Nobody sees it until somebody has looked at the difference.
    let names = |bench: &Bench| bench.names(&me, &Endpoint::All, ListKind::Tools);
    assert!(names(&bench).is_empty());
    let item = Item::Tool("e-echo".into());
    let target = bench.resolve(&me, &Endpoint::All, &item).await;
    assert_eq!(target.expect("known").pin, PinState::Changed);
    let waiting = bench.host.pins_waiting(Some("e")).expect("read");
    let [review] = &waiting[..] else {
        panic!("{waiting:?}");
    };
    assert_eq!((&*review.item, review.state), ("echo", "changed"));
    assert!(
        review
            .before
            .as_ref()
            .is_some_and(|text| !text.contains("evil"))
    );
    assert!(review.now.contains("evil"));
    bench
        .host
        .pin_decide(review, false, "owner")
        .expect("stored");
    assert!(names(&bench).is_empty());
    bench
        .host
        .pin_decide(review, true, "owner")
        .expect("stored");
    assert_eq!(names(&bench), ["e-echo"]);
    assert!(bench.host.pin_decide(review, true, "owner").is_err());
    let outcome = bench
        .call(&me, "e-echo", "{}", &peer, TaskWish::Never)
        .await;
    assert_eq!(complete(outcome), "{}");
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_dead_server_fails_fast_and_says_why() {
    let bench = Bench::new();
    let server = Scripted::echo();
    bench.serve("e", &server);
    bench.apply(vec![spec("e", Instance::Shared)]).await;
    bench.settle().await;
    let me = caller("me", None);
    *server.refuses.lock().expect("a lock") = Some(DialError::Failed("exit code 7".to_owned()));
    bench.host.reload("e", None).await.expect("known");
    bench.settle().await;
    let peer = FakePeer::legacy("me", "{}");
    let outcome = bench
        .call(&me, "e-echo", "{}", &peer, TaskWish::Never)
        .await;
    let Outcome::Failed(CallFailure::NotConnected { reason, .. }) = &outcome else {
        // Between two attempts it is starting, and then it fails again.
        panic!("{outcome:?}");
    };
    assert!(reason.contains("exit code 7"), "{reason}");

    *server.refuses.lock().expect("a lock") = Some(DialError::NeedsAuth);
    bench.host.reload("e", None).await.expect("known");
    bench.settle().await;
    assert_eq!(bench.host.status()[0].state, State::NeedsAuth);
    let outcome = bench
        .call(&me, "e-echo", "{}", &peer, TaskWish::Never)
        .await;
    assert!(
        matches!(outcome, Outcome::Failed(CallFailure::NeedsAuth { .. })),
        "{outcome:?}"
    );

    *server.refuses.lock().expect("a lock") = None;
    bench.host.retry();
    let wait = async {
        while bench.host.status()[0].state != State::Connected {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), wait)
        .await
        .expect("connected");
    bench.host.shutdown().await;
    assert_eq!(server.open.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_lost_server_is_started_again() {
    let bench = Bench::new();
    let server = Scripted::echo();
    bench.serve("e", &server);
    bench.apply(vec![spec("e", Instance::Shared)]).await;
    bench.settle().await;
    server.tell(PortEvent::Closed("SIGSEGV".to_owned())).await;
    let wait = async {
        while bench.host.status()[0].restarts == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), wait)
        .await
        .expect("started again");
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    let outcome = bench
        .call(&me, "e-echo", r#"{"a":1}"#, &peer, TaskWish::Never)
        .await;
    assert_eq!(complete(outcome), r#"{"a":1}"#);
    assert!(
        bench
            .host
            .logs("e", None, 10)
            .expect("known")
            .join("\n")
            .contains("SIGSEGV")
    );
    bench.host.shutdown().await;
}

#[tokio::test]
async fn applying_twice_touches_nothing_and_removal_stops() {
    let mut bench = Bench::new();
    let (one, two) = (Scripted::echo(), Scripted::echo());
    bench.serve("one", &one);
    bench.serve("two", &two);
    let both = vec![spec("one", Instance::Shared), spec("two", Instance::Shared)];
    bench.apply(both.clone()).await;
    bench.settle().await;
    for _ in 0..5 {
        bench.apply(both.clone()).await;
    }
    assert_eq!(one.plans.lock().expect("a lock").len(), 1);
    let me = caller("me", None);
    assert_eq!(bench.names(&me, &Endpoint::All, ListKind::Tools).len(), 2);

    let mut changed_spec = spec("one", Instance::Shared);
    changed_spec.timeout = Some(Duration::from_secs(7));
    bench.apply(vec![changed_spec]).await;
    bench.settle().await;
    assert_eq!(one.plans.lock().expect("a lock").len(), 2, "replaced");
    assert_eq!(
        (
            one.open.load(Ordering::SeqCst),
            two.open.load(Ordering::SeqCst)
        ),
        (1, 0)
    );
    changed(&mut bench, ListKind::Tools).await;
    assert_eq!(
        bench.names(&me, &Endpoint::All, ListKind::Tools),
        ["one-echo"]
    );

    bench.host.switch("one", None, false).await.expect("known");
    assert_eq!(one.open.load(Ordering::SeqCst), 0);
    assert_eq!(bench.host.status()[0].state, State::Disabled);
    assert!(bench.names(&me, &Endpoint::All, ListKind::Tools).is_empty());
    bench.host.switch("one", None, true).await.expect("known");
    bench.settle().await;
    assert_eq!(bench.host.summary().connected, 1);
    assert!(bench.host.switch("none", None, true).await.is_err());
    bench.host.shutdown().await;
    assert_eq!(one.open.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_changed_list_is_read_again_and_told_once() {
    let mut bench = Bench::new();
    let server = Scripted::echo();
    bench.serve("e", &server);
    bench.apply(vec![spec("e", Instance::Shared)]).await;
    bench.settle().await;
    changed(&mut bench, ListKind::Tools).await;
    let me = caller("me", None);
    let before = bench
        .host
        .listing(&me, &Endpoint::All, ListKind::Tools)
        .expect("a list");
    server.offer(
        ListKind::Tools,
        &[r#"{"name":"echo","inputSchema":{}}"#, r#"{"name":"new"}"#],
    );
    server.tell(PortEvent::ListChanged(ListKind::Tools)).await;
    changed(&mut bench, ListKind::Tools).await;
    assert_eq!(
        bench.names(&me, &Endpoint::All, ListKind::Tools),
        ["e-echo", "e-new"]
    );
    let after = bench
        .host
        .listing(&me, &Endpoint::All, ListKind::Tools)
        .expect("a list");
    assert_ne!(before.version, after.version);
    bench.host.shutdown().await;
}

#[tokio::test]
async fn resources_are_watched_as_long_as_somebody_watches() {
    let bench = Bench::new();
    let capabilities = r#"{"resources":{"subscribe":true}}"#;
    let server = Scripted::new(Revision::V2025_11_25, capabilities, |_, _| {
        Box::pin(async { Ok(Raw::empty_object()) })
    });
    server.offer(ListKind::Resources, &[r#"{"uri":"doc://a","name":"a"}"#]);
    bench.serve("d", &server);
    bench.apply(vec![spec("d", Instance::Shared)]).await;
    bench.settle().await;
    let me = caller("me", None);
    let item = Item::Resource("doc://a".into());
    let watch = |bench: &Bench, target| {
        let permitted = bench.permit(&me, target);
        bench.host.subscribe(&me, &permitted)
    };
    let target = bench
        .resolve(&me, &Endpoint::All, &item)
        .await
        .expect("listed");
    let first = watch(&bench, target.clone());
    let second = watch(&bench, target);
    let count = |server: &Arc<Scripted>, method| {
        let methods = server.methods();
        methods.iter().filter(|sent| **sent == method).count()
    };
    let until = async |method| {
        let wait = async {
            while count(&server, method) == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), wait)
            .await
            .expect("sent");
    };
    until("resources/subscribe").await;
    drop(first);
    tokio::task::yield_now().await;
    assert_eq!(count(&server, "resources/unsubscribe"), 0);
    drop(second);
    until("resources/unsubscribe").await;
    assert_eq!(count(&server, "resources/subscribe"), 1);
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_name_of_nobody_is_unknown_at_once_when_everything_is_known() {
    let bench = Bench::new();
    bench.serve("e", &Scripted::echo());
    bench.apply(vec![spec("e", Instance::Shared)]).await;
    bench.settle().await;
    let me = caller("me", None);
    let item = Item::Tool("e-other".into());
    let found = bench.host.resolve(&me, &Endpoint::All, &item);
    assert!(matches!(
        found,
        legation_gate::Resolve::Ready(Err(Unresolved::Unknown { .. }))
    ));
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_replaced_server_connects_when_the_old_one_is_gone_and_keeps_its_watchers() {
    let bench = Bench::new();
    let capabilities = r#"{"tools":{},"resources":{"subscribe":true}}"#;
    let server = Scripted::new(Revision::V2025_11_25, capabilities, |order, _| {
        Box::pin(async move {
            if order.method == "tools/call" {
                std::future::pending::<()>().await;
            }
            Ok(Raw::empty_object())
        })
    });
    server.offer(ListKind::Tools, &[r#"{"name":"wait"}"#]);
    server.offer(ListKind::Resources, &[r#"{"uri":"doc://a","name":"a"}"#]);
    bench.serve("d", &server);
    bench.apply(vec![spec("d", Instance::Shared)]).await;
    bench.settle().await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    let item = Item::Resource("doc://a".into());
    let target = bench
        .resolve(&me, &Endpoint::All, &item)
        .await
        .expect("listed");
    let watching = bench.host.subscribe(&me, &bench.permit(&me, target));
    let mut changed = spec("d", Instance::Shared);
    changed.timeout = Some(Duration::from_secs(9));
    let listing = bench
        .host
        .listing(&me, &Endpoint::All, ListKind::Tools)
        .expect("a list");
    let (outcome, ()) = tokio::join!(
        bench.call(&me, "d-wait", "{}", &peer, TaskWish::Never),
        async {
            while server.methods().last() != Some(&"tools/call") {
                tokio::task::yield_now().await;
            }
            bench.apply(vec![changed]).await;
        }
    );
    assert!(
        matches!(outcome, Outcome::Failed(CallFailure::Lost { .. })),
        "{outcome:?}"
    );
    bench.settle().await;
    let again = bench
        .host
        .listing(&me, &Endpoint::All, ListKind::Tools)
        .expect("a list");
    assert_eq!(again.entries[0].raw, listing.entries[0].raw);
    assert_eq!(server.open.load(Ordering::SeqCst), 1);
    let wait = async {
        let count = || {
            let methods = server.methods();
            let subscribed = methods
                .iter()
                .filter(|sent| **sent == "resources/subscribe");
            subscribed.count()
        };
        while count() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), wait)
        .await
        .expect("watched again");
    drop(watching);
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_call_that_runs_may_end_before_its_server_is_disabled() {
    let long = Times {
        drain: Duration::from_secs(60),
        ..times()
    };
    let bench = Bench::with(Settings::defaults(), long);
    let answer = Arc::new(tokio::sync::Notify::new());
    let held = Arc::clone(&answer);
    let server = Scripted::new(Revision::V2025_11_25, r#"{"tools":{}}"#, move |order, _| {
        let held = Arc::clone(&held);
        Box::pin(async move {
            if order.method == "tools/call" {
                held.notified().await;
            }
            Ok(Raw::empty_object())
        })
    });
    server.offer(ListKind::Tools, &[r#"{"name":"wait"}"#]);
    bench.serve("d", &server);
    bench.apply(vec![spec("d", Instance::Shared)]).await;
    bench.settle().await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    let disable = async {
        while server.methods().last() != Some(&"tools/call") {
            tokio::task::yield_now().await;
        }
        let disabled = bench.host.switch("d", None, false);
        let release = async {
            while bench.host.status()[0].state != State::Disabled {
                tokio::task::yield_now().await;
            }
            answer.notify_one();
        };
        tokio::join!(disabled, release).0.expect("known");
    };
    let (outcome, ()) = tokio::join!(
        bench.call(&me, "d-wait", "{}", &peer, TaskWish::Never),
        disable
    );
    assert!(matches!(outcome, Outcome::Complete(_)), "{outcome:?}");
    assert_eq!(server.open.load(Ordering::SeqCst), 0);
    bench.host.shutdown().await;
}
