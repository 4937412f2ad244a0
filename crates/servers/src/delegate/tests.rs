use legation_api::conversation::{Body, MessageView, Source};
use legation_api::tasks::{
    Check, CheckView, Class, EngineStatusAnswer, NewTask, TaskState, TaskView, TokenUsage,
    ToolCallView,
};
use legation_wire::json::{Limits, Object, Raw};
use serde_json::{Value, json};

use super::shapes::{Entry, Status, Task};
use super::{arguments, tasks, tools};

pub(super) fn task(status: TaskState) -> TaskView {
    let bare = TaskView::new(
        "task_1".to_owned(),
        "ses_1".to_owned(),
        Class::Agent,
        status,
    );
    TaskView {
        source: "claude".to_owned(),
        title: "Add a test".to_owned(),
        elapsed_seconds: 12,
        created: "2026-11-21T10:00:00Z".to_owned(),
        changed: "2026-11-21T10:00:12Z".to_owned(),
        ..bare
    }
}

/// A task of which everything is known.
fn full() -> TaskView {
    TaskView {
        queue_position: Some(2),
        progress: Some("writing".to_owned()),
        response: Some("Created the class.".to_owned()),
        partial_response: Some("Created".to_owned()),
        tool_calls: vec![ToolCallView {
            tool: "write_file".to_owned(),
            status: "success".to_owned(),
            path: Some("src/board.py".to_owned()),
            command: None,
            exit_code: None,
            lines: Some(145),
            result_uri: None,
        }],
        token_usage: Some(TokenUsage {
            input: Some(1250),
            output: None,
        }),
        check: Some(CheckView {
            passed: false,
            tries: 1,
            exit_code: Some(1),
            output: "1 failed".to_owned(),
        }),
        question: Some("Which one?".to_owned()),
        error: Some("it broke".to_owned()),
        model: Some("local/tiny".to_owned()),
        changed_files: vec!["src/board.py".to_owned()],
        ..task(TaskState::Preempted)
    }
}

fn object(value: &Value) -> Object {
    let raw = Raw::parse(value.to_string().into(), &Limits::CLIENT).unwrap();
    raw.to_object().unwrap()
}

