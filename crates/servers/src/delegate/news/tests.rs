use std::time::Duration;

use legation_api::tasks::ToolCallView;

use super::*;
use crate::delegate::tests::task;

fn server() -> ServerName {
    ServerName::parse(NAME).unwrap()
}

fn told(
    told: &mut HashMap<String, Told>,
    task: &TaskView,
    now: Instant,
) -> Option<(String, String)> {
    let moved = has_moved(told, task);
    let note = note(told, &server(), ClientId::new("claude"), task, now);
    if moved || note.is_some() {
        remember(told, task, now, None);
    }
    note.map(|note| {
        (
            note.method.to_owned(),
            note.params.to_raw().as_text().to_owned(),
        )
    })
}

#[tokio::test]
async fn a_task_is_told_of_from_its_beginning_to_its_end() {
    let mut known = HashMap::new();
    let begin = Instant::now();
    let at = |seconds: u64| begin + Duration::from_secs(seconds);
    let working = |progress: &str| TaskView {
        progress: Some(progress.to_owned()),
        ..task(TaskState::InProgress)
    };
    let preempted = TaskView {
        partial_response: Some("Created".to_owned()),
        ..task(TaskState::Preempted)
    };
    let completed = TaskView {
        response: Some("Done.".to_owned()),
        tool_calls: vec![ToolCallView {
            tool: "bash".to_owned(),
            status: "success".to_owned(),
            path: None,
            command: Some("true".to_owned()),
            exit_code: Some(0),
            lines: None,
            result_uri: None,
        }],
        ..task(TaskState::Completed)
    };
    let progress = |text: &str| {
        Some((
            "notifications/task_progress".to_owned(),
            format!(r#"{{"task_id":"task_1","progress":"{text}","percent":null}}"#),
        ))
    };
    let steps = [
        (0, task(TaskState::Queued), None),
        (1, working("reading"), progress("reading")),
        // The same again, and another too soon.
        (1, working("reading"), None),
        (3, working("writing"), progress("writing")),
        (
            4,
            preempted.clone(),
            Some((
                "notifications/task_preempted".to_owned(),
                r#"{"task_id":"task_1","reason":"human_input","partial_response":"Created","will_resume":true}"#.to_owned(),
            )),
        ),
        (5, preempted, None),
        // It goes on, which is news.
        (6, working("writing"), progress("writing")),
        (
            7,
            completed.clone(),
            Some((
                "notifications/task_completed".to_owned(),
                r#"{"task_id":"task_1","status":"completed","response":"Done.","tool_calls":[{"tool":"bash","status":"success","command":"true","exit_code":0}]}"#.to_owned(),
            )),
        ),
        (8, completed, None),
    ];
    for (second, task, expected) in steps {
        let status = task.status;
        assert_eq!(
            told(&mut known, &task, at(second)),
            expected,
            "{status:?} at {second}"
        );
    }
}

#[tokio::test]
async fn progress_is_told_once_a_second_at_most() {
    let mut known = HashMap::new();
    let begin = Instant::now();
    let mut count = 0;
    for step in 0..100u32 {
        let working = TaskView {
            progress: Some(format!("step {step}")),
            ..task(TaskState::InProgress)
        };
        let now = begin + Duration::from_millis(u64::from(step) * 50);
        if let Some(note) = note(&known, &server(), ClientId::new("claude"), &working, now) {
            assert_eq!(note.method, "notifications/task_progress");
            remember(&mut known, &working, now, None);
            count += 1;
        }
    }
    assert_eq!(count, 5, "in five seconds");
}

#[tokio::test]
async fn long_texts_are_cut_at_a_character_and_what_is_secret_is_left_out() {
    let completed = TaskView {
        response: Some("\u{e4}".repeat(10_000)),
        entities: vec!["clinic".to_owned()],
        ..task(TaskState::Completed)
    };
    let known = HashMap::new();
    let note = note(
        &known,
        &server(),
        ClientId::new("claude"),
        &completed,
        Instant::now(),
    );
    let note = note.unwrap();
    assert!(note.params.to_raw().as_text().len() < TEXT_MAX + 256);
    assert_eq!(note.entities, [EntityId::new("clinic")]);
    assert_eq!(
        note.bare.to_raw().as_text(),
        r#"{"task_id":"task_1","status":"completed"}"#
    );
}
