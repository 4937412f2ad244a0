//! Conversations, for the person who takes part in them.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use legation_api::conversation::{
    Delete, EVENT, Export, Follow, History, HistoryAnswer, Open, SessionView, Sessions,
    SessionsAnswer,
};
use legation_api::{Done, Request};
use legation_core::{SessionId, TaskId};
use legation_engine::{Asker, Engine, Filter, SessionError};
use legation_front::AdminItem;
use legation_servers::workspace::undo::Undo;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

use super::tasks::{of_task, off};
use super::{Answer, Inner, failed, later, missing, read, unavailable, unknown};

pub(super) fn dispatch(hub: &Arc<Inner>, method: &str, params: &Raw) -> BoxFuture<'static, Answer> {
    let Some(engine) = hub.windows.engine() else {
        return super::ready(Err(off()));
    };
    match method {
        History::METHOD => later(params, |request: History| async move {
            let session = session(&engine, &request.session).await?;
            let last = (request.limit, request.before);
            let messages = engine.history(&Asker::Owner, &session, last, true).await;
            let messages = messages.map_err(of_session)?;
            Ok(HistoryAnswer { messages })
        }),
        Sessions::METHOD => later(params, |_: Sessions| async move {
            let sessions = engine.sessions().await.map_err(of_session)?;
            Ok(SessionsAnswer { sessions })
        }),
        Open::METHOD => later(params, |request: Open| async move {
            open(&engine, request).await
        }),
        Delete::METHOD => {
            let undo = Arc::clone(&hub.undo);
            later(params, |request: Delete| async move {
                let session = session(&engine, &request.session).await?;
                delete(&engine, undo, &session).await
            })
        }
        Export::METHOD => later(params, |request: Export| async move {
            let session = session(&engine, &request.session).await?;
            engine.session_export(&session).await.map_err(of_session)
        }),
        _ => unknown(method),
    }
}

/// What happens in a conversation, until the caller goes or was too slow.
pub(super) fn follow(hub: &Arc<Inner>, params: &Raw) -> BoxStream<'static, AdminItem> {
    let begun = match (read::<Follow>(params), hub.windows.engine()) {
        (Err(error), _) => Err(error),
        (Ok(_), None) => Err(off()),
        (Ok(request), Some(engine)) => Ok((request, engine)),
    };
    let (request, engine) = match begun {
        Ok(begun) => begun,
        Err(error) => return once(Err(error)),
    };
    let opened = async move {
        let session = match &request.session {
            Some(id) => Some(session(&engine, id).await?),
            None => None,
        };
        engine
            .follow(session, request.after)
            .await
            .map_err(of_session)
    };
    stream::once(opened)
        .flat_map(|opened| match opened {
            Err(error) => once(Err(error)),
            Ok(follow) => {
                let events = stream::unfold(follow, |mut follow| async move {
                    let event = follow.next().await?;
                    let item = AdminItem::Notification {
                        method: EVENT.into(),
                        params: Raw::from_serialize(&event),
                    };
                    Some((item, follow))
                });
                let done = once(Ok(Raw::from_serialize(&Done {})));
                events.chain(done).boxed()
            }
        })
        .boxed()
}

fn once(answer: Answer) -> BoxStream<'static, AdminItem> {
    stream::once(std::future::ready(AdminItem::Done(answer))).boxed()
}

async fn open(engine: &Engine, request: Open) -> Result<SessionView, ErrorObject> {
    let folder = request.workspace.as_deref().map(canonical);
    if let Some(id) = &request.session {
        let id = session(engine, id).await?;
        return engine.session_resume(&id).await.map_err(of_session);
    }
    let opened = match request.new {
        true => engine.session_new(folder.as_deref()).await,
        false => engine.session_current(folder.as_deref()).await,
    };
    opened.map_err(of_session)
}

/// Deletes a session, and with it what its tasks kept of files so that it could be taken back.
async fn delete(engine: &Engine, undo: Arc<Undo>, id: &SessionId) -> Result<Done, ErrorObject> {
    let filter = Filter {
        open: false,
        session: Some(id.clone()),
        limit: Some(usize::MAX),
    };
    let tasks = engine.tasks(&Asker::Owner, filter).await;
    let tasks = tasks.map_err(of_task)?;
    engine.session_delete(id).await.map_err(of_session)?;
    let forgotten = tokio::task::spawn_blocking(move || {
        for task in tasks {
            undo.forget(&TaskId::new(task.task_id));
        }
    });
    // What could not be removed is in the log, and is swept up when it is old.
    drop(forgotten.await);
    Ok(Done {})
}

/// A folder under the one name that bridges give it too.
fn canonical(folder: &str) -> PathBuf {
    std::fs::canonicalize(folder).unwrap_or_else(|_| PathBuf::from(folder))
}

/// A session by its id, or by a beginning of it that no other has.
async fn session(engine: &Engine, id: &str) -> Result<SessionId, ErrorObject> {
    let sessions = engine.sessions().await.map_err(of_session)?;
    if sessions.iter().any(|session| session.id == id) {
        return Ok(SessionId::new(id));
    }
    let mut begin = sessions.iter().filter(|session| session.id.starts_with(id));
    match (begin.next(), begin.next()) {
        (Some(session), None) => Ok(SessionId::new(session.id.as_str())),
        (Some(_), Some(_)) => Err(failed(
            &format!("more than one session begins with {id:?}; nothing was done"),
            Some("give more of its id".to_owned()),
        )),
        (None, _) => Err(of_session(SessionError::Unknown { id: id.to_owned() })),
    }
}

fn of_session(error: SessionError) -> ErrorObject {
    let (what, hint) = (legation_core::error::chain(&error), Some(error.hint()));
    match error {
        SessionError::Unknown { .. } => missing(&what, hint),
        SessionError::Busy { .. } => failed(&what, hint),
        SessionError::Book { .. } => unavailable(&what, hint),
    }
}
