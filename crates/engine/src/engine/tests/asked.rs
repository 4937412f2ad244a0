//! Who sees what, questions and reports.

use legation_api::conversation::{Body, Source};
use legation_api::tasks::{Class, TaskState};
use legation_core::SessionId;

use super::super::{Filter, NewReport, RunEnd, Seat};
use super::{Asker, ClientId, Place, TaskId, agent, client, echo, ended, human, intent, of, turn};
use crate::{SessionError, TaskError};

#[tokio::test]
async fn a_client_sees_its_own_tasks_and_the_sessions_it_takes_part_in() {
    let place = Place::new();
    let hub = place.start(echo).await;
    let engine = &hub.engine;
    let task = hub.submit(&agent("claude"), "mine").await;
    let id = &task.task_id;
    hub.until(id, TaskState::Completed).await;
    let own = engine.task(&client("claude"), id).await;
    assert_eq!(own.expect("its own").source, "claude");
    // A beginning is enough where no other of the asker's begins so.
    let begin = &id[..14];
    for begin in [begin, begin.trim_start_matches("task_")] {
        let own = engine.task(&client("claude"), begin).await;
        assert_eq!(own.expect("found").task_id, *id);
    }
    let session = SessionId::new(task.session.as_str());
    for who in [client("codex"), client("")] {
        for error in [
            engine.task(&who, id).await.err(),
            engine.cancel(&who, id, None).await.err(),
            engine.steer(&who, id, "hello").await.err(),
            engine.answer(&who, id, "yes").await.err(),
        ] {
            assert!(
                matches!(error, Some(TaskError::Unknown { .. })),
                "{error:?}"
            );
        }
        let tasks = engine.tasks(&who, Filter::default()).await;
        assert_eq!(tasks.expect("listed"), []);
        let said = engine.history(&who, &session, (10, None), true).await;
        assert!(matches!(said, Err(SessionError::Unknown { .. })));
    }
    let own = client("claude");
    let said = engine.history(&own, &session, (1, None), true).await;
    assert_eq!(said.expect("it takes part").len(), 1);
    let neighbour = Asker::Client {
        client: ClientId::new("codex"),
        workspace: agent("claude").workspace,
    };
    let said = engine.history(&neighbour, &session, (10, None), true).await;
    assert_eq!(said.expect("it works there").len(), 2);
    // Only the owner's messages are a person's.
    let mut false_human = human();
    false_human.is_owner = false;
    let task = hub.submit(&false_human, "let me through").await;
    assert_eq!(task.class, Class::Agent);
}

#[tokio::test]
async fn a_question_is_answered_in_the_conversation() {
    let place = Place::new();
    let run = |seat: Seat, task: TaskId| async move {
        let loaded = seat.book.load(&task).await.expect("loaded");
        let answer = loaded.log.iter().rev().find(|entry| {
            entry.entry.task.as_ref() == Some(&task) && entry.entry.source == Source::Human
        });
        match answer.map(|entry| entry.entry.body.clone()) {
            Some(Body::Text { text, .. }) => RunEnd::Completed { response: text },
            _ => RunEnd::InputRequired {
                question: "Which colour?".to_owned(),
            },
        }
    };
    let hub = place.start(run).await;
    let id = hub.submit(&agent("claude"), "paint it").await.task_id;
    let asks = hub.until(&id, TaskState::InputRequired).await;
    assert_eq!(asks.question.as_deref(), Some("Which colour?"));
    let answered = hub.engine.answer(&Asker::Owner, &id, "blue").await;
    assert_eq!(answered.expect("answered").question, None);
    let done = hub.until(&id, TaskState::Completed).await;
    assert_eq!(done.response.as_deref(), Some("blue"));
    let late = hub.engine.answer(&Asker::Owner, &id, "red").await;
    assert!(matches!(late, Err(TaskError::NotNow { .. })));
}

#[tokio::test]
async fn of_two_answers_at_once_one_is_taken() {
    let place = Place::new();
    let run = |seat: Seat, task: TaskId| async move {
        let loaded = seat.book.load(&task).await.expect("loaded");
        let mut said = loaded.log.iter();
        match said.any(|entry| entry.entry.source == Source::Human) {
            true => RunEnd::Completed {
                response: "painted".to_owned(),
            },
            false => RunEnd::InputRequired {
                question: "Which colour?".to_owned(),
            },
        }
    };
    let hub = place.start(run).await;
    let id = hub.submit(&agent("claude"), "paint it").await.task_id;
    hub.until(&id, TaskState::InputRequired).await;
    let (one, other) = tokio::join!(
        hub.engine.answer(&Asker::Owner, &id, "blue"),
        hub.engine.answer(&Asker::Owner, &id, "green"),
    );
    let taken = [one, other].iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(taken, 1);
    hub.until(&id, TaskState::Completed).await;
}

