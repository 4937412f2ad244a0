//! What is bounded, and what counts on when a hub is gone.

use std::sync::Arc;
use std::time::Duration;

use legation_api::tasks::{ContextFile, TaskState};
use legation_core::clock::ManualClock;
use legation_core::{SharedClock, Wall};

use super::super::LetGo;
use super::super::office::LEASE;
use super::*;
use crate::{NewReport, SubmitError};

fn report(text: &str) -> NewReport {
    NewReport {
        task: None,
        issue_type: "other".to_owned(),
        description: text.to_owned(),
        expected: None,
    }
}

#[tokio::test]
async fn a_client_keeps_its_last_hundred_reports_and_takes_no_room_of_others() {
    let place = Place::new();
    let clock = Arc::new(ManualClock::at(Wall(1_000_000)));
    let (hub, _) = at(&place, &clock).await;
    let engine = &hub.engine;
    engine
        .report(&client("calm"), report("first"))
        .await
        .expect("kept");
    let long = "x".repeat(100_000);
    engine
        .report(&client("noisy"), report(&long))
        .await
        .expect("kept");
    for number in 0..105 {
        let text = format!("noise {number}");
        // Which of two is the older is only known where they have times of their own.
        clock.advance(Duration::from_millis(1));
        engine
            .report(&client("noisy"), report(&text))
            .await
            .expect("kept");
    }
    let kept = engine.reports().await.expect("listed");
    let of = |name: &str| kept.iter().filter(|one| one.client == name).count();
    assert_eq!((of("noisy"), of("calm")), (100, 1));
    assert!(kept.iter().all(|one| one.description.len() <= 16 * 1024));
    assert!(kept.iter().any(|one| one.description == "noise 104"));
    assert!(!kept.iter().any(|one| one.description == "noise 4"));
}

#[tokio::test]
async fn open_tasks_together_hold_no_more_than_they_may() {
    let place = Place::new();
    let drive: Drive = Box::new(|seat, task| Box::pin(work_on(seat, task)));
    let clock = SystemClock::shared();
    let hub = made(&place, clock, drive, Box::new(|_| {}), 100_000).await;
    let file = ContextFile {
        path: "a".to_owned(),
        content: "x".repeat(30_000),
    };
    let big = || NewTask {
        context: vec![file.clone()],
        ..new("work")
    };
    for _ in 0..3 {
        hub.engine
            .submit(&agent("claude"), big())
            .await
            .expect("taken");
    }
    let full = hub.engine.submit(&agent("claude"), big()).await;
    let full = full.expect_err("too much");
    assert!(
        matches!(full, SubmitError::TooMuch { most: 100_000 }),
        "{full:?}"
    );
    // What is small still has room, and what was called off gives some back.
    let small = hub.submit(&agent("claude"), "words").await.task_id;
    for id in [small, waiting(&hub).await] {
        let over = hub.engine.cancel(&Asker::Owner, &id, None).await;
        assert_eq!(over.expect("called off").status, TaskState::Cancelled);
    }
    hub.engine
        .submit(&agent("claude"), big())
        .await
        .expect("taken");
}

/// A task that waits for its turn.
async fn waiting(hub: &Running) -> String {
    let open = hub
        .engine
        .tasks(&Asker::Owner, super::super::Filter::default());
    let open = open.await.expect("listed");
    let queued = open.iter().find(|task| task.status == TaskState::Queued);
    queued.expect("one waits").task_id.clone()
}

#[tokio::test]
async fn clients_without_a_folder_have_conversations_of_their_own() {
    let place = Place::new();
    let hub = place.start(echo).await;
    let nowhere = |name: &str| Submitter {
        workspace: None,
        ..agent(name)
    };
    let session = async |from: Submitter| {
        let task = hub.submit(&from, "words").await;
        hub.until(&task.task_id, TaskState::Completed).await.session
    };
    let first = session(nowhere("claude")).await;
    assert_eq!(session(nowhere("claude")).await, first);
    let second = session(nowhere("codex")).await;
    assert_ne!(second, first);
    let people = Submitter {
        workspace: None,
        ..human()
    };
    let third = session(people.clone()).await;
    assert!(third != first && third != second);
    // In a folder they share what they work on.
    assert_eq!(
        session(agent("claude")).await,
        session(agent("codex")).await
    );
    hub.crash().await;
    let hub = place.start(echo).await;
    let session = async |from: Submitter| {
        let task = hub.submit(&from, "words").await;
        hub.until(&task.task_id, TaskState::Completed).await.session
    };
    assert_eq!(session(nowhere("claude")).await, first);
    assert_eq!(session(nowhere("codex")).await, second);
    assert_eq!(session(people).await, third);
}

