//! Delegated tasks, for their owner.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use legation_api::tasks::{
    Answer as Answered, Cancel, Class, Edit, EngineStatus, EngineStatusAnswer, List, ListAnswer,
    ReportExport, Reports, ReportsAnswer, Show, Steer, Submit, TaskView, Typing, Undo, UndoAnswer,
    Wait,
};
use legation_api::{Done, Request};
use legation_core::{Cancel as Cancelling, EntityLabels, OpContext, SessionId, TaskId};
use legation_engine::{Asker, Engine, Filter, SubmitError, Submitter, TaskError};
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

use super::tools::caller;
use super::{Answer, Inner, failed, later, missing, now, unavailable, unknown};
use crate::serve::delegate::likeliest;

pub(super) fn dispatch(hub: &Arc<Inner>, method: &str, params: &Raw) -> BoxFuture<'static, Answer> {
    let hub = Arc::clone(hub);
    let Some(engine) = hub.windows.engine() else {
        return super::ready(Err(off()));
    };
    match method {
        Submit::METHOD => later(params, |request: Submit| submit(hub, engine, request)),
        List::METHOD => later(params, |request: List| async move {
            let filter = Filter {
                open: request.open,
                session: request.session.map(SessionId::new),
                limit: request.limit,
            };
            let tasks = engine.tasks(&Asker::Owner, filter).await.map_err(of_task)?;
            Ok(ListAnswer { tasks })
        }),
        Show::METHOD => later(params, |request: Show| async move {
            engine
                .task(&Asker::Owner, &request.task_id)
                .await
                .map_err(of_task)
        }),
        Wait::METHOD => later(params, |request: Wait| async move {
            let time = Duration::from_millis(request.timeout_ms);
            engine
                .wait(&Asker::Owner, &request.task_id, time)
                .await
                .map_err(of_task)
        }),
        Cancel::METHOD => later(params, |request: Cancel| async move {
            let reason = request.reason.as_deref();
            engine
                .cancel(&Asker::Owner, &request.task_id, reason)
                .await
                .map_err(of_task)
        }),
        Answered::METHOD => later(params, |request: Answered| async move {
            engine
                .answer(&Asker::Owner, &request.task_id, &request.text)
                .await
                .map_err(of_task)
        }),
        Steer::METHOD => later(params, |request: Steer| async move {
            engine
                .steer(&Asker::Owner, &request.task_id, &request.text)
                .await
                .map_err(of_task)
        }),
        Edit::METHOD => later(params, |request: Edit| async move {
            edit(&engine, request).await
        }),
        Undo::METHOD => later(params, |request: Undo| async move {
            undo(&hub, &engine, request).await
        }),
        Reports::METHOD => later(params, |_: Reports| async move {
            let reports = engine.reports().await.map_err(of_task)?;
            Ok(ReportsAnswer { reports })
        }),
        ReportExport::METHOD => later(params, |request: ReportExport| async move {
            engine.report_export(&request.id).await.map_err(of_task)
        }),
        EngineStatus::METHOD => later(params, |_: EngineStatus| async move {
            Ok(status(&hub, &engine).await)
        }),
        Typing::METHOD => now(params, |request: Typing| {
            engine.typing(&SessionId::new(request.session));
            Ok(Done {})
        }),
        _ => unknown(method),
    }
}

async fn submit(hub: Arc<Inner>, engine: Engine, request: Submit) -> Result<TaskView, ErrorObject> {
    let folder = match request.workspace.as_deref() {
        Some(folder) => Some(found(folder)?),
        None => None,
    };
    let caller = caller(folder.map(Into::into));
    let labels = hub.gate.held(&caller);
    let labels: EntityLabels = labels.ok_or_else(|| {
        failed(
            "the store cannot say whose data the conversation holds; the task was not taken",
            None,
        )
    })?;
    let from = Submitter {
        client: caller.principal.client,
        seat: caller.seat,
        workspace: caller.workspace.as_deref().map(Path::to_owned),
        class: Class::Human,
        is_owner: true,
        labels,
    };
    engine.submit(&from, request.task).await.map_err(of_submit)
}

/// The folder of a task. One that is not there must not become none: the task would be another
/// conversation's, without its files.
fn found(folder: &str) -> Result<PathBuf, ErrorObject> {
    std::fs::canonicalize(folder).map_err(|error| {
        let what = format!("the folder {folder:?} cannot be used: {error}; the task was not taken");
        failed(&what, Some("run it in a folder that is there".to_owned()))
    })
}

async fn status(hub: &Inner, engine: &Engine) -> EngineStatusAnswer {
    let likeliest = likeliest(
        &hub.windows,
        &OpContext::new(caller(None), Cancelling::new()),
    )
    .await;
    EngineStatusAnswer {
        model: likeliest.as_ref().map(|one| match &one.model {
            Some(model) => format!("{}/{model}", one.provider),
            None => one.provider.clone(),
        }),
        model_loaded: likeliest.and_then(|one| one.answers),
        ..engine.status()
    }
}

async fn edit(engine: &Engine, request: Edit) -> Result<TaskView, ErrorObject> {
    let mut changed = None;
    if let Some(message) = &request.message {
        let task = engine.edit(&request.task_id, message).await;
        changed = Some(task.map_err(of_task)?);
    }
    if request.before.is_some() || changed.is_none() {
        let before = request.before.as_deref();
        let task = engine.reorder(&request.task_id, before).await;
        changed = Some(task.map_err(of_task)?);
    }
    changed.ok_or_else(off)
}

/// Files are only as much of a task as it can be told who else changed them.
async fn undo(hub: &Inner, engine: &Engine, request: Undo) -> Result<UndoAnswer, ErrorObject> {
    let task = engine
        .task(&Asker::Owner, &request.task_id)
        .await
        .map_err(of_task)?;
    if !task.status.is_final() {
        return Err(failed(
            &format!("task {} is not over; nothing was taken back", task.task_id),
            Some("wait for it, or call it off first".to_owned()),
        ));
    }
    let (undo, id) = (Arc::clone(&hub.undo), TaskId::new(task.task_id));
    // It reads and writes files.
    let done = tokio::task::spawn_blocking(move || match request.dry_run {
        true => undo.plan(&id),
        false => undo.apply(&id),
    });
    let done = done.await.map_err(|_| off())?;
    done.map_err(|error| {
        let what = legation_core::error::chain(&error);
        failed(&what, Some(error.hint().to_owned()))
    })
}

pub(super) fn off() -> ErrorObject {
    unavailable(
        "the hub is starting or stopping; nothing was done",
        Some("try again in a moment".to_owned()),
    )
}

fn of_submit(error: SubmitError) -> ErrorObject {
    failed(&legation_core::error::chain(&error), Some(error.hint()))
}

pub(super) fn of_task(error: TaskError) -> ErrorObject {
    let (what, hint) = (legation_core::error::chain(&error), Some(error.hint()));
    match error {
        TaskError::Unknown { .. } => missing(&what, hint),
        TaskError::Ambiguous { .. }
        | TaskError::NotNow { .. }
        | TaskError::NotYours { .. }
        | TaskError::NoAnswer { .. } => failed(&what, hint),
        TaskError::Book { .. } => unavailable(&what, hint),
    }
}
