use legation_api::tasks::{
    BackgroundKind, BackgroundView, CheckView, Class, Failure, ListAnswer, TaskState, TaskView,
    TokenUsage, ToolCallView, UndoAnswer,
};

use super::{describe, ended, list, undo};
use crate::Exit;

fn task(status: TaskState) -> TaskView {
    let bare = TaskView::new(
        "task_1".to_owned(),
        "ses_1".to_owned(),
        Class::Agent,
        status,
    );
    TaskView {
        source: "claude-code".to_owned(),
        title: "Add a test".to_owned(),
        elapsed_seconds: 12,
        created: "2026-11-21T10:00:00Z".to_owned(),
        changed: "2026-11-21T10:00:12Z".to_owned(),
        ..bare
    }
}

#[test]
fn the_exit_code_says_how_a_task_ended() {
    assert_eq!(ended(&task(TaskState::Completed)), Ok(()));
    let failed = |failure| TaskView {
        failure,
        error: Some("so it was".to_owned()),
        ..task(TaskState::Failed)
    };
    for (view, exit, message) in [
        (
            failed(Some(Failure::Refused)),
            Exit::Refused,
            "task_1 failed: so it was",
        ),
        (
            failed(Some(Failure::NoModel)),
            Exit::NotReachable,
            "task_1 failed: so it was",
        ),
        (
            failed(Some(Failure::Check)),
            Exit::Failed,
            "task_1 failed: so it was",
        ),
        (failed(None), Exit::Failed, "task_1 failed: so it was"),
        (
            task(TaskState::Cancelled),
            Exit::Failed,
            "task_1 was called off: nobody said why",
        ),
        (
            TaskView {
                question: Some("Did it run?".to_owned()),
                ..task(TaskState::InputRequired)
            },
            Exit::Failed,
            "task_1 waits for an answer: Did it run?",
        ),
        (
            task(TaskState::Preempted),
            Exit::Failed,
            "task_1 is not over: it is paused for somebody who comes first",
        ),
    ] {
        let error = ended(&view).unwrap_err();
        assert_eq!((error.exit, error.message.as_str()), (exit, message));
    }
}

#[test]
fn a_failure_says_what_can_be_done() {
    let view = TaskView {
        hint: Some("start a model".to_owned()),
        ..task(TaskState::Failed)
    };
    assert_eq!(
        ended(&view).unwrap_err().hint.as_deref(),
        Some("start a model")
    );
    let asks = ended(&task(TaskState::InputRequired)).unwrap_err();
    assert_eq!(
        asks.hint.as_deref(),
        Some("legation task answer task_1 WORDS")
    );
}

#[test]
fn a_task_is_shown_with_what_it_did_and_cannot_repaint_the_terminal() {
    let call = ToolCallView {
        tool: "bash".to_owned(),
        status: "success".to_owned(),
        path: None,
        command: Some("cargo test".to_owned()),
        exit_code: Some(0),
        lines: Some(1),
        result_uri: None,
    };
    let view = TaskView {
        response: Some("Done.\nAll pass.".to_owned()),
        tool_calls: vec![call],
        background: vec![BackgroundView {
            kind: BackgroundKind::McpTask,
            id: "c2".to_owned(),
            server: "build".to_owned(),
            tool: "deploy".to_owned(),
            server_task_id: "t-1".to_owned(),
            status: "working".to_owned(),
            status_message: Some("half\u{1b}[2J way".to_owned()),
            created: "2026-11-21T10:00:10Z".to_owned(),
            updated: "2026-11-21T10:00:11Z".to_owned(),
            poll_interval_ms: None,
        }],
        token_usage: Some(TokenUsage {
            input: Some(1250),
            output: None,
        }),
        check: Some(CheckView {
            passed: true,
            tries: 2,
            exit_code: Some(0),
            output: String::new(),
        }),
        model: Some("local/\u{1b}[2Jtiny".to_owned()),
        changed_files: vec!["src/dates.rs".to_owned()],
        ..task(TaskState::Completed)
    };
    expect_test::expect![[r"
        task_1  Add a test
          status    completed
          from      claude-code
          session   ses_1
          created   2026-11-21T10:00:00Z
          changed   2026-11-21T10:00:12Z
          worked    12 s
          model     local/\u{1b}[2Jtiny
          tokens    1250 read, ? written
          check     passed, tried 2 times
          changed   src/dates.rs
          call      bash cargo test: success, exit code 0, 1 line
          beside    deploy at build: working, half\u{1b}[2J way

        Done.
        All pass.
    "]]
    .assert_eq(&describe(&view));
}

#[test]
fn lists_say_what_is_left_out() {
    let empty = ListAnswer::default();
    assert_eq!(
        list::render(&empty, false),
        "No task is open; --all shows those that are over.\n"
    );
    let queued = TaskView {
        queue_position: Some(2),
        ..task(TaskState::Queued)
    };
    let answer = ListAnswer {
        tasks: vec![queued],
    };
    expect_test::expect![[r"
        ID      FROM         STATUS  PLACE  WORKED  TITLE
        task_1  claude-code  queued  2      12 s    Add a test
    "]]
    .assert_eq(&list::render(&answer, false));
}

#[test]
fn what_is_taken_back_is_said_before_and_after() {
    let answer = UndoAnswer {
        restored: vec!["a.rs".to_owned()],
        removed: vec!["b.rs".to_owned()],
        kept: vec![("c.rs".to_owned(), "it was changed since".to_owned())],
    };
    assert_eq!(
        undo::render(&answer, true),
        "a.rs would be put back\nb.rs would be removed\nc.rs stays: it was changed since\n"
    );
    assert_eq!(
        undo::render(&answer, false),
        "a.rs was put back\nb.rs was removed\nc.rs stays: it was changed since\n"
    );
    assert_eq!(
        undo::render(&UndoAnswer::default(), false),
        "The task changed no file.\n"
    );
}
