use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use legation_config::Instance;
use legation_core::{Caller, TaskHandle};
use legation_gate::{HubEvent, ListKind, Outcome, Peer, ServerSet as _, TaskVerb, TaskWish};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::revision::Revision;

use crate::port::PortEvent;
use crate::testing::{Bench, FakePeer, Scripted, caller, complete, raw, spec};

const LEGACY: &str =
    r#"{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}"#;
const MODERN: &str = r#"{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
const FORM: &str = r#"{"message":"sure?","_meta":{"io.legation/inputKey":"sure","io.modelcontextprotocol/related-task":{"taskId":"up-1"}}}"#;

/// A server of 2025-11-25 whose tools run as tasks: `job` asks once and is
/// done when answered, `bad` fails, `wrong` ends with an error.
fn legacy() -> Arc<Scripted> {
    let status = Arc::new(Mutex::new("input_required"));
    let kind = Arc::new(Mutex::new(String::new()));
    let server = Scripted::new(Revision::V2025_11_25, LEGACY, move |order, talk| {
        let (status, kind) = (Arc::clone(&status), Arc::clone(&kind));
        Box::pin(async move {
            let task = |status: &str| {
                raw(&format!(
                    r#"{{"taskId":"up-1","status":"{status}","createdAt":"t0","lastUpdatedAt":"t1","ttl":60000,"pollInterval":50,"v":1}}"#
                ))
            };
            match order.method {
                "tools/call" if order.params.contains("task") => {
                    let name = order
                        .params
                        .get("name")
                        .and_then(Raw::to_str)
                        .expect("a name")
                        .into_owned();
                    *status.lock().expect("a lock") = match &*name {
                        "job" => "input_required",
                        _ => "failed",
                    };
                    *kind.lock().expect("a lock") = name;
                    let created = Object::new().with("task", task("working"));
                    Ok(created.to_raw())
                }
                "tools/call" => Ok(raw(r#"{"content":["sync"]}"#)),
                "tasks/get" => Ok(task(*status.lock().expect("a lock"))),
                "tasks/cancel" => {
                    *status.lock().expect("a lock") = "cancelled";
                    Ok(task("cancelled"))
                }
                "tasks/result" => {
                    let name = kind.lock().expect("a lock").clone();
                    match &*name {
                        "job" => {
                            let answer = talk.ask(5, "elicitation/create", FORM).await?;
                            *status.lock().expect("a lock") = "completed";
                            let said = answer.get("content").unwrap_or_else(Raw::null);
                            Ok(raw(&format!(
                                r#"{{"content":[{said}],"_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"up-1"}}}}}}"#
                            )))
                        }
                        "bad" => Ok(raw(r#"{"content":[],"isError":true}"#)),
                        _ => Err(ErrorObject::new(codes::INTERNAL_ERROR, "broken")),
                    }
                }
                _ => Ok(Raw::empty_object()),
            }
        })
    });
    let tool = |name: &str, support: &str| {
        format!(r#"{{"name":"{name}","execution":{{"taskSupport":"{support}"}}}}"#)
    };
    let tools = [
        tool("job", "required"),
        tool("bad", "optional"),
        tool("wrong", "optional"),
    ];
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    server.offer(ListKind::Tools, &tools);
    server
}

/// A server of the extension: working, then a question, then the result.
fn modern() -> Arc<Scripted> {
    let asked = Arc::new(AtomicUsize::new(0));
    let answers = Arc::new(Mutex::new(None::<Raw>));
    let server = Scripted::new(Revision::V2026_07_28, MODERN, move |order, _| {
        let (asked, answers) = (Arc::clone(&asked), Arc::clone(&answers));
        Box::pin(async move {
            let head = r#""taskId":"up-1","createdAt":"t0","lastUpdatedAt":"t1","ttlMs":null,"pollIntervalMs":50"#;
            let declared = order.face.is_some_and(|face| face.capabilities.tasks_ext);
            match order.method {
                "tools/call" if declared => {
                    asked.store(0, Ordering::SeqCst);
                    *answers.lock().expect("a lock") = None;
                    Ok(raw(&format!(
                        r#"{{"resultType":"task","status":"working",{head}}}"#
                    )))
                }
                "tools/call" => Err(ErrorObject::new(codes::MISSING_CAPABILITY, "tasks")),
                "tasks/update" => {
                    let given = order.params.get("inputResponses").cloned();
                    *answers.lock().expect("a lock") = given;
                    Ok(raw(r#"{"resultType":"complete"}"#))
                }
                "tasks/get" => {
                    let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
                    let given = answers.lock().expect("a lock").clone();
                    let rest = match given {
                        None if first => r#""status":"working""#.to_owned(),
                        None => r#""status":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?"}}}"#.to_owned(),
                        Some(given) => format!(r#""status":"completed","result":{{"given":{given}}}"#),
                    };
                    Ok(raw(&format!(
                        r#"{{"resultType":"complete",{head},{rest}}}"#
                    )))
                }
                _ => Ok(raw(r#"{"resultType":"complete"}"#)),
            }
        })
    });
    server.offer(ListKind::Tools, &[r#"{"name":"job"}"#]);
    server
}

async fn one(server: &Arc<Scripted>) -> Bench {
    let bench = Bench::new();
    bench.serve("s", server);
    bench.apply(vec![spec("s", Instance::Shared)]).await;
    bench.settle().await;
    bench
}

async fn act(
    bench: &Bench,
    me: &Caller,
    handle: &TaskHandle,
    verb: TaskVerb,
    peer: &Arc<FakePeer>,
) -> Object {
    let target = bench.host.task_target(me, handle).expect("its own");
    let permitted = bench.permit(me, target);
    let peer = Arc::clone(peer) as Arc<dyn Peer>;
    let context = Bench::context(me);
    let outcome = bench
        .host
        .task(context, permitted, handle.clone(), verb, peer)
        .await;
    let Outcome::Complete(result) = outcome else {
        panic!("{outcome:?}");
    };
    result.to_object().expect("an object")
}

fn begun(outcome: Outcome) -> (TaskHandle, Object) {
    let Outcome::Task(task) = outcome else {
        panic!("no task: {outcome:?}");
    };
    let handle = task.get("taskId").and_then(Raw::to_str).expect("a handle");
    (TaskHandle::new(handle.as_ref()), task)
}

fn text(object: &Object, key: &str) -> String {
    object.get(key).map(ToString::to_string).unwrap_or_default()
}

#[tokio::test]
async fn a_legacy_servers_task_reads_like_the_extensions() {
    let server = legacy();
    let bench = one(&server).await;
    let me = caller("me", None);
    let peer = FakePeer::modern(
        "me",
        r#"{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
    );
    let (handle, task) = begun(
        bench
            .call(&me, "s-job", "{}", &peer, TaskWish::Accepts)
            .await,
    );
    assert_eq!(
        (
            text(&task, "ttlMs"),
            text(&task, "pollIntervalMs"),
            text(&task, "v")
        ),
        ("60000".to_owned(), "50".to_owned(), "1".to_owned())
    );
    assert!(!task.contains("ttl") && !task.contains("pollInterval"));
    assert_ne!(handle.as_str(), "up-1");
    assert_eq!(bench.host.tasks(&me), std::slice::from_ref(&handle));

    let got = act(&bench, &me, &handle, TaskVerb::Get, &peer).await;
    assert_eq!(text(&got, "status"), r#""input_required""#);
    assert_eq!(
        text(&got, "inputRequests"),
        r#"{"sure":{"method":"elicitation/create","params":{"message":"sure?"}}}"#
    );
    let responses = Object::new()
        .with("nobody", raw("{}"))
        .with("sure", raw(r#"{"action":"accept","content":"yes"}"#));
    let acknowledged = act(&bench, &me, &handle, TaskVerb::Update(responses), &peer).await;
    assert!(acknowledged.is_empty());
    let got = loop {
        let got = act(&bench, &me, &handle, TaskVerb::Get, &peer).await;
        if text(&got, "status") == r#""completed""# {
            break got;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(text(&got, "result"), r#"{"content":["yes"]}"#);
    act(&bench, &me, &handle, TaskVerb::Cancel, &peer).await;
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_failed_tool_is_a_result_and_an_error_is_a_failure() {
    let bench = one(&legacy()).await;
    let me = caller("me", None);
    let peer = FakePeer::modern("me", "{}");
    for (tool, status, member, holds) in [
        (
            "s-bad",
            r#""completed""#,
            "result",
            r#"{"content":[],"isError":true}"#,
        ),
        (
            "s-wrong",
            r#""failed""#,
            "error",
            r#"{"code":-32603,"message":"broken"}"#,
        ),
    ] {
        let (handle, _) = begun(bench.call(&me, tool, "{}", &peer, TaskWish::Accepts).await);
        let got = act(&bench, &me, &handle, TaskVerb::Get, &peer).await;
        assert_eq!(
            (text(&got, "status"), text(&got, member)),
            (status.to_owned(), holds.to_owned())
        );
    }
    bench.host.shutdown().await;
}

#[tokio::test]
async fn clients_without_tasks_get_the_result_or_hear_what_they_lack() {
    for (server, expected) in [
        // What the server itself says to a client that asks for no task.
        (legacy(), r#"{"content":["sync"]}"#),
        (
            modern(),
            r#"{"given":{"k":{"action":"accept","content":{"name":"me"}}}}"#,
        ),
    ] {
        let bench = one(&server).await;
        let me = caller("me", None);
        let old = FakePeer::legacy("me", r#"{"elicitation":{}}"#);
        let outcome = bench.call(&me, "s-job", "{}", &old, TaskWish::Never).await;
        assert_eq!(complete(outcome), expected);
        assert!(bench.host.tasks(&me).is_empty());
        let new = FakePeer::modern("me", r#"{"elicitation":{}}"#);
        let outcome = bench.call(&me, "s-job", "{}", &new, TaskWish::Never).await;
        let Outcome::Error(error) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(error.code, codes::MISSING_CAPABILITY);
        bench.host.shutdown().await;
    }
}

#[tokio::test]
async fn an_optional_task_is_one_only_when_wanted() {
    let bench = one(&legacy()).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    let outcome = bench.call(&me, "s-bad", "{}", &peer, TaskWish::Never).await;
    assert_eq!(complete(outcome), r#"{"content":["sync"]}"#);
    let ttl = Some(Duration::from_secs(9));
    let wish = TaskWish::Requested { ttl };
    begun(bench.call(&me, "s-bad", "{}", &peer, wish).await);
    // Who takes one where there is no other way.
    let peer = FakePeer::modern("me", "{}");
    let outcome = bench
        .call(&me, "s-bad", "{}", &peer, TaskWish::Needed)
        .await;
    assert_eq!(complete(outcome), r#"{"content":["sync"]}"#);
    begun(
        bench
            .call(&me, "s-job", "{}", &peer, TaskWish::Needed)
            .await,
    );
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_task_is_its_clients_alone_and_survives_the_hub() {
    let server = modern();
    let bench = one(&server).await;
    let (me, other) = (caller("me", None), caller("other", None));
    let peer = FakePeer::modern("me", r#"{"elicitation":{}}"#);
    let (handle, _) = begun(
        bench
            .call(&me, "s-job", "{}", &peer, TaskWish::Accepts)
            .await,
    );
    assert!(bench.host.task_target(&other, &handle).is_err());
    assert!(bench.host.tasks(&other).is_empty());
    let mut bench = bench.restart().await;
    bench.apply(vec![spec("s", Instance::Shared)]).await;
    bench.settle().await;
    let got = act(&bench, &me, &handle, TaskVerb::Get, &peer).await;
    assert_eq!(text(&got, "taskId"), format!("{:?}", handle.as_str()));
    assert_eq!(text(&got, "status"), r#""working""#);
    let responses = Object::new().with("k", raw(r#"{"action":"decline"}"#));
    act(&bench, &me, &handle, TaskVerb::Update(responses), &peer).await;
    let got = act(&bench, &me, &handle, TaskVerb::Get, &peer).await;
    assert_eq!(
        text(&got, "result"),
        r#"{"given":{"k":{"action":"decline"}}}"#
    );

    let wishes = server.wishes.lock().expect("a lock").clone();
    assert_eq!(
        wishes.last().map(|wish| wish.tasks.clone()),
        Some(vec!["up-1".into()])
    );
    let status = r#"{"taskId":"up-1","status":"cancelled","ttlMs":null,"createdAt":"t","lastUpdatedAt":"t"}"#;
    server.tell_newest(PortEvent::Task(raw(status))).await;
    let told = async {
        loop {
            if let HubEvent::TaskChanged { client, task } =
                bench.events.recv().await.expect("events")
            {
                return (client, task);
            }
        }
    };
    let (client, task) = tokio::time::timeout(Duration::from_secs(5), told)
        .await
        .expect("told");
    assert_eq!(client, me.principal.client);
    assert_eq!(text(&task, "taskId"), format!("{:?}", handle.as_str()));
    bench.host.shutdown().await;
}

#[tokio::test]
async fn a_followed_task_is_cancelled_with_its_call() {
    let server = modern();
    let bench = one(&server).await;
    let me = caller("me", None);
    let peer = FakePeer::legacy("me", "{}");
    let outcome = bench.call(&me, "s-job", "{}", &peer, TaskWish::Never).await;
    assert!(
        matches!(outcome, Outcome::Failed(_)),
        "it asks what the client lacks: {outcome:?}"
    );
    let wait = async {
        while !server.methods().contains(&"tasks/cancel") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), wait)
        .await
        .expect("cancelled");
    bench.host.shutdown().await;
}
