//! Tasks on their way: worked on, interrupted, called off, refused.

use std::time::Duration;

use legation_api::conversation::{Body, Event};
use legation_api::tasks::{Failure, NewTask, TaskState, TaskView};

use super::super::{EngineSettings, Filter, RunEnd, Seat, Submitter};
use super::{Asker, Notes, Place, TaskId, agent, client, echo, human, new, work_on};
use crate::{SubmitError, TaskError};

#[tokio::test]
async fn a_task_is_worked_on_told_and_over() {
    let place = Place::new();
    let hub = place.start(echo).await;
    let mut finished = hub.engine.finished();
    let mut follow = hub.engine.follow(None, None).await.expect("followed");
    assert_eq!(follow.next().await, Some(Event::Live {}));
    let task = hub
        .submit(&agent("claude"), "write a poem\nabout rain")
        .await;
    assert_eq!(task.title, "write a poem");
    let time = Duration::from_secs(10);
    let waited = hub
        .engine
        .wait(&client("claude"), &task.task_id, time)
        .await;
    let done = waited.expect("there");
    assert_eq!(done.status, TaskState::Completed);
    assert_eq!(
        done.response.as_deref(),
        Some("did: write a poem\nabout rain")
    );
    let over = finished.recv().await.expect("told");
    assert_eq!(over.task.as_str(), task.task_id);
    assert_eq!(over.state, TaskState::Completed);
    let mut told = Vec::new();
    while told.last().is_none_or(|last| last != "completed") {
        match follow.next().await.expect("it goes on") {
            Event::Message { message } => match message.body {
                Body::Text { text, .. } => told.push(format!("says {text}")),
                other => panic!("{other:?}"),
            },
            Event::Task { task } => told.push(task.status.as_str().to_owned()),
            other => panic!("{other:?}"),
        }
    }
    told.dedup();
    assert_eq!(
        told,
        [
            "queued",
            "says write a poem\nabout rain",
            "in_progress",
            "says did: write a poem\nabout rain",
            "completed"
        ]
    );
    // Who comes later is told what was said, all of it or from a place on.
    let mut late = hub.engine.follow(None, None).await.expect("followed");
    let mut seqs = Vec::new();
    while let Some(Event::Message { message }) = late.next().await {
        seqs.push(message.seq);
    }
    assert_eq!(seqs.len(), 2);
    let mut rest = hub
        .engine
        .follow(None, Some(seqs[0]))
        .await
        .expect("followed");
    let Some(Event::Message { message }) = rest.next().await else {
        panic!("nothing");
    };
    assert_eq!(message.seq, seqs[1]);
}

#[tokio::test]
async fn a_person_interrupts_an_agent_who_then_goes_on() {
    let place = Place::new();
    let notes = Notes::default();
    let seen = notes.clone();
    let run = move |seat: Seat, task: TaskId| {
        let seen = seen.clone();
        async move {
            let loaded = seat.book.load(&task).await.expect("loaded");
            if loaded.new.message == "a question" {
                seen.add("the person is answered");
                return RunEnd::Completed {
                    response: String::new(),
                };
            }
            let end = work_on(seat, task).await;
            seen.add("the agent's run is over");
            end
        }
    };
    let hub = place.start(run).await;
    let slow = hub.submit(&agent("claude"), "long work").await;
    hub.until(&slow.task_id, TaskState::InProgress).await;
    let mut follow = hub.engine.follow(None, None).await.expect("followed");
    let mut states = Vec::new();
    loop {
        match follow.next().await.expect("it goes on") {
            Event::Task { task } => states.push(task.status.as_str()),
            Event::Live {} => break,
            _ => {}
        }
    }
    let quick = hub.submit(&human(), "a question").await;
    hub.until(&quick.task_id, TaskState::Completed).await;
    hub.until(&slow.task_id, TaskState::InProgress).await;
    assert_eq!(notes.all(), ["the person is answered"]);
    while states.len() < 3 {
        if let Some(Event::Task { task }) = follow.next().await
            && task.task_id == slow.task_id
        {
            states.push(task.status.as_str());
            states.dedup();
        }
    }
    assert_eq!(states, ["in_progress", "preempted", "in_progress"]);
    let status = hub.engine.status();
    assert_eq!((status.state.as_str(), status.queue_depth), ("busy", 0));
    let (who, id) = (client("claude"), &slow.task_id);
    let over = hub.engine.cancel(&who, id, Some("enough")).await;
    let over = over.expect("called off");
    assert_eq!(over.status, TaskState::Cancelled);
    assert_eq!(over.error.as_deref(), Some("claude: enough"));
    assert_eq!(hub.engine.status().state, "idle");
}