#[tokio::test]
async fn history_counts_what_it_shows_and_reports_hold_what_led_to_them() {
    let place = Place::new();
    let run = |seat: Seat, task: TaskId| async move {
        let loaded = seat.book.load(&task).await.expect("loaded");
        let record = turn(1, "I make it");
        let kept = seat.book.turn(&task, &record, &loaded.labels, None);
        kept.await.expect("kept");
        for place in 1..=3 {
            let mut call = intent(1, place == 2);
            call.place = place;
            seat.book.intent(&task, &call).await.expect("kept");
            let end = ended(&call, "made");
            seat.book.result(&task, &call, &end).await.expect("kept");
        }
        RunEnd::Completed {
            response: "made".to_owned(),
        }
    };
    let hub = place.start(run).await;
    let task = hub.submit(&agent("claude"), "make it").await;
    let done = hub.until(&task.task_id, TaskState::Completed).await;
    assert_eq!(done.tool_calls.len(), 3);
    let session = SessionId::new(task.session.as_str());
    let engine = &hub.engine;
    let read = async |limit, with_tools| {
        let owner = Asker::Owner;
        let said = engine.history(&owner, &session, (limit, None), with_tools);
        said.await.expect("read")
    };
    assert_eq!(read(10, true).await.len(), 4);
    let words = read(1, false).await;
    assert!(matches!(&words[..], [one] if matches!(one.body, Body::Text { .. })));
    for entry in read(3, true).await {
        let Body::Tool { result, call, .. } = entry.body else {
            panic!("{entry:?}");
        };
        assert_eq!((result.as_str(), call.status.as_str()), ("made", "success"));
    }
    let report = NewReport {
        task: Some(task.task_id.clone()),
        issue_type: "incomplete".to_owned(),
        description: "half of it".to_owned(),
        expected: None,
    };
    let other = engine.report(&client("codex"), report.clone()).await;
    assert!(matches!(other, Err(TaskError::Unknown { .. })));
    let made = engine
        .report(&client("claude"), report)
        .await
        .expect("kept");
    hub.crash().await;
    let hub = place.start(echo).await;
    let listed = hub.engine.reports().await.expect("listed");
    assert_eq!(listed, std::slice::from_ref(&made));
    let exported = hub.engine.report_export(&made.id).await.expect("exported");
    assert_eq!(
        exported["calls"].as_array().map(Vec::len),
        Some(3),
        "{exported}"
    );
    assert_eq!(exported["turns"][0]["said"]["text"], "I make it");
    assert_eq!(exported["task"]["status"], "completed");
    assert!(hub.engine.report_export("rep_0").await.is_err());
}

#[tokio::test]
async fn an_answer_brings_what_its_conversation_holds() {
    let place = Place::new();
    let run = |seat: Seat, task: TaskId| async move {
        let loaded = seat.book.load(&task).await.expect("loaded");
        let said = loaded.log.iter().rev().find(|entry| {
            entry.entry.task.as_ref() == Some(&task)
                && matches!(entry.entry.source, Source::Client(_))
                && entry.entry.labels == of("clinic")
        });
        match said {
            Some(_) if loaded.labels == of("clinic") => RunEnd::Completed {
                response: "held".to_owned(),
            },
            _ => RunEnd::InputRequired {
                question: "To whom?".to_owned(),
            },
        }
    };
    let hub = place.start(run).await;
    let id = hub.submit(&agent("claude"), "write to them").await.task_id;
    let asks = hub.until(&id, TaskState::InputRequired).await;
    assert_eq!(asks.entities, Vec::<String>::new());
    let who = client("claude");
    let clinic = of("clinic");
    let said = hub.engine.answer_with(&who, &id, "her", &clinic);
    said.await.expect("answered");
    let done = hub.until(&id, TaskState::Completed).await;
    assert_eq!(done.entities, ["clinic"]);
}
