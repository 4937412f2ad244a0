//! Delegated tasks as MCP tasks, in the extension's shape; fronts translate it for clients
//! of 2025-11-25. The handle is the task's own id, so nothing has to be remembered of it
//! and it outlives the hub with the task.

use legation_api::tasks::{TaskState, TaskView};
use legation_core::{Caller, TaskHandle};
use legation_engine::TaskError;
use legation_gate::{Outcome, TaskVerb};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::translate::{InputRequest, Task, TaskOutcome, TaskStatus};

use super::shapes::{Task as Shown, WITHHELD};
use super::{Delegate, asker, gone};
use crate::native::no_task;
use crate::{failed, json_result};

/// How often a client should look, in milliseconds.
const POLL_MS: i64 = 1_000;
/// The key of the one question that a task asks at a time.
const QUESTION: &str = "answer";

// === impl Delegate ===

impl Delegate {
    /// What a client does with a task over the protocol.
    pub(super) async fn act(self, caller: Caller, handle: TaskHandle, verb: TaskVerb) -> Outcome {
        let Some(engine) = self.shared.view.engine() else {
            return no_task(&handle);
        };
        let asker = asker(&caller);
        let done = |_| Outcome::Complete(Raw::empty_object());
        let acted = match verb {
            TaskVerb::Get => engine.task(&asker, handle.as_str()).await.map(|task| {
                let result = match self.shown(&caller, &task) {
                    Outcome::Complete(result) => result,
                    _ => Raw::empty_object(),
                };
                // What the result leaves out must not stand beside it either.
                let task = match self.holds(&caller, &task.entities) {
                    true => task,
                    false => withheld(task),
                };
                Outcome::Complete(detailed(&task, result))
            }),
            TaskVerb::Update(responses) => match answered(&responses) {
                Some(answer) => {
                    // It says what its conversation holds, as a message handed in does.
                    let Some(labels) = self.shared.view.held(&caller) else {
                        return gone();
                    };
                    let said = engine.answer_with(&asker, handle.as_str(), &answer, &labels);
                    said.await.map(done)
                }
                // Nobody answered, so it goes on waiting.
                None => Ok(Outcome::Complete(Raw::empty_object())),
            },
            TaskVerb::Cancel => {
                let ended = engine.cancel(&asker, handle.as_str(), None).await;
                match ended {
                    // What has ended needs no ending; the extension does not mind.
                    Err(TaskError::NotNow { .. }) => Ok(Outcome::Complete(Raw::empty_object())),
                    ended => ended.map(done),
                }
            }
        };
        acted.unwrap_or_else(|error| match error {
            TaskError::Unknown { .. } | TaskError::Ambiguous { .. } => no_task(&handle),
            error => {
                let what = legation_core::error::chain(&error);
                Outcome::Error(ErrorObject::new(codes::INVALID_PARAMS, &what))
            }
        })
    }
}

/// A task that was just handed in.
pub(super) fn created(view: &TaskView) -> Object {
    to_task(view).to_modern()
}

/// A task with its question, or with its end; `result` is what its call answers.
pub(super) fn detailed(view: &TaskView, result: Raw) -> Raw {
    to_task(view).to_modern_detailed(&outcome(view, result))
}

/// How a task stands, for a push, with its question or end where it holds data of one entity
/// at most: that is the entity that the gate looks at before it lets it pass.
pub(super) fn moved(view: &TaskView) -> Object {
    let mut task = to_task(view).to_modern();
    if view.entities.len() > 1 {
        task.remove("statusMessage");
        return task;
    }
    let Outcome::Complete(result) = json_result(&Shown::whole(view)) else {
        return task;
    };
    let whole = detailed(view, result).to_object().unwrap_or_default();
    for member in ["inputRequests", "result"] {
        if let Some(value) = whole.get(member) {
            task.set(member, value.clone());
        }
    }
    task
}

/// A task without what it says of its data: what it does, asks or failed of.
pub(super) fn withheld(view: TaskView) -> TaskView {
    TaskView {
        progress: None,
        question: view.question.map(|_| WITHHELD.to_owned()),
        error: view.error.map(|_| WITHHELD.to_owned()),
        ..view
    }
}

fn to_task(view: &TaskView) -> Task {
    Task {
        task_id: view.task_id.as_str().into(),
        status: match view.status {
            TaskState::Queued | TaskState::InProgress | TaskState::Preempted => TaskStatus::Working,
            TaskState::InputRequired => TaskStatus::InputRequired,
            // A task that failed did so as a tool does: its result says why.
            TaskState::Completed | TaskState::Failed => TaskStatus::Completed,
            TaskState::Cancelled => TaskStatus::Cancelled,
        },
        status_message: Some(message(view).into()),
        created_at: Some(Raw::str(&view.created)),
        last_updated_at: Some(Raw::str(&view.changed)),
        ttl_ms: None,
        poll_interval_ms: Some(POLL_MS),
        rest: Object::new(),
    }
}

/// What a task is doing, for people.
fn message(view: &TaskView) -> &str {
    match (view.status, &view.progress) {
        (TaskState::Queued, _) => "waiting for its turn",
        (TaskState::Preempted, _) => "a person is being answered; it goes on by itself",
        (TaskState::InProgress, Some(progress)) => progress,
        (state, _) => state.as_str(),
    }
}

fn outcome(view: &TaskView, result: Raw) -> TaskOutcome {
    match view.status {
        TaskState::Queued | TaskState::InProgress | TaskState::Preempted | TaskState::Cancelled => {
            TaskOutcome::None
        }
        TaskState::InputRequired => {
            let question = view.question.as_deref().unwrap_or_default();
            TaskOutcome::Input(vec![(QUESTION.into(), asks(question))])
        }
        TaskState::Completed => TaskOutcome::Result(result),
        TaskState::Failed => {
            let mut failed = match failed(view.error.as_deref().unwrap_or("the task failed")) {
                Outcome::Complete(failed) => failed.to_object().unwrap_or_default(),
                _ => Object::new(),
            };
            if let Some(structured) = result.get("structuredContent") {
                failed.set("structuredContent", structured);
            }
            TaskOutcome::Result(failed.to_raw())
        }
    }
}

/// A question as a form with one field.
fn asks(question: &str) -> InputRequest {
    let schema = Raw::from_static(
        r#"{"type":"object","properties":{"answer":{"type":"string","title":"Answer"}},"required":["answer"]}"#,
    );
    let params = Object::new()
        .with("mode", Raw::str("form"))
        .with("message", Raw::str(question))
        .with("requestedSchema", schema);
    InputRequest {
        method: "elicitation/create".into(),
        params: Some(params.to_raw()),
    }
}

/// The answer that a person gave to [`asks`], if one was given.
fn answered(responses: &Object) -> Option<String> {
    let response = responses.get(QUESTION)?;
    if response.get("action")?.to_str()? != "accept" {
        return None;
    }
    let answer = response.get("content")?.get("answer")?;
    answer.to_str().map(|answer| answer.into_owned())
}
