//! What outlives the hub, and what must not lie on the disk as it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use legation_api::conversation::Body;
use legation_api::tasks::TaskState;
use legation_core::SessionId;
use legation_core::id::hex;

use super::super::{RunEnd, Seat, Submitter};
use super::{
    Asker, Notes, Place, Running, TaskId, agent, client, echo, ended, human, intent, new, of, turn,
    work_on,
};
use crate::record::Partial;
use crate::{BookError, SessionError, SubmitError, TaskError};

const BEFORE_TURN: &str = "before the turn";
const BEFORE_CALL: &str = "before the call";
const AFTER_CALL: &str = "after the call";

/// Does two steps with a call each, which is counted where it is made, and stops for ever at a place
/// of the second.
async fn two_steps(seat: Seat, task: TaskId, made: Arc<AtomicU32>, stop: &'static str) -> RunEnd {
    let loaded = seat.book.load(&task).await.expect("loaded");
    let stop_at = async |place: &str, step: u32| {
        if stop == place && step == 2 {
            std::future::pending::<()>().await;
        }
    };
    let mut said = Vec::new();
    for step in 1..=2 {
        stop_at(BEFORE_TURN, step).await;
        if !loaded.turns.iter().any(|turn| turn.step == step) {
            let record = turn(step, "I call it");
            let kept = seat.book.turn(&task, &record, &loaded.labels, None);
            kept.await.expect("kept");
        }
        let known = loaded.calls.iter().find(|call| call.intent.step == step);
        if let Some(end) = known.and_then(|call| call.end.as_ref()) {
            said.push(end.text.clone());
            continue;
        }
        assert!(known.is_none(), "a call that may have been made");
        let call = intent(step, true);
        seat.book.intent(&task, &call).await.expect("kept");
        stop_at(BEFORE_CALL, step).await;
        made.fetch_add(1, Ordering::SeqCst);
        stop_at(AFTER_CALL, step).await;
        let end = ended(&call, &format!("made {step}"));
        seat.book.result(&task, &call, &end).await.expect("kept");
        said.push(end.text);
    }
    RunEnd::Completed {
        response: said.join(", "),
    }
}

async fn start_steps(place: &Place, made: &Arc<AtomicU32>, stop: &'static str) -> Running {
    let made = Arc::clone(made);
    place
        .start(move |seat, task| two_steps(seat, task, Arc::clone(&made), stop))
        .await
}