#[tokio::test]
async fn a_call_off_reaches_a_task_wherever_it_stands() {
    let place = Place::new();
    let run = |seat: Seat, task: TaskId| async move {
        let loaded = seat.book.load(&task).await.expect("loaded");
        match loaded.new.message.as_str() {
            "ask" => RunEnd::InputRequired {
                question: "which?".to_owned(),
            },
            _ => work_on(seat, task).await,
        }
    };
    let hub = place.start(run).await;
    let asking = hub.submit(&agent("claude"), "ask").await;
    hub.until(&asking.task_id, TaskState::InputRequired).await;
    let running = hub.submit(&agent("claude"), "work").await;
    hub.until(&running.task_id, TaskState::InProgress).await;
    let queued = hub.submit(&agent("claude"), "later").await;
    assert_eq!(queued.queue_position, Some(1));
    for id in [&asking.task_id, &queued.task_id, &running.task_id] {
        let over = hub.engine.cancel(&Asker::Owner, id, None).await;
        assert_eq!(
            over.expect("called off").status,
            TaskState::Cancelled,
            "{id}"
        );
        let again = hub.engine.cancel(&Asker::Owner, id, None).await;
        let again = again.expect_err("it is over");
        assert!(matches!(again, TaskError::NotNow { .. }), "{again}");
    }
    assert_eq!(hub.engine.status().queue_depth, 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_hears_nothing_is_ended_and_one_that_panics_has_failed() {
    let place = Place::new();
    let run = |seat: Seat, task: TaskId| async move {
        let loaded = seat.book.load(&task).await.expect("loaded");
        assert_ne!(loaded.new.message, "panic", "as the test wants it");
        std::future::pending::<RunEnd>().await
    };
    let hub = place.start(run).await;
    let deaf = hub.submit(&agent("claude"), "work").await;
    hub.until(&deaf.task_id, TaskState::InProgress).await;
    let called = hub.engine.cancel(&Asker::Owner, &deaf.task_id, None).await;
    assert_eq!(called.expect("there").status, TaskState::InProgress);
    hub.until(&deaf.task_id, TaskState::Cancelled).await;
    let broken = hub.submit(&agent("claude"), "panic").await;
    let over = hub.until(&broken.task_id, TaskState::Failed).await;
    assert_eq!(over.failure, Some(Failure::Other));
    assert!(over.error.expect("said").contains("the hub made a mistake"));
    // The next one is worked on all the same.
    let next = hub.submit(&agent("claude"), "work").await;
    hub.until(&next.task_id, TaskState::InProgress).await;
}

fn titles(tasks: Vec<TaskView>) -> Vec<String> {
    tasks.into_iter().map(|task| task.title).collect()
}

#[tokio::test]
async fn the_queue_can_be_changed_until_a_task_begins() {
    let place = Place::new();
    let hub = place.start(work_on).await;
    let first = hub.submit(&agent("claude"), "one").await.task_id;
    hub.until(&first, TaskState::InProgress).await;
    let second = hub.submit(&agent("claude"), "two").await.task_id;
    let third = hub.submit(&agent("claude"), "three").await.task_id;
    let moved = hub.engine.reorder(&third, Some(&second)).await;
    assert_eq!(moved.expect("moved").queue_position, Some(1));
    let edited = hub.engine.edit(&third, "drei").await;
    assert_eq!(edited.expect("changed").title, "drei");
    for refused in [
        hub.engine.edit(&first, "eins").await,
        hub.engine.reorder(&first, None).await,
    ] {
        let error = refused.expect_err("it has begun");
        assert!(matches!(error, TaskError::NotNow { .. }), "{error}");
    }
    let listed = hub.engine.tasks(&Asker::Owner, Filter::default()).await;
    assert_eq!(titles(listed.expect("listed")), ["one", "drei", "two"]);
    hub.crash().await;
    // The order outlives the hub.
    let hub = place.start(work_on).await;
    hub.until(&first, TaskState::InProgress).await;
    let listed = hub.engine.tasks(&Asker::Owner, Filter::default()).await;
    assert_eq!(titles(listed.expect("listed")), ["one", "drei", "two"]);
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_with_what_to_do() {
    let mut place = Place::new();
    place.settings.queue_max = 1;
    let hub = place.start(work_on).await;
    let engine = &hub.engine;
    let refused = async |from: Submitter, task: NewTask| {
        engine.submit(&from, task).await.expect_err("refused")
    };
    let empty = refused(agent("claude"), new("  \n")).await;
    assert!(matches!(empty, SubmitError::Empty), "{empty}");
    let long = refused(agent("claude"), new(&"x".repeat(5 << 20))).await;
    assert!(matches!(long, SubmitError::TooLong { .. }), "{long}");
    let elsewhere = NewTask {
        session: Some("ses_0".to_owned()),
        ..new("work")
    };
    let elsewhere = refused(agent("claude"), elsewhere).await;
    assert!(matches!(elsewhere, SubmitError::NoSession { .. }));
    hub.submit(&agent("claude"), "work").await;
    let full = refused(agent("codex"), new("work")).await;
    assert!(matches!(full, SubmitError::Full { most: 1, .. }), "{full}");
    for error in [empty, long, elsewhere, full] {
        assert!(error.to_string().contains("not taken"), "{error}");
        assert!(!error.hint().is_empty());
    }
    // People have a queue of their own.
    hub.submit(&human(), "a question").await;
    engine.set_settings(EngineSettings {
        enabled: false,
        ..EngineSettings::default()
    });
    let off = refused(human(), new("work")).await;
    assert!(matches!(off, SubmitError::Off), "{off}");
    assert_eq!(engine.status().state, "off");
}
