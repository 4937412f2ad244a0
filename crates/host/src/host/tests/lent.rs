//! Servers that run for one seat alone.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use legation_config::{Instance, ServerSpec, Source};
use legation_core::SeatId;
use legation_gate::policy::Origin;
use legation_gate::{Audience, Endpoint, HubEvent, Item, ListKind, Outcome, TaskWish};
use legation_gate::{ServerSet as _, Unresolved};
use serde_json::json;

use crate::port::DialError;
use crate::testing::{Bench, FakePeer, Scripted, caller, complete, spec, spec_of, tool_call};

const FILE: &str = "/home/me/.legation/agents/reviewer.agent.md";

/// A server of an agent's: the owner's, or a folder's.
fn of_agent(name: &str, folder: Option<&str>) -> ServerSpec {
    let in_folder = folder.map(|folder| Path::new(folder).join(".github/agents/reviewer.agent.md"));
    let source = Source::Agent {
        of_folder: folder.is_some(),
        file: in_folder.unwrap_or_else(|| FILE.into()),
    };
    spec_of(name, &json!({ "command": "own" }), source)
}

fn peeking() -> Arc<Scripted> {
    let server = Scripted::echo();
    let tools = [r#"{"name":"peek","inputSchema":{}}"#];
    server.offer(ListKind::Tools, &tools);
    server
}

#[tokio::test]
async fn what_is_lent_hides_what_everybody_has_and_goes_with_its_loan() {
    let mut bench = Bench::new();
    let (own, everybodys) = (peeking(), Scripted::echo());
    bench.serve(&format!("notes@{FILE}"), &own);
    bench.serve("notes", &everybodys);
    bench.apply(vec![spec("notes", Instance::Shared)]).await;
    bench.settle().await;
    let (task, other) = (caller("task_1", None), caller("me", None));
    let tools = |who| bench.host_names(who);
    assert_eq!(tools(&task), ["notes-echo"]);
    while bench.events.try_recv().is_ok() {}

    let specs = vec![of_agent("notes", None)];
    let (lent, problems) = bench.host.lend(&SeatId::new("task_1"), specs).await;
    assert!(problems.is_empty(), "{problems:?}");
    let tools = |who| bench.host_names(who);
    assert_eq!(tools(&task), ["notes-peek"]);
    assert_eq!(tools(&other), ["notes-echo"]);
    let peek = Item::Tool("notes-peek".into());
    let unseen = bench.resolve(&other, &Endpoint::All, &peek).await;
    assert!(
        matches!(unseen, Err(Unresolved::Unknown { .. })),
        "{unseen:?}"
    );
    let peer = FakePeer::legacy("delegate", "{}");
    let said = bench
        .call(&task, "notes-peek", r#"{"a":1}"#, &peer, TaskWish::Never)
        .await;
    assert_eq!(complete(said), r#"{"a":1}"#);
    assert_eq!(everybodys.methods(), ["tools/list"], "it was not called");
    assert_eq!(bench.host.lent().len(), 1);

    // What was decided while it ran is not done by the one that everybody has.
    let target = bench.resolve(&task, &Endpoint::All, &peek).await;
    let target = target.expect("it");
    assert_eq!(target.origin, Origin::User);
    let permitted = bench.permit(&task, target);
    drop(lent);
    while bench.host_names(&task) != ["notes-echo"] {
        tokio::task::yield_now().await;
    }
    let call = tool_call("notes-peek", "{}", &peer, TaskWish::Never);
    let late = bench
        .host
        .call(Bench::context(&task), permitted, call)
        .await;
    assert!(matches!(late, Outcome::Failed(_)), "{late:?}");
    assert!(bench.host.lent().is_empty());
    assert_eq!(
        everybodys.open.load(Ordering::SeqCst),
        1,
        "it was left alone"
    );
    while let Ok(event) = bench.events.try_recv() {
        if let HubEvent::ListChanged { audience, .. } = event {
            assert_eq!(audience, Audience::Seat(SeatId::new("task_1")));
        }
    }
}

#[tokio::test]
async fn servers_of_a_folders_agent_are_a_workspaces_to_rules() {
    let bench = Bench::new();
    bench.serve("notes", &peeking());
    let specs = vec![of_agent("notes", Some("/home/me/project"))];
    let (_lent, problems) = bench.host.lend(&SeatId::new("task_1"), specs).await;
    assert!(problems.is_empty(), "{problems:?}");
    // The folder does not make it visible to others who work there, nor hide it from the task.
    let task = caller("task_1", Some("/home/me/project/sub"));
    let peek = Item::Tool("notes-peek".into());
    let found = bench.resolve(&task, &Endpoint::All, &peek).await;
    let origin = Origin::Workspace("/home/me/project".into());
    assert_eq!(found.expect("it").origin, origin);
    let other = caller("me", Some("/home/me/project"));
    assert!(bench.host_names(&other).is_empty());
}

#[tokio::test]
async fn one_that_does_not_start_is_told_of_and_holds_nothing_up() {
    let bench = Bench::new();
    let (good, bad) = (peeking(), Scripted::echo());
    let exit = DialError::Failed("exit code 7".to_owned());
    *bad.refuses.lock().expect("a lock") = Some(exit);
    bench.serve("good", &good);
    bench.serve("bad", &bad);
    let specs = vec![of_agent("good", None), of_agent("bad", None)];
    let (lent, problems) = bench.host.lend(&SeatId::new("task_1"), specs).await;
    assert_eq!(problems, ["bad: exit code 7"]);
    assert_eq!(bench.host_names(&caller("task_1", None)), ["good-peek"]);
    drop(lent);
    bench.host.shutdown().await;
    assert!(bench.host.status().is_empty());
}