/// An engine at a clock that a test moves, and which tasks' labels it let go.
async fn at(place: &Place, clock: &Arc<ManualClock>) -> (Running, Arc<Mutex<Vec<TaskId>>>) {
    let let_go: Arc<Mutex<Vec<TaskId>>> = Arc::default();
    let gone = Arc::clone(&let_go);
    let drive: Drive = Box::new(|seat, task| Box::pin(work_for_ever(seat, task)));
    let note = move |task: &TaskId| gone.lock().expect("whole").push(task.clone());
    let hub = made(place, clock.clone(), drive, Box::new(note), usize::MAX).await;
    (hub, let_go)
}

/// Ends a hub in the middle of its writing.
async fn killed(hub: Running) {
    let Running {
        engine,
        store,
        tasks,
    } = hub;
    tasks.shutdown().await;
    drop(engine);
    while Arc::strong_count(&store) > 1 {
        // tidy: what is being written is written to its end, and tells nobody.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn made(
    place: &Place,
    clock: SharedClock,
    drive: Drive,
    let_go: LetGo,
    open_bytes_max: usize,
) -> Running {
    let store = Store::open(&place.database(), StoreOptions::default()).expect("opened");
    let (store, tasks) = (Arc::new(store), TaskSet::new());
    let base = Base {
        store: Arc::clone(&store),
        keystore: place.keystore(),
        clock,
        settings: place.settings.clone(),
        tasks: tasks.clone(),
        runtime: tokio::runtime::Handle::current(),
        let_go,
        lease: LEASE,
        open_bytes_max,
    };
    let engine = Engine::open_with(base, drive).await.expect("opened");
    Running {
        engine,
        store,
        tasks,
    }
}

/// Keeps a turn, says how long it was worked on before, and works on.
async fn work_for_ever(seat: Seat, task: TaskId) -> RunEnd {
    let loaded = seat.book.load(&task).await.expect("loaded");
    let step = u32::try_from(loaded.turns.len()).expect("few") + 1;
    let said = format!("{}", loaded.worked.as_secs());
    while seat.control.cancelled().is_none() {
        let record = turn(step, &said);
        let kept = seat.book.turn(&task, &record, &loaded.labels, None);
        kept.await.expect("kept");
        tokio::select! {
            () = seat.control.changed() => {}
            // tidy: the test moves the clock meanwhile, and time decides nothing.
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
    }
    RunEnd::Cancelled
}

#[tokio::test]
async fn the_time_of_a_task_counts_on_when_its_hub_was_killed() {
    let place = Place::new();
    let clock = Arc::new(ManualClock::at(Wall(1_000_000)));
    let (hub, let_go) = at(&place, &clock).await;
    let task = hub.submit(&agent("claude"), "work").await.task_id;
    hub.until(&task, TaskState::InProgress).await;
    clock.advance(Duration::from_secs(100));
    let id = TaskId::new(&*task);
    let last = async |hub: &Running| {
        let steps = hub.store.step_list(&id).expect("read");
        steps
            .iter()
            .map(|step| step.at_ms)
            .max()
            .unwrap_or_default()
    };
    while last(&hub).await < 1_100_000 {
        tokio::task::yield_now().await;
        // tidy: it looks again until it is so.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(*let_go.lock().expect("whole"), []);
    killed(hub).await;
    let (hub, let_go) = at(&place, &clock).await;
    hub.until(&task, TaskState::InProgress).await;
    let loaded = hub.engine.core.book.load(&id).await.expect("loaded");
    assert_eq!(loaded.worked, Duration::from_secs(100));
    // Whatever ends it, whose data it held is forgotten.
    let over = hub.engine.cancel(&Asker::Owner, &task, None).await;
    assert_eq!(over.expect("called off").status, TaskState::Cancelled);
    assert_eq!(*let_go.lock().expect("whole"), [id]);
}

#[tokio::test]
async fn an_engine_that_nobody_holds_goes() {
    let place = Place::new();
    let hub = place.start(echo).await;
    let task = hub.submit(&agent("claude"), "work").await.task_id;
    hub.until(&task, TaskState::Completed).await;
    let weak = hub.engine.downgrade();
    let Running { engine, tasks, .. } = hub;
    drop(engine);
    while weak.upgrade().is_some() {
        tokio::task::yield_now().await;
    }
    // Its timer and its keeper end by themselves.
    tokio::time::timeout(Duration::from_secs(10), tasks.join())
        .await
        .expect("nothing is left");
}