fn schema(tool: &str) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(tools::output(tool).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn a_preempted_task_says_what_the_predecessor_said() {
    let view = TaskView {
        queue_position: Some(2),
        partial_response: Some("Created Board class with...".to_owned()),
        ..task(TaskState::Preempted)
    };
    assert_eq!(
        serde_json::to_value(Task::whole(&view)).unwrap(),
        json!({
            "status": "preempted",
            "task_id": "task_1",
            "elapsed_seconds": 12,
            "partial_response": "Created Board class with...",
            "queue_position": 2,
            "will_resume": true,
            "hint": "a person is being answered; the task goes on by itself: poll it again, or cancel it",
        })
    );
}

#[test]
fn every_answer_is_of_its_schema() {
    let of_task = schema("poll_task");
    for view in [task(TaskState::Queued), full()] {
        for answer in [Task::whole(&view), Task::bare(&view)] {
            let value = serde_json::to_value(&answer).unwrap();
            assert!(of_task.is_valid(&value), "{value}");
        }
    }
    let status = EngineStatusAnswer {
        state: "busy".to_owned(),
        active: vec![task(TaskState::InProgress)],
        queue_depth: 2,
        ..EngineStatusAnswer::default()
    };
    for is_own in [true, false] {
        let value = serde_json::to_value(Status::of(&status, |_| is_own)).unwrap();
        assert!(schema("status").is_valid(&value), "{value}");
        let expected = if is_own { json!("task_1") } else { Value::Null };
        assert_eq!(value["active_task"]["task_id"], expected);
        assert_eq!(value["gpu_utilization"], Value::Null);
    }
    let idle = EngineStatusAnswer {
        state: "idle".to_owned(),
        ..EngineStatusAnswer::default()
    };
    let value = serde_json::to_value(Status::of(&idle, |_| true)).unwrap();
    assert!(schema("status").is_valid(&value), "{value}");
    // The schemas refuse what is none.
    assert!(!of_task.is_valid(&json!({"task_id": "task_1", "status": "busy"})));
}

#[test]
fn what_may_not_be_read_is_not_said() {
    let view = full();
    let bare = serde_json::to_value(Task::bare(&view)).unwrap().to_string();
    for secret in [
        "writing",
        "Created",
        "board.py",
        "1 failed",
        "Which one",
        "it broke",
    ] {
        assert!(!bare.contains(secret), "{secret:?} is in {bare}");
    }
    assert!(bare.contains("preempted") && bare.contains("not cleared"));
}

#[test]
fn what_may_not_be_read_is_not_beside_the_result_either() {
    for status in [
        TaskState::InProgress,
        TaskState::InputRequired,
        TaskState::Failed,
    ] {
        let view = tasks::withheld(TaskView { status, ..full() });
        let said = tasks::detailed(&view, Raw::empty_object());
        for secret in ["writing", "Which one", "it broke"] {
            assert!(!said.as_text().contains(secret), "{said}");
        }
    }
}

#[test]
fn entries_say_who_and_what() {
    let entry = |source, body| MessageView {
        seq: 7,
        session: "ses_1".to_owned(),
        task_id: Some("task_1".to_owned()),
        source,
        at: "2026-11-21T10:00:00Z".to_owned(),
        entities: Vec::new(),
        body,
    };
    let text = Body::Text {
        text: "hello".to_owned(),
        partial: false,
    };
    let human = entry(Source::Human, text.clone());
    assert_eq!(
        serde_json::to_value(Entry::from(&human)).unwrap(),
        json!({"seq": 7, "at": "2026-11-21T10:00:00Z", "source": "human", "task_id": "task_1", "kind": "text", "text": "hello"})
    );
    // A client that calls itself a person is still a client.
    let client = entry(Source::Client("human".to_owned()), text);
    let value = serde_json::to_value(Entry::from(&client)).unwrap();
    assert_eq!(
        (&value["source"], &value["client"]),
        (&json!("client"), &json!("human"))
    );
}

#[test]
fn arguments_are_a_task_or_say_what_is_wrong() {
    let (new, waits) = arguments::task(&object(&json!({
        "message": "Add a test",
        "context": [{"path": "a.rs", "content": "fn a() {}"}],
        "hint": "testing",
        "check": "cargo test",
        "wait": true,
    })))
    .unwrap();
    assert!(waits);
    assert_eq!(new.context.len(), 1);
    assert_eq!(
        new.check,
        Some(Check::Command {
            command: "cargo test".to_owned()
        })
    );
    assert_eq!(
        arguments::task(&object(&json!({"message": "x"})))
            .unwrap()
            .0,
        NewTask {
            message: "x".to_owned(),
            ..NewTask::default()
        }
    );
    for (wrong, what) in [
        (json!({}), "`message`"),
        (json!({"message": "  "}), "`message`"),
        (json!({"message": 7}), "`message`"),
        (json!({"message": "x", "wait": "yes"}), "`wait`"),
        (json!({"message": "x", "hint": "cooking"}), "`hint`"),
        (
            json!({"message": "x", "context": {"path": "a"}}),
            "`context`",
        ),
        (
            json!({"message": "x", "context": [{"path": "a"}]}),
            "`context`",
        ),
        (
            json!({"message": "x", "check": "a", "answer_schema": {}}),
            "exclude",
        ),
        (json!({"message": "x", "agent": ""}), "`agent`"),
    ] {
        let error = arguments::task(&object(&wrong)).unwrap_err();
        assert!(
            error.contains(what) && error.contains("nothing was"),
            "{error}"
        );
    }
    let report = json!({"issue_type": "boring", "description": "x"});
    let error = arguments::report(&object(&report)).unwrap_err();
    assert!(error.contains("incorrect, incomplete"), "{error}");
}

#[test]
fn a_task_goes_on_as_an_mcp_task_of_the_same_name() {
    let created: Value = tasks::created(&task(TaskState::Queued))
        .to_raw()
        .deserialize()
        .unwrap();
    assert_eq!(
        created,
        json!({
            "taskId": "task_1",
            "status": "working",
            "statusMessage": "waiting for its turn",
            "createdAt": "2026-11-21T10:00:00Z",
            "lastUpdatedAt": "2026-11-21T10:00:12Z",
            "ttlMs": null,
            "pollIntervalMs": 1000,
        })
    );
    let failed = TaskView {
        error: Some("its check did not pass".to_owned()),
        ..task(TaskState::Failed)
    };
    let moved: Value = tasks::moved(&failed).to_raw().deserialize().unwrap();
    assert_eq!(moved["status"], "completed");
    assert_eq!(moved["result"]["isError"], true);
    assert_eq!(moved["result"]["structuredContent"]["status"], "failed");
    let asks = TaskView {
        question: Some("Which one?".to_owned()),
        ..task(TaskState::InputRequired)
    };
    let moved: Value = tasks::moved(&asks).to_raw().deserialize().unwrap();
    assert_eq!(
        moved["inputRequests"]["answer"]["params"]["message"],
        "Which one?"
    );
    // What several entities must not see of each other is nowhere in a push.
    let mixed = TaskView {
        entities: vec!["clinic".to_owned(), "shop".to_owned()],
        response: Some("secret".to_owned()),
        ..task(TaskState::Completed)
    };
    let moved = tasks::moved(&mixed).to_raw();
    assert!(!moved.as_text().contains("secret"), "{moved}");
}
