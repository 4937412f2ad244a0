//! Tasks of clients: the shape of 2025-11-25 and that of the extension.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use legation_core::TaskHandle;
use legation_gate::{Ask, CallFailure, Outcome, Peer, Refusal, TaskVerb};
use legation_wire::codes;
use legation_wire::json::{Object, Raw};
use legation_wire::message::ErrorObject;
use legation_wire::meta;
use legation_wire::translate::{self, CacheHint, InputRequest, Task, TaskOutcome, task_outcome};

use super::{Inquiry, call, errors, finish, invalid, text};
use crate::outgoing::Deliveries;
use crate::parking::Body;
use crate::peer::{Carrying, LegacyPeer, SeatPeer};
use crate::speaker::Speaker;
use crate::watch::require_tasks;

/// Bounds of the time between two looks at a task a client waits for.
const POLL_MIN: Duration = Duration::from_millis(50);
const POLL_MAX: Duration = Duration::from_secs(5);
/// Tasks on one page of `tasks/list`: each is asked after at its server.
const PAGE: usize = 50;

/// `tasks/get`.
pub(super) async fn get(inquiry: &Inquiry) -> Body {
    require_tasks(&inquiry.speaker)?;
    let (task, deliveries) = ask_carrying(inquiry, handle(inquiry)?, TaskVerb::Get).await?;
    match &inquiry.speaker {
        Speaker::Modern(_) => {
            inquiry.carries(deliveries);
            Ok(complete(inquiry, &task))
        }
        Speaker::Legacy(session) => {
            let (task, _) = read(&task)?;
            session.task_noted(&task.task_id);
            Ok(task.to_legacy().to_raw())
        }
    }
}