#[tokio::test]
async fn a_task_goes_on_from_its_last_step_and_no_call_is_made_twice() {
    let gone_on = "The hub ended during this call, and its user says to go on without its result.";
    for (stop, answer, all, last) in [
        (BEFORE_TURN, None, 2, "made 2"),
        (BEFORE_CALL, Some("again"), 2, "made 2"),
        (AFTER_CALL, Some("skip"), 2, gone_on),
        (AFTER_CALL, Some("failed"), 2, "This call failed."),
        (AFTER_CALL, Some("again"), 3, "made 2"),
    ] {
        let place = Place::new();
        let made = Arc::new(AtomicU32::new(0));
        let hub = start_steps(&place, &made, stop).await;
        let id = hub.submit(&agent("claude"), "work").await.task_id;
        let before = 1 + u32::from(stop == AFTER_CALL);
        let calls = 1 + usize::from(stop != BEFORE_TURN);
        for _ in 0..1_000 {
            let view = hub.engine.task(&Asker::Owner, &id).await.expect("there");
            let is_there = view.tool_calls.len() == calls && view.tool_calls[0].status == "success";
            if is_there && made.load(Ordering::SeqCst) == before {
                break;
            }
            // tidy: it looks again until it is so, and time decides nothing.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        hub.crash().await;
        assert_eq!(made.load(Ordering::SeqCst), before, "{stop}");
        let hub = start_steps(&place, &made, "never").await;
        if let Some(answer) = answer {
            let asks = hub.until(&id, TaskState::InputRequired).await;
            assert!(asks.question.expect("asked").contains("bash"), "{stop}");
            let agents = hub.engine.answer(&client("claude"), &id, answer).await;
            assert!(matches!(agents, Err(TaskError::NotYours { .. })));
            let wrong = hub.engine.answer(&Asker::Owner, &id, "perhaps").await;
            assert!(matches!(wrong, Err(TaskError::NoAnswer { .. })));
            let right = hub.engine.answer(&Asker::Owner, &id, answer).await;
            right.expect("answered");
        }
        let done = hub.until(&id, TaskState::Completed).await;
        let what = format!("{stop} {answer:?}");
        assert_eq!(done.response, Some(format!("made 1, {last}")), "{what}");
        assert_eq!(made.load(Ordering::SeqCst), all, "{what}");
        let statuses: Vec<&str> = done
            .tool_calls
            .iter()
            .map(|call| call.status.as_str())
            .collect();
        assert_eq!(statuses.len(), 2, "{what}");
        assert!(!statuses.contains(&"running"), "{what} {statuses:?}");
    }
}

#[tokio::test]
async fn a_hub_that_stops_takes_along_what_was_being_said() {
    let place = Place::new();
    let saying = |seat: Seat, task: TaskId| async move {
        let partial = Partial {
            step: 1,
            until: 7,
            text: "Once upon a".to_owned(),
            reasoning: String::new(),
        };
        let labels = of("meadow");
        let kept = seat.book.save_partial(&task, &partial, &labels);
        kept.await.expect("kept");
        work_on(seat, task).await
    };
    let hub = place.start(saying).await;
    let task = hub.submit(&agent("claude"), "tell me a story").await;
    hub.until(&task.task_id, TaskState::InProgress).await;
    hub.engine.stop().await;
    let late = hub.engine.submit(&human(), new("late")).await;
    assert!(matches!(late, Err(SubmitError::Stopping)));
    hub.crash().await;
    let notes = Notes::default();
    let seen = notes.clone();
    let going_on = move |seat: Seat, task: TaskId| {
        let seen = seen.clone();
        async move {
            let loaded = seat.book.load(&task).await.expect("loaded");
            let partial = loaded.partial.expect("kept");
            seen.add(partial.text);
            seen.add(format!("{} {}", partial.until, loaded.labels));
            RunEnd::Completed {
                response: String::new(),
            }
        }
    };
    let hub = place.start(work_on).await;
    let begun = hub.until(&task.task_id, TaskState::InProgress).await;
    assert_eq!(begun.partial_response.as_deref(), Some("Once upon a"));
    hub.crash().await;
    let hub = place.start(going_on).await;
    hub.until(&task.task_id, TaskState::Completed).await;
    assert_eq!(notes.all(), ["Once upon a", "7 meadow"]);
    // What it was about was said once.
    let session = SessionId::new(task.session.as_str());
    let owner = Asker::Owner;
    let said = hub.engine.history(&owner, &session, (10, None), true).await;
    assert_eq!(said.expect("read").len(), 1);
}

#[tokio::test]
async fn a_task_holds_after_a_kill_what_its_steps_held() {
    let place = Place::new();
    let stored = Arc::new(tokio::sync::Notify::new());
    let told = Arc::clone(&stored);
    let reading = move |seat: Seat, task: TaskId| {
        let told = Arc::clone(&told);
        async move {
            let (record, meadow) = (turn(1, "It says so"), of("meadow"));
            let kept = seat.book.turn(&task, &record, &meadow, None);
            kept.await.expect("kept");
            told.notify_one();
            work_on(seat, task).await
        }
    };
    let hub = place.start(reading).await;
    let task = hub.submit(&agent("claude"), "read it").await;
    stored.notified().await;
    hub.crash().await;
    let hub = place.start(work_on).await;
    let left = hub.until(&task.task_id, TaskState::InProgress).await;
    assert_eq!(left.entities, ["meadow"]);
}

#[tokio::test]
async fn nothing_that_was_said_lies_on_the_disk_as_it_is_and_a_lost_key_takes_it() {
    let place = Place::new();
    let hub = place.start(echo).await;
    let from = |workspace, entity| Submitter {
        workspace,
        labels: of(entity),
        ..agent("claude")
    };
    let meadow = from(agent("claude").workspace, "meadow");
    let secret = hub.submit(&meadow, "the canary sings at noon").await;
    hub.until(&secret.task_id, TaskState::Completed).await;
    let other = hub
        .submit(&from(None, "harbour"), "the parrot sleeps")
        .await;
    assert_ne!(other.session, secret.session);
    hub.until(&other.task_id, TaskState::Completed).await;
    hub.crash().await;
    for name in ["state.db", "state.db-wal", "state.db-ledger"] {
        let bytes = std::fs::read(place.folder.path().join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            !text.contains("canary") && !text.contains("parrot"),
            "{name}"
        );
    }
    let key = format!("engine-{}", hex(b"meadow"));
    assert!(place.keystore().destroy(&key).expect("destroyed"));
    let hub = place.start(echo).await;
    let owner = Asker::Owner;
    let lost = hub
        .engine
        .task(&owner, &secret.task_id)
        .await
        .expect("there");
    assert_eq!((lost.title.as_str(), lost.response), ("", None));
    assert!(lost.error.expect("said").contains("cannot be read"));
    let session = SessionId::new(secret.session.as_str());
    let said = hub.engine.history(&owner, &session, (10, None), true).await;
    for entry in said.expect("read") {
        let Body::Note { text } = entry.body else {
            panic!("{entry:?}");
        };
        assert!(text.contains("cannot be read"), "{text}");
    }
    let kept = hub
        .engine
        .task(&owner, &other.task_id)
        .await
        .expect("there");
    assert_eq!(kept.response.as_deref(), Some("did: the parrot sleeps"));
}

#[tokio::test]
async fn a_full_store_refuses_and_loses_nothing_it_acknowledged() {
    let place = Place::new();
    let hub = place.start(work_on).await;
    let first = hub.submit(&agent("claude"), "work").await.task_id;
    hub.until(&first, TaskState::InProgress).await;
    hub.store.limit_pages(Some(1)).expect("limited");
    let text = "x".repeat(200_000);
    let full = hub.engine.submit(&agent("claude"), new(&text)).await;
    let full = full.expect_err("no room");
    let is_full = matches!(
        &full,
        SubmitError::Book {
            source: BookError::Store { .. }
        }
    );
    assert!(
        is_full && full.to_string().contains("was not taken"),
        "{full}"
    );
    assert!(full.hint().contains("disk"), "{}", full.hint());
    hub.store.limit_pages(None).expect("unlimited");
    let second = hub.submit(&agent("claude"), &text).await.task_id;
    hub.crash().await;
    let hub = place.start(work_on).await;
    hub.until(&first, TaskState::InProgress).await;
    hub.until(&second, TaskState::Queued).await;
}

#[tokio::test]
async fn sessions_are_kept_taken_along_and_deleted() {
    let place = Place::new();
    let hub = place.start(echo).await;
    let folder = agent("claude").workspace;
    let task = hub.submit(&agent("claude"), "first words").await;
    hub.until(&task.task_id, TaskState::Completed).await;
    let newer = hub
        .engine
        .session_new(folder.as_deref())
        .await
        .expect("begun");
    hub.crash().await;
    let hub = place.start(work_on).await;
    let engine = &hub.engine;
    let sessions = engine.sessions().await.expect("listed");
    let listed: Vec<(&str, u64, bool)> = sessions
        .iter()
        .map(|session| (session.title.as_str(), session.messages, session.current))
        .collect();
    assert!(listed.contains(&("first words", 2, false)), "{listed:?}");
    assert!(listed.contains(&("", 0, true)), "{listed:?}");
    let old = SessionId::new(task.session.as_str());
    assert!(engine.session_resume(&old).await.expect("resumed").current);
    let now = engine
        .session_current(folder.as_deref())
        .await
        .expect("there");
    assert_eq!(now.id, task.session);
    let exported = engine.session_export(&old).await.expect("exported");
    let messages = exported["messages"].as_array().expect("a list");
    assert_eq!(messages.len(), 2, "{exported}");
    let newer = SessionId::new(newer.id.as_str());
    engine.session_delete(&newer).await.expect("deleted");
    let open = hub.submit(&agent("claude"), "more").await.task_id;
    hub.until(&open, TaskState::InProgress).await;
    let busy = engine.session_delete(&old).await;
    assert!(matches!(busy, Err(SessionError::Busy { .. })), "{busy:?}");
    engine
        .cancel(&Asker::Owner, &open, None)
        .await
        .expect("called off");
    engine.session_delete(&old).await.expect("deleted");
    let gone = engine.task(&Asker::Owner, &task.task_id).await;
    assert!(matches!(gone, Err(TaskError::Unknown { .. })));
    assert!(engine.sessions().await.expect("listed").is_empty());
}
