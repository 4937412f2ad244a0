use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use legation_config::{Instance, Settings, Source};
use legation_gate::{Audience, Endpoint, HubEvent, ListKind, ServerSet as _, TaskWish};
use legation_wire::json::Raw;
use legation_wire::revision::Revision;

use crate::port::{AskKey, PortEvent};
use crate::testing::{
    Bench, FakePeer, Scripted, caller, complete, raw, server_name, spec, spec_of, times,
};

/// Asks whose call it is, and answers what it was told with the call's number.
fn who() -> Arc<Scripted> {
    let server = Scripted::new(Revision::V2025_11_25, r#"{"tools":{}}"#, |order, talk| {
        Box::pin(async move {
            if order.method != "tools/call" {
                return Ok(Raw::empty_object());
            }
            let answer = talk
                .ask(1, "elicitation/create", r#"{"message":"?"}"#)
                .await?;
            let number = order.params.get("arguments").and_then(|raw| raw.get("n"));
            let (number, who) = (number.expect("a number"), answer.get("content"));
            Ok(raw(&format!(
                r#"{{"n":{number},"who":{}}}"#,
                who.expect("content")
            )))
        })
    });
    server.offer(ListKind::Tools, &[r#"{"name":"who"}"#]);
    server
}

#[tokio::test]
async fn twenty_seats_have_twenty_instances_and_nothing_crosses() {
    let server = who();
    let bench = Bench::new();
    bench.serve("s", &server);
    bench.apply(vec![spec("s", Instance::Client)]).await;
    bench.settle().await;
    let seats: Vec<_> = (0..20)
        .map(|n| {
            let name = format!("client{n}");
            let peer = FakePeer::legacy(&name, r#"{"elicitation":{}}"#);
            let me = caller(&name, None);
            bench.host.seat_opened(&me, peer.clone());
            (me, peer, name)
        })
        .collect();
    let calls = seats.iter().flat_map(|(me, peer, name)| {
        let bench = &bench;
        (0..25).map(move |n| async move {
            let arguments = format!(r#"{{"n":{n}}}"#);
            let outcome = bench
                .call(me, "s-who", &arguments, peer, TaskWish::Never)
                .await;
            assert_eq!(
                complete(outcome),
                format!(r#"{{"n":{n},"who":{{"name":"{name}"}}}}"#)
            );
        })
    });
    join_all(calls).await;
    let faces: HashSet<String> = {
        let plans = server.plans.lock().expect("a lock");
        plans
            .iter()
            .filter_map(|plan| plan.face.info.as_ref().map(ToString::to_string))
            .collect()
    };
    assert_eq!(faces.len(), 20, "each instance knows its client");
    assert_eq!(
        bench.host.status()[0].instances,
        21,
        "the seats' and the one that learnt"
    );
    for (me, _, _) in &seats {
        bench.host.seat_closed(me);
    }
    let wait = async {
        while server.open.load(Ordering::SeqCst) > 1 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), wait)
        .await
        .expect("stopped");
    bench.host.shutdown().await;
    assert_eq!(server.open.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_shared_server_is_one_instance_and_offers_nothing_over_a_pipe() {
    let server = Scripted::echo();
    let bench = Bench::new();
    bench.serve("s", &server);
    let http = serde_json::json!({"type": "http", "url": "http://127.0.0.1:9/mcp"});
    let web = Scripted::echo();
    bench.serve("w", &web);
    let file = Source::User { file: "f".into() };
    bench
        .apply(vec![spec("s", Instance::Shared), spec_of("w", &http, file)])
        .await;
    bench.settle().await;
    let peers: Vec<_> = (0..5).map(|n| caller(&format!("c{n}"), None)).collect();
    for me in &peers {
        let peer = FakePeer::legacy("c", r#"{"sampling":{}}"#);
        let outcome = bench.call(me, "s-echo", "{}", &peer, TaskWish::Never).await;
        complete(outcome);
    }
    let plans = server.plans.lock().expect("a lock").clone();
    assert_eq!(plans.len(), 1);
    assert!(plans[0].face.capabilities.answers_nothing() && plans[0].face.info.is_none());
    let plans = web.plans.lock().expect("a lock").clone();
    let face = &plans[0].face.capabilities;
    assert!(
        face.sampling && face.roots && face.elicitation_url,
        "a stream says whose it is"
    );
    bench.host.shutdown().await;
}

#[tokio::test]
async fn each_folder_has_its_instance_and_is_its_root() {
    let server = Scripted::echo();
    let bench = Bench::new();
    bench.serve("s", &server);
    bench.apply(vec![spec("s", Instance::Workspace)]).await;
    bench.settle().await;
    for folder in ["/home/me/a b", "/home/me/c", "/home/me/c"] {
        let me = caller("me", Some(folder));
        let peer = FakePeer::legacy("me", "{}");
        complete(
            bench
                .call(&me, "s-echo", "{}", &peer, TaskWish::Never)
                .await,
        );
    }
    let folders: Vec<_> = {
        let plans = server.plans.lock().expect("a lock");
        plans
            .iter()
            .filter_map(|plan| plan.folder.clone())
            .collect()
    };
    let folders: Vec<_> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    assert_eq!(folders, ["/home/me/a b", "/home/me/c"]);
    let asked = PortEvent::Ask {
        key: AskKey(4),
        method: "roots/list".into(),
        params: None,
    };
    server.tell(asked).await;
    let wait = async {
        // The instance that only learns answers, too: that it has none.
        while server.loose.lock().expect("a lock").len() < 3 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), wait)
        .await
        .expect("answered");
    let loose = server.loose.lock().expect("a lock").clone();
    let mut roots: Vec<String> = loose
        .iter()
        .filter_map(|(_, answer)| answer.as_ref().ok().map(ToString::to_string))
        .collect();
    roots.sort();
    assert_eq!(
        roots,
        [
            r#"{"roots":[{"uri":"file:///home/me/a%20b","name":"a b"}]}"#,
            r#"{"roots":[{"uri":"file:///home/me/c","name":"c"}]}"#,
        ]
    );
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_seat_sees_what_its_own_instance_offers() {
    let server = Scripted::echo();
    let bench = Bench::new();
    bench.serve("s", &server);
    bench.apply(vec![spec("s", Instance::Client)]).await;
    bench.settle().await;
    let (me, other) = (caller("me", None), caller("other", None));
    let peer = FakePeer::legacy("me", "{}");
    let echo = r#"{"name":"echo","inputSchema":{}}"#;
    server.offer(ListKind::Tools, &[echo, r#"{"name":"extra"}"#]);
    complete(
        bench
            .call(&me, "s-echo", "{}", &peer, TaskWish::Never)
            .await,
    );
    assert_eq!(
        bench.names(&me, &Endpoint::All, ListKind::Tools),
        ["s-echo", "s-extra"]
    );
    assert_eq!(
        bench.names(&other, &Endpoint::All, ListKind::Tools),
        ["s-echo"]
    );
    bench.host.shutdown().await;
}

#[tokio::test]
async fn an_idle_instance_ends_and_the_next_call_starts_another() {
    let server = Scripted::echo();
    let mut short = times();
    short.idle = Duration::from_millis(20);
    short.probe_idle = Duration::from_millis(20);
    let bench = Bench::with(Settings::defaults(), short);
    bench.serve("s", &server);
    bench.apply(vec![spec("s", Instance::Client)]).await;
    bench.settle().await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    for _ in 0..2 {
        complete(
            bench
                .call(&me, "s-echo", "{}", &peer, TaskWish::Never)
                .await,
        );
        let wait = async {
            while server.open.load(Ordering::SeqCst) > 0 {
                // tidy: the count has nobody to tell of its change.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), wait)
            .await
            .expect("ended");
    }
    assert_eq!(server.plans.lock().expect("a lock").len(), 3);
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_workspaces_own_server_tells_whoever_works_in_its_folder() {
    let server = Scripted::echo();
    let mut bench = Bench::new();
    bench.serve("s", &server);
    let source = Source::Workspace {
        folder: "/projects/a".into(),
        file: "/projects/a/.mcp.json".into(),
    };
    let entry = serde_json::json!({"command": "c", "instance": "workspace"});
    bench.apply(vec![spec_of("s", &entry, source)]).await;
    let told = async {
        loop {
            let event = bench.events.recv().await.expect("events");
            if let HubEvent::ListChanged { audience, .. } = event {
                return audience;
            }
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(5), told).await;
    assert_eq!(told.expect("told"), Audience::All);
    let cases = [
        (Some("/projects/a"), true),
        (Some("/projects/a/deep/er"), true),
        (Some("/projects/ab"), false),
        (None, false),
    ];
    for (workspace, expected) in cases {
        let me = caller("me", workspace);
        let covered = bench.host.covers(&me, &Endpoint::All, &server_name("s"));
        assert_eq!(covered, expected, "{workspace:?}");
    }
    bench.host.shutdown().await;
}
