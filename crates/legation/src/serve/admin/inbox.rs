//! The inbox's commands, answered off the runtime: they read files, or wait for
//! the disk.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_api::Request;
use legation_api::inbox::{Export, List, Post, Prune, Pull, Show};
use legation_cli::{CliError, Exit, inbox};
use legation_core::EntityId;
use legation_core::error::chain;
use legation_inbox::ReadError;
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

use super::{Answer, failed_with, later, missing, of_cli, unavailable, unknown};
use crate::serve::hub::Inner;

pub(super) fn dispatch(hub: &Arc<Inner>, method: &str, params: &Raw) -> BoxFuture<'static, Answer> {
    let hub = Arc::clone(hub);
    match method {
        Post::METHOD => work(hub, params, |hub, request: Post| {
            known(hub, request.entity.as_deref())?;
            inbox::post_answer(&hub.inbox, request, hub.clock.wall())
        }),
        List::METHOD => work(hub, params, |hub, request: List| {
            inbox::list(&hub.inbox, &request)
        }),
        Show::METHOD => later(params, |request: Show| async move {
            let shown = tokio::task::spawn_blocking(move || inbox::show(&hub.inbox, &request));
            let shown = shown.await.map_err(|error| failed_with(&error))?;
            shown.map_err(|error| of_read(&error))
        }),
        Pull::METHOD => work(hub, params, |hub, request: Pull| {
            inbox::pull(&hub.inbox, request)
        }),
        Export::METHOD => work(hub, params, |hub, request: Export| {
            inbox::export(&hub.inbox, &request)
        }),
        Prune::METHOD => work(hub, params, |hub, request: Prune| {
            inbox::prune_answer(&hub.inbox, request)
        }),
        _ => unknown(method),
    }
}

/// An entity that nobody declared has no rules, so that nobody could read the
/// message.
fn known(hub: &Inner, entity: Option<&str>) -> Result<(), CliError> {
    let Some(entity) = entity.map(EntityId::new) else {
        return Ok(());
    };
    if entity == EntityId::personal() || hub.gate.rules().labels_of(Some(&entity)).is_some() {
        return Ok(());
    }
    Err(CliError::new(
        Exit::Usage,
        format!("there is no entity {entity}; the message was not kept"),
    )
    .with_hint("`legation governance explain` shows the entities there are"))
}

fn of_read(error: &ReadError) -> ErrorObject {
    let what = chain(error);
    match error {
        ReadError::Unknown { .. } => {
            let hint = "`legation inbox list` shows the newest messages".to_owned();
            missing(&what, Some(hint))
        }
        ReadError::Closed => unavailable(&what, Some(error.hint().to_owned())),
        ReadError::Damaged { .. } | ReadError::Io { .. } | ReadError::Consumers { .. } => {
            failed_with(error)
        }
    }
}

fn work<R: Request + Send + 'static>(
    hub: Arc<Inner>,
    params: &Raw,
    answer: impl FnOnce(&Inner, R) -> Result<R::Answer, CliError> + Send + 'static,
) -> BoxFuture<'static, Answer>
where
    R::Answer: Send + 'static,
{
    later(params, |request: R| async move {
        let work = tokio::task::spawn_blocking(move || answer(&hub, request));
        let done = work.await.map_err(|error| failed_with(&error))?;
        done.map_err(of_cli)
    })
}
