//! What a client does with a task of its own.

use std::time::Duration;

use legation_core::TaskHandle;
use legation_gate::{Outcome, TaskVerb, TaskWish};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::translate::{Task, TaskOutcome, TaskStatus, task_outcome};

use super::follow::without_related_task;
use super::{Carrier, Stored};
use crate::call::Conversation;
use crate::port::Order;

/// How long `tasks/get` waits for a question that a legacy server announced.
const QUESTION_WAIT: Duration = Duration::from_millis(500);

/// Runs a verb at the task's server.
pub(crate) async fn run(mut conversation: Conversation, stored: Stored, verb: TaskVerb) -> Outcome {
    let common = std::sync::Arc::clone(&conversation.server.common);
    let done = match verb {
        TaskVerb::Get if stored.legacy => get_legacy(&mut conversation, &stored).await,
        TaskVerb::Get => get_modern(&mut conversation, &stored).await,
        TaskVerb::Update(responses) => update(&mut conversation, &stored, responses).await,
        TaskVerb::Cancel => cancel(&mut conversation, &stored).await,
    };
    let outcome = done.unwrap_or_else(|outcome| outcome);
    if let Outcome::Complete(task) = &outcome
        && Task::parse(task).is_ok_and(|task| task.status.is_terminal())
    {
        let row = &stored.row;
        common.tasks.done(&row.server, &row.upstream, &row.handle);
    }
    outcome
}

async fn get_modern(conversation: &mut Conversation, stored: &Stored) -> Result<Outcome, Outcome> {
    let answer = request(conversation, stored, "tasks/get", None).await?;
    let (mut task, outcome) = parse(conversation, &answer).and_then(|mut task| {
        let outcome = task_outcome(&mut task).map_err(|e| conversation.broke(e.to_string()))?;
        Ok((task, outcome))
    })?;
    task.task_id = stored.row.handle.as_str().into();
    Ok(Outcome::Complete(task.to_modern_detailed(&outcome)))
}

/// In 2025-11-25 the result is read apart, a tool that failed makes the task
/// `failed`, and questions are requests on another stream.
async fn get_legacy(conversation: &mut Conversation, stored: &Stored) -> Result<Outcome, Outcome> {
    let answer = request(conversation, stored, "tasks/get", None).await?;
    let mut task = parse(conversation, &answer)?;
    let carrier = carrier(
        conversation,
        &stored.row.handle,
        &stored.row.upstream,
        task.status,
    );
    let outcome = match task.status {
        TaskStatus::Completed | TaskStatus::Failed => {
            let result = match carrier.as_ref().and_then(|carrier| carrier.result()) {
                Some(result) => result,
                None => match request(conversation, stored, "tasks/result", None).await {
                    Ok(result) => Ok(result),
                    Err(Outcome::Error(error)) => Err(error),
                    Err(other) => return Err(other),
                },
            };
            ended(&mut task, result)
        }
        TaskStatus::Cancelled => TaskOutcome::None,
        TaskStatus::InputRequired | TaskStatus::Working => {
            let asked = match &carrier {
                Some(carrier) => {
                    if task.status == TaskStatus::InputRequired {
                        carrier.await_question(QUESTION_WAIT).await;
                    }
                    carrier.asked()
                }
                None => Vec::new(),
            };
            task.status = if asked.is_empty() {
                TaskStatus::Working
            } else {
                TaskStatus::InputRequired
            };
            if asked.is_empty() {
                TaskOutcome::None
            } else {
                TaskOutcome::Input(asked)
            }
        }
    };
    task.task_id = stored.row.handle.as_str().into();
    Ok(Outcome::Complete(task.to_modern_detailed(&outcome)))
}

fn ended(task: &mut Task, result: Result<Raw, ErrorObject>) -> TaskOutcome {
    match result {
        Ok(result) => {
            // The extension counts a tool's own failure as a result.
            task.status = TaskStatus::Completed;
            TaskOutcome::Result(without_related_task(&result))
        }
        Err(error) => {
            task.status = TaskStatus::Failed;
            TaskOutcome::Error(error)
        }
    }
}

/// The task's open request; opened again if the hub or the server was
/// restarted since.
fn carrier(
    conversation: &Conversation,
    handle: &TaskHandle,
    upstream: &str,
    status: TaskStatus,
) -> Option<std::sync::Arc<Carrier>> {
    let tasks = &conversation.server.common.tasks;
    let held = tasks.carrier(handle);
    if held.is_some() || status.is_terminal() {
        return held;
    }
    let mut known = tasks.known();
    let carrier = known
        .carriers
        .entry(handle.clone())
        .or_insert_with(|| Carrier::open(conversation, handle.clone(), upstream.into()));
    Some(std::sync::Arc::clone(carrier))
}

async fn update(
    conversation: &mut Conversation,
    stored: &Stored,
    responses: Object,
) -> Result<Outcome, Outcome> {
    if stored.legacy {
        if let Some(carrier) = conversation.server.common.tasks.carrier(&stored.row.handle) {
            carrier.answer(&responses);
        }
    } else {
        request(conversation, stored, "tasks/update", Some(&responses)).await?;
    }
    Ok(Outcome::Complete(Raw::empty_object()))
}

async fn cancel(conversation: &mut Conversation, stored: &Stored) -> Result<Outcome, Outcome> {
    match request(conversation, stored, "tasks/cancel", None).await {
        // 2025-11-25 refuses to cancel what has ended; the extension does not
        // mind, and the task is the caller's, so it is known.
        Ok(_) => {}
        Err(Outcome::Error(error)) if error.code == codes::INVALID_PARAMS => {}
        Err(other) => return Err(other),
    }
    Ok(Outcome::Complete(Raw::empty_object()))
}

fn parse(conversation: &Conversation, answer: &Raw) -> Result<Task, Outcome> {
    Task::parse(answer).map_err(|error| conversation.broke(error.to_string()))
}

async fn request(
    conversation: &mut Conversation,
    stored: &Stored,
    method: &'static str,
    responses: Option<&Object>,
) -> Result<Raw, Outcome> {
    let mut params = Object::new().with("taskId", Raw::str(&stored.row.upstream));
    if let Some(responses) = responses {
        params.set("inputResponses", responses.to_raw());
    }
    let mut order = Order::own(method, params);
    if conversation.live.about.revision.is_modern() {
        order.face = Some(conversation.face(TaskWish::Accepts));
    }
    match conversation.exchange(order, false).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Outcome::Error(error)),
        Err(failure) => Err(Outcome::Failed(failure)),
    }
}
