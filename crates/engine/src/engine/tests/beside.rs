//! What runs beside a task: kept with the call that began it, and called off with the task.

use legation_api::tasks::{BackgroundKind, BackgroundView};

use super::*;
use crate::record::Background;

fn background() -> Background {
    Background {
        handle: "handle".to_owned(),
        view: BackgroundView {
            kind: BackgroundKind::McpTask,
            id: "c1".to_owned(),
            server: "build".to_owned(),
            tool: "build-deploy".to_owned(),
            server_task_id: "up-1".to_owned(),
            status: "working".to_owned(),
            status_message: None,
            created: "2026-11-22T10:00:00Z".to_owned(),
            updated: "2026-11-22T10:00:00Z".to_owned(),
            poll_interval_ms: None,
        },
        result: None,
    }
}

/// Has a call answered with a server's task, and kept.
async fn begin_beside(seat: &Seat, task: &TaskId) {
    let labels = EntityLabels::none();
    let kept = seat.book.turn(task, &turn(1, ""), &labels, None).await;
    kept.expect("kept");
    let intent = intent(1, true);
    seat.book.intent(task, &intent).await.expect("kept");
    let end = CallEnd {
        background: Some(background()),
        view: intent.view.clone(),
        ..ended(&intent, "It runs.")
    };
    seat.book.result(task, &intent, &end).await.expect("kept");
}

/// Waits for what runs beside its task, which it begins the first time.
async fn waits(seat: Seat, task: TaskId, notes: Notes) -> RunEnd {
    let loaded = seat.book.load(&task).await.expect("loaded");
    let end = loaded.calls.first().and_then(|call| call.end.clone());
    match end.and_then(|end| end.background) {
        Some(kept) => notes.add(format!("kept {}", kept.handle)),
        None => begin_beside(&seat, &task).await,
    }
    seat.book.rests(&task, true).await.expect("kept");
    seat.control.rests();
    work_on(seat, task).await
}

/// Waits until a task shows what runs beside it.
async fn shown(hub: &Running, id: &str) -> TaskView {
    for _ in 0..1_000 {
        let view = hub.engine.task(&Asker::Owner, id).await.expect("there");
        if !view.background.is_empty() {
            return view;
        }
        // tidy: it looks again until it is so, and time decides nothing.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("nothing runs beside {id}");
}

#[tokio::test]
async fn what_runs_beside_a_task_leaves_the_floor_to_others_and_outlives_a_crash() {
    let place = Place::new();
    let notes = Notes::default();
    let start = async |notes: &Notes| {
        let notes = notes.clone();
        let run = move |seat, task| waits(seat, task, notes.clone());
        place.start(run).await
    };
    let hub = start(&notes).await;
    let first = hub.submit(&agent("claude"), "far").await.task_id;
    let second = hub.submit(&agent("claude"), "farther").await.task_id;
    for id in [&first, &second] {
        let view = shown(&hub, id).await;
        assert_eq!(view.background, [background().view]);
        assert_eq!(view.tool_calls[0].status, "running");
        hub.until(id, TaskState::InProgress).await;
    }
    hub.crash().await;
    let hub = start(&notes).await;
    for id in [&first, &second] {
        hub.until(id, TaskState::InProgress).await;
        assert_eq!(shown(&hub, id).await.background, [background().view]);
    }
    for _ in 0..1_000 {
        if notes.all().len() == 2 {
            break;
        }
        // tidy: it looks again until it is so, and time decides nothing.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(notes.all(), ["kept handle", "kept handle"]);
    let cancelled = hub.engine.cancel(&Asker::Owner, &first, None).await;
    assert_eq!(cancelled.expect("called off").status, TaskState::Cancelled);
}

#[tokio::test]
async fn a_task_that_nobody_works_on_has_a_run_call_off_what_is_beside_it() {
    let place = Place::new();
    let notes = Notes::default();
    let asks = {
        let notes = notes.clone();
        move |seat: Seat, task: TaskId| {
            let notes = notes.clone();
            async move {
                if let Some(reason) = seat.control.cancelled() {
                    notes.add(format!("called off: {reason}"));
                    return RunEnd::Cancelled;
                }
                begin_beside(&seat, &task).await;
                let question = "Which way?".to_owned();
                RunEnd::InputRequired { question }
            }
        }
    };
    let hub = place.start(asks).await;
    let id = hub.submit(&agent("claude"), "far").await.task_id;
    hub.until(&id, TaskState::InputRequired).await;
    let cancelled = hub.engine.cancel(&Asker::Owner, &id, Some("enough")).await;
    let cancelled = cancelled.expect("called off");
    assert_eq!(cancelled.status, TaskState::Cancelled);
    assert_eq!(notes.all(), ["called off: its user: enough"]);
}
