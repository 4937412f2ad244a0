//! The host over real processes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use legation_config::{Environment, Instance, ServerSpec, Settings, Source};
use legation_core::process::GuardPath;
use legation_core::{Home, SystemClock};
use legation_gate::{CallFailure, Endpoint, ListKind, Outcome, ServerSet as _, TaskWish};
use legation_store::Store;

use crate::host::{Host, HostParts};
use crate::status::State;
use crate::testing::{Bench, FakePeer, caller, complete, spec_of};

fn guard() -> GuardPath {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(Path::parent);
    GuardPath {
        program: target.expect("a test lies in deps/").join("examples/guard"),
        args: Vec::new(),
    }
}

fn python(name: &str, era: &str, instance: Instance) -> ServerSpec {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/host/tests/server.py");
    let entry = serde_json::json!({
        "command": "python3",
        "args": ["-B", script, era],
        "instance": instance.as_str(),
    });
    let file = PathBuf::from("/home/me/mcp.json");
    spec_of(name, &entry, Source::User { file })
}

fn bench() -> Bench {
    Bench::make(|store: Arc<Store>, dir: &Path| {
        let home = Home::at(dir.join("home"));
        home.create().expect("a data directory");
        Host::new(HostParts {
            home,
            settings: Settings::defaults(),
            environment: Environment::from_pairs([("PATH", "/usr/local/bin:/usr/bin:/bin")]),
            store,
            clock: SystemClock::shared(),
            guard: guard(),
            version: "0",
            oauth: None,
            runtime: tokio::runtime::Handle::current(),
        })
    })
}

async fn gone(pid: u32) {
    let path = PathBuf::from(format!("/proc/{pid}"));
    let wait = async {
        while path.exists() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait)
        .await
        .expect("the process is gone");
}

#[tokio::test]
async fn a_shared_process_serves_lists_and_calls_and_comes_back() {
    let bench = bench();
    bench
        .apply(vec![
            python("old", "legacy", Instance::Shared),
            python("new", "modern", Instance::Shared),
        ])
        .await;
    bench.settle().await;
    let me = caller("me", None);
    let names = bench.names(&me, &Endpoint::All, ListKind::Tools);
    assert_eq!(names.len(), 10, "{names:?}");
    let peer = FakePeer::legacy("me", r#"{"elicitation":{}}"#);
    let arguments = r#"{"n":1}"#;
    let call = async |tool: &str| {
        bench
            .call(&me, tool, arguments, &peer, TaskWish::Never)
            .await
    };
    assert_eq!(
        complete(call("old-echo").await),
        r#"{"content": [], "echo": {"n": 1}}"#
    );
    assert!(complete(call("new-echo").await).contains(r#""echo": {"n": 1}"#));
    assert!(complete(call("new-ask").await).contains(r#""name": "me""#));
    assert!(
        complete(call("old-ask").await).contains("-32601"),
        "nobody's question is refused"
    );
    let before = bench.host.status();
    let old = before.iter().find(|status| status.name.as_str() == "old");
    let pid = old.and_then(|status| status.pid).expect("a process");

    let outcome = call("old-exit").await;
    let Outcome::Failed(CallFailure::Lost { reason, .. }) = &outcome else {
        panic!("{outcome:?}");
    };
    assert!(reason.contains("the disk is on fire"), "{reason}");
    gone(pid).await;
    assert!(
        complete(call("old-echo").await).contains("echo"),
        "it waits"
    );
    let after = bench.host.status();
    let old = after.iter().find(|status| status.name.as_str() == "old");
    let old = old.expect("configured");
    assert_eq!((&old.state, old.restarts), (&State::Connected, 1));
    assert_eq!(
        old.revision.map(|revision| revision.as_str()),
        Some("2025-11-25")
    );

    let pids: Vec<u32> = after.iter().filter_map(|status| status.pid).collect();
    assert_eq!(pids.len(), 2);
    bench.host.shutdown().await;
    for pid in pids {
        gone(pid).await;
    }
}

#[tokio::test]
async fn each_client_has_its_own_process_which_asks_only_it() {
    let bench = bench();
    bench
        .apply(vec![python("s", "legacy", Instance::Client)])
        .await;
    bench.settle().await;
    let mut pids = std::collections::BTreeSet::new();
    let seats: Vec<_> = (0..3)
        .map(|n| {
            let name = format!("client{n}");
            let me = caller(&name, None);
            let peer = FakePeer::legacy(&name, r#"{"elicitation":{},"roots":{}}"#);
            bench.host.seat_opened(&me, peer.clone());
            (name, me, peer)
        })
        .collect();
    for (name, me, peer) in &seats {
        let answer = bench.call(me, "s-ask", "{}", peer, TaskWish::Never).await;
        assert!(complete(answer).contains(&format!(r#""name": "{name}""#)));
        let answer = bench.call(me, "s-roots", "{}", peer, TaskWish::Never).await;
        assert!(complete(answer).contains("roots"));
        let own = Endpoint::Server(crate::testing::server_name("s"));
        let told = bench.host.describe(me, &own).expect("an endpoint");
        assert!(told.instructions.expect("its client").contains(name));
        pids.insert(complete(
            bench.call(me, "s-pid", "{}", peer, TaskWish::Never).await,
        ));
    }
    assert_eq!(pids.len(), 3);
    for _ in 0..3 {
        bench.host.reload("s", None).await.expect("known");
    }
    bench.settle().await;
    let (_, me, peer) = &seats[0];
    let again = bench.call(me, "s-pid", "{}", peer, TaskWish::Never).await;
    assert!(pids.insert(complete(again)), "a new process");
    bench.host.shutdown().await;
    for text in pids {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        gone(digits.parse().expect("a pid")).await;
    }
}

#[tokio::test]
async fn twenty_callers_of_one_process_get_their_own_answers() {
    let bench = bench();
    bench
        .apply(vec![python("s", "legacy", Instance::Shared)])
        .await;
    bench.settle().await;
    let callers = (0..20).map(|n| {
        let bench = &bench;
        async move {
            let name = format!("client{n}");
            let me = caller(&name, None);
            let peer = FakePeer::legacy(&name, "{}");
            for call in 0..25 {
                let arguments = format!(r#"{{"who": "{name}", "call": {call}}}"#);
                let answer = bench.call(&me, "s-echo", &arguments, &peer, TaskWish::Never);
                if call % 2 == 1 {
                    // Whether it had been answered or not, nobody else may see it.
                    drop(tokio::time::timeout(Duration::from_millis(1), answer).await);
                    continue;
                }
                let expected = format!(r#"{{"content": [], "echo": {arguments}}}"#);
                assert_eq!(complete(answer.await), expected);
            }
        }
    });
    futures_util::future::join_all(callers).await;
    let status = bench.host.status().remove(0);
    assert_eq!((status.instances, status.restarts), (1, 0));
    bench.host.shutdown().await;
    gone(status.pid.expect("a process")).await;
}

#[tokio::test]
async fn a_command_that_is_not_there_says_so() {
    let bench = bench();
    let entry = serde_json::json!({"command": "no-such-program-anywhere"});
    let file = PathBuf::from("/home/me/mcp.json");
    bench
        .apply(vec![spec_of("s", &entry, Source::User { file })])
        .await;
    bench.settle().await;
    let status = bench.host.status().remove(0);
    let State::Failed(reason) = &status.state else {
        panic!("{:?}", status.state);
    };
    assert!(reason.contains("no-such-program-anywhere"), "{reason}");
    assert!(status.hint().expect("one").contains("mcp show s"));
    bench.host.shutdown().await;
}
