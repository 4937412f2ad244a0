//! Seeing a task to its end for a client that knows none.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use legation_gate::{CallFailure, Outcome};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::meta;
use legation_wire::translate::{Task, TaskOutcome, TaskStatus, task_outcome};

use crate::call::Conversation;
use crate::common::Common;
use crate::instance::Live;
use crate::port::{self, Order};

/// How often a task is asked after when its server does not say, and the
/// bounds of what it may say.
const POLL: (i64, i64, i64) = (50, 1_000, 30_000);

/// Cancels the task at its server unless it came to its end.
struct Unfinished {
    common: Arc<Common>,
    live: Arc<Live>,
    upstream: Box<str>,
    finished: bool,
}

/// Waits for a task, asking its questions live.
pub(super) async fn follow(conversation: &mut Conversation, task: Task, legacy: bool) -> Outcome {
    let mut guard = Unfinished {
        common: Arc::clone(&conversation.server.common),
        live: Arc::clone(&conversation.live),
        upstream: task.task_id.clone(),
        finished: false,
    };
    let followed = if legacy {
        follow_legacy(conversation, &task.task_id).await
    } else {
        follow_modern(conversation, task).await
    };
    guard.finished = !matches!(followed, Outcome::Failed(_));
    followed
}

/// The server answers `tasks/result` when the task is done, and asks on the
/// same stream.
async fn follow_legacy(conversation: &mut Conversation, upstream: &str) -> Outcome {
    let params = Object::new().with("taskId", Raw::str(upstream));
    let order = Order::own("tasks/result", params);
    match conversation.exchange(order, true).await {
        Ok(Ok(result)) => Outcome::Complete(without_related_task(&result)),
        Ok(Err(error)) => Outcome::Error(error),
        Err(failure) => Outcome::Failed(failure),
    }
}

async fn follow_modern(conversation: &mut Conversation, mut task: Task) -> Outcome {
    let upstream = task.task_id.clone();
    let mut answered: HashSet<Box<str>> = HashSet::new();
    loop {
        let pause = task
            .poll_interval_ms
            .unwrap_or(POLL.1)
            .clamp(POLL.0, POLL.2);
        let pause = Duration::from_millis(pause.unsigned_abs());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            reason = conversation.context.cancel.cancelled() => {
                return Outcome::Failed(CallFailure::Cancelled(reason));
            }
        }
        let answer = match ask_server(conversation, "tasks/get", &upstream, None).await {
            Ok(answer) => answer,
            Err(outcome) => return outcome,
        };
        let read = Task::parse(&answer).and_then(|mut task| {
            let outcome = task_outcome(&mut task)?;
            Ok((task, outcome))
        });
        let outcome;
        (task, outcome) = match read {
            Ok(read) => read,
            Err(error) => return conversation.broke(error.to_string()),
        };
        match outcome {
            TaskOutcome::Result(result) => return Outcome::Complete(result),
            TaskOutcome::Error(error) => return Outcome::Error(error),
            TaskOutcome::None if task.status == TaskStatus::Cancelled => {
                let cancelled = "the server cancelled the task of this call";
                return Outcome::Error(ErrorObject::new(codes::CANCELLED, cancelled));
            }
            TaskOutcome::None => {}
            TaskOutcome::Input(mut requests) => {
                // Keys are unique for the life of a task, and an answer takes
                // its time to be seen.
                requests.retain(|(key, _)| !answered.contains(key));
                if requests.is_empty() {
                    continue;
                }
                let responses = match conversation.ask_all(&requests).await {
                    Ok(responses) => responses,
                    Err(outcome) => return outcome,
                };
                let update = ask_server(conversation, "tasks/update", &upstream, Some(&responses));
                if let Err(outcome) = update.await {
                    return outcome;
                }
                answered.extend(requests.into_iter().map(|(key, _)| key));
            }
        }
    }
}

async fn ask_server(
    conversation: &mut Conversation,
    method: &'static str,
    upstream: &str,
    responses: Option<&Object>,
) -> Result<Raw, Outcome> {
    let mut params = Object::new().with("taskId", Raw::str(upstream));
    if let Some(responses) = responses {
        params.set("inputResponses", responses.to_raw());
    }
    let order = Order {
        face: Some(conversation.face(legation_gate::TaskWish::Accepts)),
        ..Order::own(method, params)
    };
    match conversation.exchange(order, false).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Outcome::Error(error)),
        Err(failure) => Err(Outcome::Failed(failure)),
    }
}

/// A legacy server's result without the note that it came from a task.
pub(super) fn without_related_task(result: &Raw) -> Raw {
    let Some(mut object) = result.to_object() else {
        return result.clone();
    };
    match meta::remove(&mut object, meta::RELATED_TASK) {
        Some(_) => object.to_raw(),
        None => result.clone(),
    }
}

// === impl Unfinished ===

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        let live = Arc::clone(&self.live);
        let params = Object::new().with("taskId", Raw::str(&self.upstream));
        let cancel = async move {
            // The client is gone; that the server would not cancel is between
            // it and its task.
            drop(port::request(&*live.port, "tasks/cancel", params).await);
        };
        let runtime = &self.common.runtime;
        self.common
            .background
            .spawn_on(runtime, "task cancel", cancel);
    }
}