/// `tasks/update` (extension).
pub(super) async fn update(inquiry: &Inquiry) -> Body {
    require_tasks(&inquiry.speaker)?;
    let responses = inquiry
        .request
        .params_object()
        .get("inputResponses")
        .and_then(Raw::to_object)
        .ok_or_else(|| invalid("tasks/update needs inputResponses, an object"))?;
    ask(inquiry, handle(inquiry)?, TaskVerb::Update(responses)).await?;
    Ok(Raw::from_static(r#"{"resultType":"complete"}"#))
}

/// `tasks/cancel`: an acknowledgement in the extension, the task in 2025-11-25.
pub(super) async fn cancel(inquiry: &Inquiry) -> Body {
    require_tasks(&inquiry.speaker)?;
    let handle = handle(inquiry)?;
    if let Speaker::Modern(_) = &inquiry.speaker {
        ask(inquiry, handle, TaskVerb::Cancel).await?;
        return Ok(Raw::from_static(r#"{"resultType":"complete"}"#));
    }
    let (task, _) = read(&ask(inquiry, handle.clone(), TaskVerb::Get).await?)?;
    if task.status.is_terminal() {
        return Err(invalid(
            "the task has ended already; it cannot be cancelled",
        ));
    }
    ask(inquiry, handle.clone(), TaskVerb::Cancel).await?;
    let (task, _) = read(&ask(inquiry, handle, TaskVerb::Get).await?)?;
    Ok(task.to_legacy().to_raw())
}

/// `tasks/list` (2025-11-25): the caller's own.
pub(super) async fn list(inquiry: &Inquiry) -> Body {
    let handles = inquiry.shared.gate.tasks(&inquiry.context.caller);
    let start = match inquiry.request.params_object().get("cursor") {
        None => 0,
        Some(cursor) => {
            after(&handles, cursor).ok_or_else(|| invalid("the cursor is not known"))?
        }
    };
    let page: Vec<TaskHandle> = handles.iter().skip(start).take(PAGE).cloned().collect();
    let asked = page
        .iter()
        .map(|handle| ask(inquiry, handle.clone(), TaskVerb::Get));
    // A task that cannot be read any more is left out rather than failing the list.
    let tasks: Vec<Raw> = join_all(asked)
        .await
        .into_iter()
        .filter_map(|task| read(&task.ok()?).ok())
        .map(|(task, _)| task.to_legacy().to_raw())
        .collect();
    let mut result = Object::new().with("tasks", Raw::array(&tasks));
    if handles.len() > start + page.len()
        && let Some(last) = page.last()
    {
        result.set(
            "nextCursor",
            Raw::str(&URL_SAFE_NO_PAD.encode(last.as_str())),
        );
    }
    Ok(result.to_raw())
}

/// `tasks/result` (2025-11-25): waits for the end, and puts the task's
/// questions to the client meanwhile.
pub(super) async fn result(inquiry: &Inquiry) -> Body {
    let handle = handle(inquiry)?;
    loop {
        let (task, deliveries) = ask_carrying(inquiry, handle.clone(), TaskVerb::Get).await?;
        let (task, outcome) = read(&task)?;
        match outcome {
            TaskOutcome::Result(result) => {
                inquiry.carries(deliveries);
                let result = translate::strip_result_for_legacy("tools/call", &result);
                return Ok(related(result, &handle));
            }
            TaskOutcome::Error(error) => return Err(errors::upstream(inquiry, error)),
            TaskOutcome::None if task.status.is_terminal() => {
                return Err(ErrorObject::new(
                    codes::CANCELLED,
                    "the task was cancelled; it has no result",
                ));
            }
            TaskOutcome::None => wait(inquiry, task.poll_interval_ms).await?,
            TaskOutcome::Input(questions) => {
                let responses = put(inquiry, &handle, questions).await;
                ask(inquiry, handle.clone(), TaskVerb::Update(responses)).await?;
            }
        }
    }
}

/// Puts a task's questions to a client of the handshake era, all at once.
/// A question that cannot be put counts as cancelled by the person.
async fn put(
    inquiry: &Inquiry,
    handle: &TaskHandle,
    questions: Vec<(Box<str>, InputRequest)>,
) -> Object {
    let peer = peer(inquiry);
    let asked = questions.into_iter().map(|(key, question)| {
        let peer = Arc::clone(&peer);
        async move {
            let mut params = question
                .params
                .and_then(|params| params.to_object())
                .unwrap_or_default();
            meta::set(&mut params, meta::RELATED_TASK, related_task(handle));
            let ask = Ask {
                method: question.method,
                params: params.to_raw(),
            };
            let answer = peer.ask(ask).await;
            (
                key,
                answer.unwrap_or_else(|_| Raw::from_static(r#"{"action":"cancel"}"#)),
            )
        }
    });
    join_all(asked).await.into_iter().collect()
}

async fn wait(inquiry: &Inquiry, interval_ms: Option<i64>) -> Result<(), ErrorObject> {
    let interval = interval_ms
        .and_then(|ms| u64::try_from(ms).ok())
        .map_or(POLL_MIN * 4, Duration::from_millis)
        .clamp(POLL_MIN, POLL_MAX);
    tokio::select! {
        () = tokio::time::sleep(interval) => Ok(()),
        reason = inquiry.context.cancel.cancelled() => {
            Err(errors::failed(inquiry, &CallFailure::Cancelled(reason)))
        }
    }
}

/// One act on a task; what came of it.
async fn ask(inquiry: &Inquiry, handle: TaskHandle, verb: TaskVerb) -> Body {
    Ok(ask_carrying(inquiry, handle, verb).await?.0)
}

/// One act on a task; what came of it, and who wants to know when that was written
/// out, if it is.
async fn ask_carrying(
    inquiry: &Inquiry,
    handle: TaskHandle,
    verb: TaskVerb,
) -> Result<(Raw, Deliveries), ErrorObject> {
    let carrying = Arc::new(Carrying::new(peer(inquiry)));
    let peer = Arc::clone(&carrying) as Arc<dyn Peer>;
    let acted = inquiry
        .shared
        .gate
        .task(&inquiry.context, handle, verb, peer);
    let outcome: Result<Outcome, Refusal> = tokio::select! {
        biased;
        outcome = acted => outcome,
        reason = call::called_off(&inquiry.context.cancel) => {
            Ok(Outcome::Failed(CallFailure::Cancelled(reason)))
        }
    };
    match outcome {
        Ok(Outcome::Complete(raw)) => Ok((raw, carrying.deliveries())),
        Ok(Outcome::Task(task)) => Ok((task.to_raw(), Deliveries::default())),
        Ok(Outcome::InputRequired(_)) => Err(finish::broken("a task cannot ask that way")),
        Ok(Outcome::Error(error)) => Err(errors::upstream(inquiry, error)),
        Ok(Outcome::Failed(failure)) => Err(errors::failed(inquiry, &failure)),
        Err(refusal) => Err(errors::refused_item(inquiry, &refusal)),
    }
}

fn peer(inquiry: &Inquiry) -> Arc<dyn Peer> {
    match &inquiry.speaker {
        Speaker::Legacy(session) => Arc::new(LegacyPeer::new(session, &inquiry.outbox, None)),
        Speaker::Modern(modern) => Arc::new(SeatPeer(Arc::clone(modern))),
    }
}

fn handle(inquiry: &Inquiry) -> Result<TaskHandle, ErrorObject> {
    text(inquiry, "taskId").map(TaskHandle::new)
}

fn read(task: &Raw) -> Result<(Task, TaskOutcome), ErrorObject> {
    let broken = |error: translate::ShapeError| finish::broken(&error.to_string());
    let mut task = Task::parse(task).map_err(broken)?;
    let outcome = task_outcome(&mut task).map_err(broken)?;
    Ok((task, outcome))
}

fn complete(inquiry: &Inquiry, task: &Raw) -> Raw {
    translate::complete_result_for_modern(&inquiry.request.method, task, CacheHint::NONE, None)
}

fn related_task(handle: &TaskHandle) -> Raw {
    Object::new()
        .with("taskId", Raw::str(handle.as_str()))
        .to_raw()
}

fn related(result: Raw, handle: &TaskHandle) -> Raw {
    let Some(mut object) = result.to_object() else {
        return result;
    };
    meta::set(&mut object, meta::RELATED_TASK, related_task(handle));
    object.to_raw()
}

fn after(handles: &[TaskHandle], cursor: &Raw) -> Option<usize> {
    let bytes = URL_SAFE_NO_PAD.decode(&*cursor.to_str()?).ok()?;
    let last = String::from_utf8(bytes).ok()?;
    handles
        .iter()
        .position(|handle| handle.as_str() == last)
        .map(|place| place + 1)
}
