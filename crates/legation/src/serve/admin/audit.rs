//! The ledger's commands, answered off the runtime: they read much, or wait for
//! the disk.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use legation_api::Request;
use legation_api::audit::{
    Checkpoint, CheckpointAnswer, Counts, Export, Query, RotateKey, RotateKeyAnswer, Show, Shred,
    ShredAnswer, Tail, TailAnswer, Verify,
};
use legation_cli::{CliError, Exit, of_ledger};
use legation_core::EntityId;
use legation_ledger::{Ledger, LedgerError, Month};
use legation_wire::json::Raw;
use legation_wire::message::ErrorObject;

use super::{Answer, failed_with, later, of_cli, unknown};
use crate::serve::events;
use crate::serve::hub::Inner;

/// Most records of a tail.
const TAIL_MAX: usize = 10_000;

pub(super) fn dispatch(hub: &Arc<Inner>, method: &str, params: &Raw) -> BoxFuture<'static, Answer> {
    let hub = Arc::clone(hub);
    match method {
        Tail::METHOD => work(hub, params, |ledger, request: Tail| {
            let entries = ledger.tail(request.count.min(TAIL_MAX));
            records(entries)
        }),
        Query::METHOD => work(hub, params, |ledger, request: Query| {
            legation_cli::query_answer(ledger.records(), &request)
        }),
        Show::METHOD => work(hub, params, |ledger, request: Show| {
            records(ledger.find_call(&request.call))
        }),
        Export::METHOD => work(hub, params, |ledger, request: Export| {
            legation_cli::export_answer(ledger.records(), &request, crate::VERSION)
        }),
        Verify::METHOD => work(hub, params, |ledger, request: Verify| {
            legation_cli::verify_answer(ledger.records(), &request)
        }),
        Counts::METHOD => later(params, |request: Counts| async move {
            let counted = tokio::task::spawn_blocking(move || {
                let now = hub.clock.wall();
                hub.counts.answer(&hub.ledger, request.days, now)
            });
            let counted = counted.await.map_err(|error| failed_with(&error))?;
            counted.map_err(|error| of_cli(of_ledger(&error)))
        }),
        Checkpoint::METHOD => work(hub, params, |ledger, _: Checkpoint| checkpoint(ledger)),
        RotateKey::METHOD => work(hub, params, |ledger, _: RotateKey| {
            let key = ledger.rotate_key().map_err(|error| of_ledger(&error))?;
            Ok(RotateKeyAnswer {
                public_key: key.to_string(),
            })
        }),
        Shred::METHOD => {
            let told = Arc::clone(&hub);
            work(hub, params, move |ledger, request: Shred| {
                let answer = shred(ledger, &request)?;
                if answer.destroyed {
                    let entity = EntityId::new(request.entity.as_str());
                    events::keys_destroyed(&told, &entity, &answer.months);
                }
                Ok(answer)
            })
        }
        _ => unknown(method),
    }
}

/// Everything queued is recorded first, so that whoever asks sees what was done
/// before.
fn work<R: Request + Send + 'static>(
    hub: Arc<Inner>,
    params: &Raw,
    work: impl FnOnce(&Ledger, R) -> Result<R::Answer, CliError> + Send + 'static,
) -> BoxFuture<'static, Answer>
where
    R::Answer: Send + 'static,
{
    later(params, |request: R| async move {
        let flushed = hub.ledger.flush().await;
        flushed.map_err(|error| of_cli(of_ledger(&error)))?;
        let ledger = Arc::clone(&hub.ledger);
        let done = tokio::task::spawn_blocking(move || work(&ledger, request)).await;
        done.map_err(|error| failed_with(&error)).and_then(
            |done: Result<R::Answer, CliError>| -> Result<R::Answer, ErrorObject> {
                done.map_err(of_cli)
            },
        )
    })
}

fn records(
    entries: Result<Vec<legation_ledger::Entry>, LedgerError>,
) -> Result<TailAnswer, CliError> {
    let entries = entries.map_err(|error| of_ledger(&error))?;
    Ok(TailAnswer {
        records: legation_cli::records(&entries)?,
    })
}

fn checkpoint(ledger: &Ledger) -> Result<CheckpointAnswer, CliError> {
    let made = ledger.checkpoint().map_err(|error| of_ledger(&error))?;
    let key = ledger.public_key().map_err(|error| of_ledger(&error))?;
    Ok(CheckpointAnswer {
        note: made.map(|made| made.note),
        public_key: key.to_string(),
    })
}

fn shred(ledger: &Ledger, request: &Shred) -> Result<ShredAnswer, CliError> {
    let before: Month = request.before.parse().map_err(|()| {
        let text = format!("{:?} is no month; nothing was destroyed", request.before);
        CliError::new(Exit::Usage, text).with_hint("write it like 2026-01")
    })?;
    let entity = EntityId::new(request.entity.as_str());
    let found = if request.dry_run {
        ledger.shreddable(&entity, before)
    } else {
        ledger.shred(&entity, before)
    };
    let found = found.map_err(|error| of_ledger(&error))?;
    Ok(ShredAnswer {
        destroyed: !request.dry_run && !found.months.is_empty(),
        months: found.months.iter().map(ToString::to_string).collect(),
    })
}
